"""Tie assumptions side by side: the same judgments under several tie models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bayesbt.counts import Counts, count_judgments
from bayesbt.errors import InputError
from bayesbt.infer import fit
from bayesbt.infer.fit import Fit
from bayesbt.infer.model import Cells
from bayesbt.tables import Judgments
from bayesbt.ties import TIE_MODELS

MODELS = ("rao-kupper", "davidson", "split-half", "split", "drop")
FLIPS_LISTED = 100


@dataclass(frozen=True)
class TieComparison:
    """Fits of the same counts under several tie models.

    Attributes
    ----------
    fits : dict of str to Fit
    table : DataFrame
        One row a model: ``ties``, ``tie_parameter`` (t, a probability) with ``tie_lower``, ``tie_upper``;
        ``native_name``, ``native``; ``order`` (log-odds) with ``order_lower``, ``order_upper``;
        ``interval_width``, the mean width of the strengths' intervals (log-odds); ``relative_width``, the
        same in units of the strengths' standard deviation, which compares across models; ``judgments``;
        ``effective_comparisons``, what the likelihood counts (``split`` counts a tie twice).
    rank_agreement : DataFrame
        One row a pair of models: ``first``, ``second``, ``kendall`` (tau of the orders within components),
        ``flips`` (pairs of items in opposite order), ``flipped`` (the most notable of them).
    """

    fits: dict[str, Fit]
    table: pd.DataFrame
    rank_agreement: pd.DataFrame


def compare_ties(
    judgments: Judgments | Counts,
    models: Sequence[str] = MODELS,
    *,
    selection: Mapping[str, Any] | None = None,
    **options: Any,
) -> TieComparison:
    """Fit the same judgments under each tie model.

    Parameters
    ----------
    judgments : Judgments or Counts
    models : sequence of str
        Names of tie models.
    selection : dict, optional
        ``dimension``, ``judge``, ``topic``, ``items``, as in :func:`bayesbt.counts.count_judgments`.
    **options
        As in :func:`bayesbt.fit`.

    Raises
    ------
    InputError
        An unknown or repeated model, or no model.
    """
    if not models or len(set(models)) < len(models) or not set(models) <= TIE_MODELS.keys():
        raise InputError(f"--models {','.join(models)}: name each once, of {', '.join(TIE_MODELS)}.")
    counts = (
        count_judgments(judgments, **(selection or {})) if isinstance(judgments, Judgments) else judgments
    )
    return comparison_of({name: fit(counts, ties=name, **options) for name in models})


def comparison_of(fits: Mapping[str, Fit]) -> TieComparison:
    """Compare fits of the same counts, by the name of their tie model; fits read from folders too."""
    rows = [_row(name, one) for name, one in fits.items()]
    pairs = [_agreement(fits, first, second) for first, second in combinations(fits, 2)]
    columns = ["first", "second", "kendall", "flips", "flipped"]
    return TieComparison(dict(fits), pd.DataFrame(rows), pd.DataFrame(pairs, columns=columns))


def _row(name: str, one: Fit) -> dict[str, Any]:
    parameters, estimates = one.parameters(), one.estimates
    tie, order = parameters.get("tie", {}), parameters.get("order", {})
    native = tie.get("native", {})
    width = float((estimates["upper"] - estimates["lower"]).mean())
    return {
        "ties": name,
        "tie_parameter": tie.get("mean"),
        "tie_lower": tie.get("lower"),
        "tie_upper": tie.get("upper"),
        "native_name": native.get("name", ""),
        "native": native.get("mean"),
        "order": order.get("mean"),
        "order_lower": order.get("lower"),
        "order_upper": order.get("upper"),
        "interval_width": width,
        "relative_width": width / float(estimates["strength"].std(ddof=0)),
        "judgments": one.counts.judgments,
        "effective_comparisons": Cells.of(one.counts, one.spec.tie_model).total,
        "ok": one.diagnostics.ok,
    }


def _agreement(fits: Mapping[str, Fit], first: str, second: str) -> dict[str, Any]:
    """Kendall's tau over the pairs within components, and the pairs whose order differs."""
    component = fits[first].component
    x, y = (fits[name].estimates["strength"].to_numpy() for name in (first, second))
    i, j = np.triu_indices(len(x), 1)
    within = component[i] == component[j]
    i, j = i[within], j[within]
    signs = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
    untied = np.sqrt(float((signs[0] != 0).sum()) * float((signs[1] != 0).sum()))
    flipped = np.flatnonzero(signs[0] * signs[1] < 0)
    gap = np.minimum(np.abs(x[i] - x[j]), np.abs(y[i] - y[j]))[flipped]
    listed = flipped[np.argsort(-gap, kind="stable")[:FLIPS_LISTED]]
    items = fits[first].items
    return {
        "first": first,
        "second": second,
        "kendall": float((signs[0] * signs[1]).sum() / untied) if untied else float("nan"),
        "flips": len(flipped),
        "flipped": [
            (items[i[k]], items[j[k]]) if signs[0][k] > 0 else (items[j[k]], items[i[k]]) for k in listed
        ],
    }
