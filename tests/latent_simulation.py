"""Two sources of labels on items whose strengths have a known correlation, and posteriors of many of them.

One design serves all data sets, so that the sampler is compiled once (see tests/calibration.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayesbt.agreement.latent import FLAT
from bayesbt.infer import fit
from bayesbt.ranks import highest_density_interval
from bayesbt.simulation import Design, Truth, labels, simulate
from bayesbt.spec import ModelSpec, Priors
from tests.calibration import Effort, Simulated, posterior_draws

Floats = NDArray[np.float64]

ITEMS = 80
COMPARISONS = 22  # of each item, by each source
SD = np.array([1.0, 0.8])
TIE = np.array([0.2, 0.1])
ORDER = np.array([0.0, 0.4])  # the model favours what it is shown first, people do not
SPEC = ModelSpec("rao-kupper", "shared", priors=Priors(correlation=FLAT))
Z = 1.6449  # of a 90 % interval


@dataclass(frozen=True)
class Coverage:
    """For N data sets of one true correlation: 90 % intervals (N, 2) and estimates (N,), latent and plain."""

    rho: float
    latent: Floats
    latent_mean: Floats
    plain: Floats
    plain_mean: Floats

    def covered(self, intervals: Floats) -> int:
        return int(((intervals[:, 0] < self.rho) & (self.rho < intervals[:, 1])).sum())


def design(rng: np.random.Generator) -> Design:
    """Both sources judge the same pairs, in the same orders: circles through all items."""
    one = [rng.permutation(ITEMS) for _ in range(COMPARISONS // 2)]
    a = np.concatenate(one)
    b = np.concatenate([np.roll(circle, -1) for circle in one])
    swap = rng.random(len(a)) < 0.5
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    size = 2 * len(a)
    return Design(
        labels("item", ITEMS),
        ("",),
        ("human", "model"),
        *(np.tile(a, 2), np.tile(b, 2), np.zeros(size, dtype=np.int64), np.repeat([0, 1], len(a))),
        np.ones(size, dtype=np.int64),
        np.zeros((ITEMS, 0)),
    )


def simulated(rhos: list[float], each: int, seed: int) -> Simulated:
    rng = np.random.default_rng(seed)
    made = design(rng)
    truths = []
    for rho in np.repeat(rhos, each):
        factor = np.linalg.cholesky([[1.0, rho], [rho, 1.0]])
        strength = SD[:, None] * (factor @ rng.standard_normal((2, ITEMS)))
        truths.append(Truth({"strength": strength, "tie": TIE, "order": ORDER}))
    return Simulated(SPEC, made, truths, [simulate(SPEC, made, truth, rng) for truth in truths])


def coverages(rhos: list[float], each: int, effort: Effort, seed: int) -> dict[float, Coverage]:
    data = simulated(rhos, each, seed)
    latent = posterior_draws(data, effort, seed + 1)["correlation"][:, :, 0, 1]
    plain = np.array([_point_correlation(data, n) for n in range(len(data.counts))])
    reach = Z / np.sqrt(ITEMS - 3)
    fisher = np.tanh(np.arctanh(plain)[:, None] + np.array([-reach, reach]))
    found = {}
    for k, rho in enumerate(rhos):
        part = slice(k * each, (k + 1) * each)
        intervals = np.stack(highest_density_interval(latent[part].T, 0.9), axis=1)
        found[rho] = Coverage(rho, intervals, latent[part].mean(axis=1), fisher[part], plain[part])
    return found


def _point_correlation(data: Simulated, n: int) -> float:
    """Pearson's correlation of posterior modes, each source fitted alone."""
    alone = replace(data.counts[n], covariates=np.zeros((0, 0)))
    scores = [
        fit(alone.of_dimension(d), order="shared", engine="map", draws=2, chains=1).result.strength
        for d in (0, 1)
    ]
    return float(np.corrcoef(scores)[0, 1])
