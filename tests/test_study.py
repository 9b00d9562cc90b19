from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from bayesbt.errors import DocumentError, InputError
from bayesbt.study import run_study
from bayesbt.study.document import read_study

SERIES = ["judge", "vote", "fit", "rank", "ties"]
LEVELS = {"w": 4, "x": 3, "y": 2, "z": 1}
STUDY = """\
title = "Two topics"
question = "Does the judge find the levels?"
seed = 3

[data]
items = "items.csv"

[data.reference]
column = "level"
title = "levels by construction"

[judge]
judges = ["careful.toml"]
dimensions = ["logic", "rhetoric"]
runs = 3

[fit]
engine = "laplace"
draws = 200

[ties]
models = ["split", "rao-kupper"]

[report]
formats = ["md"]
"""


def write_study(folder: Path) -> Path:
    """A study whose scripted judge likes good items and, less so, whatever is shown first."""
    folder.mkdir()
    rows = [
        (f"{t}-{name}", f"Text {name} on {t}.", t, level)
        for t in ("tea", "bus")
        for name, level in LEVELS.items()
    ]
    pd.DataFrame(rows, columns=["item", "text", "topic", "level"]).to_csv(folder / "items.csv", index=False)
    pairs = [(a, b) for a in rows for b in rows if a[0] != b[0] and a[2] == b[2]]
    better, worse = (0.7, 0.2, 0.06), (0.25, 0.1, 0.6)
    answers = [(a[0], b[0], *(better if a[3] > b[3] else worse)) for a, b in pairs]
    table = pd.DataFrame(answers, columns=["item_a", "item_b", "p_a", "p_tie", "p_b"])
    table.to_csv(folder / "answers.csv", index=False)
    (folder / "careful.toml").write_text('title = "Careful"\nbackend = "scripted"\ntable = "answers.csv"\n')
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that ran once; read only."""
    study = write_study(tmp_path_factory.mktemp("study") / "pair")
    assert run(study) == ([*SERIES, *SERIES, "report"], [])
    return study.parent


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished study, to be changed."""
    shutil.copytree(finished, tmp_path / "pair")
    return tmp_path / "pair" / "study.toml"


def run(study: Path, **options: bool) -> tuple[list[str], list[str]]:
    """Run the study, and give the kinds of the stages done and kept."""
    result = run_study(study, output=study.parent / "out", progress=False, **options)
    return [name.split()[0] for name in result.done], [name.split()[0] for name in result.kept]


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_second_run_does_nothing(study: Path) -> None:
    before = snapshot(study.parent / "out")
    assert run(study) == ([], [*SERIES, *SERIES, "report"])
    assert snapshot(study.parent / "out") == before


def test_result_is_the_judges_order_with_its_position_effect(study: Path) -> None:
    result = run_study(study, output=study.parent / "out", progress=False)
    assert [path.name for path in result.reports] == ["pair.md"]
    fit = json.loads((result.fits["careful, zero-shot, logic"] / "fit.json").read_text())
    assert fit["data"] | {"ties": 0} == {
        "judgments": 24,
        "ties": 0,
        "unscored": 0,
        "items": 8,
        "components": 2,
    }
    by_component = {0: "bus", 1: "tea"}
    for component, topic in by_component.items():
        order = [row["item"] for row in fit["items"] if row["component"] == component]
        assert order[0] == f"{topic}-w"
        assert order[-1] == f"{topic}-z"
    assert "levels by construction" in result.reports[0].read_text()


def test_votes_stand_for_three_runs_of_each_presentation(study: Path) -> None:
    result = run_study(study, output=study.parent / "out", progress=False)
    (judged,) = (result.workspace / "judge" / "careful_zero-shot_logic").glob("*/judgments.jsonl")
    lines = [json.loads(line) for line in judged.read_text().splitlines()]
    assert len(lines) == 3 * 24
    votes = pd.read_csv(result.workspace / "vote" / "careful_zero-shot_logic" / "votes.csv")
    assert len(votes) == 24
    of_one = [line["outcome"] for line in lines if (line["item_a"], line["item_b"]) == ("bus-w", "bus-z")]
    majority = next((label for label in "ab" if of_one.count(label) >= 2), "tie")
    assert votes.set_index(["item_a", "item_b"]).loc[("bus-w", "bus-z"), "outcome"] == majority


@pytest.mark.parametrize(
    ("old", "new", "redone"),
    [
        ('engine = "laplace"', 'engine = "map"', [*["fit", "rank"] * 2, "report"]),
        ("draws = 200", 'draws = 200\nties = "davidson"', [*["fit", "rank"] * 2, "report"]),
        ("draws = 200", 'draws = 200\norder = "none"', [*["fit", "rank", "ties"] * 2, "report"]),
        ('models = ["split", "rao-kupper"]', 'models = ["split", "davidson"]', ["ties", "ties", "report"]),
        ('title = "Two topics"', 'title = "Other title"', ["report"]),
        ("[data]", "# A comment changes nothing.\n[data]", []),
    ],
)
def test_changed_setting_redoes_only_what_depends_on_it(
    study: Path, old: str, new: str, redone: list[str]
) -> None:
    study.write_text(study.read_text().replace(old, new))
    assert run(study)[0] == redone


def test_further_runs_are_drawn_without_judging_again(study: Path) -> None:
    judged = sorted((study.parent / "out" / "pair" / "judge").rglob("judgments.jsonl"))
    before = [path.read_text() for path in judged]
    study.write_text(study.read_text().replace("runs = 3", "runs = 5"))
    assert run(study)[0][:2] == ["judge", "vote"]
    assert sorted((study.parent / "out" / "pair" / "judge").rglob("judgments.jsonl")) == judged
    for path, text in zip(judged, before, strict=True):
        assert path.read_text().startswith(text)
        assert len(path.read_text().splitlines()) == 5 * 24


def test_changed_text_is_judged_anew_and_the_old_judgments_stay(study: Path) -> None:
    items = study.parent / "items.csv"
    before = items.read_text()
    items.write_text(before.replace("Text w on tea.", "Another text."))
    redone = ["judge", "vote", "fit", "ties"]  # the labels come out the same, so the ranking stands
    assert run(study)[0] == [*redone, *redone, "report"]
    assert len(list((study.parent / "out" / "pair" / "judge" / "careful_zero-shot_logic").iterdir())) == 2
    items.write_text(before)
    assert "judge" not in run(study)[0]


def test_new_dimension_leaves_the_others_alone(study: Path) -> None:
    study.write_text(study.read_text().replace('["logic", "rhetoric"]', '["logic", "rhetoric", "dialectic"]'))
    done, kept = run(study)
    assert done == [*SERIES, "report"]
    assert kept == [*SERIES, *SERIES]


def test_damaged_stage_is_done_again(study: Path) -> None:
    votes = study.parent / "out" / "pair" / "vote" / "careful_zero-shot_logic" / "votes.csv"
    good = votes.read_text()
    votes.write_text(good.replace(",a", ",b", 1))
    assert run(study)[0] == ["vote"]
    assert votes.read_text() == good


def test_report_changed_by_hand_is_not_overwritten(study: Path) -> None:
    report = study.parent / "out" / "pair.md"
    report.write_text("my own notes")
    with pytest.raises(InputError, match=r"pair\.md: was changed by hand"):
        run(study)
    assert report.read_text() == "my own notes"
    assert run(study, force=True)[1] == []
    assert "my own notes" not in report.read_text()


def test_report_follows_whatever_it_prints(study: Path) -> None:
    report = study.parent / "out" / "pair.md"
    study.write_text(study.read_text() + '[vote]\nrule = "sign"\n')
    done = run(study)[0]
    assert (done[0], done[-1]) == ("vote", "report")
    assert re.search(r"vote\W+sign", report.read_text())
    judge = study.parent / "careful.toml"
    judge.write_text(judge.read_text().replace('"Careful"', '"Most careful"') + 'note = "Reads twice."\n')
    assert run(study)[0] == ["report"]
    assert "Most careful" in report.read_text()
    assert "Reads twice." in report.read_text()
    assert "study.toml" not in report.read_text()  # a comment in it would make a hash of it stale


def test_report_says_the_vote_where_the_labels_come_out_the_same(tmp_path: Path) -> None:
    study = write_study(tmp_path / "pair")
    table = pd.read_csv(study.parent / "answers.csv")
    better = table["p_a"] > table["p_b"]
    table["p_a"], table["p_tie"], table["p_b"] = better * 1.0, 0.0, (~better) * 1.0
    table.to_csv(study.parent / "answers.csv", index=False)
    study.write_text(study.read_text().replace('"laplace"', '"map"'))
    run(study)
    study.write_text(study.read_text() + '[vote]\nrule = "sign"\n')
    assert run(study)[0] == ["vote", "vote", "report"]
    assert re.search(r"vote\W+sign", (study.parent / "out" / "pair.md").read_text())


def test_report_in_a_format_no_longer_asked_for_goes(study: Path) -> None:
    out = study.parent / "out"
    study.write_text(study.read_text().replace('["md"]', '["html"]'))
    assert run(study)[0] == ["report"]
    assert sorted(path.name for path in out.iterdir()) == ["pair", "pair.html"]


def test_report_in_a_former_format_stays_where_it_was_changed_by_hand(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = study.parent / "out" / "pair.md"
    report.write_text("my own notes")
    study.write_text(study.read_text().replace('["md"]', '["html"]'))
    assert run(study)[0] == ["report"]
    assert report.read_text() == "my own notes"
    assert "pair.md: is from former settings" in capsys.readouterr().err


SLOW_JUDGE = """\
import sys, time
from bayesbt.judges.scripted import ScriptedJudge
from bayesbt.study import run_study
slow = ScriptedJudge._verdict
def verdict(self, presentation):
    time.sleep(0.05)
    return slow(self, presentation)
ScriptedJudge._verdict = verdict
run_study(sys.argv[1], output=sys.argv[2], progress=False)
"""


def test_killed_in_the_middle_continues(study: Path) -> None:
    whole = study.parent / "out" / "pair"
    script = study.parent / "slow.py"
    script.write_text(SLOW_JUDGE)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, str(script), str(study), str(study.parent / "again")]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    judged = _wait_for_lines(study.parent / "again", process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    left = judged.read_bytes()
    assert 0 < left.count(b"\n") < 3 * 24
    result = run_study(study, output=study.parent / "again", progress=False)
    assert (len(result.done), result.kept) == (11, ())
    assert judged.read_bytes().startswith(left)
    assert _lines(judged) == _lines(whole / judged.relative_to(result.workspace))
    for dimension in ("logic", "rhetoric"):
        name = Path("fit") / f"careful_zero-shot_{dimension}" / "fit.json"
        assert (result.workspace / name).read_bytes() == (whole / name).read_bytes()


def _wait_for_lines(output: Path, process: subprocess.Popen[bytes]) -> Path:
    for _ in range(600):
        found = list(output.rglob("judgments.jsonl"))
        if found and found[0].read_bytes().count(b"\n") >= 6:
            return found[0]
        assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
        time.sleep(0.05)
    raise AssertionError("the judge wrote nothing within 30 seconds")


def _lines(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines())


def test_judgments_that_exist_are_fitted_by_dimension(tmp_path: Path) -> None:
    rows = [("p", "q", "a", d) for d in ("form", "content")] * 3 + [
        ("q", "r", "b", "form"),
        ("q", "r", "a", "content"),
    ]
    pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "dimension"]).to_csv(
        tmp_path / "human.csv", index=False
    )
    path = tmp_path / "ours.toml"
    path.write_text(
        'title = "Ours"\n[data]\njudgments = "human.csv"\n[fit]\nengine = "laplace"\norder = "none"\n'
    )
    result = run_study(path, output=tmp_path / "out", progress=False)
    assert [name.split()[0] for name in result.done] == ["fit", "rank", "fit", "rank", "report"]
    assert list(result.fits) == ["content", "form"]
    best = {
        label: json.loads((fit / "fit.json").read_text())["items"][0]["item"]
        for label, fit in result.fits.items()
    }
    assert best["content"] == "p"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("runs = 3", "runs = 0", r"\[judge\] runs = 0: must be at least 1"),
        ("runs = 3", 'runs = "three"', r"\[judge\] runs = 'three': must be a whole number"),
        ("runs = 3", "turns = 3", r"\[judge\]: unknown turns\. Allowed: .*runs"),
        (
            'engine = "laplace"',
            'order = "sometimes"',
            r"order = 'sometimes' is not known\. Allowed: none, shared",
        ),
        ("seed = 3", "seed = -1", r"seed = -1 is not possible"),
        ('items = "items.csv"', 'items = "absent.csv"', r"items = 'absent\.csv': no such file"),
        ('judges = ["careful.toml"]', "", r"has neither"),
        ('["logic", "rhetoric"]', '["logic", "logic"]', r"names an entry twice"),
        ("[fit]", "[fitt]", r"unknown fitt"),
    ],
)
def test_wrong_documents_are_named_by_entry(study: Path, old: str, new: str, said: str) -> None:
    study.write_text(study.read_text().replace(old, new))
    with pytest.raises(DocumentError, match=said):
        read_study(study)
