"""From a fit to a ranking: intervals, rank distribution, P(best), P(top k), P(i stronger than j), tiers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.errors import InputError
from bayesbt.infer.fitted import Fit, plain
from bayesbt.ranks import (
    highest_density_interval,
    p_top,
    rank_distribution,
    simultaneous_rank_intervals,
    win_probability,
)

TIER_LEVEL = 0.95
PROBABILITIES = ("rank_lower_all", "rank_upper_all", "p_top", "tier")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ranking:
    """The ranking of a fit, per connected component.

    Attributes
    ----------
    fit : Fit
    table : DataFrame
        One row an item: the columns of :meth:`Fit.ranking`, then ``rank_lower_all`` and ``rank_upper_all``
        (intervals that hold the ranks of all items of the component together), ``p_top`` (P(among the
        ``top`` strongest of its component)) and ``tier``.
    top : int
        The k of ``p_top``.
    tier_level : float
        Posterior probability at which tiers part.
    rank_distribution : dict of int to DataFrame
        Per component, row item and column rank: P(item has that rank). Empty unless asked for.
    p_stronger : dict of int to DataFrame
        Per component: P(row item is stronger than column item). Empty unless asked for.
    """

    fit: Fit
    table: pd.DataFrame
    top: int
    tier_level: float
    rank_distribution: dict[int, pd.DataFrame] = field(default_factory=dict)
    p_stronger: dict[int, pd.DataFrame] = field(default_factory=dict)

    def summary(self, show: int | None = None) -> dict[str, Any]:
        """Return fit.json with the ranking's columns; only the ``show`` strongest of each component."""
        table = self.table if show is None else self.table[self.table["rank"] <= show]
        extra: dict[str, Any] = {"top": self.top, "tier_level": self.tier_level}
        for name, frames in (("rank_distribution", self.rank_distribution), ("p_stronger", self.p_stronger)):
            if frames:
                extra[name] = {str(key): frame.to_dict(orient="split") for key, frame in frames.items()}
        return plain(self.fit.summary() | {"items": table.to_dict(orient="records")} | extra)  # type: ignore[no-any-return]


def rank(
    fit: Fit,
    *,
    top: int = 3,
    tier_level: float = TIER_LEVEL,
    distribution: bool = False,
    pairwise: bool = False,
) -> Ranking:
    """Rank the items of each component.

    Parameters
    ----------
    fit : Fit
    top : int
        k of P(among the k strongest).
    tier_level : float
        A new tier begins where the first item of the tier is stronger with at least this probability.
    distribution, pairwise : bool
        Also give the whole rank distribution, and P(i stronger than j), of every component.

    Raises
    ------
    InputError
        ``top`` below 1, or probabilities asked of a point estimate.
    """
    if top < 1:
        raise InputError(f"--top {top}: must be 1 or more.")
    if not 0.5 < tier_level < 1:
        raise InputError(f"--tier-level {tier_level:g}: must be between 0.5 and 1.")
    table, draws = fit.ranking(), fit.strength_draws
    if draws is None:
        if distribution or pairwise:
            raise InputError(
                f"--engine {fit.engine} is a point estimate: it has no rank distribution and no "
                "P(i stronger than j). Fit with --engine numpyro, laplace or ml."
            )
        return Ranking(fit, table.assign(**dict.fromkeys(PROBABILITIES, np.nan)), top, tier_level)
    position = pd.Series(range(len(fit.items)), index=list(fit.items)).reindex(table["item"]).to_numpy()
    together = simultaneous_rank_intervals(draws, fit.component, fit.options.interval)
    columns = {"rank_lower_all": together[0], "rank_upper_all": together[1]}
    for name, values in (columns | {"p_top": p_top(draws, fit.component, top)}).items():
        table[name] = np.where(table["rank"].isna(), np.nan, values[position])
    table["tier"] = _tiers(table, draws[:, position], tier_level)
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
    return Ranking(fit, table, top, tier_level, distributions, stronger)


@dataclass(frozen=True)
class Contrast:
    """How much stronger one item is than another, in log-odds.

    ``prior_only``: the items are in different components, so that no data speak of the difference; the
    numbers are then those of the prior.
    """

    first: str
    second: str
    mean: float
    sd: float
    lower: float
    upper: float
    p_stronger: float
    prior_only: bool


def contrast(fit: Fit, first: str, second: str) -> Contrast:
    """Compare two items.

    Raises
    ------
    InputError
        An item that is not in the fit, or a fit without draws.
    """
    for item in (first, second):
        if item not in fit.items:
            raise InputError(f"{item!r} is not an item of this fit. Items: {', '.join(fit.items[:12])}, ...")
    i, j = fit.items.index(first), fit.items.index(second)
    apart = bool(fit.component[i] != fit.component[j])
    draws = _prior_difference(fit) if apart else _difference(fit, i, j)
    lower, upper = highest_density_interval(draws, fit.options.interval)
    return Contrast(
        first,
        second,
        mean=float(draws.mean()),
        sd=float(draws.std(ddof=1)),
        lower=float(lower),
        upper=float(upper),
        p_stronger=0.5 if apart else float((draws > 0).mean()),
        prior_only=apart,
    )


def _difference(fit: Fit, i: int, j: int) -> Floats:
    if fit.strength_draws is None:
        raise InputError(f"--engine {fit.engine} is a point estimate: it has no interval of a difference.")
    return fit.strength_draws[:, i] - fit.strength_draws[:, j]


def _prior_difference(fit: Fit) -> Floats:
    """Difference of two strengths under the prior, given what was learned of their standard deviation."""
    fixed = fit.spec.priors.strength_sd.fixed
    if ("strength_sd" not in fit.parameter_draws and fixed is None) or not fit.result.bayesian:
        raise InputError(
            "the items are in different components, and --engine "
            f"{fit.engine} has no prior to compare them by. Compare items of one component."
        )
    sd = fit.parameter_draws.get("strength_sd", np.full(4000, fixed))
    rng = np.random.default_rng(fit.options.seed)
    return np.asarray(np.sqrt(2) * sd * rng.standard_normal(len(sd)))


def _tiers(table: pd.DataFrame, draws: Floats, level: float) -> pd.Series[float]:
    """Consecutive items share a tier while P(the first of the tier is stronger) stays below the level."""
    tier = np.full(len(table), np.nan)
    for _, group in table[table["rank"].notna()].groupby("component"):
        current, head = 1, group.index[0]
        for row in group.index:
            if row != head and (draws[:, head] > draws[:, row]).mean() >= level:
                current, head = current + 1, row
            tier[row] = current
    return pd.Series(tier, index=table.index)
