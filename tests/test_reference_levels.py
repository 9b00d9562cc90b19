"""A ranking and its labels against levels known by construction."""

from __future__ import annotations

import pandas as pd
import pytest

from bayesbt.agreement.reference import compare_with_reference, label_accuracy
from bayesbt.errors import InputError
from bayesbt.infer import fit
from bayesbt.tables import Judgments

LEVELS = {f"{topic}{k}": k for topic in "tu" for k in range(1, 6)}


def judged(p_better: int, p_worse: int, p_first: int = 0) -> Judgments:
    """Both orders of every pair of a topic: judgments won by the better, by the worse, by the first shown."""
    rows = []
    for topic in "tu":
        items = [item for item in LEVELS if item[0] == topic]
        for a in items:
            for b in items:
                if a != b:
                    better, worse = ("a", "b") if LEVELS[a] > LEVELS[b] else ("b", "a")
                    rows += [(a, b, better)] * p_better + [(a, b, worse)] * p_worse + [(a, b, "a")] * p_first
    return Judgments.from_frame(pd.DataFrame(rows, columns=["item_a", "item_b", "outcome"]))


def test_a_good_judge_is_outside_the_null() -> None:
    found = compare_with_reference(fit(judged(8, 2), ties="drop", engine="laplace", seed=1), LEVELS)
    assert found.n_items == 10
    assert found.n_pairs == 20
    assert found.concordance > 0.9
    assert found.null_upper < found.lower
    assert not found.inside_null
    assert found.kendall == pytest.approx(2 * found.concordance - 1)  # no equal levels within a topic


def test_a_reversed_judge_is_below_the_null() -> None:
    found = compare_with_reference(fit(judged(2, 8), ties="drop", engine="laplace", seed=1), LEVELS)
    assert found.concordance < 0.1
    assert found.upper < found.null_lower


def test_a_position_judge_is_inside_the_null() -> None:
    table = judged(0, 0, p_first=2)
    found = compare_with_reference(fit(table, ties="drop", engine="laplace", order="shared", seed=1), LEVELS)
    assert found.inside_null
    accuracy = label_accuracy(table, LEVELS)
    assert accuracy.share == 0.5
    assert accuracy.decisive == 80
    assert accuracy.lower < 0.5 < accuracy.upper


def test_label_accuracy_counts_only_decisive_pairs_of_different_levels() -> None:
    rows = [
        ("p", "q", "a"),
        ("q", "p", "a"),
        ("p", "q", "tie"),
        ("p", "r", "a"),
        ("p", "unknown", "a"),
        ("q", "p", "b"),
    ]
    table = Judgments.from_frame(pd.DataFrame(rows, columns=["item_a", "item_b", "outcome"]))
    accuracy = label_accuracy(table, {"p": 2, "q": 1, "r": 2})
    assert (accuracy.correct, accuracy.decisive) == (2, 3)


def test_equal_levels_lower_tau_b_but_not_concordance() -> None:
    coarse = {item: (level + 1) // 2 for item, level in LEVELS.items()}
    fitted = fit(judged(30, 1), ties="drop", engine="laplace", seed=1)
    found = compare_with_reference(fitted, coarse)
    assert found.n_pairs == 16
    assert found.concordance == pytest.approx(1, abs=0.01)
    assert found.kendall == pytest.approx(16 / (16 * 20) ** 0.5, abs=0.01)


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(InputError, match="do not differ"):
        compare_with_reference(fit(judged(8, 2), engine="laplace"), dict.fromkeys(LEVELS, 1))
    with pytest.raises(InputError, match="point estimate"):
        compare_with_reference(fit(judged(8, 2), engine="ilsr"), LEVELS)
