"""From the samples of any sampler to one result a dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from bayesbt.counts import Counts
from bayesbt.infer.results import Draws, EngineResult, centre

Floats = NDArray[np.float64]

PUBLIC = {
    "strength",
    "strength_sd",
    "tie",
    "order",
    "order_by_judge",
    "order_judge_sd",
    "tie_by_judge",
    "tie_judge_sd",
    "adherence",
    "adherence_sd",
    "covariate",
    "correlation",
}
"""What a sampler returns of its model's variables; each only where the model has it."""


@dataclass(frozen=True)
class Samples:
    """Samples of every public variable, and the sampler's statistics, with leading axes (chains, draws).

    ``strength`` (D, I); ``strength_sd``, ``tie`` (t, a probability) and ``order`` (D,); ``covariate``
    (D, K); ``correlation`` (D, D); ``order_by_judge`` (log-odds) and ``tie_by_judge`` (on the logit scale)
    (J,), what a judge adds to the common value; ``adherence`` (J,), of geometric mean 1; standard deviations
    over judges ().
    """

    values: dict[str, Floats]
    statistics: dict[str, NDArray[np.generic]]


def results_of(samples: Samples, counts: Counts) -> list[EngineResult]:
    """Split by dimension; judges' effects are added to the common values of the dimension."""
    return [
        EngineResult(bayesian=True, draws=_draws(samples, counts, d)) for d in range(len(counts.dimensions))
    ]


def _draws(samples: Samples, counts: Counts, d: int) -> Draws:
    values = samples.values
    component = counts.of_dimension(d).component
    scalars: dict[str, Floats] = {}
    scalars |= {name: values[name][..., d] for name in ("tie", "order", "strength_sd") if name in values}
    spreads = ("order_judge_sd", "tie_judge_sd", "adherence_sd")
    scalars |= {name: values[name] for name in spreads if name in values}
    shape = values["strength"].shape[:2]
    vectors: dict[str, Floats] = {}
    if "order_by_judge" in values:
        vectors["order_by_judge"] = (
            scalars.get("order", np.zeros(shape))[..., None] + values["order_by_judge"]
        )
    if "tie_by_judge" in values:
        vectors["tie_by_judge"] = expit(logit(scalars["tie"])[..., None] + values["tie_by_judge"])
    if "adherence" in values:
        vectors["adherence"] = values["adherence"]
    if "covariate" in values:
        vectors["covariate"] = values["covariate"][..., d, :]
    return Draws(centre(values["strength"][:, :, d], component), scalars, samples.statistics, vectors)
