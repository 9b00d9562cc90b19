"""First and second derivatives of the log-likelihood per cell, by JAX, for every tie model alike.

Importing this module sets JAX up, see :mod:`bayesbt.infer.devices`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import bayesbt.infer.devices  # noqa: F401  (before anything is computed)
from bayesbt.infer.model import Cells, log_prior_tie
from bayesbt.spec import Prior
from bayesbt.ties import TIE_MODELS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CellDerivatives:
    """Per cell, (C,) each: value, and derivatives in delta (log-odds) and u = logit(t)."""

    value: Floats
    d: Floats
    u: Floats
    dd: Floats
    du: Floats
    uu: Floats


@cache
def _compiled(name: str) -> Callable[..., Any]:
    model = TIE_MODELS[name]

    def cell(x: Any, wins_a: Any, ties: Any, wins_b: Any) -> Any:
        log_a, log_tie, log_b = model.log_probabilities(jnp, x[0], x[1])
        return wins_a * log_a + ties * log_tie + wins_b * log_b

    def derivatives(delta: Any, u: Any, wins_a: Any, ties: Any, wins_b: Any) -> Any:
        x = jnp.stack([delta, u])
        value, gradient = jax.value_and_grad(cell)(x, wins_a, ties, wins_b)
        hessian = jax.hessian(cell)(x, wins_a, ties, wins_b)
        return value, gradient[0], gradient[1], hessian[0, 0], hessian[0, 1], hessian[1, 1]

    return jax.jit(jax.vmap(derivatives, in_axes=(0, None, 0, 0, 0)))


def cell_derivatives(name: str, delta: Floats, u: float, cells: Cells) -> CellDerivatives:
    """Value, gradient and Hessian of each cell's log-likelihood under the tie model ``name``."""
    parts = _compiled(name)(delta, u, cells.wins_a, cells.ties, cells.wins_b)
    return CellDerivatives(*(np.asarray(part) for part in parts))


@cache
def _compiled_scalar(which: str, name: str, prior: Prior) -> Callable[[float], Any]:
    def value(x: Any) -> Any:
        return (
            log_prior_tie(jnp, TIE_MODELS[name], prior, x)
            if which == "tie_logit"
            else prior.log_density(jnp, x)
        )

    slope = jax.grad(value)
    return jax.jit(lambda x: (value(x), slope(x), jax.grad(slope)(x)))


def scalar_prior_derivatives(which: str, name: str, prior: Prior, x: float) -> tuple[float, float, float]:
    """Log-prior of ``tie_logit`` or ``order`` at ``x``, and its first and second derivative."""
    value, slope, curvature = _compiled_scalar(which, name, prior)(x)
    return float(value), float(slope), float(curvature)
