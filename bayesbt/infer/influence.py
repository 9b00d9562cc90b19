"""Single judgments that move the posterior so far that leaving one out is another posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.infer import container, units
from bayesbt.infer.fitted import Fit
from bayesbt.infer.loo import good_k, relative_efficiency
from bayesbt.infer.pointwise import thin
from bayesbt.infer.results import Draws

Floats = NDArray[np.float64]

EXAMINED = 200
"""Kinds of judgments whose Pareto k is computed: those whose log-likelihood varies most over the draws."""
MOST_VALUES = 2**23  # draws times cells; draws are thinned beyond it,
LEAST_DRAWS = 400  # but not below this


@dataclass(frozen=True)
class Influence:
    """Pareto k of the judgments that pull most.

    A judgment is left out by weighting the draws with 1 / P(judgment); k is the shape of the tail of these
    weights (Vehtari et al. 2024). Weights can only be heavy-tailed where the log-likelihood of the judgment
    varies much over the posterior, so only the judgments are looked at for which it varies most.

    Attributes
    ----------
    table : DataFrame
        One row a kind of judgment, the largest k first: ``item_a``, ``item_b``, ``judge`` where there are
        several, ``outcome``, ``count`` and ``pareto_k``.
    limit : float
        The largest k at which so many draws give reliable weights.
    """

    table: pd.DataFrame
    limit: float

    @property
    def pareto_k_max(self) -> float:
        """Largest Pareto k; 0 where no judgment says anything about a parameter."""
        return float(self.table["pareto_k"].max()) if len(self.table) else 0.0

    @property
    def above(self) -> pd.DataFrame:
        """Return the rows beyond the limit."""
        return self.table[self.table["pareto_k"] > self.limit]

    def as_dict(self) -> dict[str, object]:
        """As in fit.json."""
        return {
            "pareto_k_max": self.pareto_k_max,
            "limit": self.limit,
            "above": self.above.to_dict(orient="records"),
        }

    def messages(self) -> list[str]:
        """Return a sentence where a judgment is beyond the limit."""
        beyond = self.above
        if beyond.empty:
            return []
        worst = beyond.iloc[0]
        told = {"a": "won by the first", "tie": "a tie", "b": "won by the second"}[worst["outcome"]]
        more = "at least " if len(beyond) == EXAMINED else ""
        return [
            f"Single judgments on which much hangs (Pareto k above {self.limit:.2f}): {more}{len(beyond):,}, "
            f"the most {worst['item_a']} against {worst['item_b']}, {told} (k {worst['pareto_k']:.2f}). Look "
            "at them; `bayesbt ties` fits anew without them with --refit."
        ]


def influence(fit: Fit, draws: Draws) -> Influence:
    """Compute Pareto k of the judgments that pull most on a posterior."""
    draws = thin(draws, max(LEAST_DRAWS, MOST_VALUES // len(fit.counts.a)))
    chains, size = draws.strength.shape[:2]
    kept: list[tuple[pd.DataFrame, Floats]] = []
    for left in units.judgments(fit, draws):
        kept.append((left.table, left.fitted))
        if sum(len(table) for table, _ in kept) > 4 * EXAMINED:
            kept = [_most_varying(kept)]
    if not kept:
        return Influence(pd.DataFrame({"pareto_k": []}), good_k(chains * size))
    table, fitted = _most_varying(kept)
    _, pareto_k = container.psis(fitted, relative_efficiency(draws))
    table = table.drop(columns=["cell", "kind", "weight"]).assign(pareto_k=pareto_k)
    ordered = table.sort_values("pareto_k", ascending=False, kind="stable", ignore_index=True)
    return Influence(ordered, good_k(chains * size))


def _most_varying(kept: list[tuple[pd.DataFrame, Floats]]) -> tuple[pd.DataFrame, Floats]:
    table = pd.concat([part for part, _ in kept], ignore_index=True)
    fitted = np.concatenate([part for _, part in kept])
    most = np.argsort(-fitted.var(axis=1), kind="stable")[:EXAMINED]
    return table.iloc[most].reset_index(drop=True), fitted[most]
