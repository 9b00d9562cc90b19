"""One model, three ways: independent formulas, NumPy arrays, NumPyro; and choix and evalica as oracles."""

from __future__ import annotations

import choix
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density as numpyro_log_density

from bayesbt.infer import fit
from bayesbt.infer.derivatives import cell_derivatives
from bayesbt.infer.model import Cells, linear_predictor, log_likelihood
from bayesbt.infer.modes import Problem, find_mode
from bayesbt.infer.numpyro_engine import build_model
from bayesbt.spec import ModelSpec
from bayesbt.ties import TIE_MODELS
from tests import reference
from tests.cases import CELLS, asymmetric_counts

POINT = {
    "strength": np.array([[0.9, -0.4, 0.3, -1.1]]),
    "order": np.array([0.35]),
    "tie_logit": np.array([-1.2]),
    "log_sd": np.array([-0.3]),
}


@pytest.mark.parametrize("name", list(TIE_MODELS))
def test_log_likelihood_is_the_papers(name: str) -> None:
    model = TIE_MODELS[name]
    cells = Cells.of(asymmetric_counts(), model)
    delta, tie_logit = linear_predictor(np, ModelSpec(name, "shared"), POINT, cells)
    expected = reference.log_likelihood(name, CELLS, POINT["strength"][0], 0.35, 1 / (1 + np.exp(1.2)))
    assert float(log_likelihood(np, model, delta, tie_logit, cells)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("centredness", [0.0, 0.4, np.array([0.1, 0.9, 0.5, 0.0])])
def test_centring_does_not_change_the_model(centredness: float) -> None:
    spec, counts = ModelSpec("davidson", "shared"), asymmetric_counts()
    share = np.broadcast_to(centredness, 4)
    sd = 0.6
    strength = jnp.asarray(POINT["strength"])
    values = {"strength_sd": jnp.array([sd]), "order": jnp.array([0.35]), "tie": jnp.array([0.2])}
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
