"""Label agreement: published examples, the krippendorff package, mirrored pairs, argument numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesbt.agreement.configurations import Configuration, Human, by_dimension, published_scores
from bayesbt.agreement.estimates import ScoreModel
from bayesbt.agreement.labels import (
    LabelPairs,
    krippendorff_alpha,
    label_metrics,
    margins_of,
    match_labels,
    webis_argument_number,
)
from bayesbt.agreement.measuring import Comparing, argument_numbers, measure, points
from bayesbt.agreement.nulls import null_judges
from bayesbt.errors import InputError
from bayesbt.formats import import_source
from bayesbt.stability import nominal_alpha
from bayesbt.tables import Items, Judgments


def judgments(rows: list[tuple[str, ...]], *columns: str) -> Judgments:
    return Judgments.from_frame(pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", *columns]))


def pairs_of(table: list[list[int]]) -> LabelPairs:
    """Label pairs with this confusion matrix."""
    human, judge = (
        np.concatenate([np.full(n, code) for code, n in zip(codes, np.ravel(table), strict=True)])
        for codes in ([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3)
    )
    return LabelPairs(np.arange(len(human)), human, judge, human, judge, 3)


def test_kappa_of_cohens_own_example() -> None:
    """Cohen (1960), table 1: proportions of 200 judgments, kappa = (.70 - .41) / (1 - .41) = .492."""
    found = pairs_of([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    assert found.metrics()["agreement"] == pytest.approx(0.70)
    assert found.metrics()["kappa"] == pytest.approx(0.29 / 0.59)
    assert found.confusion.loc["a", "b"] == 18
    assert found.confusion.loc["tie", "a"] == 10


def test_alpha_of_krippendorffs_example_with_missing_labels() -> None:
    """Krippendorff (2011), Computing Krippendorff's alpha-reliability, example C: nominal alpha 0.743."""
    ratings = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    table = np.array([row.split() for row in ratings])
    votes = np.stack([(table == str(label)).sum(axis=0) for label in range(1, 6)], axis=1)
    assert krippendorff_alpha(votes) == pytest.approx(0.743, abs=5e-4)
    assert nominal_alpha(votes) == pytest.approx(krippendorff_alpha(votes), abs=1e-12)


def test_alpha_of_the_runs_is_that_of_the_krippendorff_package() -> None:
    rng = np.random.default_rng(2)
    votes = rng.multinomial(3, [0.5, 0.2, 0.3], size=60)
    votes[::7] = rng.multinomial(2, [0.1, 0.8, 0.1], size=9)
    assert nominal_alpha(votes) == pytest.approx(krippendorff_alpha(votes), abs=1e-12)
    assert np.isnan(krippendorff_alpha(np.array([[3, 0, 0], [2, 0, 0]])))


def test_alpha_from_margins_is_that_of_the_package() -> None:
    found = pairs_of([[13, 2, 5], [1, 4, 3], [6, 0, 9]])
    margins = margins_of(found.indicators().sum(axis=0))
    assert float(label_metrics(margins)["alpha"]) == pytest.approx(found.metrics()["alpha"], abs=1e-12)


def test_metrics_under_weights_are_those_of_the_rows_written_out() -> None:
    found = pairs_of([[5, 2, 1], [1, 3, 2], [4, 0, 6]])
    weight = np.arange(len(found)) % 4
    drawn = np.repeat(np.arange(len(found)), weight)
    part = LabelPairs(drawn, *(found.human[drawn], found.judge[drawn]) * 2, 3)
    weighted = label_metrics(margins_of(weight @ found.indicators()))
    assert {name: float(v) for name, v in weighted.items()} == pytest.approx(part.metrics(), abs=1e-12)


def test_two_constant_sides_have_no_kappa() -> None:
    metrics = pairs_of([[9, 0, 0], [0, 0, 0], [0, 0, 0]]).metrics()
    assert metrics["agreement"] == 1
    assert np.isnan(metrics["kappa"])
    assert np.isnan(metrics["alpha"])


def test_a_pair_in_the_other_order_is_mirrored() -> None:
    human = judgments([("x", "y", "a"), ("y", "z", "b"), ("x", "z", "tie"), ("x", "w", "a")])
    judge = judgments([("y", "x", "b"), ("y", "z", "a"), ("z", "x", "a"), ("z", "w", "a")])
    found = match_labels(human, judge)
    assert found.row.tolist() == [0, 1, 2]
    assert found.human.tolist() == [0, 2, 1]
    assert found.judge.tolist() == [0, 0, 2]
    assert found.missing == 1


def test_both_orders_of_a_judge_give_two_label_pairs() -> None:
    human = judgments([("x", "y", "a")])
    judge = judgments([("x", "y", "a"), ("y", "x", "a")])
    found = match_labels(human, judge)
    assert found.row.tolist() == [0, 0]
    assert sorted(found.judge.tolist()) == [0, 2]


def test_the_topic_is_part_of_a_pair_where_both_name_it() -> None:
    human = judgments([("x", "y", "a", "tea"), ("x", "y", "b", "milk")], "topic")
    judge = judgments([("x", "y", "a", "milk"), ("x", "y", "b", "tea")], "topic")
    assert match_labels(human, judge).judge.tolist() == [2, 0]


def test_unscored_labels_are_counted_and_left_out() -> None:
    human = judgments([("x", "y", "a"), ("y", "z", "b")])
    frame = pd.DataFrame(
        [("x", "y", "a", None), ("y", "z", None, "parse")], columns=["item_a", "item_b", "outcome", "reason"]
    )
    found = match_labels(human, Judgments.from_frame(frame))
    assert (len(found), found.unscored, found.missing) == (1, 1, 0)


def test_argument_numbers_can_agree_where_outcomes_do_not() -> None:
    human = judgments([("10-4-1", "11-4-1", "a"), ("10-4-1", "12-7-1", "b"), ("11-4-1", "12-7-1", "tie")])
    judge = judgments([("10-4-1", "11-4-1", "b"), ("10-4-1", "12-7-1", "a"), ("11-4-1", "12-7-1", "tie")])
    by_outcome = match_labels(human, judge).metrics()["agreement"]
    by_number = match_labels(human, judge, "argument-number").metrics()["agreement"]
    assert (by_outcome, by_number) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_argument_numbers_from_a_column_or_a_function() -> None:
    items = Items.from_frame(pd.DataFrame({"item": ["x", "y", "z"], "number": [3, 3, 5]}))
    human, judge = (judgments([("x", "y", o), ("y", "z", o)]) for o in "ab")
    number = argument_numbers(items, "number")
    assert match_labels(human, judge, "argument-number", number).metrics()["agreement"] == 0.5
    assert match_labels(human, judge, "argument-number", lambda item: item).metrics()["agreement"] == 0
    with pytest.raises(InputError, match="no column 'place'"):
        argument_numbers(items, "place")
    with pytest.raises(InputError, match="'x': no argument number"):
        webis_argument_number("x")
    with pytest.raises(InputError, match="--label-identity 'side'"):
        match_labels(human, judge, "side")  # type: ignore[arg-type]


TABLE_2 = {
    "logic": ((0.125, 0.153, 0.103, 1.014, 1.323), (0.4828, 0.442), 0.4460),
    "rhetoric": ((0.071, 0.104, 0.069, 1.033, 1.363), (0.4555, 0.414), 0.4181),
}
"""Majority baseline of the paper's table 2: scores; labels by argument number; true agreement."""


@pytest.mark.parametrize("dimension", TABLE_2)
def test_the_papers_majority_baseline_to_every_printed_digit(
    shared: Callable[..., Path], dimension: str
) -> None:
    scores, labels, agreement = TABLE_2[dimension]
    imported = import_source(shared("data", "webis-argquality-20"))
    human = by_dimension(imported.judgments)
    judge = null_judges(human)[0]
    assert judge.name == "always a"
    row = Configuration(judge.name, labels=judge.label({dimension: human[dimension]}), null=True)
    people = Human(labels=human, scores=published_scores(imported.items, [dimension]))
    how = Comparing(ScoreModel("ilsr", options={"alpha": 0.01}), "argument-number")
    measured, _ = measure([row], people, [dimension], how)
    found = points(measured)
    names = ("pearson", "spearman", "kendall", "mae", "rmse")
    assert tuple(round(float(found[dimension, "scores", name][0]), 3) for name in names) == scores
    assert round(float(found[dimension, "labels", "agreement"][0]), 4) == labels[0]
    assert round(float(found[dimension, "labels", "kappa"][0]), 3) == labels[1]
    assert len(measured[0].items) == 1269
    plain = match_labels(human[dimension], row.labels[dimension]).metrics()
    assert round(plain["agreement"], 4) == agreement
    assert plain["kappa"] == pytest.approx(0, abs=1e-12)
