"""NumPyro's log-density and gradient are those of the model in pure arrays, for every combination."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density as numpyro_log_density

from bayesbt.counts import Counts
from bayesbt.infer.model import log_density
from bayesbt.infer.numpyro_engine import build_model
from bayesbt.spec import ModelSpec
from tests import agreement

EFFECTS = {
    "order_by_judge": "order_judge_sd",
    "tie_by_judge": "tie_judge_sd",
    "log_adherence": "adherence_sd",
}


def density_by_numpyro(spec: ModelSpec, counts: Counts, free: dict) -> jax.Array:
    """The density of the model's own (constrained) variables, and the Jacobian to the unconstrained scale."""
    values, jacobian = {"z": free["strength"]}, 0.0
    if "covariate" in free:
        values["covariate"] = free["covariate"]
        values["z"] = values["z"] - free["covariate"] @ counts.covariates.T
    if "log_sd" in free:
        values["strength_sd"] = jnp.exp(free["log_sd"])
        jacobian += free["log_sd"].sum()
    if "correlation_cholesky" in free:  # z is what is left when scale and correlation are taken off
        factor = free["correlation_cholesky"]
        values["correlation_cholesky"] = factor
        fixed = spec.priors.strength_sd.fixed
        sd = (values["strength_sd"] if fixed is None else jnp.full(len(factor), fixed))[:, None]
        values["z"] = sd * (jnp.linalg.inv(factor) @ (values["z"] / sd))
        jacobian -= counts.n_items * jnp.log(jnp.diag(factor)).sum()
    if "order" in free:
        values["order"] = free["order"]
    if "tie_logit" in free:
        u = free["tie_logit"]
        if spec.priors.tie.family == "LogNormal":
            rao_kupper = spec.ties == "rao-kupper"
            q = jnp.log1p(2 * jnp.exp(u)) if rao_kupper else 2 * jnp.exp(u)
            values["tie_native"] = q
            jacobian += jnp.sum(jnp.log(2 * jnp.exp(u) / (1 + 2 * jnp.exp(u))) if rao_kupper else jnp.log(q))
        else:
            t = 1 / (1 + jnp.exp(-u))
            values["tie"] = t
            jacobian += jnp.sum(jnp.log(t) + jnp.log1p(-t))
    for name, sd_name in EFFECTS.items():
        if name in free:
            prior = getattr(spec.priors, sd_name)
            sd = prior.fixed if prior.fixed is not None else jnp.exp(free[f"log_{sd_name}"])
            values[f"{name}_z"] = free[name] / sd
            jacobian -= len(free[name]) * jnp.log(sd)
            if prior.fixed is None:
                values[sd_name] = sd
                jacobian += jnp.log(sd)
    return numpyro_log_density(build_model(counts, spec), (), {}, values)[0] + jacobian


@pytest.mark.parametrize(("spec", "dimensions"), agreement.combinations())
def test_same_density_and_gradient(spec: ModelSpec, dimensions: int) -> None:
    counts = agreement.data(dimensions)
    rng = np.random.default_rng(5)

    def difference(free: dict) -> jax.Array:
        return density_by_numpyro(spec, counts, free) - log_density(jnp, spec, counts, free)

    differences = []
    for _ in range(3):
        point = agreement.random_point(spec, counts, rng)
        free = {name: jnp.asarray(value) for name, value in point.items()}
        value, gradient = jax.value_and_grad(difference)(free)
        plain = log_density(np, spec, counts, point)
        assert float(plain) == pytest.approx(float(log_density(jnp, spec, counts, free)), abs=1e-8)
        differences.append(float(value))
        for name in free:
            assert np.abs(gradient[name]).max() < 1e-8, name
    # With several dimensions the LKJ density's constant is left out of the model in pure arrays.
    constant = differences[0] if dimensions > 1 else 0.0
    assert differences == pytest.approx([constant] * 3, abs=1e-8)
