"""A check of the model: whether ties get rarer with the distance of the items as it says they do."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.errors import InputError
from bayesbt.infer.fitted import Fit
from bayesbt.infer.pointwise import counts_by_outcome, terms, thin
from bayesbt.infer.results import Draws

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BINS = 5
MOST_DRAWS = 1000


def tie_rate_check(fit: Fit, bins: int = BINS) -> pd.DataFrame:
    """Lay the observed tie rate beside the posterior predictive one, in bins of distance.

    Cells are sorted into bins of about equally many judgments by their distance: the absolute posterior mean
    of the linear predictor (log-odds, order effect and adherence included). In each draw the judgments of
    every cell are replicated with its P(tie).

    Parameters
    ----------
    fit : Fit
        Of a Bayesian engine and a tie model that has a P(tie).
    bins : int
        At most so many.

    Returns
    -------
    DataFrame
        One row a bin, nearest first: ``delta_lower``, ``delta_upper`` (log-odds), ``judgments``,
        ``observed`` (share of ties), ``predicted`` (mean of the replicated shares), ``lower``, ``upper``
        (equal-tailed interval of the replicated share, of the fit's ``interval``).

    Raises
    ------
    InputError
        Where the model gives no P(tie) or the engine no posterior.
    """
    if fit.result.draws is None or not fit.result.bayesian or not fit.spec.tie_model.has_tie_parameter:
        raise InputError(
            f"--ties {fit.spec.ties} --engine {fit.engine}: only rao-kupper and davidson predict a tie rate, "
            "and only a Bayesian engine does so with its uncertainty."
        )
    draws = thin(fit.result.draws, MOST_DRAWS)
    n = counts_by_outcome(fit.counts)
    total = n.sum(axis=0)
    distance = np.abs(np.concatenate([part.delta.mean(axis=0) for part in terms(fit, draws)]))
    of = _bins(distance, total, bins)
    size = int(of.max()) + 1
    judgments, ties = np.bincount(of, total, size), np.bincount(of, n[1], size)
    rates = _replicated(fit, draws, of, total) / judgments[:, None]
    tail = (1 - fit.options.interval) / 2
    lower, upper = np.quantile(rates, (tail, 1 - tail), axis=1)
    inside = [distance[(of == k) & (total > 0)] for k in range(size)]
    return pd.DataFrame(
        {
            "delta_lower": [part.min() for part in inside],
            "delta_upper": [part.max() for part in inside],
            "judgments": judgments,
            "observed": ties / judgments,
            "predicted": rates.mean(axis=1),
            "lower": lower,
            "upper": upper,
        }
    )


def _bins(distance: Floats, total: Floats, bins: int) -> Ints:
    """(C,) Bin of each cell, none of them empty; cells at the same distance share one."""
    order = np.argsort(distance, kind="stable")
    middle = np.cumsum(total[order]) - total[order] / 2
    wanted = np.minimum((bins * middle / total.sum()).astype(np.int64), bins - 1)
    ascending = distance[order]
    first = np.searchsorted(ascending, ascending, side="left")
    out = np.empty(len(distance), dtype=np.int64)
    out[order] = wanted[first]
    held = np.unique(out[total > 0])
    return np.asarray(np.minimum(np.searchsorted(held, out), len(held) - 1))


def _replicated(fit: Fit, draws: Draws, of: Ints, total: Floats) -> Floats:
    """(bins, S) Replicated ties; n judgments are floor(n) of weight 1 and one of weight n - floor(n)."""
    rng = np.random.default_rng(fit.options.seed)
    ties = np.zeros((int(of.max()) + 1, draws.strength.shape[0] * draws.strength.shape[1]))
    for part in terms(fit, draws):
        p_tie = np.exp(part.full[1]) if part.full is not None else np.zeros_like(part.delta)
        n = total[part.cells]
        whole = np.floor(n + 1e-9)
        replicated = rng.binomial(whole.astype(np.int64), p_tie) + np.maximum(n - whole, 0.0) * (
            rng.random(p_tie.shape) < p_tie
        )
        np.add.at(ties, of[part.cells], replicated.T)
    return ties
