"""The posterior by a Gibbs sampler over components, each proposed whole from its Laplace approximation.

Given the scalars (sd of the strengths, tie parameter, order effect) the components of the comparison graph
are independent, and each is close to a Gaussian (:mod:`bayesbt.infer.gibbs_reference`). A sweep

1. proposes every component at once, ``x' = m + rho (x - m) + sqrt(1 - rho^2) e`` with m the mean of that
   Gaussian and e from its centred version, which leaves it invariant, and accepts each component by itself on
   what the Gaussian leaves of the posterior (Metropolis and Hastings; the autoregressive form is that of
   Neal 1998). rho is 0, an independent proposal, unless a component accepts too seldom;
2. draws the sd given the strengths, from an inverse gamma corrected for the prior;
3. draws all scalars with the standardised strengths ``x / sd`` held, by one Newton step that is corrected for
   where it errs, so that sd and strengths are updated in both parametrisations (interweaving, Yu and Meng
   2011);
4. or, in every other sweep, draws tie parameter and order effect with the strengths held, in the same way.

Every step leaves the posterior invariant. How well the Gaussian serves is told by the acceptance rates.

Importing this module sets JAX up, see :mod:`bayesbt.infer.devices`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import expit
from numpy.typing import NDArray

import bayesbt.infer.devices  # noqa: F401  (before anything is computed)
from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.infer.container import psis
from bayesbt.infer.engines import GIBBS_ITEMS
from bayesbt.infer.gibbs_reference import Block, Reference, reference
from bayesbt.infer.model import log_prior_sd, log_prior_tie
from bayesbt.infer.results import Draws, EngineResult, Options, centre
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]

WARM_UP_SHARE = 4  # one sweep of warm-up for so many steps of --tune: there is little to adapt
ACCEPTANCE = 0.6  # of a component, below which its proposals stay closer
LOCAL_RHO = 0.7  # of components whose Gaussian has too light a tail to be proposed from at a distance
MOST_RHO = 0.995
GOOD_K = 0.7
WELL_KNOWN = (
    400  # so many items tell their sd well; fewer leave it far from the reference at times, and sweeps
)
MOST_THINNING = 10  # are cheap, so that not every one is kept
SURVEYED = 400  # draws of the Gaussian from which Pareto k is estimated
CHUNK = 125  # sweeps that are run at a time,
NOISE_VALUES = 2**23  # fewer where their random numbers would be more than these


class State(NamedTuple):
    """One chain: strengths (I + 1,), the last one padding; scalars (3,); rho and log-likelihood (K,)."""

    strength: Any
    scalars: Any
    rho: Any
    loglik: Any


class Noise(NamedTuple):
    """The random numbers of one sweep, or of several along a leading axis.

    Standard normals for the strengths (I + 1,) and for a Newton step (3,); logarithms of uniform numbers for
    every component (K,) and for two steps (2,); a draw from Gamma(I / 2, 1).
    """

    strength: Any
    scalars: Any
    accept_component: Any
    accept_scalars: Any
    gamma: Any


@dataclass(frozen=True)
class Target:
    """The posterior density in the pieces that a sweep needs."""

    spec: ModelSpec
    reference: Reference

    def cell_terms(self, difference: Any, scalars: Any) -> Any:
        """(C,) Log-likelihood of each cell at differences of strengths (C,)."""
        wins_a, ties, wins_b = self.reference.counts
        model = self.spec.tie_model
        log_a, log_tie, log_b = model.log_probabilities(jnp, difference + scalars[2], scalars[1])
        terms = wins_a * log_a + wins_b * log_b
        return terms + ties * log_tie if model.has_tie_parameter else terms

    def difference(self, strength: Any) -> Any:
        """(C,) Strength of the first less that of the second."""
        return strength[self.reference.a] - strength[self.reference.b]

    def by_component(self, terms: Any) -> Any:
        """(K,) Sums of cell terms."""
        found = self.reference
        return jax.ops.segment_sum(terms, found.cell_component, found.n_components, indices_are_sorted=True)

    def loglik(self, strength: Any, scalars: Any) -> Any:
        """(K,) Log-likelihood of each component."""
        return self.by_component(self.cell_terms(self.difference(strength), scalars))

    def log_prior(self, scalars: Any) -> Any:
        """Log-prior of the free scalars on their unconstrained scales; of log_sd, not of the strengths."""
        priors, (sd, tie, order) = self.spec.priors, self.reference.free
        total = log_prior_sd(jnp, priors.strength_sd, scalars[0]) if sd else 0.0
        total += log_prior_tie(jnp, self.spec.tie_model, priors.tie, scalars[1]) if tie else 0.0
        return total + (priors.order.log_density(jnp, scalars[2]) if order else 0.0)


def _draw_strengths(target: Target, state: State, noise: Noise) -> tuple[State, Any]:
    """Step 1, and the acceptance probability of each component (K,)."""
    found = target.reference
    precision = jnp.exp(-2 * state.scalars[0])
    shift = state.scalars[1:] - found.scalars[1:]
    proposed, log_ratio = state.strength, jnp.zeros_like(state.loglik)
    for block in found.blocks:
        new, gain = _propose_block(block, state, precision, shift, noise.strength)
        proposed = proposed.at[block.items].set(new)
        log_ratio = log_ratio.at[block.component].set(gain)
    proposed = proposed.at[-1].set(0.0)
    loglik = target.loglik(proposed, state.scalars)
    log_ratio = log_ratio + loglik - state.loglik
    accepted = noise.accept_component < log_ratio
    of_item = jnp.append(accepted[found.item_component], False)
    kept = state._replace(
        strength=jnp.where(of_item, proposed, state.strength),
        loglik=jnp.where(accepted, loglik, state.loglik),
    )
    return kept, jnp.where(jnp.isnan(log_ratio), 0.0, jnp.exp(jnp.minimum(log_ratio, 0.0)))


def _propose_block(block: Block, state: State, precision: Any, shift: Any, normal: Any) -> tuple[Any, Any]:
    """(G, m) Proposed strengths, and (G,) prior less Gaussian, proposed less current."""
    curvature = block.curvature + precision
    mean = (block.linear + block.slopes @ shift) / curvature
    turned = jnp.einsum("gji,gj->gi", block.vectors, state.strength[block.items])
    rho = state.rho[block.component][:, None]
    noise = normal[block.items] / jnp.sqrt(curvature)
    new = mean + rho * (turned - mean) + jnp.sqrt(1 - rho**2) * noise
    new = jnp.where(block.real, new, 0.0)
    prior = -0.5 * precision * (new**2 - turned**2)
    gaussian = -0.5 * curvature * ((new - mean) ** 2 - (turned - mean) ** 2)
    gain = jnp.where(block.real, prior - gaussian, 0.0).sum(axis=1)
    return jnp.einsum("gij,gj->gi", block.vectors, new), gain


def _draw_sd(target: Target, state: State, noise: Noise) -> State:
    """Step 2: 1 / sd^2 is Gamma under a flat prior on log(sd); corrected for the prior in force."""
    prior = target.spec.priors.strength_sd
    log_sd = 0.5 * jnp.log(0.5 * (state.strength**2).sum() / noise.gamma)
    log_ratio = log_prior_sd(jnp, prior, log_sd) - log_prior_sd(jnp, prior, state.scalars[0])
    accepted = noise.accept_scalars[0] < log_ratio
    return state._replace(scalars=state.scalars.at[0].set(jnp.where(accepted, log_sd, state.scalars[0])))


class NewtonStep(NamedTuple):
    """A Metropolis-Hastings update of some scalars by ``Normal(x + Q^-1 gradient, Q^-1)``.

    ``precision`` is Q, (P, P), fixed; an exact draw where the log-density is quadratic with that curvature.
    """

    chosen: Any
    precision: Any

    def update(self, log_density: Callable[[Any], Any], scalars: Any, normal: Any, accept: Any) -> Any:
        """(3,) New scalars, or the old ones, given standard normals (3,) and the log of a uniform number."""
        q, chosen = self.precision, self.chosen
        covariance = jnp.linalg.inv(q)
        noise = jnp.linalg.cholesky(covariance) @ normal[: len(chosen)]

        def step(x: Any, _: None) -> tuple[Any, Any]:
            value, slope = jax.value_and_grad(lambda y: log_density(scalars.at[chosen].set(y)))(x)
            toward = covariance @ slope
            return x + toward + noise, (x, value, toward)

        # Twice the same step, here and at the proposal, in a loop so that it is compiled once.
        _, (points, values, toward) = jax.lax.scan(step, scalars[chosen], None, length=2)
        back = points[0] - points[1] - toward[1]
        log_ratio = values[1] - values[0] - 0.5 * (back @ q @ back - noise @ q @ noise)
        return scalars.at[chosen].set(jnp.where(accept < log_ratio, points[1], points[0]))


Steps = tuple[NewtonStep | None, NewtonStep | None]


def _standardised(target: Target, strength: Any, log_sd: Any) -> Callable[[Any], Any]:
    """Log-density of all scalars with ``strength / sd`` held."""
    difference = target.difference(strength) * jnp.exp(-log_sd)

    def log_density(scalars: Any) -> Any:
        scaled = jnp.exp(scalars[0]) * difference
        return target.cell_terms(scaled, scalars).sum() + target.log_prior(scalars)

    return log_density


def _held(target: Target, strength: Any) -> Callable[[Any], Any]:
    """Log-density of tie parameter and order effect with the strengths held."""
    difference = target.difference(strength)

    def log_density(scalars: Any) -> Any:
        return target.cell_terms(difference, scalars).sum() + target.log_prior(scalars)

    return log_density


def _start(target: Target, scalars: Any) -> State:
    """Start at the modal strengths."""
    found = target.reference
    strength = jnp.append(found.strength, 0.0)
    return State(strength, scalars, jnp.zeros(found.n_components), target.loglik(strength, scalars))


def _sweep(target: Target, steps: Steps, state: State, noise: Noise, weave: Any) -> tuple[State, Any]:
    """One sweep, with step 3 or else step 4, and the acceptance probability of each component."""
    state, acceptance = _draw_strengths(target, state, noise)
    if target.reference.free[0]:
        state = _draw_sd(target, state, noise)
    interweave, hold = steps
    if interweave is None or hold is None:
        state = _interweave(target, interweave, state, noise)
        state = _hold(target, hold, state, noise)
    else:
        state = jax.lax.cond(
            weave,
            lambda: _interweave(target, interweave, state, noise),
            lambda: _hold(target, hold, state, noise),
        )
    return state._replace(loglik=target.loglik(state.strength, state.scalars)), acceptance


def _interweave(target: Target, step: NewtonStep | None, state: State, noise: Noise) -> State:
    if step is None:
        return state
    before = state.scalars[0]
    density = _standardised(target, state.strength, before)
    scalars = step.update(density, state.scalars, noise.scalars, noise.accept_scalars[1])
    return state._replace(strength=state.strength * jnp.exp(scalars[0] - before), scalars=scalars)


def _hold(target: Target, step: NewtonStep | None, state: State, noise: Noise) -> State:
    if step is None:
        return state
    density = _held(target, state.strength)
    return state._replace(scalars=step.update(density, state.scalars, noise.scalars, noise.accept_scalars[1]))


def _steps(found: Reference) -> Steps:
    """Set up steps 3 and 4 for the scalars that are free; None where there is nothing to update."""
    free = np.flatnonzero(found.free)
    chosen = (free if found.free[0] else free[:0], free[free > 0])
    weave, hold = (
        NewtonStep(which, _positive(q[np.ix_(which, which)])) if len(which) else None
        for which, q in zip(chosen, found.curvature, strict=True)
    )
    return weave, hold


def _positive(q: Floats) -> Floats:
    """Make a curvature positive definite, should it not be: a proposal may be any."""
    values, vectors = np.linalg.eigh((q + q.T) / 2)
    return np.asarray((vectors * np.maximum(np.abs(values), 1e-3)) @ vectors.T)


@cache
def _runner(spec: ModelSpec) -> Callable[..., Any]:
    """Compiled ``(states, noise, pace of adaptation, reference, steps, least rho) -> states, draws``.

    States and noise have the chains as their first axis; noise has the sweeps as its second. Draws are
    strengths, scalars and acceptance probabilities of every sweep.
    """

    def chain(state: State, noise: Noise, pace: Any, found: Reference, steps: Steps, least: Any) -> Any:
        target = Target(spec, found)

        def one(state: State, given: tuple[Noise, Any, Any]) -> tuple[State, Any]:
            noise, pace, weave = given
            state, acceptance = _sweep(target, steps, state, noise, weave)
            rho = jnp.clip(state.rho + pace * (ACCEPTANCE - acceptance), least, MOST_RHO)
            return state._replace(rho=rho), (state.strength[:-1], state.scalars, acceptance)

        weave = jnp.arange(len(pace)) % 2 == 0
        return jax.lax.scan(one, state, (noise, pace, weave))

    return jax.jit(jax.vmap(chain, in_axes=(0, 0, None, None, None, None)))


def _pareto_k(spec: ModelSpec, found: Reference, rng: np.random.Generator) -> Floats:
    """(K,) Shape of the tail of posterior over Gaussian, by component, at the scalars of the reference."""
    precision = np.exp(-2 * found.scalars[0])
    log_weight = np.zeros((SURVEYED, found.n_components))
    strength = np.zeros((SURVEYED, len(found.strength) + 1))
    for block in found.blocks:
        curvature = block.curvature + precision
        normal = np.where(block.real, rng.standard_normal((SURVEYED, *block.real.shape)), 0.0)
        turned = np.where(block.real, block.linear / curvature, 0.0) + normal / np.sqrt(curvature)
        strength[:, block.items] = np.einsum("gij,sgj->sgi", block.vectors, turned)
        log_weight[:, block.component] = 0.5 * (normal**2 - precision * turned**2).sum(axis=-1)
    model, (wins_a, ties, wins_b) = spec.tie_model, found.counts
    starts = np.flatnonzero(np.diff(found.cell_component, prepend=-1))
    for s, one in enumerate(strength):
        delta = one[found.a] - one[found.b] + found.scalars[2]
        log_a, log_tie, log_b = model.log_probabilities(np, delta, found.scalars[1])
        terms = wins_a * log_a + ties * log_tie + wins_b * log_b
        log_weight[s, found.cell_component[starts]] += np.add.reduceat(terms, starts)
    return psis(-log_weight.T, 1.0)[1]


@cache
def _starter(spec: ModelSpec) -> Callable[..., State]:
    """Compiled ``(reference, scalars (chains, 3)) -> states``."""
    return jax.jit(lambda found, scalars: jax.vmap(lambda one: _start(Target(spec, found), one))(scalars))


def fit_gibbs(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Sample; see the module.

    Raises
    ------
    InputError
        More than 5,000 items.
    """
    if counts.n_items > GIBBS_ITEMS:
        raise InputError(
            f"--engine gibbs: {counts.n_items:,} items are too many (at most {GIBBS_ITEMS:,}). Use --engine "
            "numpyro."
        )
    found = reference(counts, spec)
    rng = np.random.default_rng(options.seed)
    least = np.where(_pareto_k(spec, found, rng) > GOOD_K, LOCAL_RHO, 0.0)
    scalars = found.scalars + found.spread * rng.standard_normal((options.chains, 3))
    state = _starter(spec)(found, scalars)
    state = state._replace(rho=jnp.tile(least, (options.chains, 1)))
    run, steps = _runner(spec), _steps(found)
    size = max(1, min(CHUNK, NOISE_VALUES // (options.chains * counts.n_items)))
    warm_up = max(1, options.tune // WARM_UP_SHARE)
    thinning = int(np.clip(WELL_KNOWN // counts.n_items, 1, MOST_THINNING))
    sweeps = options.draws * thinning
    n_chunks = -(-(warm_up + sweeps) // size)
    adapted = n_chunks * size - sweeps
    pace = np.zeros(n_chunks * size)
    pace[:adapted] = 0.5 / np.sqrt(1.0 + np.arange(adapted) / 10)
    made = []
    for n in range(n_chunks):
        noise = _noise(rng, options.chains, size, found)
        state, part = run(state, noise, pace[n * size : (n + 1) * size], found, steps, least)
        if (n + 1) * size > adapted:
            made.append([np.asarray(each) for each in part])
    strength, scalars, acceptance = (
        np.concatenate(each, axis=1)[:, -sweeps:][:, thinning - 1 :: thinning]
        for each in zip(*made, strict=True)
    )
    return EngineResult(bayesian=True, draws=_draws(counts, found, strength, scalars, acceptance))


def _noise(rng: np.random.Generator, chains: int, sweeps: int, found: Reference) -> Noise:
    n, shape = len(found.strength), (chains, sweeps)
    return Noise(
        rng.standard_normal((*shape, n + 1)),
        rng.standard_normal((*shape, 3)),
        -rng.exponential(size=(*shape, found.n_components)),
        -rng.exponential(size=(*shape, 2)),
        rng.gamma(n / 2, size=shape),
    )


def _draws(counts: Counts, found: Reference, strength: Floats, scalars: Floats, acceptance: Floats) -> Draws:
    values = {
        "strength_sd": np.exp(scalars[..., 0]),
        "tie": np.asarray(expit(scalars[..., 1])),
        "order": scalars[..., 2],
    }
    names = ("strength_sd", "tie", "order")
    kept = {name: values[name] for name, free in zip(names, found.free, strict=True) if free}
    return Draws(centre(strength, counts.component), kept, {"acceptance_rate": acceptance.mean(axis=-1)})
