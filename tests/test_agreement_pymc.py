"""PyMC's log-density and gradient are those of the model in pure arrays, for every combination."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytest
from numpyro.distributions import LKJCholesky
from pytensor.compile.mode import Mode
from scipy import stats

from bayesbt.counts import Counts
from bayesbt.infer.model import log_density
from bayesbt.infer.pymc_engine import _compiling, _correlation_factor, _logaddexp, build_model
from bayesbt.spec import ModelSpec
from tests import agreement

import pymc as pm  # isort: skip
import pytensor.tensor as pt  # isort: skip

jax.config.update("jax_enable_x64", True)

PLAIN = Mode(linker="py", optimizer=None)  # the graph as it was written; compiles in a fraction of a second
CENTREDNESS = np.array([0.0, 0.3, 0.55, 0.8, 1.0])
EFFECTS = {
    "order_by_judge": "order_judge_sd",
    "tie_by_judge": "tie_judge_sd",
    "log_adherence": "adherence_sd",
}
EVERY = 11  # this share runs always, the rest with the slow tests


def cases() -> list[tuple[ModelSpec, int]]:
    return [(spec, dimensions) for spec in agreement.specs() for dimensions in (1, 3)]


def parameters() -> list[Any]:
    return [
        pytest.param(
            *case,
            id=f"{agreement.label(case[0])}/{case[1]}d",
            marks=[] if k % EVERY == 0 else pytest.mark.slow,
        )
        for k, case in enumerate(cases())
    ]


def test_the_share_that_always_runs_holds_every_pair_of_options() -> None:
    def options(spec: ModelSpec, dimensions: int) -> list[Any]:
        priors = agreement.label(spec).rsplit("/", 1)[1]
        fields = (spec.ties, spec.order, spec.judges, spec.tie_parameter, len(spec.covariates), priors)
        return [*enumerate(fields), ("dimensions", dimensions)]

    def pairs(of: list[tuple[ModelSpec, int]]) -> set[Any]:
        return {pair for case in of for pair in combinations(options(*case), 2)}

    assert pairs(cases()[::EVERY]) == pairs(cases())
    assert len(cases()) == 672


def factor_and_jacobian(logits: jax.Array, size: int) -> tuple[jax.Array, Any]:
    """Correlation factor from the logits of (1 + partial correlation) / 2, and log |d entries / d logits|."""
    factor, jacobian, k = jnp.eye(size), 0.0, 0
    for i in range(size):
        left = jnp.asarray(1.0)  # squared length of the row that is not spent yet
        for j in range(i):
            share = 1 / (1 + jnp.exp(-logits[k]))
            partial = 2 * share - 1
            factor = factor.at[i, j].set(partial * jnp.sqrt(left))
            jacobian += 0.5 * jnp.log(left) + jnp.log(2 * share * (1 - share))
            left, k = left * (1 - partial**2), k + 1
        factor = factor.at[i, i].set(jnp.sqrt(left))
    return factor, jacobian


def of_pure_arrays(spec: ModelSpec, counts: Counts, free: dict[str, Any]) -> Any:
    """The density of the model in pure arrays, over the logits of the partial correlations."""
    rest = {name: value for name, value in free.items() if name != "partial"}
    if "partial" not in free:
        return log_density(jnp, spec, counts, rest)
    factor, jacobian = factor_and_jacobian(free["partial"], len(counts.dimensions))
    return log_density(jnp, spec, counts, rest | {"correlation_cholesky": factor}) + jacobian


def to_pymc(spec: ModelSpec, counts: Counts, free: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """PyMC's variables on the scale on which it samples them, and the log-Jacobian of the way there."""
    values, jacobian, size = {}, 0.0, len(counts.dimensions)
    deviation = free["strength"]
    if "covariate" in free:
        values["covariate"] = free["covariate"]
        deviation = deviation - free["covariate"] @ counts.covariates.T
    fixed = spec.priors.strength_sd.fixed
    log_sd = free["log_sd"] if fixed is None else jnp.full(size, jnp.log(fixed))
    if fixed is None:
        values["strength_sd_log__"] = log_sd
    if size == 1:
        values["z"] = deviation * jnp.exp(-(1 - CENTREDNESS) * log_sd[:, None])
        jacobian -= (1 - CENTREDNESS).sum() * log_sd.sum()
    else:
        factor, _ = factor_and_jacobian(free["partial"], size)
        values["partial_correlation_share_logodds__"] = free["partial"]
        values["z"] = jnp.linalg.inv(factor) @ (deviation * jnp.exp(-log_sd)[:, None])
        jacobian -= counts.n_items * (log_sd.sum() + jnp.log(jnp.diag(factor)).sum())
    if "order" in free:
        values["order"] = free["order"]
    if "tie_logit" in free:
        u = free["tie_logit"]
        if spec.priors.tie.family == "LogNormal":
            rao_kupper = spec.ties == "rao-kupper"
            log_native = jnp.log(jnp.log1p(2 * jnp.exp(u))) if rao_kupper else u + jnp.log(2)
            values["tie_native_log__"] = log_native
            if rao_kupper:
                jacobian += jnp.sum(jnp.log(2 * jnp.exp(u) / (1 + 2 * jnp.exp(u))) - log_native)
        else:
            values["tie_logodds__"] = u
    for name, sd_name in EFFECTS.items():
        if name in free:
            fixed = getattr(spec.priors, sd_name).fixed
            log_effect_sd = jnp.log(fixed) if fixed is not None else free[f"log_{sd_name}"]
            values[f"{name}_z"] = free[name] * jnp.exp(-log_effect_sd)
            jacobian -= len(free[name]) * log_effect_sd
            if fixed is None:
                values[f"{sd_name}_log__"] = log_effect_sd
    return values, jacobian


def compiled(model: pm.Model) -> Callable[[dict[str, Any]], list[Any]]:
    """Value and gradient of PyMC's density, its own Jacobians included."""
    logp = model.logp()
    gradients = pytensor.grad(logp, model.value_vars)
    return model.compile_fn([logp, *gradients], inputs=model.value_vars, mode=PLAIN)


@pytest.mark.parametrize(("spec", "dimensions"), parameters())
def test_same_density_and_gradient(spec: ModelSpec, dimensions: int) -> None:
    counts = agreement.data(dimensions)
    rng = np.random.default_rng(6)
    model = build_model(counts, spec, CENTREDNESS if dimensions == 1 else 1.0)
    density = compiled(model)
    names = [variable.name for variable in model.value_vars]
    differences = []
    for _ in range(2):
        point = agreement.random_point(spec, counts, rng)
        if dimensions > 1:
            del point["correlation_cholesky"]
            point["partial"] = rng.normal(0, 0.7, 3)
        free = {name: jnp.asarray(value) for name, value in point.items()}
        expected, slopes = jax.value_and_grad(lambda free: of_pure_arrays(spec, counts, free))(free)
        (values, jacobian), pull = jax.vjp(lambda free: to_pymc(spec, counts, free), free)
        assert sorted(values) == sorted(names)
        value, *gradient = density({name: np.asarray(values[name]) for name in names})
        back = {name: jnp.asarray(part) for name, part in zip(names, gradient, strict=True)}
        (got,) = pull((back, jnp.ones_like(jacobian)))
        differences.append(float(value + jacobian - expected))
        for name in free:
            assert np.abs(got[name] - slopes[name]).max() < 1e-8, name
    # With several dimensions the LKJ density's constant is left out of the model in pure arrays.
    constant = differences[0] if dimensions > 1 else 0.0
    assert differences == pytest.approx([constant] * 2, abs=1e-8)


@pytest.mark.parametrize(("size", "eta"), [(2, 1.0), (3, 2.0), (4, 0.7)])
def test_partial_correlations_make_an_lkj_matrix(size: int, eta: float) -> None:
    with pm.Model() as model:
        pm.Deterministic("factor", _correlation_factor(size, eta))
    logits = np.random.default_rng(size).normal(0, 0.8, size * (size - 1) // 2)
    point = {"partial_correlation_share_logodds__": logits}
    inputs = model.value_vars
    value = model.compile_fn([model.logp()], inputs=inputs, mode=PLAIN)(point)[0]
    made = model.compile_fn(model.replace_rvs_by_values([model["factor"]]), inputs=inputs, mode=PLAIN)(point)[
        0
    ]
    factor, jacobian = factor_and_jacobian(jnp.asarray(logits), size)
    assert made == pytest.approx(np.asarray(factor), abs=1e-12)
    assert value == pytest.approx(float(LKJCholesky(size, eta).log_prob(factor) + jacobian), abs=1e-10)


def test_every_correlation_has_the_lkj_marginal() -> None:
    with pm.Model():
        factor = _correlation_factor(3, 2.0)
    with _compiling():
        factors = pm.draw(factor, draws=4000, random_seed=9)
    correlations = factors @ factors.transpose(0, 2, 1)
    marginal = stats.beta(2.5, 2.5, loc=-1, scale=2)  # eta - 1 + D / 2
    for i, j in combinations(range(3), 2):
        assert stats.kstest(correlations[:, i, j], marginal.cdf).pvalue > 0.01


@pytest.mark.parametrize("mode", [PLAIN, "NUMBA"])
def test_tie_models_do_not_overflow(mode: Any) -> None:
    x, y = pt.dvectors("x", "y")
    total = _logaddexp(_logaddexp(x / 2, -x / 2), y)
    with _compiling():
        function = pytensor.function([x, y], [total, *pytensor.grad(total.sum(), [x, y])], mode=mode)
    delta = np.array([-5000.0, -800.0, -3.0, 0.0, 1e-9, 4.0, 800.0, 5000.0])
    value, slope, other = function(delta, np.full(8, -0.8))
    assert value == pytest.approx(np.logaddexp(np.logaddexp(delta / 2, -delta / 2), -0.8), rel=1e-14)
    z = np.exp(delta[2:6] / 2) + np.exp(-delta[2:6] / 2) + np.exp(-0.8)
    expected = (np.exp(delta[2:6] / 2) - np.exp(-delta[2:6] / 2)) / 2 / z
    assert slope == pytest.approx(np.concatenate([[-0.5, -0.5], expected, [0.5, 0.5]]), abs=1e-12)
    assert other[2:6] == pytest.approx(np.exp(-0.8) / z, rel=1e-12)
    assert other[[0, 1, 6, 7]] == pytest.approx(np.zeros(4), abs=1e-100)
