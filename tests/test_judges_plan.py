"""What a judging would cost is said before anything runs, and is what it then costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from bayesbt.errors import InputError, MixedRunsError
from bayesbt.judges.plan import plan
from bayesbt.judges.run import judge
from bayesbt.judges.scripted import ScriptedJudge
from bayesbt.judges.settings import BackendOptions, JudgeSettings
from bayesbt.tables import Items, Pairs

NAMES = [f"i{n:02}" for n in range(9)]
ITEMS = Items.from_frame(pd.DataFrame({"item": NAMES, "text": ["word " * (n + 1) for n in range(9)]}))
PAIRS = Pairs.from_frame(pd.DataFrame({"item_a": NAMES[:-1], "item_b": NAMES[1:]}))
TABLE = {pair: (0.4, 0.2, 0.3) for a, b in pairwise(NAMES) for pair in ((a, b, ""), (b, a, ""))}
SETTINGS = JudgeSettings(
    ScriptedJudge(TABLE, delay=0.01), dimensions=("logic", "rhetoric"), runs=3, both_orders=True
)


def test_a_plan_counts_questions_and_tokens_and_writes_nothing(tmp_path: Path) -> None:
    output = tmp_path / "j.jsonl"
    (cost,) = plan(PAIRS, ITEMS, settings=SETTINGS, output=output).costs
    assert (cost.pairs, cost.presentations, cost.judgments) == (8, 8 * 2 * 2, 8 * 2 * 2 * 3)
    assert (cost.decode, cost.present, cost.questions, cost.written_tokens) == ("labels", 0, 32, 0)
    fixed = 12 + 8 + 14 + 4  # words of the instruction, line by line, and of "Argument A: Argument B:"
    texts = sum(n + m for n, m in pairwise(range(1, 10)))
    assert cost.tokens == cost.computed_tokens == 32 * fixed + 4 * texts
    assert cost.seconds is None
    assert list(tmp_path.iterdir()) == []


def test_what_is_judged_already_costs_nothing(tmp_path: Path) -> None:
    output = tmp_path / "j.jsonl"
    judge(PAIRS, ITEMS, settings=replace(SETTINGS, dimensions=("logic",)), output=output, progress=False)
    before = output.read_bytes()
    half = plan(PAIRS, ITEMS, settings=SETTINGS, output=output)
    whole = plan(PAIRS, ITEMS, settings=SETTINGS)
    assert half.costs[0].present == 48
    assert half.costs[0].questions == 16
    assert half.costs[0].tokens < whole.costs[0].tokens
    other = ScriptedJudge({**TABLE, ("i00", "i01", ""): (0.1, 0.1, 0.1)})
    with pytest.raises(MixedRunsError):
        plan(PAIRS, ITEMS, settings=replace(SETTINGS, judge=other), output=output)
    assert output.read_bytes() == before


def test_a_judge_that_writes_costs_a_question_a_run() -> None:
    writing = replace(
        SETTINGS, judge=ScriptedJudge(TABLE, decode="generate"), options=BackendOptions(max_new_tokens=50)
    )
    made = plan(PAIRS, ITEMS, settings=(SETTINGS, replace(writing, judge=replace(writing.judge, name="w"))))  # type: ignore[type-var]
    labels, written = made.costs
    assert written.questions == 3 * labels.questions
    assert written.tokens == 3 * labels.tokens
    assert written.written_tokens == 96 * 50
    document = made.document()
    assert document["total"]["questions"] == 32 + 96
    assert document["total"]["seconds"] is None
    assert [each["judge"] for each in document["judges"]] == ["scripted", "w"]


def test_the_measured_rate_gives_the_time() -> None:
    made = plan(PAIRS, ITEMS, settings=SETTINGS, measure=10)
    (cost,) = made.costs
    assert cost.measured == 10
    assert cost.questions_per_second is not None
    assert cost.seconds is not None
    assert cost.tokens_per_second is not None
    assert 0 < cost.questions_per_second <= 100  # 10 ms each, and perhaps a busy machine
    assert cost.seconds == pytest.approx(cost.computed_tokens / cost.tokens_per_second)
    assert cost.seconds > 32 * 0.01 * 0.8  # texts differ in length
    assert made.seconds == cost.seconds
    everything = plan(PAIRS, ITEMS, settings=SETTINGS, measure=1000).costs[0]
    assert everything.measured == 32
    with pytest.raises(InputError, match="--measure -1"):
        plan(PAIRS, ITEMS, settings=SETTINGS, measure=-1)
