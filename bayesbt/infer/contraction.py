"""How much the data decided of each strength, and how much the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayesbt.infer.fitted import Fit

Floats = NDArray[np.float64]


def contraction(fit: Fit) -> Floats:
    """(I,) 1 - Var(posterior) / Var(prior) of the centred strengths; NaN for an item alone in its component.

    The prior variance is that at the posterior mean of the strengths' standard deviation.
    """
    draws = fit.strength_draws
    if draws is None or not fit.result.bayesian:
        return np.full(fit.counts.n_items, np.nan)
    fixed = fit.spec.priors.strength_sd.fixed
    sd = fit.parameters()["strength_sd"]["mean"] if fixed is None else fixed
    size = np.bincount(fit.component)[fit.component]
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = np.where(size > 1, sd**2 * (1 - 1 / size), np.nan)
        return np.asarray(1 - draws.var(axis=0) / prior)
