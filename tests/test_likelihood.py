"""One model, three ways: independent formulas, NumPy arrays, NumPyro; and choix and evalica as oracles."""

from __future__ import annotations

import choix
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density as numpyro_log_density

from bayesbt.infer import fit
from bayesbt.infer.derivatives import cell_derivatives
from bayesbt.infer.model import Cells, free_parameters, linear_predictor, log_density, log_likelihood
from bayesbt.infer.modes import Problem, find_mode
from bayesbt.infer.numpyro_engine import build_model
from bayesbt.spec import ModelSpec, Priors
from bayesbt.ties import TIE_MODELS
from tests import reference
from tests.cases import CELLS, asymmetric_counts

POINT = {"strength": np.array([0.9, -0.4, 0.3, -1.1]), "order": 0.35, "tie_logit": -1.2, "log_sd": -0.3}


@pytest.mark.parametrize("name", list(TIE_MODELS))
def test_log_likelihood_is_the_papers(name: str) -> None:
    model = TIE_MODELS[name]
    cells = Cells.of(asymmetric_counts(), model)
    delta = linear_predictor(POINT["strength"], POINT["order"], cells)
    expected = reference.log_likelihood(name, CELLS, POINT["strength"], POINT["order"], 1 / (1 + np.exp(1.2)))
    assert float(log_likelihood(np, model, delta, POINT["tie_logit"], cells)) == pytest.approx(
        expected, rel=1e-12
    )


PRIORS = {
    "default": {},
    "other": {"strength_sd": "LogNormal(0.2, 0.5)", "tie": "Beta(2, 5)", "order": "Normal(0.3, 1.5)"},
    "native": {"strength_sd": 1.7, "tie": "LogNormal(0.1, 0.8)"},
    "fixed": {"strength_sd": 0.8, "tie": 0.2, "order": 0.4},
}


@pytest.mark.parametrize("priors", list(PRIORS))
@pytest.mark.parametrize("order", ["none", "shared"])
@pytest.mark.parametrize("name", list(TIE_MODELS))
def test_numpyro_has_the_same_log_density_and_gradient(name: str, order: str, priors: str) -> None:
    spec = ModelSpec(name, order, priors=Priors().updated(PRIORS[priors]))
    counts = asymmetric_counts()
    cells = Cells.of(counts, spec.tie_model)
    names = ("strength", *free_parameters(spec))
    native = "tie_native" if priors == "native" and spec.tie_model.has_tie_parameter else None

    def ours(free: dict) -> jax.Array:
        return log_density(jnp, spec, cells, free)

    def theirs(free: dict) -> jax.Array:
        # The density that NumPyro sees is on the constrained scale: add the Jacobians of log and logit.
        values, jacobian = {"z": free["strength"]}, 0.0
        if "log_sd" in free:
            values["strength_sd"] = jnp.exp(free["log_sd"])
            jacobian += free["log_sd"]
        if "order" in free:
            values["order"] = free["order"]
        if "tie_logit" in free:
            u = free["tie_logit"]
            if native:
                q = jnp.log1p(2 * jnp.exp(u)) if name == "rao-kupper" else 2 * jnp.exp(u)
                values["tie_native"] = q
                jacobian += (
                    jnp.log(2 * jnp.exp(u) / (1 + 2 * jnp.exp(u))) if name == "rao-kupper" else jnp.log(q)
                )
            else:
                t = 1 / (1 + jnp.exp(-u))
                values["tie"] = t
                jacobian += jnp.log(t) + jnp.log1p(-t)
        return numpyro_log_density(build_model(counts, spec), (), {}, values)[0] + jacobian

    rng = np.random.default_rng(5)
    for _ in range(5):
        free = {key: jnp.asarray(rng.normal(0, 0.8, 4 if key == "strength" else ())) for key in names}
        a, da = jax.value_and_grad(ours)(free)
        b, db = jax.value_and_grad(theirs)(free)
        assert float(a) == pytest.approx(float(b), abs=1e-8)
        assert float(a) == pytest.approx(
            float(log_density(np, spec, cells, {k: np.asarray(v) for k, v in free.items()})), abs=1e-8
        )
        for key in names:
            assert np.asarray(da[key]) == pytest.approx(np.asarray(db[key]), abs=1e-8)


@pytest.mark.parametrize("centredness", [0.0, 0.4, np.array([0.1, 0.9, 0.5, 0.0])])
def test_centring_does_not_change_the_model(centredness: float) -> None:
    spec, counts = ModelSpec("davidson", "shared"), asymmetric_counts()
    share = np.broadcast_to(centredness, 4)
    sd = 0.6
    strength = jnp.asarray(POINT["strength"])
    values = {"strength_sd": jnp.asarray(sd), "order": jnp.asarray(0.35), "tie": jnp.asarray(0.2)}
    plain, _ = numpyro_log_density(build_model(counts, spec), (), {}, values | {"z": strength})
    moved, _ = numpyro_log_density(
        build_model(counts, spec, share), (), {}, values | {"z": strength / sd ** (1 - share)}
    )
    assert float(moved) == pytest.approx(float(plain) + np.sum((1 - share) * np.log(sd)), abs=1e-10)


@pytest.mark.parametrize("name", list(TIE_MODELS))
def test_derivatives_per_cell_are_finite_differences(name: str) -> None:
    cells = Cells.of(asymmetric_counts(), TIE_MODELS[name])
    delta, u, h = np.linspace(-1.5, 2.0, len(cells.a)), -0.9, 1e-5
    here = cell_derivatives(name, delta, u, cells)
    up, down = (cell_derivatives(name, delta + s * h, u, cells) for s in (1, -1))
    assert here.d == pytest.approx((up.value - down.value) / (2 * h), abs=1e-6)
    assert here.dd == pytest.approx((up.d - down.d) / (2 * h), abs=1e-6)
    assert here.du == pytest.approx((up.u - down.u) / (2 * h), abs=1e-6)
    more, less = (cell_derivatives(name, delta, u + s * h, cells) for s in (1, -1))
    assert here.u == pytest.approx((more.value - less.value) / (2 * h), abs=1e-6)
    assert here.uu == pytest.approx((more.u - less.u) / (2 * h), abs=1e-6)


def test_map_is_choix_with_alpha_one_over_two_variances() -> None:
    sd, counts = 0.7, asymmetric_counts()
    rows = [(a, b) for a, b, n, _, _ in CELLS for _ in range(int(n))]
    rows += [(b, a) for a, b, _, _, n in CELLS for _ in range(int(n))]
    theirs = choix.opt_pairwise(4, rows, alpha=1 / (2 * sd**2))
    ours = fit(counts, ties="drop", engine="map", priors={"strength_sd": sd}).estimates["strength"].to_numpy()
    assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-5)


def test_ml_davidson_is_evalicas_newman() -> None:
    evalica = pytest.importorskip("evalica", reason="evalica (an oracle of the [dev] extra) is not installed")
    left, right, winner = [], [], []
    for a, b, wins_a, ties, wins_b in CELLS:
        for label, n in (("X", wins_a), ("Draw", ties), ("Y", wins_b)):
            left += ["wxyz"[a]] * int(n)
            right += ["wxyz"[b]] * int(n)
            winner += [getattr(evalica.Winner, label)] * int(n)
    theirs = evalica.newman(left, right, winner, tolerance=1e-12, limit=10_000)
    ours = fit(asymmetric_counts(), ties="davidson", engine="ml")
    log_worth = np.log(theirs.scores.loc[list("wxyz")].to_numpy())
    assert ours.estimates["strength"].to_numpy() == pytest.approx(log_worth - log_worth.mean(), abs=1e-5)
    assert ours.parameters()["tie"]["native"]["mean"] == pytest.approx(2 * theirs.v, rel=1e-5)


def test_newton_reaches_a_stationary_point_from_far_away() -> None:
    counts = asymmetric_counts()
    cells = Cells.of(counts, TIE_MODELS["rao-kupper"])
    problem = Problem("rao-kupper", cells, ("order", "tie_logit"), component=counts.component)
    near = find_mode(problem)
    far = find_mode(problem, np.array([6.0, -5.0, 4.0, -5.0, 3.0, 2.5]))
    assert far.theta[:4] - far.theta[:4].mean() == pytest.approx(near.theta[:4], abs=1e-8)
    assert far.loglik == pytest.approx(near.loglik, abs=1e-10)
