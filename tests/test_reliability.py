"""Reliability of a ranking: against the truth of simulations, and against formulas of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from bayesbt.counts import Counts, count_judgments
from bayesbt.errors import InputError
from bayesbt.infer import fit
from bayesbt.infer.halves import half_modes
from bayesbt.reliability import (
    Reliability,
    ceiling,
    posterior_reliability,
    spearman_brown,
    split_half,
)
from bayesbt.simulated_judgments import KnownAnswer, SimulationSettings, simulate_judgments
from bayesbt.spec import ModelSpec, Priors
from bayesbt.tables import Judgments


def simulated(comparisons: int, seed: int, items: int = 80) -> tuple[Judgments, KnownAnswer]:
    settings = SimulationSettings(
        items=items, comparisons=comparisons, strength_sd=0.8, tie=0.15, order=0.3, seed=seed
    )
    return simulate_judgments(settings)


@pytest.mark.parametrize("comparisons", [300, 900])
def test_both_reliabilities_are_the_squared_correlation_with_the_truth(comparisons: int) -> None:
    """By definition; on average over data sets, as one realised correlation varies by chance."""
    split, posterior, true = [], [], []
    for seed in range(8):
        judgments, known = simulated(comparisons, seed)
        fitted = fit(judgments, engine="laplace", order="shared", draws=500)
        split.append(split_half(judgments, order="shared", halves=20, seed=seed).estimate)
        posterior.append(posterior_reliability(fitted))
        estimates = fitted.estimates["strength"].to_numpy()
        true.append(np.corrcoef(estimates, known.items["strength"])[0, 1] ** 2)
    assert np.mean(split) == pytest.approx(np.mean(true), abs=0.05)
    assert np.mean(posterior) == pytest.approx(np.mean(true), abs=0.05)
    expected = {300: 0.5, 900: 0.75}[comparisons]
    assert np.mean(true) == pytest.approx(expected, abs=0.08)


def test_a_perfect_judge_reaches_the_ceiling_and_none_exceeds_it() -> None:
    """Correlations of noise-free truth with scores scatter about sqrt(reliability)."""
    reached, ceilings = [], []
    for seed in range(20, 28):
        judgments, known = simulated(600, seed)
        fitted = fit(judgments, engine="map", order="shared", draws=2, chains=1)
        reached.append(np.corrcoef(fitted.estimates["strength"], known.items["strength"])[0, 1])
        ceilings.append(split_half(judgments, order="shared", halves=20, seed=1).ceiling)
    assert np.mean(reached) == pytest.approx(np.mean(ceilings), abs=0.02)
    blurred = np.mean(ceilings) * 0.9  # a judge whose own correlation with the truth is 0.9
    assert np.mean(reached) > blurred


def test_halving_is_seeded_and_its_interval_holds_the_estimate() -> None:
    judgments, _ = simulated(500, 3)
    one, again, other = (split_half(judgments, halves=30, seed=seed) for seed in (5, 5, 6))
    assert one.as_dict() == again.as_dict()
    np.testing.assert_array_equal(one.draws, again.draws)
    assert one.estimate != other.estimate
    assert one.estimate == pytest.approx(other.estimate, abs=0.06)
    assert one.lower < one.estimate < one.upper
    assert one.half < one.estimate == pytest.approx(2 * one.half / (1 + one.half))
    assert one.ceiling == pytest.approx(one.estimate**0.5)
    assert (one.n_items, one.n_judgments, len(one.draws)) == (80, 500, 30)
    assert one.draws.mean() == pytest.approx(one.estimate, abs=0.01)


@pytest.mark.slow
def test_the_interval_covers_in_about_90_percent() -> None:
    """Of the reliability of such data sets, whose truth is the mean of many estimates."""
    found = [
        split_half(simulated(600, seed, items=50)[0], order="shared", halves=12, seed=1, interval=0.9)
        for seed in range(300, 380)
    ]
    target = np.mean([each.estimate for each in found])
    covered = sum(each.lower < target < each.upper for each in found)
    low, high = binom.ppf([0.005, 0.995], len(found), 0.9)
    assert low <= covered <= high


def test_modes_of_halves_are_those_of_the_map_engine() -> None:
    """Given everything but the strengths, the modes of a half are those of a fit of that half alone."""
    judgments, _ = simulated(240, 9, items=12)
    priors = Priors().updated({"strength_sd": 0.9, "tie": 0.2, "order": 0.3})
    spec = ModelSpec("davidson", "shared", priors=priors)
    counts = count_judgments(judgments)
    kind = np.repeat(
        np.arange(3 * len(counts.a)),
        np.stack([counts.wins_a, counts.ties, counts.wins_b], axis=1).ravel().astype(int),
    )
    chosen = np.random.default_rng(0).random((3, len(kind))) < 0.5
    one, other = half_modes(counts, spec, kind // 3, np.eye(3)[kind % 3], chosen)
    for h in range(3):
        for mask, found in ((chosen[h], one[h]), (~chosen[h], other[h])):
            parts = [
                np.bincount((kind // 3)[mask & (kind % 3 == k)], minlength=len(counts.a)) for k in range(3)
            ]
            wins_a, ties, wins_b = (part.astype(float) for part in parts)
            half = replace(counts, wins_a=wins_a, ties=ties, wins_b=wins_b)
            alone = fit(half, ties="davidson", order="shared", engine="map", priors=priors, draws=2, chains=1)
            np.testing.assert_allclose(found - found.mean(), alone.result.strength, atol=1e-6)


def two_topics() -> Judgments:
    """Two topics whose items differ in nothing but noise inside, and much between."""
    rng = np.random.default_rng(4)
    rows = []
    for topic in ("cats", "dogs"):
        for _ in range(300):
            a, b = rng.choice(20, 2, replace=False)
            rows.append((f"{topic}{a}", f"{topic}{b}", "a" if rng.random() < 0.5 else "b", topic))
    return Judgments.from_frame(pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "topic"]))


def test_pure_noise_has_no_reliability_and_a_ceiling_near_zero() -> None:
    found = split_half(two_topics(), halves=60, seed=1)
    assert found.lower < 0.1
    assert abs(found.estimate) < 0.35
    assert found.n_items == 40
    assert ceiling(-0.2) == 0
    assert np.isnan(ceiling(float("nan")))


def test_runs_stay_together() -> None:
    """A judge that repeats itself word for word is not more reliable than its first run."""
    judgments, _ = simulated(400, 12, items=30)
    once = split_half(judgments, halves=60, seed=3)
    runs = [judgments.frame.astype(object).assign(run=run) for run in (1, 2, 3)]
    thrice = split_half(Judgments.from_frame(pd.concat(runs)), halves=60, seed=3)
    copied = split_half(Judgments.from_frame(pd.concat(runs).drop(columns="run")), halves=60, seed=3)
    assert thrice.estimate == pytest.approx(once.estimate, abs=0.05)
    assert copied.estimate > once.estimate + 0.1  # what halving repeats apart would claim


def test_counts_rows_and_counted_rows_are_the_same_judgments() -> None:
    judgments, _ = simulated(400, 2, items=9)
    counts = count_judgments(judgments)
    frame = judgments.frame.astype(object)
    grouped = frame.groupby(["item_a", "item_b", "outcome"]).size().rename("count").reset_index()
    found = [
        split_half(each, halves=50, seed=1) for each in (judgments, counts, Judgments.from_frame(grouped))
    ]
    assert [each.n_judgments for each in found] == [400, 400, 400]
    for each in found[1:]:
        assert each.estimate == pytest.approx(found[0].estimate, abs=0.02)


def test_spearman_brown_of_three_parts() -> None:
    assert spearman_brown(0.5, 3) == pytest.approx(0.75)
    assert spearman_brown(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]


def test_posterior_reliability_by_hand() -> None:
    """With the variances given: 1 - noise / (between + noise), and noise / between of maximum likelihood."""
    judgments, _ = simulated(800, 5, items=25)
    fitted = fit(judgments, engine="laplace", draws=2000)
    draws = fitted.strength_draws
    noise = draws.var(axis=0).sum() / 24
    between = draws.mean(axis=0).var(ddof=1)
    assert posterior_reliability(fitted) == pytest.approx(1 - noise / (between + noise))
    likely = fit(judgments, engine="ml")
    errors = likely.estimates["sd"].to_numpy()
    spread = likely.estimates["strength"].var(ddof=1)
    by_errors = 1 - (errors**2).sum() / 24 / spread
    assert posterior_reliability(likely) == pytest.approx(by_errors, abs=0.01)
    assert posterior_reliability(likely) == pytest.approx(posterior_reliability(fitted), abs=0.04)


def test_what_cannot_be_halved() -> None:
    judgments, _ = simulated(60, 1, items=8)
    counts = count_judgments(judgments)
    with pytest.raises(InputError, match="fractions of judgments"):
        split_half(replace(counts, wins_a=counts.wins_a / 3))
    with pytest.raises(InputError, match="--halves 1"):
        split_half(judgments, halves=1)
    with pytest.raises(InputError, match="point estimate"):
        posterior_reliability(fit(judgments, engine="ilsr"))
    pair = Counts(("x", "y"), *(np.array([v]) for v in (0, 1, 5.0, 1.0, 4.0)))
    with pytest.raises(InputError, match="fewer than three items"):
        split_half(pair)


def test_a_document_of_it_has_the_ceiling_beside_the_reliability() -> None:
    found = Reliability(0.64, 0.49, 0.81, np.array([0.6, 0.68]), 0.47, 0.95, 10, 100)
    assert found.as_dict() == pytest.approx(
        {
            "estimate": 0.64,
            "lower": 0.49,
            "upper": 0.81,
            "ceiling": 0.8,
            "ceiling_lower": 0.7,
            "ceiling_upper": 0.9,
            "half": 0.47,
        }
    )
