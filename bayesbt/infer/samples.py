"""From the samples of any sampler to one result a dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayesbt.counts import Counts
from bayesbt.infer.model import fixed_values
from bayesbt.infer.results import Draws, EngineResult, centre, finite_logit
from bayesbt.spec import ModelSpec

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


def results_of(samples: Samples, counts: Counts, spec: ModelSpec) -> list[EngineResult]:
    """Split by dimension; judges' effects are added to the common values of the dimension."""
    return [
        EngineResult(bayesian=True, draws=_draws(samples, counts, spec, d))
        for d in range(len(counts.dimensions))
    ]


def _draws(samples: Samples, counts: Counts, spec: ModelSpec, d: int) -> Draws:
    values = samples.values
    component = counts.of_dimension(d).component
    scalars: dict[str, Floats] = {}
    scalars |= {name: values[name][..., d] for name in ("tie", "order", "strength_sd") if name in values}
    spreads = ("order_judge_sd", "tie_judge_sd", "adherence_sd")
    scalars |= {name: values[name] for name in spreads if name in values}
    tie_logit, order = fixed_values(spec)
    shape = (*values["strength"].shape[:2], 1)
    vectors: dict[str, Floats] = {}
    if "order_by_judge" in values:
        vectors["order_by_judge"] = (
            _common(scalars, "order", np.full(shape, order)) + values["order_by_judge"]
        )
    if "tie_by_judge" in values:
        common = _common(scalars, "tie", np.full(shape, expit(tie_logit)))
        vectors["tie_by_judge"] = expit(finite_logit(common) + values["tie_by_judge"])
    if "adherence" in values:
        vectors["adherence"] = values["adherence"]
    if "covariate" in values:
        vectors["covariate"] = values["covariate"][..., d, :]
    return Draws(centre(values["strength"][:, :, d], component), scalars, samples.statistics, vectors)


def _common(scalars: dict[str, Floats], name: str, fixed: Floats) -> Floats:
    """(chains, draws, 1) What judges have in common: sampled, or fixed by its prior."""
    return scalars[name][..., None] if name in scalars else fixed
