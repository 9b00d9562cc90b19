"""The model in pure arrays: linear predictor, log-likelihood, log-prior, under any array namespace ``xp``.

Parameters, on the unconstrained scale: ``strength`` (I,) in log-odds; ``log_sd``, the log of the strengths'
standard deviation; ``tie_logit``, u = logit(t); ``order``, beta in log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.spec import ModelSpec, Prior
from bayesbt.ties import TieModel, softplus

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """What the likelihood sees: C cells with the counts of the tie model in force."""

    n_items: int
    a: Ints
    b: Ints
    wins_a: Floats
    ties: Floats
    wins_b: Floats

    @classmethod
    def of(cls, counts: Counts, model: TieModel) -> Cells:
        """Apply the tie model's rule and keep the cells that still carry a count."""
        wins_a, ties, wins_b = model.outcome_counts(counts.wins_a, counts.ties, counts.wins_b)
        keep = (wins_a + ties + wins_b) > 0
        return cls(counts.n_items, counts.a[keep], counts.b[keep], wins_a[keep], ties[keep], wins_b[keep])

    @property
    def total(self) -> float:
        """Weighted number of observations in the likelihood."""
        return float(self.wins_a.sum() + self.ties.sum() + self.wins_b.sum())


def linear_predictor(strength: Any, order: Any, cells: Cells) -> Any:
    """(C,) delta = lambda_a - lambda_b + beta, in log-odds; positive in favour of the item shown first."""
    return strength[cells.a] - strength[cells.b] + order


def log_likelihood(xp: Any, model: TieModel, delta: Any, tie_logit: Any, cells: Cells) -> Any:
    """Sum over cells of count times log-probability, without combinatorial constants."""
    log_a, log_tie, log_b = model.log_probabilities(xp, delta, tie_logit)
    return xp.sum(cells.wins_a * log_a + cells.ties * log_tie + cells.wins_b * log_b)


def log_prior_tie(xp: Any, model: TieModel, prior: Prior, tie_logit: Any) -> Any:
    """Log-density of u = logit(t), Jacobian included."""
    if prior.family == "LogNormal" and model.log_native is not None:
        log_value, log_slope = model.log_native(xp, tie_logit)
        return Prior("Normal", prior.arguments).log_density(xp, log_value) + log_slope
    # Beta(a, b) on t, written in u: log t = -softplus(-u), log(1 - t) = -softplus(u), dt/du = t (1 - t).
    a, b = prior.arguments
    uniform = prior.log_density(xp, 0.5 + 0.0 * tie_logit) + (a + b - 2) * np.log(2)
    return uniform - a * softplus(xp, -tie_logit) - b * softplus(xp, tie_logit)


def log_prior_sd(xp: Any, prior: Prior, log_sd: Any) -> Any:
    """Log-density of log(sd), Jacobian included."""
    return prior.log_density(xp, xp.exp(log_sd)) + log_sd


def log_density(xp: Any, spec: ModelSpec, cells: Cells, parameters: dict[str, Any]) -> Any:
    """Log posterior density on the unconstrained scale, up to the evidence.

    ``parameters`` holds ``strength`` and those of ``log_sd``, ``tie_logit`` and ``order`` that are free.
    """
    model, priors = spec.tie_model, spec.priors
    sd = xp.exp(parameters["log_sd"]) if "log_sd" in parameters else priors.strength_sd.fixed
    tie_logit, order = fixed_or_free(spec, parameters)
    total = log_likelihood(
        xp, model, linear_predictor(parameters["strength"], order, cells), tie_logit, cells
    )
    total = total + xp.sum(
        Prior("Normal", (0.0, 1.0)).log_density(xp, parameters["strength"] / sd) - xp.log(sd)
    )
    if "log_sd" in parameters:
        total = total + log_prior_sd(xp, priors.strength_sd, parameters["log_sd"])
    if "tie_logit" in parameters:
        total = total + log_prior_tie(xp, model, priors.tie, tie_logit)
    if "order" in parameters:
        total = total + priors.order.log_density(xp, order)
    return total


def free_parameters(spec: ModelSpec) -> tuple[str, ...]:
    """Names of the free parameters beside the strengths, in their fixed order."""
    free = {
        "log_sd": spec.priors.strength_sd.fixed is None,
        "tie_logit": spec.tie_model.has_tie_parameter and spec.priors.tie.fixed is None,
        "order": spec.has_order and spec.priors.order.fixed is None,
    }
    return tuple(name for name, is_free in free.items() if is_free)


def fixed_or_free(spec: ModelSpec, parameters: dict[str, Any]) -> tuple[Any, Any]:
    """(u, beta): free ones from ``parameters``, fixed ones from their priors, absent ones zero."""
    fixed_tie, fixed_order = spec.priors.tie.fixed, spec.priors.order.fixed
    tie_logit = 0.0 if fixed_tie is None else np.log(fixed_tie) - np.log1p(-fixed_tie)
    order = fixed_order if spec.has_order and fixed_order is not None else 0.0
    return parameters.get("tie_logit", tie_logit), parameters.get("order", order)
