"""A ranking and its labels against levels that are known by construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from bayesbt.errors import InputError
from bayesbt.infer.fitted import Fit
from bayesbt.ranks import highest_density_interval
from bayesbt.tables import Judgments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PERMUTATIONS = 2000


@dataclass(frozen=True)
class ReferenceAgreement:
    """How far a fit's strengths follow reference levels.

    Attributes
    ----------
    concordance, lower, upper : float
        Share of the item pairs of one component and different levels that the strengths put in the
        reference's order: posterior mean and interval. 1/2 is chance, 1 is perfect.
    kendall, kendall_lower, kendall_upper : float
        Kendall's tau-b over the same pairs' components: posterior mean and interval.
    null_lower, null_upper : float
        Where 95 % of the concordances lie when levels are dealt out at random within components.
    n_items, n_pairs : int
    """

    concordance: float
    lower: float
    upper: float
    kendall: float
    kendall_lower: float
    kendall_upper: float
    null_lower: float
    null_upper: float
    n_items: int
    n_pairs: int

    @property
    def inside_null(self) -> bool:
        """Whether the concordance is what random levels give as well."""
        return self.null_lower <= self.concordance <= self.null_upper


@dataclass(frozen=True)
class LabelAccuracy:
    """Decisive labels on pairs of different levels: how many chose the better item (Jeffreys interval)."""

    correct: float
    decisive: float
    share: float
    lower: float
    upper: float


def compare_with_reference(fit: Fit, levels: Mapping[str, float]) -> ReferenceAgreement:
    """Compare every draw of the strengths with the levels.

    Parameters
    ----------
    fit : Fit
        With draws.
    levels : dict
        Item to level; a higher level is better. Items without a level are left out.

    Raises
    ------
    InputError
        Where the fit has no draws, or no two items of a component have different levels.
    """
    draws = fit.strength_draws
    if draws is None:
        raise InputError(
            f"--engine {fit.engine} is a point estimate; a reference needs draws (numpyro, laplace, ml)."
        )
    known = np.array([item in levels for item in fit.items]) & (fit.counts.comparisons > 0)
    level = np.array([float(levels.get(item, np.nan)) for item in fit.items])[known]
    component = fit.component[known]
    i, j = _pairs(component)
    sign = np.sign(level[i] - level[j])
    if not sign.any():
        raise InputError(
            "the reference levels do not differ within any component: there is nothing to compare."
        )
    ordered = _order_signs(draws[:, known], i, j)
    scores, total = ordered @ sign, np.abs(sign).sum()
    interval = fit.options.interval
    concordance = (1 + scores / total) / 2
    tau = scores / np.sqrt(total * len(i))
    null = _null(draws[:, known].mean(axis=0), level, component, fit.options.seed)
    lower, upper = highest_density_interval(concordance, interval)
    tau_lower, tau_upper = highest_density_interval(tau, interval)
    null_lower, null_upper = np.quantile(null, (0.025, 0.975))
    return ReferenceAgreement(
        concordance=float(concordance.mean()),
        lower=float(lower),
        upper=float(upper),
        kendall=float(tau.mean()),
        kendall_lower=float(tau_lower),
        kendall_upper=float(tau_upper),
        null_lower=float(null_lower),
        null_upper=float(null_upper),
        n_items=int(known.sum()),
        n_pairs=int(total),
    )


def _pairs(component: Ints) -> tuple[Ints, Ints]:
    i, j = np.triu_indices(len(component), 1)
    within = component[i] == component[j]
    return i[within].astype(np.int64), j[within].astype(np.int64)


def _order_signs(draws: Floats, i: Ints, j: Ints) -> Floats:
    """(S, pairs) +1 where the draw puts i above j, -1 below."""
    return np.where(draws[:, i] > draws[:, j], np.float32(1), np.float32(-1)).astype(float)


def _null(strength: Floats, level: Floats, component: Ints, seed: int) -> Floats:
    """Concordance of the posterior mean order with levels permuted within components."""
    rng = np.random.default_rng(seed)
    i, j = _pairs(component)
    above = np.sign(strength[i] - strength[j])
    out = np.empty(PERMUTATIONS)
    blocks = [np.flatnonzero(component == c) for c in np.unique(component)]
    for k in range(PERMUTATIONS):
        dealt = level.copy()
        for block in blocks:
            dealt[block] = rng.permutation(level[block])
        sign = np.sign(dealt[i] - dealt[j])
        out[k] = (1 + (above @ sign) / np.abs(sign).sum()) / 2
    return out


def label_accuracy(judgments: Judgments, levels: Mapping[str, float]) -> LabelAccuracy:
    """Share of the decisive judgments on pairs of different levels that chose the better item.

    Where both orders were judged, a judge that answers by position alone gets 1/2.
    """
    frame: Any = judgments.frame
    side = {name: frame[name].astype(object).map(levels).astype(float) for name in ("item_a", "item_b")}
    gap = (side["item_a"] - side["item_b"]).to_numpy()
    answer = frame["outcome"].map({"a": 1.0, "b": -1.0}).astype(float).fillna(0.0).to_numpy()
    weight = frame["count"].to_numpy(dtype=float)
    counted = (np.nan_to_num(gap) != 0) & (answer != 0)
    decisive = float(weight[counted].sum())
    correct = float(weight[counted & (np.nan_to_num(gap) * answer > 0)].sum())
    if decisive == 0:
        return LabelAccuracy(0.0, 0.0, float("nan"), float("nan"), float("nan"))
    posterior = beta(correct + 0.5, decisive - correct + 0.5)
    lower, upper = float(posterior.ppf(0.025)), float(posterior.ppf(0.975))
    return LabelAccuracy(correct, decisive, correct / decisive, lower, upper)
