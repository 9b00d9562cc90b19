"""Position effect and agreement of runs, against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from bayesbt.formats import read_judgments
from bayesbt.stability import nominal_alpha, position_summary, run_agreement
from bayesbt.tables import Judgments


def judgments(rows: list[tuple[object, ...]], columns: str) -> Judgments:
    return Judgments.from_frame(pd.DataFrame(rows, columns=columns.split(), dtype=object))


def test_shares_and_orders_by_hand():
    rows = [
        ("w", "x", "a"), ("x", "w", "a"),  # first both times
        ("w", "y", "b"), ("y", "w", "b"),  # second both times
        ("w", "z", "a"), ("z", "w", "b"),  # w both times
        ("x", "y", "b"), ("y", "x", "a"),  # y both times
        ("x", "z", "tie"), ("z", "x", "a"),
        ("y", "z", "a"),  # one order only
    ]  # fmt: skip
    (row,) = position_summary(judgments(rows, "item_a item_b outcome")).to_dict("records")
    assert (row["judge"], row["dimension"]) == ("", "")
    assert (row["first_wins"], row["second_wins"], row["ties"]) == (6, 4, 1)
    assert row["share_first"] == pytest.approx(0.6)
    assert (row["lower"], row["upper"]) == pytest.approx(tuple(beta.ppf([0.025, 0.975], 6.5, 4.5)))
    assert row["both_orders"] == 5
    expected = {"flip": 0.4, "first_both": 0.2, "second_both": 0.2, "same_winner": 0.4, "tied": 0.2}
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_groups_are_kept_apart_and_unscored_rows_are_left_out():
    rows = [("x", "y", "a", "j", "p", ""), ("x", "y", "b", "k", "p", ""), ("x", "y", "b", "k", "q", ""),
            ("y", "x", "", "k", "q", "parse")]  # fmt: skip
    table = position_summary(judgments(rows, "item_a item_b outcome judge dimension reason"))
    assert table[["judge", "dimension"]].to_numpy().tolist() == [["j", "p"], ["k", "p"], ["k", "q"]]
    assert table["first_wins"].tolist() == [1, 0, 0]
    assert table["both_orders"].tolist() == [0, 0, 0]
    assert table["flip"].isna().all()


def test_an_interval_does_not_narrow_with_repeated_runs():
    once = [("x", "y", "a"), ("y", "z", "a"), ("z", "x", "b")]
    runs = [(*row, run) for row in once for run in (1, 2, 3)]
    one = position_summary(judgments(once, "item_a item_b outcome"))
    three = position_summary(judgments(runs, "item_a item_b outcome run"))
    assert three["first_wins"].tolist() == [6]
    assert three[["share_first", "lower", "upper"]].to_numpy() == pytest.approx(
        one[["share_first", "lower", "upper"]].to_numpy()
    )


def test_runs_are_put_to_the_vote_before_orders_are_compared():
    rows = [("x", "y", label, run) for run, label in enumerate("aab")]
    rows += [("y", "x", label, run) for run, label in enumerate("baa")]
    (row,) = position_summary(judgments(rows, "item_a item_b outcome run")).to_dict("records")
    assert (row["both_orders"], row["flip"], row["first_both"]) == (1, 1.0, 1.0)


def test_counts_are_weighed():
    table = position_summary(
        judgments([("x", "y", "a", 30), ("x", "y", "b", 10)], "item_a item_b outcome count")
    )
    assert table["share_first"].tolist() == [0.75]
    assert table["lower"][0] == pytest.approx(beta.ppf(0.025, 30.5, 10.5))


def test_ends_of_the_interval():
    always = position_summary(judgments([("x", "y", "a")] * 4, "item_a item_b outcome"))
    assert always["upper"].tolist() == [1.0]
    assert always["lower"][0] == pytest.approx(beta.ppf(0.025, 4.5, 0.5))
    never = position_summary(judgments([("x", "y", "b")] * 4, "item_a item_b outcome"))
    assert never["lower"].tolist() == [0.0]
    undecided = position_summary(judgments([("x", "y", "tie")], "item_a item_b outcome"))
    assert np.isnan(undecided["share_first"][0])
    assert undecided[["lower", "upper"]].to_numpy().tolist() == [[0.0, 1.0]]


def test_a_pure_position_judge_flips_every_pair(shared: Callable[..., Path]):
    (row,) = position_summary(read_judgments(shared("bugcases", "29_pure_position_judge.csv"))).to_dict(
        "records"
    )
    assert (row["share_first"], row["both_orders"], row["flip"], row["first_both"]) == (1.0, 6, 1.0, 1.0)
    assert row["lower"] > 0.9


def test_agreement_of_three_runs_by_hand():
    pairs = {
        ("x", "y"): "aaa",
        ("x", "z"): "aab",
        ("y", "z"): ("a", "tie", "b"),
        ("z", "y"): "bbb",
        ("z", "x"): "ab",
    }
    rows = [
        (a, b, label, run, 0.5, 0.2, 0.2, 0.1)
        for (a, b), labels in pairs.items()
        for run, label in enumerate(labels)
    ]
    (row,) = run_agreement(judgments(rows, "item_a item_b outcome run p_a p_tie p_b p_other")).to_dict(
        "records"
    )
    assert (row["runs"], row["pairs"], row["incomplete"]) == (3, 4, 1)
    assert (row["all_equal"], row["two_equal"], row["all_different"]) == (0.5, 0.25, 0.25)
    p = np.array([0.5, 0.2, 0.2]) / 0.9
    assert row["expected_all_equal"] == pytest.approx((p**3).sum())
    assert row["expected_all_different"] == pytest.approx(6 * p.prod())
    assert row["expected_two_equal"] == pytest.approx(1 - (p**3).sum() - 6 * p.prod())


def test_expectation_is_what_many_draws_give():
    rng = np.random.default_rng(5)
    p = np.array([0.55, 0.15, 0.3])
    rows = [
        (f"x{pair}", "y", ("a", "tie", "b")[label], run, *p)
        for pair in range(4000)
        for run, label in enumerate(rng.choice(3, size=3, p=p))
    ]
    (row,) = run_agreement(judgments(rows, "item_a item_b outcome run p_a p_tie p_b")).to_dict("records")
    for share in ("all_equal", "two_equal", "all_different"):
        assert row[share] == pytest.approx(row[f"expected_{share}"], abs=0.025)


def test_two_runs_are_equal_or_different():
    rows = [("x", "y", "a", 1), ("x", "y", "a", 2), ("y", "x", "a", 1), ("y", "x", "tie", 2)]
    (row,) = run_agreement(judgments(rows, "item_a item_b outcome run")).to_dict("records")
    assert (row["all_equal"], row["two_equal"], row["all_different"]) == (0.5, 0.0, 0.5)
    assert np.isnan(row["expected_all_equal"])


def test_without_runs_there_is_nothing_to_compare():
    assert run_agreement(judgments([("x", "y", "a")], "item_a item_b outcome")).empty


def test_nominal_alpha_of_krippendorffs_own_example():
    """Four observers, twelve units, five labels, some missing: 0.743 (Krippendorff 2011)."""
    ratings = (
        (1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0),
        (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3),
        (0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0),
        (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0),
    )
    votes = [[sum(row[unit] == label for row in ratings) for label in range(1, 6)] for unit in range(12)]
    assert nominal_alpha(np.array(votes)) == pytest.approx(0.743, abs=5e-4)


def test_nominal_alpha_at_its_ends():
    assert nominal_alpha(np.array([[3, 0, 0], [0, 3, 0]])) == 1.0
    assert np.isnan(nominal_alpha(np.array([[3, 0, 0], [3, 0, 0]])))
    assert np.isnan(nominal_alpha(np.array([[1, 0, 0], [0, 1, 0]])))
    rng = np.random.default_rng(3)
    chance = np.array([np.bincount(rng.integers(0, 3, 3), minlength=3) for _ in range(5000)])
    assert nominal_alpha(chance) == pytest.approx(0, abs=0.02)


def test_prompts_are_kept_apart_where_there_are_several():
    names = "item_a item_b outcome run prompt"
    rows = [("x", "y", "a", 1, "p"), ("x", "y", "a", 2, "p")]
    rows += [("x", "y", "a", 1, "q"), ("x", "y", "b", 2, "q")]
    table = judgments(rows, names)
    assert run_agreement(table)[["prompt", "all_equal"]].to_numpy().tolist() == [["p", 1.0], ["q", 0.0]]
    assert position_summary(table)[["prompt", "share_first"]].to_numpy().tolist() == [["p", 1.0], ["q", 0.5]]
    assert "prompt" not in run_agreement(judgments(rows[:2], names))
