"""The Gibbs sampler draws from the same posterior as NUTS, and is calibrated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.formats import import_source
from bayesbt.infer import Fit, fit
from bayesbt.infer.container import convergence
from bayesbt.infer.gibbs import fit_gibbs
from bayesbt.infer.gibbs_reference import reference
from bayesbt.infer.results import Options
from bayesbt.simulated_judgments import SimulationSettings, simulate_judgments
from bayesbt.simulation import Design
from bayesbt.spec import ModelSpec, Priors
from tests.calibration import Simulated, miscalibration, ranks
from tests.cases import asymmetric_counts

LEVEL = 1e-3


def two_components() -> Counts:
    """The asymmetric four items, three others that are linked among themselves, and one never compared."""
    one = asymmetric_counts()
    more = [(4, 5, 6.0, 1.0, 2.0), (5, 6, 3.0, 2.0, 5.0), (6, 4, 4.0, 0.0, 4.0)]
    columns = [np.array(column) for column in zip(*more, strict=True)]
    names = ("a", "b", "wins_a", "ties", "wins_b")
    joined = {
        name: np.concatenate([getattr(one, name), column])
        for name, column in zip(names, columns, strict=True)
    }
    return Counts(items=(*one.items, "p", "q", "r", "s"), **joined)


def z_of_means(one: Fit, other: Fit) -> np.ndarray:
    """Differences of the posterior means over their Monte Carlo errors, of strengths and scalars."""

    def parts(fitted: Fit) -> tuple[np.ndarray, np.ndarray]:
        draws = fitted.result.draws
        values = [draws.strength, *(draws.scalars[name][..., None] for name in sorted(draws.scalars))]
        every = np.concatenate(values, axis=-1)
        every = every[..., np.ptp(every, axis=(0, 1)) > 0]
        return every.mean(axis=(0, 1)), every.std(axis=(0, 1)) / np.sqrt(convergence(every)[1])

    (mean, error), (other_mean, other_error) = parts(one), parts(other)
    return (mean - other_mean) / np.hypot(error, other_error)


@pytest.mark.parametrize(
    ("ties", "order", "priors"),
    [
        ("rao-kupper", "shared", {}),
        ("davidson", "shared", {"tie": "LogNormal(0, 1)", "strength_sd": "LogNormal(0, 0.5)"}),
        ("split", "none", {"strength_sd": "Fixed(1.5)"}),
        ("split-half", "shared", {"order": "Fixed(0.3)"}),
        ("drop", "none", {}),
    ],
)
def test_same_posterior_as_nuts(ties: str, order: str, priors: dict[str, str]) -> None:
    options = {"ties": ties, "order": order, "priors": priors, "draws": 3000, "seed": 5}
    gibbs = fit(two_components(), engine="gibbs", **options)
    nuts = fit(two_components(), engine="numpyro", target_accept=0.97, **options)
    assert gibbs.diagnostics.rhat_max < 1.01
    assert gibbs.diagnostics.divergences is None
    assert set(gibbs.result.draws.scalars) == set(nuts.result.draws.scalars)
    assert np.abs(z_of_means(gibbs, nuts)).max() < 4.5
    ratio = gibbs.estimates["sd"] / nuts.estimates["sd"]
    assert ratio.to_numpy() == pytest.approx(1, abs=0.08)


def test_a_component_too_large_for_independent_proposals_still_mixes() -> None:
    judgments, known = simulate_judgments(SimulationSettings(items=150, comparisons=1200, order=0.4, seed=2))
    fitted = fit(judgments, order="shared", engine="gibbs", draws=1500, seed=1)
    assert fitted.result.draws.sample_stats["acceptance_rate"].mean() > 0.4
    assert fitted.diagnostics.rhat_max < 1.02
    nuts = fit(judgments, order="shared", engine="numpyro", draws=500, tune=500, seed=1)
    assert np.abs(z_of_means(fitted, nuts)).max() < 5
    assert np.corrcoef(fitted.estimates["strength"], known.items["strength"])[0, 1] > 0.8


def test_same_seed_same_numbers() -> None:
    options = Options(draws=20, tune=40, chains=2, seed=3)
    one, two = (fit_gibbs(two_components(), ModelSpec(), options).draws.strength for _ in range(2))
    other = fit_gibbs(two_components(), ModelSpec(), replace(options, seed=4)).draws.strength
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_the_gaussian_is_nearer_to_the_posterior_than_the_mode() -> None:
    priors = Priors().updated({"strength_sd": "Fixed(1.5)", "tie": "Fixed(0.25)", "order": "Fixed(0.4)"})
    counts, spec = two_components(), ModelSpec("rao-kupper", "shared", priors=priors)
    found = reference(counts, spec)
    draws = fit_gibbs(counts, spec, Options(draws=10_000, seed=1)).draws.strength.reshape(-1, 8)
    precision, mean, variance = np.exp(-2 * found.scalars[0]), np.zeros(8), np.zeros(8)
    for block in found.blocks:
        for vectors, curvature, linear, items, real in zip(
            block.vectors, block.curvature, block.linear, block.items, block.real, strict=True
        ):
            inner = np.where(real, 1 / (curvature + precision), 0)
            mean[items[real]] = (vectors @ (linear * inner))[real]
            variance[items[real]] = ((vectors**2) @ inner)[real]
    assert sorted(np.concatenate([b.items[b.real] for b in found.blocks]).tolist()) == list(range(8))
    members = [counts.component == c for c in range(3)]
    for one in members[:2]:
        mean[one] -= mean[one].mean()
    posterior = draws.mean(axis=0)
    compared = ~members[2]
    worst = np.abs(mean - posterior)[compared].max()
    assert worst < 0.01 < np.abs(found.strength - posterior)[compared].max()
    alone = np.flatnonzero(members[2])[0]
    assert (mean[alone], variance[alone]) == pytest.approx((0, 1.5**2))


def test_what_belongs_to_judges_and_huge_components_are_refused() -> None:
    judgments, _ = simulate_judgments(SimulationSettings(judges=3))
    with pytest.raises(InputError, match="--engine gibbs cannot take --judges adherence"):
        fit(judgments, judges="adherence", engine="gibbs")
    chain = np.arange(5100)
    ones = np.ones(5100)
    ring = Counts(tuple(map(str, chain)), chain, np.roll(chain, -1), ones, ones, ones)
    with pytest.raises(InputError, match="5,100 items are too many"):
        fit(ring, engine="gibbs")


def test_auto_is_gibbs_where_it_passes_and_nuts_where_not() -> None:
    assert fit(two_components(), seed=1).engine == "gibbs"
    short = fit(two_components(), draws=60, tune=60, seed=1)
    assert short.engine == "numpyro"
    assert any("--engine gibbs did not pass" in message for message in short.diagnostics.messages)
    judgments, _ = simulate_judgments(SimulationSettings(judges=3))
    assert fit(judgments, order="by-judge", draws=50, tune=50).engine == "numpyro"


def draws_of(counts: Counts, spec: ModelSpec, seed: int) -> dict[str, np.ndarray]:
    """One chain, thinned, under the names and shapes of tests.calibration."""
    made = fit_gibbs(counts, spec, Options(draws=99 * 8, tune=800, chains=1, seed=seed)).draws
    values = {name: value[0, ::8, None] for name, value in made.scalars.items()}
    return values | {"strength": made.strength[0, ::8, None]}


@pytest.mark.parametrize(
    ("ties", "simulations"),
    [
        ("rao-kupper", 40),
        *(
            pytest.param(ties, 300, marks=pytest.mark.slow)
            for ties in ("split-half", "rao-kupper", "davidson")
        ),
    ],
)
def test_calibrated(ties: str, simulations: int) -> None:
    spec = ModelSpec(ties, "shared", priors=Priors().updated({"order": "Normal(0, 1)"}))
    design = Design.crossed(4, judges=1, comparisons=6)
    simulated = Simulated.from_prior(spec, design, simulations, seed=31)
    each = [draws_of(counts, spec, seed) for seed, counts in enumerate(simulated.counts)]
    draws = {name: np.stack([one[name] for one in each]) for name in each[0]}
    assert miscalibration(ranks(simulated, draws), 99) > LEVEL


@pytest.mark.slow
@pytest.mark.share
def test_webis_logic_agrees_with_nuts(shared: Callable[..., Path]) -> None:
    judgments = import_source(shared("data", "webis-argquality-20")).judgments
    options = {"ties": "rao-kupper", "dimension": "logic", "seed": 1}
    gibbs = fit(judgments, engine="gibbs", **options)
    assert gibbs.diagnostics.ok
    nuts = fit(judgments, engine="numpyro", draws=300, tune=300, **options)
    z = z_of_means(gibbs, nuts)
    assert np.abs(z).max() < 5
    assert z.std() == pytest.approx(1, abs=0.15)
    assert (gibbs.estimates["sd"] / nuts.estimates["sd"]).mean() == pytest.approx(1, abs=0.02)
