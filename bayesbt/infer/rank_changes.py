"""How the rankings of two fits of the same items differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesbt.infer.fitted import Fit
from bayesbt.ranks import shared_ranks

FLIPS_LISTED = 100


def order_changes(first: Fit, second: Fit) -> dict[str, Any]:
    """Kendall's tau over the pairs within components, and the pairs whose order differs."""
    component, items = first.component, first.items
    x, y = (one.estimates["strength"].to_numpy() for one in (first, second))
    i, j = np.triu_indices(len(x), 1)
    within = (component[i] == component[j]) & (second.component[i] == second.component[j])
    i, j = i[within], j[within]
    signs = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
    untied = np.sqrt(float((signs[0] != 0).sum()) * float((signs[1] != 0).sum()))
    flipped = np.flatnonzero(signs[0] * signs[1] < 0)
    gap = np.minimum(np.abs(x[i] - x[j]), np.abs(y[i] - y[j]))[flipped]
    listed = flipped[np.argsort(-gap, kind="stable")[:FLIPS_LISTED]]
    return {
        "kendall": float((signs[0] * signs[1]).sum() / untied) if untied else float("nan"),
        "flips": len(flipped),
        "flipped": [
            (items[i[at]], items[j[at]]) if signs[0][at] > 0 else (items[j[at]], items[i[at]])
            for at in listed
        ],
    }


def top_changes(first: Fit, second: Fit, k: int) -> dict[str, Any]:
    """Items that are among the k strongest of their component under one model only."""
    compared = first.counts.comparisons > 0
    tops = []
    for one in (first, second):
        strength = np.where(compared, one.estimates["strength"], np.nan)
        tops.append(shared_ranks(strength, one.component) <= k)
    left, entered = (
        [first.items[i] for i in np.flatnonzero(here & ~there)] for here, there in (tops, reversed(tops))
    )
    return {"top_changes": len(left), "top_left": left, "top_entered": entered}
