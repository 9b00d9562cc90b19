"""The posterior by the No-U-Turn sampler of NumPyro, in double precision.

Importing this module switches JAX to double precision for the process and, where JAX has not started yet,
asks for four host devices so that four chains can run side by side on a CPU.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4".strip()
)

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpy.typing import NDArray
from numpyro.infer import MCMC, NUTS, init_to_value

from bayesbt.counts import Counts
from bayesbt.infer.laplace import Marginal
from bayesbt.infer.model import Cells
from bayesbt.infer.modes import scalars_at
from bayesbt.infer.results import Draws, EngineResult, Options, centre
from bayesbt.spec import ModelSpec, Prior
from bayesbt.ties import TieModel, rao_kupper_tau

jax.config.update("jax_enable_x64", True)

Floats = NDArray[np.float64]


def _distribution(prior: Prior) -> Any:
    families = {
        "Normal": dist.Normal,
        "HalfNormal": dist.HalfNormal,
        "LogNormal": dist.LogNormal,
        "Beta": dist.Beta,
    }
    return families[prior.family](*prior.arguments)


def _scalar(name: str, prior: Prior) -> Any:
    return prior.fixed if prior.fixed is not None else numpyro.sample(name, _distribution(prior))


def _tie_logit(model: TieModel, prior: Prior) -> Any:
    """Return u = logit(t), sampled on the scale on which the prior is stated."""
    if prior.family != "LogNormal":
        t = _scalar("tie", prior)
        return jnp.log(t) - jnp.log1p(-jnp.asarray(t))
    native = numpyro.sample("tie_native", _distribution(prior))
    odds = jnp.expm1(native) / 2 if model.name == "rao-kupper" else native / 2
    numpyro.deterministic("tie", odds / (1 + odds))
    return jnp.log(odds)


def build_model(counts: Counts, spec: ModelSpec, centredness: Floats | float = 1.0) -> Any:
    """Return the NumPyro model of the counts: strengths, order effect, tie parameter, likelihood.

    ``centredness`` in [0, 1], one number or (I,): the sampler moves ``z ~ Normal(0, sd^c)`` with
    ``strength = z sd^(1 - c)``, which is centred for 1 and non-centred for 0 (Papaspiliopoulos et al. 2007).
    """
    model, priors = spec.tie_model, spec.priors
    cells = Cells.of(counts, model)
    a, b = jnp.asarray(cells.a), jnp.asarray(cells.b)
    observed = [jnp.asarray(count) for count in (cells.wins_a, cells.ties, cells.wins_b)]
    share = jnp.broadcast_to(jnp.asarray(centredness, dtype=float), (cells.n_items,))

    def judgments() -> None:
        sd = _scalar("strength_sd", priors.strength_sd)
        z = numpyro.sample("z", dist.Normal(0.0, sd**share).to_event(1))
        strength = numpyro.deterministic("strength", z * sd ** (1 - share))
        order = _scalar("order", priors.order) if spec.has_order else 0.0
        tie_logit = _tie_logit(model, priors.tie) if model.has_tie_parameter else 0.0
        log_probabilities = model.log_probabilities(jnp, strength[a] - strength[b] + order, tie_logit)
        terms = [count * log_p for count, log_p in zip(observed, log_probabilities, strict=True)]
        numpyro.factor("judgments", sum(term.sum() for term in terms))

    return judgments


@dataclass(frozen=True)
class _Start:
    """Where the chains start and how centred each strength is; both only matter for speed."""

    values: dict[str, Any]
    centredness: Floats


def _start(counts: Counts, spec: ModelSpec) -> _Start:
    """Start at the posterior mode; centre each item by its share of information that comes from comparisons.

    The share is taken at the low end of the sd's plausible range, where a centred strength would be stuck.
    """
    marginal = Marginal(counts, spec)
    log_sd = marginal.mode(tolerance=0.1)
    low = log_sd - marginal.spread(log_sd) if spec.priors.strength_sd.fixed is None else log_sd
    _, problem, mode = marginal.at(log_sd)
    n, sd = counts.n_items, float(np.exp(log_sd))
    information = np.diag(mode.information)[:n] - problem.precision
    share = information / (information + np.exp(-2 * low))
    order, tie_logit = scalars_at(problem, mode.theta)
    values = {"strength_sd": sd, "order": order, "z": mode.theta[:n] / sd ** (1 - share)}
    if spec.priors.tie.family == "LogNormal":
        values["tie_native"] = (
            rao_kupper_tau(np, tie_logit) if spec.ties == "rao-kupper" else 2 * np.exp(tie_logit)
        )
    else:
        values["tie"] = 1 / (1 + np.exp(-tie_logit))
    return _Start({name: jnp.asarray(value) for name, value in values.items()}, share)


def fit_numpyro(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Draw from the posterior by NUTS; 4 chains in parallel where the devices allow, else vectorised."""
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
    mcmc.run(
        jax.random.key(options.seed),
        extra_fields=("diverging", "energy", "num_steps", "accept_prob", "potential_energy"),
    )
    samples = mcmc.get_samples(group_by_chain=True)
    extra = mcmc.get_extra_fields(group_by_chain=True)
    names = {
        "diverging": "diverging",
        "energy": "energy",
        "num_steps": "n_steps",
        "accept_prob": "acceptance_rate",
    }
    return EngineResult(
        bayesian=True,
        draws=Draws(
            centre(np.asarray(samples["strength"]), counts.component),
            {name: np.asarray(samples[name]) for name in ("tie", "order", "strength_sd") if name in samples},
            {public: np.asarray(extra[name]) for name, public in names.items()},
        ),
    )
