"""The posterior by the No-U-Turn sampler of NumPyro, in double precision.

Importing this module sets JAX up, see :mod:`bayesbt.infer.devices`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpy.typing import NDArray
from numpyro.infer import MCMC, NUTS, init_to_value

import bayesbt.infer.devices  # noqa: F401  (before anything is computed)
from bayesbt.counts import Counts
from bayesbt.infer.laplace import Marginal
from bayesbt.infer.model import Cells
from bayesbt.infer.modes import scalars_at
from bayesbt.infer.results import EngineResult, Options
from bayesbt.infer.samples import PUBLIC, Samples, results_of
from bayesbt.spec import ModelSpec, Prior
from bayesbt.ties import TieModel

Floats = NDArray[np.float64]


def _distribution(prior: Prior) -> Any:
    families = {
        "Normal": dist.Normal,
        "HalfNormal": dist.HalfNormal,
        "LogNormal": dist.LogNormal,
        "Beta": dist.Beta,
    }
    return families[prior.family](*prior.arguments)


def _free(name: str, prior: Prior, size: int) -> Any:
    """(size,) A parameter that is sampled, or fixed by its prior."""
    if prior.fixed is not None:
        return jnp.full(size, prior.fixed)
    return numpyro.sample(name, _distribution(prior).expand([size]).to_event(1))


def _effects(name: str, sd_name: str, prior: Prior, size: int) -> Any:
    """(size,) Effects around zero with a standard deviation that is sampled or fixed; non-centred."""
    sd = prior.fixed if prior.fixed is not None else numpyro.sample(sd_name, _distribution(prior))
    z = numpyro.sample(f"{name}_z", dist.Normal(0.0, 1.0).expand([size]).to_event(1))
    return numpyro.deterministic(name, sd * z)


def _tie_logit(model: TieModel, prior: Prior, size: int) -> Any:
    """Return (size,) u = logit(t), sampled on the scale on which the prior is stated."""
    if prior.family != "LogNormal" or model.logit_of_native is None:
        t = _free("tie", prior, size)
        return jnp.log(t) - jnp.log1p(-t)
    tie_logit = model.logit_of_native(jnp, _free("tie_native", prior, size))
    numpyro.deterministic("tie", jax.nn.sigmoid(tie_logit))
    return tie_logit


def _strength(counts: Counts, spec: ModelSpec, share: Any) -> Any:
    """(D, I) Strengths: covariates plus deviations that are correlated over dimensions."""
    size, priors = len(counts.dimensions), spec.priors
    sd = _free("strength_sd", priors.strength_sd, size)[:, None]
    z = numpyro.sample("z", dist.Normal(0.0, sd**share).to_event(2))
    deviation = z * sd ** (1 - share)
    if size > 1:
        (eta,) = priors.correlation.arguments
        factor = numpyro.sample("correlation_cholesky", dist.LKJCholesky(size, eta))
        numpyro.deterministic("correlation", factor @ factor.T)
        deviation = sd * (factor @ (deviation / sd))
    if spec.covariates:
        coefficient = dist.Normal(*priors.covariate.arguments).expand([size, len(spec.covariates)])
        deviation = deviation + numpyro.sample("covariate", coefficient.to_event(2)) @ counts.covariates.T
    return numpyro.deterministic("strength", deviation)


def build_model(counts: Counts, spec: ModelSpec, centredness: Floats | float = 1.0) -> Any:
    """Return the NumPyro model of the counts.

    ``centredness`` in [0, 1], one number or (D, I): the sampler moves ``z ~ Normal(0, sd^c)`` with
    ``strength = z sd^(1 - c)``, which is centred for 1 and non-centred for 0 (Papaspiliopoulos et al. 2007).

    The model takes other counts of the same cells as its one argument, (3, C) as the likelihood sees them, so
    that one compiled sampler serves many data sets.
    """
    model, priors = spec.tie_model, spec.priors
    cells = Cells.of(counts, model)
    a, b, of, by = (jnp.asarray(index) for index in (cells.a, cells.b, cells.dimension, cells.judge))
    counted = jnp.stack([jnp.asarray(count) for count in (cells.wins_a, cells.ties, cells.wins_b)])
    size, n_judges = len(counts.dimensions), len(counts.judges)
    share = jnp.broadcast_to(jnp.asarray(centredness, dtype=float), (size, cells.n_items))

    def judgments(observed: Any = counted) -> None:
        strength = _strength(counts, spec, share)
        delta = strength[of, a] - strength[of, b]
        if spec.judges == "adherence":
            log_alpha = _effects("log_adherence", "adherence_sd", priors.adherence_sd, n_judges)
            alpha = numpyro.deterministic("adherence", jnp.exp(log_alpha - log_alpha.mean()))
            delta = alpha[by] * delta
        if spec.has_order:
            delta = delta + _free("order", priors.order, size)[of]
        if spec.order == "by-judge":
            delta = delta + _effects("order_by_judge", "order_judge_sd", priors.order_judge_sd, n_judges)[by]
        tie_logit = _tie_logit(model, priors.tie, size)[of] if model.has_tie_parameter else 0.0
        if spec.tie_parameter == "by-judge":
            tie_logit = (
                tie_logit + _effects("tie_by_judge", "tie_judge_sd", priors.tie_judge_sd, n_judges)[by]
            )
        log_probabilities = model.log_probabilities(jnp, delta, tie_logit)
        terms = [count * log_p for count, log_p in zip(observed, log_probabilities, strict=True)]
        numpyro.factor("judgments", sum(term.sum() for term in terms))

    return judgments


@dataclass(frozen=True)
class _Start:
    """Where the chains start and how centred each strength is; both only matter for speed."""

    values: dict[str, Any]
    centredness: Floats


def _start(counts: Counts, spec: ModelSpec) -> _Start:
    """Start at the pooled posterior mode; centre each item by its share of information from comparisons.

    The share is taken at the low end of the sd's plausible range, where a centred strength would be stuck.
    Correlated dimensions are not centred, since their strengths also inform each other.
    """
    parts = [_start_of_dimension(counts.of_dimension(d), spec) for d in range(len(counts.dimensions))]
    values = {name: np.stack([part[name] for part, _ in parts]) for name in parts[0][0]}
    share = (
        np.stack([share for _, share in parts]) if len(parts) == 1 else np.zeros((len(parts), counts.n_items))
    )
    values["z"] = values.pop("mode") / values["strength_sd"][:, None] ** (1 - share)
    effects = ("order_by_judge_z", "tie_by_judge_z", "log_adherence_z")
    values |= {name: np.zeros(len(counts.judges)) for name in effects}
    values |= {name: np.asarray(0.3) for name in ("order_judge_sd", "tie_judge_sd", "adherence_sd")}
    values["covariate"] = np.zeros((len(parts), len(spec.covariates)))
    return _Start({name: jnp.asarray(value) for name, value in values.items()}, share)


def _start_of_dimension(counts: Counts, spec: ModelSpec) -> tuple[dict[str, Any], Floats]:
    marginal = Marginal(counts, spec.pooled())
    log_sd = marginal.mode(tolerance=0.1)
    low = log_sd - marginal.spread(log_sd) if spec.priors.strength_sd.fixed is None else log_sd
    _, problem, mode = marginal.at(log_sd)
    n, sd = counts.n_items, float(np.exp(log_sd))
    information = np.diag(mode.information)[:n] - problem.precision
    order, tie_logit = scalars_at(problem, mode.theta)
    values = {"strength_sd": sd, "order": order, "mode": mode.theta[:n]}
    if spec.priors.tie.family == "LogNormal" and spec.tie_model.log_native is not None:
        values["tie_native"] = np.exp(spec.tie_model.log_native(np, tie_logit)[0])
    else:
        values["tie"] = 1 / (1 + np.exp(-tie_logit))
    return values, information / (information + np.exp(-2 * low))


STATISTICS = {
    "diverging": "diverging",
    "energy": "energy",
    "num_steps": "n_steps",
    "accept_prob": "acceptance_rate",
}
"""NumPyro's names of the sampler's statistics, and ArviZ's."""


def sample(counts: Counts, spec: ModelSpec, options: Options) -> Samples:
    """Draw from the posterior by NUTS; chains in parallel where the devices allow, else vectorised."""
    start = _start(counts, spec)
    kernel = NUTS(
        build_model(counts, spec, start.centredness),
        target_accept_prob=options.target_accept,
        init_strategy=init_to_value(values=start.values),
    )
    parallel = jax.local_device_count() >= options.chains
    mcmc = MCMC(
        kernel,
        num_warmup=options.tune,
        num_samples=options.draws,
        num_chains=options.chains,
        chain_method="parallel" if parallel else "vectorized",
        progress_bar=options.progress and sys.stderr.isatty(),
    )
    mcmc.run(jax.random.key(options.seed), extra_fields=(*STATISTICS, "potential_energy"))
    values = mcmc.get_samples(group_by_chain=True)
    statistics = mcmc.get_extra_fields(group_by_chain=True)
    return Samples(
        {name: np.asarray(value) for name, value in values.items() if name in PUBLIC},
        {public: np.asarray(statistics[name]) for name, public in STATISTICS.items()},
    )


def fit_numpyro(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Sample one dimension."""
    return results_of(sample(counts, spec, options), counts, spec)[0]
