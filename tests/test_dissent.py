"""Judges who go against the others are named; the others are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from bayesbt.checking import check
from bayesbt.dissent import agreement_with_others, contrary_judges
from bayesbt.formats import read_judgments
from bayesbt.infer import fit
from bayesbt.simulated_judgments import SimulationSettings, simulate_judgments
from bayesbt.tables import Judgments


def test_every_judge_has_one_vote_a_pair() -> None:
    rows = [("x", "y", "a", "p", 1), ("y", "x", "b", "q", 1), ("x", "y", "b", "loud", 9)]
    rows += [("y", "z", "a", "p", 2), ("y", "z", "tie", "q", 1), ("z", "y", "a", "loud", 1)]
    columns = ["item_a", "item_b", "outcome", "judge", "count"]
    table = agreement_with_others(Judgments.from_frame(pd.DataFrame(rows, columns=columns)))
    found = {
        row["judge"]: (row["with_others"], row["against"], row["turned"]) for row in table.to_dict("records")
    }
    # x-y: p and q for x, loud for y; the others of p are q and loud, level. Without loud x is ahead.
    # y-z: p 2 for y, loud 1 for z; q has no say. Without p, z is ahead; without loud nothing changes.
    assert found == {"p": (0, 2, 1), "q": (0, 0, 0), "loud": (0, 10, 1)}


def test_one_judge_who_reverses_the_board(shared: Callable[..., Path]) -> None:
    judgments = read_judgments(shared("bugcases", "34_multi_judge_conflict.csv"))
    (finding,) = contrary_judges(judgments)
    assert finding in check(judgments)
    assert "'spammer' goes against the majority of the other judges in 120 of 120" in finding.message
    assert "alone turns or levels 2 pairs" in finding.message
    assert len(finding.rows) == 120
    frame = judgments.frame
    kept = Judgments(frame[frame["judge"] != "spammer"].reset_index(drop=True))
    order = [fit(one, ties="drop", engine="laplace").ranking()["item"].tolist() for one in (kept, judgments)]
    assert order[0] == ["a", "b", "c"]
    pooled = fit(judgments, ties="drop", engine="laplace").estimates["strength"]
    assert pooled.abs().max() < 0.05  # the whole says nothing, which is why the judge must be named


def test_honest_judges_and_random_ones_are_not_contrary() -> None:
    for seed in range(5):
        settings = SimulationSettings(
            items=10, judges=20, comparisons=2000, random_judges=4, position_judges=2, seed=seed
        )
        assert contrary_judges(simulate_judgments(settings)[0]) == []


def test_runs_of_one_judge_are_one_piece_of_evidence() -> None:
    rows = [("x", "y", "a", name, 1) for name in "pqr"]
    rows += [("x", "y", "b", "repeats", run) for run in range(1, 31)]
    columns = ["item_a", "item_b", "outcome", "judge", "run"]
    judgments = Judgments.from_frame(pd.DataFrame(rows, columns=columns))
    assert contrary_judges(judgments) == []
    table = agreement_with_others(judgments).set_index("judge")
    assert table.loc["repeats", "against"] == 1
