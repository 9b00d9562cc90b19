"""The model in pure arrays: linear predictor, log-likelihood, log-prior, under any array namespace ``xp``.

D dimensions, I items, J judges, K covariates, C cells. Parameters by name (absent ones are not in the model):

========================  ===========  ==================================================================
``strength``              (D, I)       lambda, in log-odds
``log_sd``                (D,)         log of the standard deviation of the strengths
``correlation_cholesky``  (D, D)       lower Cholesky factor of the strengths' correlation over dimensions
``covariate``             (D, K)       gamma, in log-odds for one standard deviation of the covariate
``tie_logit``             (D,)         u = logit(t)
``order``                 (D,)         beta, in log-odds
``order_by_judge``        (J,)         what a judge's beta adds
``log_order_judge_sd``    ()           log of its standard deviation
``tie_by_judge``          (J,)         what a judge adds to u
``log_tie_judge_sd``      ()           log of its standard deviation
``log_adherence``         (J,)         log(alpha) before its mean is taken off
``log_adherence_sd``      ()           log of its standard deviation
========================  ===========  ==================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.spec import ModelSpec, Prior
from bayesbt.ties import TieModel, softplus

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Parameters = Mapping[str, Any]

STANDARD = Prior("Normal", (0.0, 1.0))


@dataclass(frozen=True)
class Cells:
    """What the likelihood sees: C cells with the counts of the tie model in force."""

    n_items: int
    a: Ints
    b: Ints
    wins_a: Floats
    ties: Floats
    wins_b: Floats
    judge: Ints
    dimension: Ints

    @classmethod
    def of(cls, counts: Counts, model: TieModel) -> Cells:
        """Apply the tie model's rule and keep the cells that still carry a count."""
        wins_a, ties, wins_b = model.outcome_counts(counts.wins_a, counts.ties, counts.wins_b)
        keep = (wins_a + ties + wins_b) > 0
        arrays = (counts.a, counts.b, wins_a, ties, wins_b, counts.judge, counts.dimension)
        return cls(counts.n_items, *(array[keep] for array in arrays))

    @property
    def total(self) -> float:
        """Weighted number of observations in the likelihood."""
        return float(self.wins_a.sum() + self.ties.sum() + self.wins_b.sum())


def log_likelihood(xp: Any, model: TieModel, delta: Any, tie_logit: Any, cells: Cells) -> Any:
    """Sum over cells of count times log-probability, without combinatorial constants."""
    log_a, log_tie, log_b = model.log_probabilities(xp, delta, tie_logit)
    return xp.sum(cells.wins_a * log_a + cells.ties * log_tie + cells.wins_b * log_b)


def linear_predictor(xp: Any, spec: ModelSpec, parameters: Parameters, cells: Cells) -> tuple[Any, Any]:
    """(C,) delta = alpha (lambda_a - lambda_b) + beta in log-odds, and (C,) u = logit(t)."""
    strength, d = parameters["strength"], cells.dimension
    delta = strength[d, cells.a] - strength[d, cells.b]
    if spec.judges == "adherence":
        log_alpha = parameters["log_adherence"]
        delta = xp.exp(log_alpha - xp.mean(log_alpha))[cells.judge] * delta
    if spec.has_order:
        delta = delta + _scalar(xp, spec.priors.order, parameters, "order", lambda x: x)[d]
    if "order_by_judge" in parameters:
        delta = delta + parameters["order_by_judge"][cells.judge]
    if not spec.tie_model.has_tie_parameter:
        return delta, xp.zeros(1)
    tie_logit = _scalar(xp, spec.priors.tie, parameters, "tie_logit", lambda t: np.log(t) - np.log1p(-t))[d]
    if "tie_by_judge" in parameters:
        tie_logit = tie_logit + parameters["tie_by_judge"][cells.judge]
    return delta, tie_logit


def _scalar(xp: Any, prior: Prior, parameters: Parameters, name: str, to_unconstrained: Any) -> Any:
    """(D,) A parameter that is free or fixed by its prior."""
    if prior.fixed is None:
        return parameters[name]
    return xp.zeros(parameters["strength"].shape[0]) + to_unconstrained(prior.fixed)


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


def log_density(xp: Any, spec: ModelSpec, counts: Counts, parameters: Parameters) -> Any:
    """Log posterior density on the unconstrained scale, up to the evidence.

    The correlation's Cholesky factor enters with the LKJ density over its entries, up to a constant.
    """
    cells = Cells.of(counts, spec.tie_model)
    delta, tie_logit = linear_predictor(xp, spec, parameters, cells)
    total = log_likelihood(xp, spec.tie_model, delta, tie_logit, cells)
    total = total + _log_prior_strength(xp, spec, counts, parameters)
    if "tie_logit" in parameters:
        total = total + xp.sum(log_prior_tie(xp, spec.tie_model, spec.priors.tie, parameters["tie_logit"]))
    if "order" in parameters:
        total = total + xp.sum(spec.priors.order.log_density(xp, parameters["order"]))
    for name, sd_name in JUDGE_EFFECTS.items():
        if name in parameters:
            total = total + _log_prior_effects(xp, spec, parameters, name, sd_name)
    return total


JUDGE_EFFECTS = {
    "order_by_judge": "order_judge_sd",
    "tie_by_judge": "tie_judge_sd",
    "log_adherence": "adherence_sd",
}
"""Effects of judges, and the prior of their standard deviation."""


def _log_prior_effects(xp: Any, spec: ModelSpec, parameters: Parameters, name: str, sd_name: str) -> Any:
    prior: Prior = getattr(spec.priors, sd_name)
    log_sd = parameters[f"log_{sd_name}"] if prior.fixed is None else np.log(prior.fixed)
    total = xp.sum(STANDARD.log_density(xp, parameters[name] * xp.exp(-log_sd)) - log_sd)
    return total if prior.fixed is not None else total + log_prior_sd(xp, prior, log_sd)


def _log_prior_strength(xp: Any, spec: ModelSpec, counts: Counts, parameters: Parameters) -> Any:
    """Strengths around their covariates, correlated over dimensions; sd, coefficients and correlation."""
    strength, prior = parameters["strength"], spec.priors.strength_sd
    log_sd = (
        parameters["log_sd"] if prior.fixed is None else xp.zeros(strength.shape[0]) + np.log(prior.fixed)
    )
    total = 0.0 if prior.fixed is not None else xp.sum(log_prior_sd(xp, prior, log_sd))
    if "covariate" in parameters:
        strength = strength - parameters["covariate"] @ counts.covariates.T
        total = total + xp.sum(spec.priors.covariate.log_density(xp, parameters["covariate"]))
    scaled = strength * xp.exp(-log_sd)[:, None]
    if "correlation_cholesky" in parameters:
        factor = parameters["correlation_cholesky"]
        scaled = xp.linalg.inv(factor) @ scaled
        diagonal = xp.log(xp.diag(factor))
        powers = len(counts.dimensions) - 1 - np.arange(len(counts.dimensions))
        (eta,) = spec.priors.correlation.arguments
        total = total + xp.sum((powers[1:] + 2 * eta - 2) * diagonal[1:])
        total = total - counts.n_items * xp.sum(diagonal)
    return total + xp.sum(STANDARD.log_density(xp, scaled)) - counts.n_items * xp.sum(log_sd)


def free_parameters(spec: ModelSpec, dimensions: int = 1) -> tuple[str, ...]:
    """Names of the free parameters beside the strengths, in their fixed order."""
    priors = spec.priors
    order_by_judge, tie_by_judge = spec.order == "by-judge", spec.tie_parameter == "by-judge"
    free = {
        "log_sd": priors.strength_sd.fixed is None,
        "correlation_cholesky": dimensions > 1,
        "covariate": bool(spec.covariates),
        "tie_logit": spec.tie_model.has_tie_parameter and priors.tie.fixed is None,
        "order": spec.has_order and priors.order.fixed is None,
        "order_by_judge": order_by_judge,
        "log_order_judge_sd": order_by_judge and priors.order_judge_sd.fixed is None,
        "tie_by_judge": tie_by_judge,
        "log_tie_judge_sd": tie_by_judge and priors.tie_judge_sd.fixed is None,
        "log_adherence": spec.judges == "adherence",
        "log_adherence_sd": spec.judges == "adherence" and priors.adherence_sd.fixed is None,
    }
    return tuple(name for name, is_free in free.items() if is_free)


def fixed_values(spec: ModelSpec) -> tuple[float, float]:
    """(u, beta) where their priors fix them; 0 where they are free or absent."""
    tie, order = spec.priors.tie.fixed, spec.priors.order.fixed
    tie_logit = 0.0 if tie is None or not spec.tie_model.has_tie_parameter else np.log(tie) - np.log1p(-tie)
    return float(tie_logit), order if spec.has_order and order is not None else 0.0
