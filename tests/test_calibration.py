"""Posteriors are calibrated; a wrong likelihood is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density as numpyro_log_density

from bayesbt.infer.numpyro_engine import build_model
from bayesbt.simulation import Design
from bayesbt.spec import ModelSpec, Priors
from bayesbt.ties import TIE_MODELS, LogProbabilities, TieModel
from tests import agreement
from tests.calibration import (
    Effort,
    Simulated,
    every_cell_counted,
    miscalibration,
    posterior_draws,
    ranks,
)

LEVEL = 1e-3  # family-wise, per run
DESIGN = Design.crossed(4, judges=3, comparisons=4)
SHARE = Effort(simulations=24, warmup=250, draws=49, thinning=6)
FULL = Effort(simulations=300, warmup=400, draws=99, thinning=8)
# Wide, so that judges differ much: under the defaults 150 simulations do not see an order effect that is
# multiplied by the adherence, under these they do (p = 1e-25).
PRIORS = Priors().updated({"order": "Normal(0, 1)", "order_judge_sd": "HalfNormal(1)", "adherence_sd": 1.0})


def judged(ties: str) -> ModelSpec:
    return ModelSpec(ties, "by-judge", "adherence", priors=PRIORS)


def calibrate(simulated: Simulated, effort: Effort) -> float:
    found = ranks(simulated, posterior_draws(simulated, effort, seed=4))
    return miscalibration(found, effort.draws)


def loss_is_one_minus_win(model: TieModel) -> TieModel:
    """The loser's term holds the mass of the tie: the three terms do not sum to one."""

    def log_probabilities(xp: Any, delta: Any, u: Any) -> LogProbabilities:
        log_a, log_tie, _ = model.log_probabilities(xp, delta, u)
        return log_a, log_tie, xp.log1p(-xp.exp(log_a))

    return replace(model, log_probabilities=log_probabilities)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["split-half", "rao-kupper", "davidson"])
def test_calibrated(ties: str) -> None:
    # split-half models no tie, so that its data hold none: this is plain Bradley-Terry's calibration.
    simulated = Simulated.from_prior(judged(ties), DESIGN, FULL.simulations, seed=11)
    assert calibrate(simulated, FULL) > LEVEL


@pytest.mark.slow
def test_calibrated_with_a_tie_parameter_for_each_judge_and_free_spreads() -> None:
    priors = PRIORS.updated({"tie_judge_sd": "HalfNormal(1)", "adherence_sd": "LogNormal(-0.3, 0.4)"})
    spec = ModelSpec("davidson", "by-judge", "adherence", "by-judge", priors=priors)
    assert calibrate(Simulated.from_prior(spec, DESIGN, FULL.simulations, seed=12), FULL) > LEVEL


def test_a_share_is_calibrated_and_a_wrong_likelihood_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # So few simulations only show gross errors, such as this one.
    simulated = Simulated.from_prior(judged("rao-kupper"), DESIGN, SHARE.simulations, seed=13)
    right = calibrate(simulated, SHARE)
    monkeypatch.setitem(TIE_MODELS, "rao-kupper", loss_is_one_minus_win(TIE_MODELS["rao-kupper"]))
    wrong = calibrate(simulated, SHARE)
    assert right > LEVEL
    assert wrong < LEVEL


@pytest.mark.parametrize("ties", list(TIE_MODELS))
def test_counts_as_an_argument_are_counts_of_the_model(ties: str) -> None:
    counts, spec = agreement.data(1), ModelSpec(ties, "shared")
    values = {
        "strength_sd": jnp.array([0.8]),
        "z": jnp.array([[0.4, -0.2, 1.1, -0.9, 0.1]]),
        "order": jnp.array([0.3]),
        "tie": jnp.array([0.25]),
    }
    own, _ = numpyro_log_density(build_model(counts, spec), (), {}, values)
    observed = jnp.stack(spec.tie_model.outcome_counts(counts.wins_a, counts.ties, counts.wins_b))
    shell = build_model(every_cell_counted(counts), spec)
    given, _ = numpyro_log_density(shell, (observed,), {}, values)
    assert float(given) == pytest.approx(float(own), abs=1e-10)


@pytest.mark.parametrize(
    ("shape", "calibrated"), [((1, 1), True), ((0.5, 0.5), False), ((2, 2), False), ((1.6, 1), False)]
)
def test_the_test_sees_bias_and_width(shape: tuple[float, float], calibrated: bool) -> None:
    rng = np.random.default_rng(21)
    found = rng.integers(0, 100, (300, 12))
    found[:, 7] = np.floor(100 * rng.beta(*shape, 300))  # flat, too narrow, too wide, biased
    assert (miscalibration(found, draws=99) > LEVEL) == calibrated
