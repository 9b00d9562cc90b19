"""The vote of STATISTICS section 8, drawn and exact."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesbt.errors import InputError
from bayesbt.tables import Judgments
from bayesbt.voting import vote, vote_distribution


def judgments(rows: list[tuple[object, ...]], columns: str) -> Judgments:
    return Judgments.from_frame(pd.DataFrame(rows, columns=columns.split(), dtype=object))


def runs_of(*labels: str) -> Judgments:
    rows = [("x", "y", label, "" if label else "parse", run) for run, label in enumerate(labels)]
    return judgments(rows, "item_a item_b outcome reason run")


@pytest.mark.parametrize(
    ("labels", "majority", "sign"),
    [
        (("a", "a", "tie"), "a", "a"),
        (("a", "b", "tie"), "tie", "tie"),
        (("a", "tie", "tie"), "tie", "a"),
        (("b", "tie", "tie"), "tie", "b"),
        (("a", "tie"), "tie", "a"),
        (("a", "b"), "tie", "tie"),
        (("b", "b", "a"), "b", "b"),
        (("tie",), "tie", "tie"),
        (("b",), "b", "b"),
        (("a", "a", "b", "b", "tie"), "tie", "tie"),
        (("a", "a", "b", "tie", "tie"), "tie", "a"),
        (("b", "", ""), "b", "b"),
        (("a", "tie", ""), "tie", "a"),
    ],
)
def test_the_rules(labels: tuple[str, ...], majority: str, sign: str):
    assert vote(runs_of(*labels)).frame["outcome"].tolist() == [majority]
    assert vote(runs_of(*labels), "sign").frame["outcome"].tolist() == [sign]


def test_votes_are_told_and_run_is_gone():
    frame = vote(runs_of("a", "tie", "a", "")).frame
    assert frame["votes"].tolist() == ["a:2 tie:1 unscored:1"]
    assert "run" not in frame
    assert "reason" not in frame
    assert frame["count"].tolist() == [1.0]


def test_a_pair_without_any_vote_stays_unscored_with_its_reason():
    rows = [
        ("x", "y", "", "parse", 1, 1),
        ("x", "y", "", "refusal", 2, 1),
        ("y", "x", "a", "", 1, 1),
        ("y", "z", "a", "", 1, 0),
    ]
    voted = vote(judgments(rows, "item_a item_b outcome reason run count"))
    assert voted.frame["outcome"].isna().tolist() == [True, False, True]
    assert voted.frame["reason"].tolist() == ["parse", None, "every judgment has count 0"]
    assert voted.items == ("x", "y", "z")
    assert voted.frame["row"].tolist() == [1, 3, 4]


def test_orders_judges_and_dimensions_vote_apart():
    rows = [
        (a, b, label, judge, dimension, run)
        for (a, b, judge, dimension), labels in {
            ("x", "y", "j", "p"): "aab",
            ("y", "x", "j", "p"): "abb",
            ("x", "y", "k", "p"): "bbb",
            ("x", "y", "j", "q"): "bba",
        }.items()
        for run, label in enumerate(labels)
    ]
    voted = vote(judgments(rows, "item_a item_b outcome judge dimension run")).frame
    assert voted["outcome"].tolist() == ["a", "b", "b", "b"]
    assert voted["item_a"].tolist() == ["x", "y", "x", "x"]
    assert voted["judge"].tolist() == ["j", "j", "k", "j"]
    assert voted["dimension"].tolist() == ["p", "p", "p", "q"]


def test_counts_are_votes():
    rows = [("x", "y", "a", 2), ("x", "y", "b", 3.5), ("x", "y", "tie", 1)]
    frame = vote(judgments(rows, "item_a item_b outcome count")).frame
    assert frame["outcome"].tolist() == ["b"]
    assert frame["votes"].tolist() == ["a:2 tie:1 b:3.5"]


def test_probabilities_are_carried_through_and_what_differs_is_left_out():
    rows = [
        ("x", "y", "a", 1, 0.5, 0.2, 0.3, "p7", "first", "m"),
        ("x", "y", "b", 2, 0.7, 0.1, 0.2, "p7", "second", "m"),
    ]
    frame = vote(judgments(rows, "item_a item_b outcome run p_a p_tie p_b pair_id raw made_with")).frame
    assert frame[["p_a", "p_tie", "p_b"]].to_numpy()[0] == pytest.approx([0.6, 0.15, 0.25])
    assert frame["pair_id"].tolist() == ["p7"]
    assert frame["made_with"].tolist() == ["m"]
    assert "raw" not in frame
    other = judgments(
        [(*row[:-1], f"m{row[3]}") for row in rows],
        "item_a item_b outcome run p_a p_tie p_b pair_id raw made_with",
    )
    assert "made_with" not in vote(other).frame


def test_a_voted_table_is_a_sound_table_and_votes_the_same_again():
    voted = vote(runs_of("a", "a", "tie"))
    again = Judgments.from_frame(voted.frame)
    assert again.frame["outcome"].tolist() == ["a"]
    assert vote(again).frame["outcome"].tolist() == ["a"]


def test_a_rule_that_is_unknown():
    with pytest.raises(InputError, match=r"--rule 'mean'.*majority, sign"):
        vote(runs_of("a"), "mean")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="runs = 0"):
        vote_distribution(np.array([[0.5, 0.2, 0.3]]), 0)


def test_the_exact_vote_of_three_runs_by_hand():
    a, tie, b = 0.5, 0.2, 0.3
    (got,) = vote_distribution(np.array([[a, tie, b]]), 3)
    assert got[0] == pytest.approx(a**3 + 3 * a**2 * (1 - a))
    assert got[2] == pytest.approx(b**3 + 3 * b**2 * (1 - b))
    assert got.sum() == pytest.approx(1)
    (sign,) = vote_distribution(np.array([[a, tie, b]]), 3, "sign")
    assert sign[0] == pytest.approx(a**3 + 3 * a**2 * (1 - a) + 3 * a * tie**2)


@pytest.mark.parametrize("rule", ["majority", "sign"])
@given(weights=st.tuples(*[st.floats(0.01, 1)] * 3), runs=st.integers(1, 4))
def test_the_exact_vote_is_the_sum_over_all_runs(rule: str, weights: tuple[float, float, float], runs: int):
    p = np.array(weights) / sum(weights)
    expected = dict.fromkeys(("a", "tie", "b"), 0.0)
    for drawn in itertools.product(range(3), repeat=runs):
        labels = [("a", "tie", "b")[label] for label in drawn]
        n_a, n_b = labels.count("a"), labels.count("b")
        lead = (n_a > n_b) - (n_a < n_b) if rule == "sign" else (2 * n_a > runs) - (2 * n_b > runs)
        expected[{1: "a", 0: "tie", -1: "b"}[lead]] += np.prod(p[list(drawn)])
    (got,) = vote_distribution(p[None, :], runs, rule)  # type: ignore[arg-type]
    assert got == pytest.approx(list(expected.values()))
