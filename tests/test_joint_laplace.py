"""Laplace's method for several dimensions: its parts against other formulas, the whole against NUTS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.infer import fit
from bayesbt.infer.joint_laplace import sample
from bayesbt.infer.joint_marginal import JointMarginal, correlation_factor, lkj_log_density
from bayesbt.infer.model import log_density
from bayesbt.infer.numpyro_engine import sample as sample_by_nuts
from bayesbt.infer.results import Options
from bayesbt.simulation import Design, Truth, simulate
from bayesbt.spec import ModelSpec, Priors

FREE = ModelSpec("davidson", "shared", priors=Priors().updated({"correlation": "LKJ(1.5)"}))


def simulated(items: int, dimensions: int = 2, comparisons: int = 2, seed: int = 1) -> Counts:
    rng = np.random.default_rng(seed)
    design = Design.crossed(items, dimensions=dimensions, comparisons=comparisons)
    correlation = np.full((dimensions, dimensions), 0.6) + 0.4 * np.eye(dimensions)
    strength = np.linalg.cholesky(correlation) @ rng.standard_normal((dimensions, items))
    tie, order = np.linspace(0.15, 0.3, dimensions), np.linspace(-0.2, 0.5, dimensions)
    truth = Truth({"strength": strength, "tie": tie, "order": order})
    counts = simulate(FREE, design, truth, rng)
    object.__setattr__(counts, "covariates", np.zeros((0, 0)))
    return counts


def test_the_factor_is_that_of_a_correlation_matrix() -> None:
    z = np.array([0.4, -0.7, 1.1])
    factor = correlation_factor(z, 3)
    matrix = factor @ factor.T
    np.testing.assert_allclose(np.diag(matrix), 1)
    assert matrix[1, 0] == pytest.approx(np.tanh(0.4))
    assert matrix[2, 0] == pytest.approx(np.tanh(-0.7))
    partial = (matrix[2, 1] - matrix[2, 0] * matrix[1, 0]) / np.sqrt(
        (1 - matrix[2, 0] ** 2) * (1 - matrix[1, 0] ** 2)
    )
    assert partial == pytest.approx(np.tanh(1.1))


@pytest.mark.parametrize("eta", [1.0, 2.5])
def test_lkj_is_the_power_of_the_determinant(eta: float) -> None:
    """The density over the matrix is det^(eta - 1); by finite differences for the change of variables."""
    below = np.tril_indices(3, -1)

    def entries(z: np.ndarray) -> np.ndarray:
        factor = correlation_factor(z, 3)
        return (factor @ factor.T)[below]

    def by_determinant(z: np.ndarray) -> float:
        factor = correlation_factor(z, 3)
        h = 1e-5
        jacobian = [(entries(z + h * row) - entries(z - h * row)) / (2 * h) for row in np.eye(3)]
        return float(
            (eta - 1) * np.log(np.linalg.det(factor @ factor.T)) + np.linalg.slogdet(np.array(jacobian))[1]
        )

    one, other = np.array([0.3, -0.5, 0.8]), np.array([-1.1, 0.2, 0.4])
    difference = lkj_log_density(one, 3, eta) - lkj_log_density(other, 3, eta)
    assert difference == pytest.approx(by_determinant(one) - by_determinant(other), abs=1e-6)


def test_the_marginal_density_at_a_mode_is_the_joint_density_with_its_curvature() -> None:
    counts = simulated(5)
    marginal = JointMarginal(counts, FREE)

    def by_model(theta: np.ndarray) -> float:
        found = marginal.values(theta)
        strength, _, factors = marginal.mode(found, np.linalg.inv(covariance(found)))
        parameters = {
            "strength": strength,
            "log_sd": found["log_sd"],
            "tie_logit": found["tie_logit"],
            "order": found["order"],
            "correlation_cholesky": found["factor"],
        }
        density = log_density(np, FREE, counts, parameters)
        # The model's LKJ is over the factor's entries: L[1, 0] = tanh(z), so one factor of 1 - r^2 for dz.
        jacobian = np.log1p(-(np.tanh(theta[2]) ** 2))
        return float(density + jacobian - sum(np.log(np.diag(factor)).sum() for factor in factors))

    one = np.array([0.1, -0.2, 0.7, 0.1, 0.3, -1.5, -0.8])
    other = np.array([-0.3, 0.2, -0.2, 0.0, -0.2, -1.0, -1.2])
    found = marginal(one) - marginal(other)
    assert found == pytest.approx(by_model(one) - by_model(other), abs=1e-7)


def covariance(found: dict[str, np.ndarray]) -> np.ndarray:
    scaled = np.exp(found["log_sd"])[:, None] * found["factor"]
    return scaled @ scaled.T


def test_two_items_against_numerical_integration() -> None:
    """One comparison cell a dimension: the correlation's posterior by quadrature over two differences."""
    wins, losses = np.array([30.0, 24.0]), np.array([10.0, 12.0])
    cells = (np.zeros(2, int), np.ones(2, int), wins, np.zeros(2), losses)
    counts = Counts(("x", "y"), *cells, dimension=np.array([0, 1]), dimensions=("one", "two"))
    spec = ModelSpec("drop", priors=Priors().updated({"strength_sd": 0.7, "correlation": "LKJ(1)"}))
    draws = sample(counts, spec, Options(draws=20000, chains=1, seed=3)).values["correlation"][0, :, 0, 1]
    grid = np.linspace(-4, 4, 241)
    likelihood = [
        w * np.log(expit(grid)) + lost * np.log(expit(-grid)) for w, lost in zip(wins, losses, strict=True)
    ]
    table = np.exp(likelihood[0] - likelihood[0].max())[:, None] * np.exp(likelihood[1] - likelihood[1].max())

    def density(rho: float) -> float:
        x, y, scale = grid[:, None], grid[None, :], 2 * 0.7**2  # of a difference of two strengths
        quadratic = (x**2 - 2 * rho * x * y + y**2) / (scale * (1 - rho**2))
        return float((table * np.exp(-quadratic / 2)).sum() / np.sqrt(1 - rho**2))

    total = quad(density, -0.999, 0.999, limit=200)[0]
    mean = quad(lambda rho: rho * density(rho), -0.999, 0.999, limit=200)[0] / total
    assert draws.mean() == pytest.approx(mean, abs=0.04)
    assert mean > 0.05


def test_it_agrees_with_nuts_on_three_dimensions() -> None:
    counts = simulated(12, dimensions=3, comparisons=1, seed=5)
    by_nuts = sample_by_nuts(counts, FREE, Options(draws=500, tune=500, chains=2, seed=1)).values
    found = sample(counts, FREE, Options(draws=2000, chains=1, seed=1)).values
    assert set(found) == set(by_nuts)
    rows, columns = np.tril_indices(3, -1)
    for name in ("strength_sd", "tie", "order", "correlation"):
        ours, theirs = found[name][0], by_nuts[name].reshape(-1, *by_nuts[name].shape[2:])
        if name == "correlation":
            ours, theirs = ours[:, rows, columns], theirs[:, rows, columns]
        shift = (ours.mean(axis=0) - theirs.mean(axis=0)) / theirs.std(axis=0)
        np.testing.assert_allclose(shift, 0, atol=0.3)
        np.testing.assert_allclose(ours.std(axis=0) / theirs.std(axis=0), 1, atol=0.2)
    strength = by_nuts["strength"].reshape(-1, 3, 12)
    strength = strength - strength.mean(axis=2, keepdims=True)
    mine = found["strength"][0] - found["strength"][0].mean(axis=2, keepdims=True)
    np.testing.assert_allclose(mine.mean(axis=0), strength.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(mine.std(axis=0), strength.std(axis=0), rtol=0.25)


def test_components_are_handled_apart_and_the_seed_fixes_the_draws() -> None:
    """Two components with nothing between them, in an order that mixes their items."""
    first, second = simulated(5, seed=2), simulated(5, seed=3)
    sides = {
        name: np.concatenate([2 * getattr(first, name), 2 * getattr(second, name) + 1]) for name in ("a", "b")
    }
    columns = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("wins_a", "ties", "wins_b", "dimension")
    }
    items = tuple(f"i{k}" for k in range(10))
    both = Counts(items, **sides, **columns, dimensions=first.dimensions)
    assert both.n_components == 2
    options = Options(draws=300, chains=1, seed=4)
    one, again = sample(both, FREE, options).values, sample(both, FREE, options).values
    np.testing.assert_array_equal(one["strength"], again["strength"])
    alone = fit(both.of_dimension(0), ties="davidson", order="shared", engine="laplace", draws=300, chains=1)
    centred = one["strength"][0, :, 0, ::2] - one["strength"][0, :, 0, ::2].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(centred.mean(axis=0), alone.strength_draws[:, ::2].mean(axis=0), atol=0.25)


def test_what_it_cannot_take() -> None:
    counts = simulated(4)
    with pytest.raises(InputError, match="cannot take covariates or parameters by judge"):
        sample(counts, ModelSpec("davidson", "by-judge"), Options())
