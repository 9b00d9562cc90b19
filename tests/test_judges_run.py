"""Judging: nothing judged twice, nothing lost, nothing mixed, whatever interrupts it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd
import pytest

from bayesbt.errors import EmptyInputError, InputError, MixedRunsError
from bayesbt.judges.journal import JournalError, open_journal
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation, VerdictBatch
from bayesbt.judges.run import judge, preview
from bayesbt.judges.scripted import ScriptedJudge
from bayesbt.judges.settings import Decode, JudgeSettings
from bayesbt.tables import Items, Judgments, Pairs

REPOSITORY = Path(__file__).resolve().parent.parent
NAN = float("nan")
TABLE = {
    ("x", "y", ""): (0.5, 0.1, 0.2),
    ("y", "x", ""): (0.1, 0.3, 0.2),
    ("x", "z", ""): (0.0, 0.0, 0.25),
    ("x", "z", "rhetoric"): (0.75, 0.0, 0.0),
    ("z", "y", ""): (NAN, NAN, NAN),
}
JUDGE = ScriptedJudge(TABLE)
ITEMS = Items.from_frame(
    pd.DataFrame(
        {
            "item": ["x", "y", "z"],
            "text": ["Text of x.", "Text of y.", "Text\u2028of z: “quoted” \ud7ff."],
            "topic": ["t", "t", "u"],
        }
    )
)
PAIRS = Pairs.from_frame(pd.DataFrame({"item_a": ["x", "x", "z"], "item_b": ["y", "z", "y"]}))
SETTINGS = JudgeSettings(JUDGE, dimensions=("logic", "rhetoric"), runs=3, seed=7)


def run(
    path: Path, settings: JudgeSettings = SETTINGS, pairs: Pairs = PAIRS, items: Items = ITEMS
) -> Judgments:
    return judge(pairs, items, settings=settings, output=path, progress=False)


def sorted_lines(path: Path) -> list[bytes]:
    return sorted(path.read_bytes().splitlines(keepends=True))


@dataclass(frozen=True)
class Counting:
    """A scripted judge that remembers what it was asked."""

    inner: ScriptedJudge = JUDGE
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    name: str = "scripted"
    decode: Decode = "labels"

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        for batch in self.inner.verdicts(presentations, prompt):
            self.asked.extend(
                (presentations[n].item_a, presentations[n].item_b, presentations[n].dimension)
                for n, _ in batch
            )
            yield batch

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        return self.inner.render(presentation, prompt)


def test_a_line_is_a_judgment_with_its_probabilities_and_its_making(tmp_path: Path) -> None:
    table = run(tmp_path / "j.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "j.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len(table) == 3 * 2 * 3
    first = lines[0]
    assert list(first) == [
        "item_a", "item_b", "outcome", "dimension", "topic", "judge", "prompt", "run",
        "p_a", "p_tie", "p_b", "p_other", "reason", "raw", "pair_id", "made_with",
    ]  # fmt: skip
    assert (first["item_a"], first["item_b"], first["dimension"], first["topic"], first["run"]) == (
        "x",
        "y",
        "logic",
        "t",
        1,
    )
    assert [first[name] for name in ("p_a", "p_tie", "p_b", "p_other")] == [0.5, 0.1, 0.2, 0.2]
    parts = dict(part.split(":") for part in first["made_with"].split())
    assert list(parts) == ["judge", "prompt", "texts", "seed"]
    assert parts["judge"] == JUDGE.fingerprint[:8]
    assert parts["seed"] == "7"
    assert len(parts["prompt"]) == len(parts["texts"]) == 8
    across = next(line for line in lines if line["item_b"] == "z")
    assert across["topic"] is None


def test_unscored_is_never_a_tie_and_keeps_its_reason(tmp_path: Path) -> None:
    table = run(tmp_path / "j.jsonl")
    frame = table.frame
    assert table.findings[0].message.startswith("6 of 18 judgments have no answer")
    unscored = frame[frame["item_a"] == "z"]
    assert unscored["outcome"].isna().all()
    assert unscored["p_tie"].isna().all()
    assert set(unscored["reason"]) == {"refusal: the table of 'scripted' gives no probabilities"}
    assert set(frame.loc[(frame["item_b"] == "z") & (frame["dimension"] == "logic"), "outcome"]) == {"b"}
    assert set(frame.loc[(frame["item_b"] == "z") & (frame["dimension"] == "rhetoric"), "outcome"]) == {"a"}


def test_both_orders_share_a_pair_id_and_repeated_pairs_are_asked_once(tmp_path: Path) -> None:
    pairs = Pairs.from_frame(pd.DataFrame({"item_a": ["x", "x", "y"], "item_b": ["y", "y", "x"]}))
    counting = Counting()
    settings = replace(SETTINGS, judge=counting, both_orders=True, runs=1, dimensions=("logic",))
    frame = run(tmp_path / "j.jsonl", settings, pairs).frame
    assert counting.asked == [("x", "y", "logic"), ("y", "x", "logic")]
    assert frame["pair_id"].nunique() == 1
    assert frame["p_a"].tolist() == [0.5, 0.1]


def test_the_seed_settles_the_labels_whatever_the_order_of_work(tmp_path: Path) -> None:
    pairs = Pairs.from_frame(pd.DataFrame({"item_a": [f"i{n:02}" for n in range(40)], "item_b": ["k"] * 40}))
    items = Items.from_frame(pd.DataFrame({"item": [f"i{n:02}" for n in range(40)] + ["k"], "text": "t"}))
    even = ScriptedJudge({(f"i{n:02}", "k", ""): (0.4, 0.3, 0.3) for n in range(40)})
    settings = JudgeSettings(even, dimensions=("logic",), runs=3, seed=1)
    backwards = Pairs(pairs.frame[::-1].reset_index(drop=True))
    one = run(tmp_path / "1.jsonl", settings, pairs, items)
    run(tmp_path / "2.jsonl", settings, backwards, items)
    run(tmp_path / "3.jsonl", replace(settings, judge=replace(even, batch=7)), pairs, items)
    assert sorted_lines(tmp_path / "1.jsonl") == sorted_lines(tmp_path / "2.jsonl")
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "3.jsonl").read_bytes()
    other = run(tmp_path / "4.jsonl", replace(settings, seed=2), pairs, items)
    assert other.frame["outcome"].tolist() != one.frame["outcome"].tolist()
    by_run = one.frame.groupby("run")["outcome"].apply(list)
    assert by_run[1] != by_run[2] != by_run[3]
    assert set(Counter(one.frame["outcome"])) == {"a", "tie", "b"}


def test_a_second_call_judges_nothing_and_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path / "j.jsonl")
    before = (tmp_path / "j.jsonl").read_bytes()
    counting = Counting()
    again = run(tmp_path / "j.jsonl", replace(SETTINGS, judge=counting))
    assert counting.asked == []
    assert (tmp_path / "j.jsonl").read_bytes() == before
    assert len(again) == 18


def test_more_runs_are_drawn_from_the_stored_probabilities(tmp_path: Path) -> None:
    run(tmp_path / "j.jsonl", replace(SETTINGS, runs=1))
    counting = Counting()
    table = run(tmp_path / "j.jsonl", replace(SETTINGS, judge=counting))
    run(tmp_path / "once.jsonl")
    assert counting.asked == []
    assert sorted_lines(tmp_path / "j.jsonl") == sorted_lines(tmp_path / "once.jsonl")
    assert [finding.code for finding in table.findings] == ["runs-completed", "unscored"]
    assert "12 labels were drawn" in table.findings[0].message


def test_more_pairs_and_dimensions_are_added_and_fewer_are_left_alone(tmp_path: Path) -> None:
    first = Pairs(PAIRS.frame[:1])
    run(tmp_path / "j.jsonl", replace(SETTINGS, dimensions=("logic",)), first)
    counting = Counting()
    run(tmp_path / "j.jsonl", replace(SETTINGS, judge=counting))
    run(tmp_path / "once.jsonl")
    assert ("x", "y", "logic") not in counting.asked
    assert len(counting.asked) == 5
    assert sorted_lines(tmp_path / "j.jsonl") == sorted_lines(tmp_path / "once.jsonl")
    assert len(run(tmp_path / "j.jsonl", replace(SETTINGS, dimensions=("logic",)), first)) == 18


def test_a_file_cut_anywhere_is_repaired_and_completed(tmp_path: Path) -> None:
    run(tmp_path / "whole.jsonl")
    whole = (tmp_path / "whole.jsonl").read_bytes()
    ends = [place + 1 for place, sign in enumerate(whole) if sign == ord("\n")]
    cuts = {0, 1, *ends, *(end - 1 for end in ends), *random.Random(3).sample(range(len(whole)), 40)}
    for cut in sorted(cuts):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(whole[:cut])
        counting = Counting()
        table = run(path, replace(SETTINGS, judge=counting))
        assert sorted_lines(path) == sorted_lines(tmp_path / "whole.jsonl"), cut
        begun = sum(end <= cut for end in ends)
        assert len(counting.asked) == 6 - -(-begun // 3), cut
        torn = cut > 0 and cut not in ends
        assert ("torn-line-repaired" in [finding.code for finding in table.findings]) == torn, cut


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"judge": replace(JUDGE, table={**TABLE, ("x", "y", ""): (0.4, 0.1, 0.2)})},
            "18 of 18 lines with another judge",
        ),
        ({"seed": 8}, "18 of 18 lines with another seed"),
    ],
)
def test_a_change_of_the_run_is_named_and_not_mixed_in(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    path = tmp_path / "j.jsonl"
    run(path)
    before = path.read_bytes()
    with pytest.raises(MixedRunsError) as raised:
        run(path, replace(SETTINGS, **change))  # type: ignore[arg-type]
    assert said in str(raised.value)
    assert "--force" in str(raised.value)
    assert path.read_bytes() == before
    judge(PAIRS, ITEMS, settings=replace(SETTINGS, **change), output=path, progress=False, force=True)  # type: ignore[arg-type]
    assert len(path.read_bytes().splitlines()) == 18


def test_a_changed_text_is_named_where_it_was_read(tmp_path: Path) -> None:
    run(tmp_path / "j.jsonl")
    frame = ITEMS.frame.copy()
    frame.loc[2, "text"] += "!"  # z, which is in two of the three pairs
    with pytest.raises(MixedRunsError, match=r"12 of 18 lines with other texts .*the first is line 4\b"):
        run(tmp_path / "j.jsonl", items=Items(frame))


def test_a_changed_prompt_is_named_by_dimension(tmp_path: Path) -> None:
    document = (REPOSITORY / "models/prompts/zero-shot.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(document, encoding="utf-8")
    settings = replace(SETTINGS, prompt=path)
    run(tmp_path / "j.jsonl", settings)
    path.write_text(document.replace('"rhetorically"', '"stylistically"'), encoding="utf-8")
    with pytest.raises(MixedRunsError, match=r"9 of 18 lines with another prompt .*the first is line 10"):
        run(tmp_path / "j.jsonl", settings)
    run(tmp_path / "j.jsonl", replace(settings, dimensions=("logic",)))


def test_foreign_doubled_and_broken_lines_are_named(tmp_path: Path) -> None:
    run(tmp_path / "j.jsonl")
    content = (tmp_path / "j.jsonl").read_bytes()
    for addition, said in (
        (b'{"item_a": "x"\n', r"line 19: not a JSON object"),
        (b"[1]\n", r"line 19: not a JSON object but \[1\]"),
        (
            b'{"item_a": "x", "item_b": "y", "outcome": "a"}\n',
            r"line 19: not a line that `bayesbt judge` wrote",
        ),
        (
            content[: content.index(b"\n") + 1],
            r"line 19: this judgment \(x, y, logic, t, run 1\) stands in the file twice",
        ),
    ):
        path = tmp_path / "bad.jsonl"
        path.write_bytes(content + addition)
        with pytest.raises(InputError, match=said):
            run(path)
        assert path.read_bytes() == content + addition


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with open_journal(tmp_path / "j.jsonl"), pytest.raises(JournalError, match="another process"):
        run(tmp_path / "j.jsonl")


def test_only_json_lines_are_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.jsonl"):
        run(tmp_path / "j.csv")


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"item": ["x", "y"], "text": ["a", "b"]}, r"rows 2, 3: item 'z' is not among the items"),
        ({"item": ["x", "y", "z"], "text": ["a", "b", " "]}, r"rows 2, 3: item 'z' has no text"),
        ({"item": ["x", "y", "z"]}, "no column `text`"),
    ],
)
def test_every_item_needs_a_text(tmp_path: Path, frame: dict[str, list[str]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        run(tmp_path / "j.jsonl", items=Items.from_frame(pd.DataFrame(frame)))
    assert not (tmp_path / "j.jsonl").exists()


def test_a_dimension_must_be_given_and_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--dimension \(logic, rhetoric, dialectic\)"):
        run(tmp_path / "j.jsonl", replace(SETTINGS, dimensions=()))
    with pytest.raises(InputError, match="does not ask for it"):
        run(tmp_path / "j.jsonl", replace(SETTINGS, dimensions=("beauty",)))
    own = Pairs.from_frame(PAIRS.frame.assign(dimension=["logic", "rhetoric", "logic"]))
    frame = run(tmp_path / "j.jsonl", replace(SETTINGS, dimensions=(), runs=1), own).frame
    assert list(zip(frame["item_b"], frame["dimension"], strict=True)) == [
        ("y", "logic"),
        ("y", "logic"),
        ("z", "rhetoric"),
    ]


def test_no_pairs_is_an_empty_input() -> None:
    with pytest.raises(EmptyInputError):
        Pairs.from_frame(pd.DataFrame({"item_a": [], "item_b": []}))


def test_a_preview_shows_what_would_be_asked() -> None:
    (text,) = preview(PAIRS, ITEMS, settings=SETTINGS)
    assert text.endswith("Argument A: Text of x.\n\nArgument B: Text of y.")


CHILD = textwrap.dedent(
    """
    import os, sys
    import pandas as pd
    from bayesbt.judges.run import judge
    from bayesbt.judges.scripted import ScriptedJudge
    from bayesbt.judges.settings import Decode, JudgeSettings
    from bayesbt.tables import Items, Pairs

    output, log, size, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if limit:
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    names = [f"item {n:03}" for n in range(size + 1)]
    items = Items.from_frame(pd.DataFrame({"item": names, "text": [f"Text {n}." for n in names]}))
    pairs = Pairs.from_frame(pd.DataFrame({"item_a": names[:-1], "item_b": names[1:]}))
    table = {(a, b, ""): (0.3, 0.1 + n / (3 * size), 0.2) for n, (a, b) in enumerate(zip(names, names[1:]))}
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if log else None

    class Logging(ScriptedJudge):
        def verdicts(self, presentations, prompt):
            for batch in super().verdicts(presentations, prompt):
                if descriptor is not None:
                    for place, _ in batch:
                        os.write(descriptor, (presentations[place].item_a + "\\n").encode())
                yield batch

    settings = JudgeSettings(Logging(table, delay=0.002), dimensions=("logic",), runs=3, seed=5)
    judge(pairs, items, settings=settings, output=output)
    """
)


def child(output: Path, log: str = "", size: int = 120, limit: int = 0) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(output), log, str(size), str(limit)],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
    )


def test_kill_minus_nine_at_any_moment_costs_no_judgment(tmp_path: Path) -> None:
    output, log, whole = tmp_path / "killed.jsonl", tmp_path / "asked.log", tmp_path / "whole.jsonl"
    uninterrupted = child(whole)
    moments = random.Random(11)
    kills = 0
    for target in (5, 60, 61, 200, 290):
        process = child(output, str(log))
        while (
            process.poll() is None and (output.read_bytes().count(b"\n") if output.exists() else 0) < target
        ):
            time.sleep(0.002)
        time.sleep(moments.random() * 0.01)
        assert process.poll() is None, "the run ended before it could be killed"
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        process.communicate()
        kills += 1
        if target == 200:  # a torn line too, as a power failure leaves it
            with output.open("r+b") as stream:
                stream.truncate(output.stat().st_size - 17)
    last = child(output, str(log))
    assert last.wait() == 0
    last.communicate()
    assert uninterrupted.wait() == 0
    uninterrupted.communicate()
    assert sorted_lines(output) == sorted_lines(whole)
    assert len(sorted_lines(output)) == 360
    asked = Counter(log.read_text(encoding="utf-8").splitlines())
    assert len(asked) == 120
    assert sum(asked.values()) <= 120 + kills  # at most the one that was in flight at each kill
    whole_file = whole.read_bytes()
    rerun = child(whole, str(tmp_path / "none.log"))
    assert rerun.wait() == 0
    rerun.communicate()
    assert whole.read_bytes() == whole_file
    assert (tmp_path / "none.log").read_bytes() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_full_disk_loses_nothing_and_says_so(tmp_path: Path) -> None:
    output = tmp_path / "full.jsonl"
    full = child(output, size=30, limit=10_000)
    _, said = full.communicate()
    assert full.returncode != 0
    assert b"JournalError" in said
    assert b"What was judged before is kept" in said
    content = output.read_bytes()
    assert 9_000 < len(content) <= 10_000
    assert content.endswith(b"\n")
    assert content.count(b"\n") % 3 == 0
    for path in (output, tmp_path / "whole.jsonl"):
        process = child(path, size=30)
        process.communicate()
        assert process.returncode == 0
    assert sorted_lines(output) == sorted_lines(tmp_path / "whole.jsonl")
