"""The paired bootstrap: its p-value, intervals and family, its error of the first kind, and its power."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bayesbt.agreement.scores import score_metrics
from bayesbt.agreement.significance import (
    bca_interval,
    compare,
    draw_weights,
    holm,
    leave_one_out,
    percentile_interval,
    require_unit,
)
from bayesbt.agreement.weighted import weighted_metrics
from bayesbt.errors import InputError


def test_p_counts_resamples_without_a_gain_and_one_more() -> None:
    first = np.array([0.5, 0.6, 0.4, 0.7, np.nan, 0.5])
    second = np.array([0.4, 0.6, 0.5, 0.1, 0.2, 0.3])
    found = compare((0.55, 0.35), (first, second))
    assert found.p == (1 + 2) / (5 + 1)
    assert found.n_failed == 1
    assert found.difference == pytest.approx(0.2)


def test_of_errors_less_is_better() -> None:
    first, second = np.array([0.5, 0.6, 0.4]), np.array([0.9, 0.8, 0.3])
    found = compare((0.5, 0.7), (first, second), higher_is_better=False)
    assert found.difference == pytest.approx(0.2)
    assert found.p == (1 + 1) / (3 + 1)


def test_only_failures_give_no_number() -> None:
    found = compare((0.5, 0.4), (np.full(3, np.nan), np.ones(3)))
    assert found.n_failed == 3
    assert np.isnan([found.p, found.lower, found.bca_upper]).all()


def test_holm_as_in_a_worked_example() -> None:
    """Holm (1979): p times the number of hypotheses not yet rejected, never falling."""
    assert holm([0.01, 0.005, 0.03, 0.04]).tolist() == pytest.approx([0.03, 0.02, 0.06, 0.06])
    assert holm([0.9, np.nan, 0.6]).tolist() == pytest.approx([1.0, np.nan, 1.0], nan_ok=True)


def test_weights_do_not_depend_on_the_chunk() -> None:
    one, other = (
        np.concatenate(list(draw_weights(np.random.default_rng(4), 11, 30, rows))) for rows in (30, 7)
    )
    assert (one == other).all()
    assert (one.sum(axis=1) == 11).all()
    assert one.mean(axis=0) == pytest.approx(np.ones(11), abs=0.6)


def test_bca_is_that_of_scipy() -> None:
    """A skewed, paired statistic: the difference of two correlations with a common third variable."""
    rng = np.random.default_rng(8)
    y = rng.gamma(1.0, size=50)
    x = np.stack([y + 0.4 * rng.normal(size=50), y + 1.5 * rng.gamma(0.5, size=50)])

    def gain(a: np.ndarray, b: np.ndarray, c: np.ndarray, axis: int = -1) -> np.ndarray:
        assert axis == -1
        return np.asarray(score_metrics(a, c)["pearson"] - score_metrics(b, c)["pearson"])

    theirs = stats.bootstrap(
        (x[0], x[1], y), gain, paired=True, vectorized=True, n_resamples=2000, method="BCa", rng=rng
    )
    without = weighted_metrics(leave_one_out(50), x, y)["pearson"]
    estimate = float(gain(x[0], x[1], y))
    lower, upper = bca_interval(estimate, theirs.bootstrap_distribution, without[:, 0] - without[:, 1])
    assert lower == pytest.approx(theirs.confidence_interval.low, abs=2e-3)
    assert upper == pytest.approx(theirs.confidence_interval.high, abs=2e-3)
    plain = percentile_interval(theirs.bootstrap_distribution)
    assert abs(plain[0] - lower) > 5e-3  # skewed enough to tell the two apart


def test_bca_cannot_tell_a_bias_from_one_side() -> None:
    assert np.isnan(bca_interval(2.0, np.array([0.1, 0.2, 0.3]), None)).all()


def test_units_are_checked() -> None:
    with pytest.raises(InputError, match="--unit 'pairs' is not known"):
        require_unit("pairs", 5)
    with pytest.raises(InputError, match="fewer than two"):
        require_unit("topics", 1)


def simulated_p(
    rng: np.random.Generator, noise: tuple[float, float], items: int, resamples: int
) -> dict[str, tuple[float, float]]:
    """By metric: p of the first judge against the second, and p of whichever is better against the other."""
    human = rng.normal(size=items)
    scores = human + np.array(noise)[:, None] * rng.normal(size=(2, items))
    weights = np.concatenate(list(draw_weights(rng, items, resamples, resamples)))
    draws = weighted_metrics(weights, scores, human)
    out = {}
    for name, values in score_metrics(scores, human).items():
        higher = name not in ("mae", "rmse")
        ends, columns = (float(values[0]), float(values[1])), (draws[name][:, 0], draws[name][:, 1])
        named = compare(ends, columns, higher_is_better=higher)
        other = compare(ends[::-1], columns[::-1], higher_is_better=higher)
        out[name] = (named.p, named.p if named.difference >= 0 else other.p)
    return out


@pytest.mark.slow
@pytest.mark.share
def test_error_of_the_first_kind_under_the_null() -> None:
    """Two equal judges: 5 % where one is named beforehand, about 10 % where the better one is picked."""
    rng = np.random.default_rng(9)
    found = [simulated_p(rng, (1.0, 1.0), 70, 400) for _ in range(400)]
    for name in found[0]:
        named = np.mean([each[name][0] < 0.05 for each in found])
        picked = np.mean([each[name][1] < 0.05 for each in found])
        assert 0.02 < named < 0.09, (
            name
        )  # 0.05 +- 3 standard errors, and the percentile bootstrap's small excess
        assert 0.05 < picked < 0.16, name


@pytest.mark.slow
@pytest.mark.share
def test_power_against_a_planted_difference() -> None:
    """Correlations of 0.86 and 0.64 with the truth over 100 items."""
    rng = np.random.default_rng(10)
    found = [simulated_p(rng, (0.6, 1.2), 100, 400) for _ in range(60)]
    for name in found[0]:
        assert np.mean([each[name][0] < 0.05 for each in found]) > 0.9, name
    reverse = [simulated_p(rng, (1.2, 0.6), 100, 400) for _ in range(20)]
    assert max(np.mean([each[name][0] < 0.05 for each in reverse]) for name in reverse[0]) == 0
