"""The command judge, and what takes its output: several judges, plans, votes, stability."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
NAMES = [f"i{n}" for n in range(7)]
SOUND = dict.fromkeys(pairwise(NAMES), (0.5, 0.2, 0.2))
SOUND |= {(b, a): (0.3, 0.2, 0.4) for a, b in pairwise(NAMES)}


def bayesbt(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "bayesbt", *arguments],
        cwd=cwd,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    items = [f"{name},text of {name},t" for name in NAMES]
    (tmp_path / "items.csv").write_text("item,text,topic\n" + "\n".join(items) + "\n", encoding="utf-8")
    for name, table in (("sound", SOUND), ("first", dict.fromkeys(SOUND, (1.0, 0.0, 0.0)))):
        rows = [f"{a},{b},{','.join(map(str, values))}" for (a, b), values in table.items()]
        content = "item_a,item_b,p_a,p_tie,p_b\n" + "\n".join(rows) + "\n"
        (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
        text = f'title = "T"\nbackend = "scripted"\ntable = "{name}.csv"\n'
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    pairs = [f"{a},{b}" for a, b in pairwise(NAMES)]
    (tmp_path / "pairs.csv").write_text("item_a,item_b\n" + "\n".join(pairs) + "\n", encoding="utf-8")
    return tmp_path


ASK = ("judge", "pairs.csv", "--items", "items.csv", "--dimension", "logic", "--runs", "3", "--both-orders")


def test_several_judges_judge_in_one_command_and_all_is_accounted_for(folder: Path) -> None:
    both = (*ASK, "--judge", "sound.toml", "--judge", "first.toml", "-o", "j.jsonl")
    told = bayesbt(*both, cwd=folder)
    assert "j.jsonl: 72 judgments asked = 72 judged + 0 unscored." in told.stderr
    assert told.stdout == ""
    found = document(bayesbt(*both, "--json", cwd=folder))
    assert (found["asked"], found["judged"], found["unscored"], found["failures"]) == (72, 72, 0, [])
    assert [each["judge"] for each in found["judges"]] == ["sound", "first"]

    stable = document(bayesbt("stability", "j.jsonl", "--json", cwd=folder))
    runs = {row["judge"]: row for row in stable["runs"]}
    assert (runs["first"]["all_equal"], runs["first"]["pairs"], runs["first"]["alpha"]) == (1.0, 12, None)
    assert runs["sound"]["expected_all_equal"] < 0.5
    position = {row["judge"]: row for row in stable["position"]}
    assert (position["first"]["flip"], position["first"]["both_orders"]) == (1.0, 6)
    shown = bayesbt("stability", "j.jsonl", cwd=folder).stdout
    assert "same_winner" in shown
    assert "all_different" in shown

    for rule in ("majority", "sign"):
        bayesbt("vote", "j.jsonl", "--rule", rule, "-o", f"{rule}.csv", cwd=folder)
        lines = (folder / f"{rule}.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1 + 2 * 12


def test_a_judge_that_writes_and_failures_are_told(folder: Path) -> None:
    short = (folder / "sound.csv").read_text(encoding="utf-8").splitlines()
    (folder / "sound.csv").write_text(
        "\n".join(line for line in short if not line.startswith("i3,")), "utf-8"
    )
    told = bayesbt(*ASK, "--judge", "sound.toml", "--decode", "generate", "-o", "j.jsonl", cwd=folder)
    assert "no answer: sound: i3, i4 (logic, run 1): error: the table of 'sound' does not hold" in told.stderr
    found = document(
        bayesbt(*ASK, "--judge", "sound.toml", "--decode", "generate", "-o", "j.jsonl", "--json", cwd=folder)
    )
    assert found["asked"] == 36 == found["judged"] + found["unscored"]
    assert len(found["failures"]) == found["unscored"] >= 6
    assert {each["attempts"] for each in found["failures"] if each["item_a"] == "i3"} == {2}
    assert "more; --json lists them all" in told.stderr


def test_a_dry_run_prints_the_cost_and_writes_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    asked = (*ASK, "--judge", "sound.toml", "--judge", "first.toml", "--dry-run")
    found = document(bayesbt(*asked, "--json", cwd=folder))
    assert found["total"]["questions"] == 24
    assert found["total"]["judgments"] == 72
    assert found["total"]["tokens"] == found["total"]["computed_tokens"] > 24 * 30
    assert found["total"]["seconds"] is None
    told = bayesbt(*asked, cwd=folder).stdout
    assert "computed_tokens" in told
    assert "--measure N" in told
    measured = bayesbt(*asked, "--measure", "5", cwd=folder).stdout
    assert "(measured on 5)" in measured
    assert document(bayesbt(*asked, "--measure", "5", "--json", cwd=folder))["total"]["seconds"] > 0
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say where the judgments go"),
        (("-o", "j.jsonl", "--measure", "3"), "goes with --dry-run"),
        (("-o", "j.jsonl", "--example-scores", "s.csv"), "goes with --examples"),
        (("-o", "j.jsonl", "--decode", "greedy"), "greedy"),
    ],
)
def test_wrong_usage_is_refused(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = bayesbt(*ASK, "--judge", "sound.toml", *arguments, cwd=folder, code=2)
    assert said in done.stderr


def test_few_shot_examples_come_from_peoples_judgments(folder: Path) -> None:
    people = ["i0,i1,a,logic", "i3,i2,b,logic", "i4,i5,tie,logic"]
    text = "item_a,item_b,outcome,dimension\n" + "\n".join(people) + "\n"
    (folder / "people.csv").write_text(text, encoding="utf-8")
    scores = "item,score\n" + "\n".join(f"i{n},{-n}" for n in range(7)) + "\n"
    (folder / "scores.csv").write_text(scores, encoding="utf-8")
    ask = (*ASK, "--judge", "sound.toml", "--prompt", "few-shot")
    refused = bayesbt(*ask, "-o", "j.jsonl", cwd=folder, code=1)
    assert "Give --examples" in refused.stderr
    ask += ("--examples", "people.csv", "--example-scores", "scores.csv")
    told = bayesbt(*ask, "-o", "j.jsonl", cwd=folder)
    assert "18 judgments are on pairs that their own prompt shows" in told.stderr
    bayesbt("vote", "j.jsonl", "-o", "all.csv", cwd=folder)
    bayesbt("vote", "j.jsonl", "--exclude-examples", "-o", "fair.csv", cwd=folder)
    assert len((folder / "all.csv").read_text(encoding="utf-8").splitlines()) == 1 + 12
    assert len((folder / "fair.csv").read_text(encoding="utf-8").splitlines()) == 1 + 6
    fewer = document(bayesbt(*ask, "--exclude-examples", "-o", "fewer.jsonl", "--json", cwd=folder))
    assert fewer["asked"] == 18


def test_groups_of_the_cyclic_design(folder: Path) -> None:
    bayesbt(
        "pairs",
        "items.csv",
        "--design",
        "cyclic",
        "--group-size",
        "3",
        "--group-step",
        "2",
        "-o",
        "g.csv",
        cwd=folder,
    )
    # 7 on a circle, groups that begin at 0, 2, 4, 6: 0-1-2, 2-3-4, 4-5-6, 6-0-1
    assert len((folder / "g.csv").read_text(encoding="utf-8").splitlines()) == 1 + 11
    refused = bayesbt("pairs", "items.csv", "--group-step", "2", "-o", "h.csv", cwd=folder, code=2)
    assert "goes with --group-size" in refused.stderr
