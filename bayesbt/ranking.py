"""From a fit to a ranking: intervals, rank distribution, P(best), P(top k), P(i stronger than j), tiers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from bayesbt.errors import InputError
from bayesbt.infer.fit import Fit, plain
from bayesbt.ranks import p_top, rank_distribution, win_probability

TIER_LEVEL = 0.95


@dataclass(frozen=True)
class Ranking:
    """The ranking of a fit, per connected component.

    Attributes
    ----------
    fit : Fit
    table : DataFrame
        One row an item: the columns of :meth:`Fit.ranking`, then ``p_top`` (P(among the ``top`` strongest of
        its component)) and ``tier``.
    top : int
        The k of ``p_top``.
    rank_distribution : dict of int to DataFrame
        Per component, row item and column rank: P(item has that rank). Empty unless asked for.
    p_stronger : dict of int to DataFrame
        Per component: P(row item is stronger than column item). Empty unless asked for.
    """

    fit: Fit
    table: pd.DataFrame
    top: int
    rank_distribution: dict[int, pd.DataFrame] = field(default_factory=dict)
    p_stronger: dict[int, pd.DataFrame] = field(default_factory=dict)

    def summary(self, show: int | None = None) -> dict[str, Any]:
        """Return fit.json with the ranking's columns; only the ``show`` strongest of each component."""
        table = self.table if show is None else self.table[self.table["rank"] <= show]
        extra: dict[str, Any] = {"top": self.top, "tier_level": TIER_LEVEL}
        for name, frames in (("rank_distribution", self.rank_distribution), ("p_stronger", self.p_stronger)):
            if frames:
                extra[name] = {str(key): frame.to_dict(orient="split") for key, frame in frames.items()}
        return plain(self.fit.summary() | {"items": table.to_dict(orient="records")} | extra)  # type: ignore[no-any-return]


def rank(fit: Fit, *, top: int = 3, distribution: bool = False, pairwise: bool = False) -> Ranking:
    """Rank the items of each component.

    Parameters
    ----------
    fit : Fit
    top : int
        k of P(among the k strongest).
    distribution, pairwise : bool
        Also give the whole rank distribution, and P(i stronger than j), of every component.

    Raises
    ------
    InputError
        ``top`` below 1, or probabilities asked of a point estimate.
    """
    if top < 1:
        raise InputError(f"--top {top}: must be 1 or more.")
    table, draws = fit.ranking(), fit.strength_draws
    if draws is None:
        if distribution or pairwise:
            raise InputError(
                f"--engine {fit.engine} is a point estimate: it has no rank distribution and no "
                "P(i stronger than j). Fit with --engine numpyro, laplace or ml."
            )
        return Ranking(fit, table.assign(p_top=np.nan, tier=np.nan), top)
    position = pd.Series(range(len(fit.items)), index=list(fit.items)).reindex(table["item"]).to_numpy()
    table["p_top"] = np.where(table["rank"].isna(), np.nan, p_top(draws, fit.component, top)[position])
    table["tier"] = _tiers(table, draws[:, position])
    labels = np.asarray(fit.items, dtype=object)
    distributions, stronger = {}, {}
    for c in np.unique(fit.component[fit.counts.comparisons > 0]).tolist():
        order = list(table.loc[table["component"] == c, "item"])
        if distribution:
            members, matrix = rank_distribution(draws, fit.component, c)
            distributions[c] = pd.DataFrame(matrix, labels[members], range(1, len(members) + 1)).loc[order]
        if pairwise:
            members, matrix = win_probability(draws, fit.component, c)
            stronger[c] = pd.DataFrame(matrix, labels[members], labels[members]).loc[order, order]
    return Ranking(fit, table, top, distributions, stronger)


def _tiers(table: pd.DataFrame, draws: np.ndarray[Any, np.dtype[np.float64]]) -> pd.Series[float]:
    """Consecutive items share a tier while P(the first of the tier is stronger) stays below the level."""
    tier = np.full(len(table), np.nan)
    for _, group in table[table["rank"].notna()].groupby("component"):
        current, head = 1, group.index[0]
        for row in group.index:
            if row != head and (draws[:, head] > draws[:, row]).mean() >= TIER_LEVEL:
                current, head = current + 1, row
            tier[row] = current
    return pd.Series(tier, index=table.index)
