"""Simulation-based calibration (Talts et al. 2018): ranks of prior draws among draws from their posteriors.

If parameters are drawn from the prior and data from the parameters, the rank of a true value among
independent posterior draws is uniform, for every test quantity, whatever the data. One design serves all
simulations, and counts are an argument of the model, so that the sampler is compiled once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.infer import NUTS, init_to_value
from scipy.special import xlogy
from scipy.stats import kstest

from bayesbt.counts import Counts
from bayesbt.infer.numpyro_engine import build_model
from bayesbt.simulation import Design, Truth, outcome_probabilities, prior_draw, simulate
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Effort:
    """How many simulations; per simulation one chain, its warm-up, draws kept, and steps to each of them."""

    simulations: int
    warmup: int
    draws: int
    thinning: int


@dataclass(frozen=True)
class Simulated:
    """Known truths and the counts that they made."""

    spec: ModelSpec
    design: Design
    truths: list[Truth]
    counts: list[Counts]

    @classmethod
    def from_prior(cls, spec: ModelSpec, design: Design, simulations: int, seed: int) -> Simulated:
        rng = np.random.default_rng(seed)
        truths = [prior_draw(spec, design, rng) for _ in range(simulations)]
        return cls(spec, design, truths, [simulate(spec, design, truth, rng) for truth in truths])

    def observed(self) -> Floats:
        """(N, 3, C) Counts as the likelihood sees them."""
        rule = self.spec.tie_model.outcome_counts
        return np.stack([np.stack(rule(c.wins_a, c.ties, c.wins_b)) for c in self.counts])


def posterior_draws(simulated: Simulated, effort: Effort, seed: int) -> dict[str, Floats]:
    """(N, draws, ...) Thinned draws by NUTS of every variable, one chain a simulation."""
    kernel = NUTS(
        build_model(every_cell_counted(simulated.counts[0]), simulated.spec, centredness=0.0),
        target_accept_prob=0.9,
        init_strategy=init_to_value(values=_start(simulated.design)),
        max_tree_depth=8,
    )
    steps, first = effort.warmup + effort.draws * effort.thinning, effort.warmup + effort.thinning - 1

    def one(key_and_counts):
        key, counts = key_and_counts
        state = kernel.init(key, effort.warmup, None, (counts,), {})

        def step(state, _):
            state = kernel.sample(state, (counts,), {})
            return state, state.z

        _, z = jax.lax.scan(step, state, None, length=steps)
        kept = jax.tree.map(lambda x: x[first :: effort.thinning], z)
        return jax.lax.map(kernel.postprocess_fn((counts,), {}), kept)

    keys = jax.random.split(jax.random.key(seed), effort.simulations)
    everything = jax.jit(lambda keys, counts: jax.lax.map(one, (keys, counts)))
    values = everything(keys, jnp.asarray(simulated.observed()))
    return {name: np.asarray(value) for name, value in values.items()}


def every_cell_counted(counts: Counts) -> Counts:
    """Counts of one, so that no cell is left out of the model for being empty."""
    ones = np.ones(len(counts.a))
    return replace(counts, wins_a=ones, ties=ones, wins_b=ones)


def _start(design: Design) -> dict[str, jax.Array]:
    size, n_judges = len(design.dimensions), len(design.judges)
    return {
        "strength_sd": jnp.ones(size),
        "z": jnp.zeros((size, len(design.items))),
        "tie": jnp.full(size, 0.3),
        "order": jnp.zeros(size),
        "order_judge_sd": jnp.asarray(0.3),
        "order_by_judge_z": jnp.zeros(n_judges),
        "tie_judge_sd": jnp.asarray(0.3),
        "tie_by_judge_z": jnp.zeros(n_judges),
        "adherence_sd": jnp.asarray(0.7),
        "log_adherence_z": jnp.zeros(n_judges),
    }


def quantities(spec: ModelSpec, design: Design, counts: Counts, values: dict[str, Floats]) -> Floats:
    """(Q,) Test quantities of one point: contrasts, scalars, two judges, the log-likelihood of the counts."""
    strength = values["strength"][0]
    found = [strength[0] - strength[1], strength[1] - strength[2], strength[0] - strength[-1]]
    found += [values[name][0] for name in ("strength_sd", "tie", "order") if name in values]
    if "order_by_judge" in values:
        found += list(values["order"][0] + values["order_by_judge"][:2])
    for name in ("tie_by_judge", "adherence"):
        found += list(values[name][:2]) if name in values else []
    found += [values[name] for name in ("order_judge_sd", "tie_judge_sd", "adherence_sd") if name in values]
    probabilities = outcome_probabilities(spec, design, Truth(values))
    observed = np.stack([counts.wins_a, counts.ties, counts.wins_b], axis=1)
    return np.array([*found, xlogy(observed, probabilities).sum()])


def ranks(simulated: Simulated, draws: dict[str, Floats]) -> NDArray[np.int64]:
    """(N, Q) How many of the posterior draws of each quantity are below the true value."""
    names = set(simulated.truths[0].values) & set(draws)
    found = []
    for n, (truth, counts) in enumerate(zip(simulated.truths, simulated.counts, strict=True)):

        def at(values: dict[str, Floats], counts: Counts = counts) -> Floats:
            return quantities(simulated.spec, simulated.design, counts, values)

        posterior = np.stack(
            [at({name: draws[name][n, s] for name in names}) for s in range(len(draws["strength"][n]))]
        )
        true = at({name: truth.values[name] for name in names})
        found.append((posterior < true).sum(axis=0))
    return np.array(found)


def miscalibration(ranks: NDArray[np.int64], draws: int, seed: int = 0) -> float:
    """Return the family-wise p-value that all columns of ranks (N, Q) in 0..draws are uniform.

    Ranks are spread evenly within their step, which makes them exactly uniform under the hypothesis. Each
    quantity is tested by two exact Kolmogorov-Smirnov tests, of the ranks (bias) and of their distance from
    the middle (too wide or too narrow); the smallest p-value is multiplied by the number of tests.
    """
    spread = (ranks + np.random.default_rng(seed).random(ranks.shape)) / (draws + 1)
    p_values = [
        kstest(column, "uniform", method="exact").pvalue
        for each in spread.T
        for column in (each, np.abs(2 * each - 1))
    ]
    return min(1.0, min(p_values) * len(p_values))
