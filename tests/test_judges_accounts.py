"""Several judges in one file, judges that write, failures asked again: every question is accounted for."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bayesbt.errors import InputError, MixedRunsError
from bayesbt.formats import read_judgments
from bayesbt.judges.accounting import Judged
from bayesbt.judges.journal import open_journal
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch
from bayesbt.judges.run import judge_all
from bayesbt.judges.scripted import ScriptedJudge
from bayesbt.judges.settings import BackendOptions, Decode, JudgeSettings
from bayesbt.stability import position_summary, run_agreement
from bayesbt.tables import Items, Pairs
from bayesbt.voting import vote

NAMES = [f"i{n:02}" for n in range(12)]
ITEMS = Items.from_frame(pd.DataFrame({"item": NAMES, "text": [f"Text {name}." for name in NAMES]}))
PAIRS = Pairs.from_frame(pd.DataFrame({"item_a": NAMES[:-1], "item_b": NAMES[1:]}))
FORWARD = {(a, b, ""): (0.45, 0.15, 0.3) for a, b in pairwise(NAMES)}
TABLE = FORWARD | {(b, a, ""): (0.5, 0.1, 0.3) for a, b, _ in FORWARD}
SETTINGS = JudgeSettings(ScriptedJudge(TABLE), dimensions=("logic",), runs=3, seed=7)


def run(path: Path, *settings: JudgeSettings, items: Items = ITEMS, pairs: Pairs = PAIRS) -> Judged:
    return judge_all(pairs, items, settings=settings or (SETTINGS,), output=path, progress=False)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def named(name: str, decode: Decode = "labels") -> JudgeSettings:
    return replace(SETTINGS, judge=ScriptedJudge(TABLE, name, decode=decode), both_orders=True)


def test_several_judges_and_prompts_stand_in_one_file_each_complete(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    shutil.copy(Path(__file__).parent.parent / "models/prompts/zero-shot.toml", tmp_path / "mine.toml")
    settings = (
        named("one"),
        named("two", "generate"),
        replace(named("one"), prompt=tmp_path / "mine.toml"),
    )
    judged = run(path, *settings)
    assert [(each.judge, each.prompt) for each in judged.accounts] == [
        ("one", "zero-shot"),
        ("two", "zero-shot"),
        ("one", "mine"),
    ]
    assert judged.asked == judged.judged + judged.unscored == 3 * 22 * 3
    assert Counter((line["judge"], line["prompt"]) for line in lines(path)) == {
        ("one", "zero-shot"): 66,
        ("two", "zero-shot"): 66,
        ("one", "mine"): 66,
    }
    before = path.read_bytes()
    run(path, settings[1])
    run(path, *settings)
    assert path.read_bytes() == before
    with pytest.raises(MixedRunsError, match="66 of 66 lines with another judge"):
        run(path, replace(settings[0], judge=ScriptedJudge(FORWARD, "one")))
    assert path.read_bytes() == before
    added = run(path, named("three"))
    assert (added.asked, len(added.judgments)) == (66, 4 * 66)


def test_one_judge_with_one_prompt_is_given_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'one' with prompt 'zero-shot' stands there twice"):
        run(tmp_path / "j.jsonl", named("one"), named("two"), replace(named("one"), seed=3))
    assert not (tmp_path / "j.jsonl").exists()


def test_a_judge_that_writes_is_asked_once_a_run_and_its_text_is_kept(tmp_path: Path) -> None:
    judged = run(tmp_path / "j.jsonl", named("w", "generate"))
    found = lines(tmp_path / "j.jsonl")
    assert len(found) == 66
    for line in found:
        assert line["p_a"] is line["p_tie"] is line["p_b"] is line["p_other"] is None
        if line["outcome"] is None:
            assert (line["reason"], line["raw"]) == ("parse: no verdict", "I cannot decide.")
        else:
            assert line["raw"] == f"Verdict: {({'a': 'A', 'tie': 'Tie', 'b': 'B'})[line['outcome']]}"
    assert Counter(line["outcome"] for line in found).keys() == {"a", "tie", "b", None}
    assert judged.unscored == sum(line["outcome"] is None for line in found) == len(judged.failures)
    assert judged.judged == 66 - judged.unscored


def test_what_a_judge_writes_hangs_on_the_seed_and_on_nothing_else(tmp_path: Path) -> None:
    backwards = Pairs(PAIRS.frame[::-1].reset_index(drop=True))
    writing = named("w", "generate")
    run(tmp_path / "1.jsonl", writing)
    run(tmp_path / "2.jsonl", replace(writing, judge=replace(writing.judge, batch=5)), pairs=backwards)  # type: ignore[type-var]
    run(tmp_path / "3.jsonl", replace(writing, runs=1))
    run(tmp_path / "3.jsonl", writing)  # two more runs are written, the first is not written again
    first = sorted((tmp_path / "1.jsonl").read_bytes().splitlines())
    assert sorted((tmp_path / "2.jsonl").read_bytes().splitlines()) == first
    assert sorted((tmp_path / "3.jsonl").read_bytes().splitlines()) == first
    run(tmp_path / "4.jsonl", replace(writing, seed=8))
    outcomes = [[line["outcome"] for line in lines(tmp_path / f"{n}.jsonl")] for n in (1, 4)]
    assert outcomes[0] != outcomes[1]


def test_vote_and_stability_take_the_output_of_several_judges_runs_and_orders(tmp_path: Path) -> None:
    first = ScriptedJudge(dict.fromkeys(TABLE, (1.0, 0.0, 0.0)), "first")
    run(tmp_path / "j.jsonl", named("one"), replace(named("x"), judge=first))
    table = read_judgments(tmp_path / "j.jsonl")
    position = position_summary(table).set_index("judge")
    assert position.loc["first", ["share_first", "both_orders", "flip", "first_both"]].tolist() == [
        1,
        11,
        1,
        1,
    ]
    assert 0 < position.loc["one", "flip"] < 1
    runs = run_agreement(table).set_index("judge")
    assert (runs.loc["first", "all_equal"], runs.loc["first", "runs"]) == (1.0, 3)
    assert runs.loc["one", "all_equal"] < 1
    assert runs.loc["one", "alpha"] < 0.9
    for rule in ("majority", "sign"):
        voted = vote(table, rule).frame
        assert voted.groupby("judge", observed=True).size().to_dict() == {"first": 22, "one": 22}
        assert set(voted.loc[voted["judge"] == "first", "outcome"]) == {"a"}


@dataclass
class Moody:
    """A judge that answers with an error where, and as often as, it is told to."""

    errors: dict[str, int]
    reason: str = "error: out of sorts"
    name: str = "moody"
    decode: Decode = "labels"
    fingerprint: str = "f" * 64
    asked: list[tuple[str, int | None, int]] = field(default_factory=list)

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        for place, each in enumerate(presentations):
            self.asked.append((each.item_a, each.run, each.seed))
            if self.errors.get(each.item_a, 0) > 0:
                self.errors[each.item_a] -= 1
                yield [(place, Verdict.unscored(self.reason))]
            elif self.decode == "generate":
                yield [(place, Verdict.written("a", "A"))]
            else:
                yield [(place, Verdict.from_label_masses(0.2, 0.3, 0.4))]

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        return ""


def test_errors_are_asked_again_up_to_a_limit_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    moody = Moody({"i03": 1, "i07": 100})
    settings = replace(SETTINGS, judge=moody)
    judged = run(path, settings)
    assert (judged.asked, judged.judged, judged.unscored) == (33, 27, 6)
    assert {(each.item_a, each.reason, each.attempts) for each in judged.failures} == {
        ("i03", "error: out of sorts", 1),
        ("i07", "error: out of sorts", 1),
    }
    moody.asked.clear()
    judged = run(path, settings)
    assert [item for item, _, _ in moody.asked] == ["i03", "i07"]
    assert (judged.asked, judged.judged, judged.unscored) == (33, 30, 3)
    assert {(each.item_a, each.attempts) for each in judged.failures} == {("i07", 2)}
    assert len(lines(path)) == 33
    assert [line["attempt"] for line in lines(path) if line["item_a"] == "i03"] == [2, 2, 2]
    run(path, settings)
    moody.asked.clear()
    judged = run(path, settings)
    assert moody.asked == []  # three attempts
    assert {(each.item_a, each.attempts) for each in judged.failures} == {("i07", 3)}
    run(path, replace(settings, attempts=4))
    assert [item for item, _, _ in moody.asked] == ["i07"]
    table = read_judgments(path)
    assert len(table) == 33
    assert set(table.frame.loc[table.frame["item_a"] == "i03", "outcome"]) <= {"a", "tie", "b"}


@pytest.mark.parametrize(("reason", "asked_again"), [("parse: no verdict", 0), ("refusal: no", 0)])
def test_what_held_no_verdict_is_asked_again_only_on_request(
    tmp_path: Path, reason: str, asked_again: int
) -> None:
    moody = Moody({"i03": 2}, reason, decode="generate")
    settings = replace(SETTINGS, judge=moody)
    assert run(tmp_path / "j.jsonl", settings).unscored == 2  # of three runs
    first = {number: seed for item, number, seed in moody.asked if item == "i03"}
    moody.asked.clear()
    assert run(tmp_path / "j.jsonl", settings).unscored == 2
    assert len(moody.asked) == asked_again
    assert run(tmp_path / "j.jsonl", replace(settings, retry_failed=True)).unscored == 0
    again = {number: seed for item, number, seed in moody.asked if item == "i03"}
    assert set(again) == {1, 2}
    assert all(again[number] != first[number] for number in again)  # or it would write the same again


def test_a_kill_between_an_error_and_its_second_answer_leaves_no_doubt(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    moody = Moody({"i03": 1})
    run(path, replace(SETTINGS, judge=moody))
    before = path.read_bytes()
    run(path, replace(SETTINGS, judge=moody))
    after = lines(path)
    answered = "".join(json.dumps(line) + "\n" for line in after if line.get("attempt")).encode()
    path.write_bytes(before + answered)  # as a kill leaves it before the lines that were replaced are dropped
    moody.asked.clear()
    judged = run(path, replace(SETTINGS, judge=moody))
    assert (judged.judged, judged.unscored, moody.asked) == (33, 0, [])
    assert sorted(map(str, lines(path))) == sorted(map(str, after))
    first = answered.splitlines(keepends=True)[0]
    path.write_bytes(before + first + b'{"item_a": "i0')  # torn between the runs of one question
    judged = run(path, replace(SETTINGS, judge=moody))
    assert (judged.judged, judged.unscored, len(lines(path))) == (33, 0, 33)
    path.write_bytes(before + answered + answered)
    with pytest.raises(InputError, match=r"line 37: this judgment .* stands in the file twice"):
        run(path, replace(SETTINGS, judge=moody))


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "has no text"), ("  ", "has no text"), (7, "a int"), ("x \ud83d", "lone surrogate")],
)
def test_an_unreadable_text_is_refused_or_unscored_and_counted(
    tmp_path: Path, text: object, said: str
) -> None:
    frame = ITEMS.frame.copy().astype(object)
    frame.loc[4, "text"] = text
    broken, path = Items(frame), tmp_path / "j.jsonl"
    with pytest.raises(InputError, match=rf"rows 4, 5: item 'i04' .*{said}.*--unreadable unscored"):
        run(path, items=broken)
    assert not path.exists()
    settings = replace(SETTINGS, unreadable="unscored")
    judged = run(path, settings, items=broken)
    assert (judged.asked, judged.judged, judged.unscored) == (33, 27, 6)
    assert {each.reason for each in judged.failures} == {"error: item 'i04' has no readable text"}
    before = path.read_bytes()
    run(path, settings, items=broken)
    assert path.read_bytes() == before
    mended = run(path, settings)  # the text is there now
    assert (mended.judged, mended.unscored) == (33, 0)
    assert len(lines(path)) == 33


def test_an_item_that_is_nowhere_is_always_refused(tmp_path: Path) -> None:
    fewer = Items(ITEMS.frame[:-1])
    with pytest.raises(InputError, match="row 11: item 'i11' is not among the items"):
        run(tmp_path / "j.jsonl", replace(SETTINGS, unreadable="unscored"), items=fewer)


def test_a_line_with_half_a_character_is_written_and_read_again(tmp_path: Path) -> None:
    with open_journal(tmp_path / "j.jsonl") as journal:
        journal.append([{"raw": "half \ud83d"}, {"raw": "whole \U0001f600"}])
        journal.rewrite(journal.lines[:1])
        journal.append([{"raw": "more"}])
    with open_journal(tmp_path / "j.jsonl") as journal:
        assert journal.lines == [{"raw": "half \ud83d"}, {"raw": "more"}]
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == ["j.jsonl"]


def test_reasoning_is_written_never_read_off_label_probabilities(tmp_path: Path) -> None:
    reasoning = replace(SETTINGS, prompt="chain-of-thought")
    with pytest.raises(
        InputError, match=r"'chain-of-thought' has the judge write its reasoning.*gives probab"
    ):
        run(tmp_path / "j.jsonl", reasoning)
    with pytest.raises(InputError, match="--decode labels reads the probability"):
        run(tmp_path / "j.jsonl", replace(reasoning, options=BackendOptions(decode="labels")))
    document, table = tmp_path / "s.toml", tmp_path / "t.csv"
    document.write_text('title = "S"\nbackend = "scripted"\ntable = "t.csv"\n', encoding="utf-8")
    rows = [f"{a},{b},0.5,0.2,0.3" for a, b, _ in FORWARD]
    table.write_text("item_a,item_b,p_a,p_tie,p_b\n" + "\n".join(rows) + "\n", encoding="utf-8")
    judged = run(tmp_path / "j.jsonl", replace(reasoning, judge=document))  # auto is generate here
    assert (judged.asked, judged.unscored) == (33, 0)
    assert all(line["raw"].startswith("Verdict: ") for line in lines(tmp_path / "j.jsonl"))
