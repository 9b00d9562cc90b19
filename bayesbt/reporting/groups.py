"""The connected components of a ranking, with their names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.infer.fitted import Fit

CENTRED_OVER_ALL = ("gienapp", "ilsr")
"""Engines that put all components on one scale: their strengths sum to zero over all items together."""


@dataclass(frozen=True)
class Group:
    """One connected component: its number, its name (the topic where it has just one), its rows by rank.

    ``only`` where the ranking has no other.
    """

    component: int
    name: str
    rows: pd.DataFrame
    only: bool = False


def groups(ranking: pd.DataFrame) -> list[Group]:
    """List the components of a ranking in their order; items without comparisons belong to none."""
    found: list[Group] = []
    compared = ranking[ranking["comparisons"] > 0]
    only = compared["component"].nunique() == 1
    for component, rows in compared.groupby("component", sort=True):
        topics = rows["topic"].dropna().unique() if "topic" in rows else np.array([])
        single = str(topics[0]) if len(topics) == 1 and str(topics[0]) else ""
        name = single or f"group {len(found) + 1}"
        found.append(Group(int(str(component)), name, rows.sort_values("rank", kind="stable"), only))
    return found


def never_compared(ranking: pd.DataFrame) -> list[str]:
    """List the items without a comparison: the data say nothing of them."""
    return list(ranking.loc[~(ranking["comparisons"] > 0), "item"])


def neighbour_certainty(fit: Fit, ranking: pd.DataFrame) -> NDArray[np.float64]:
    """P(the higher-ranked is stronger) for all neighbours within a component; empty without draws."""
    if fit.strength_draws is None:
        return np.array([])
    return np.concatenate([np.zeros(0), *_certainties(fit, ranking)])


def _certainties(fit: Fit, ranking: pd.DataFrame) -> Iterator[NDArray[np.float64]]:
    position = {item: i for i, item in enumerate(fit.counts.items)}
    draws = fit.strength_draws
    for group in groups(ranking):
        columns = [position[item] for item in group.rows["item"]]
        if draws is not None and len(columns) > 1:
            ordered = draws[:, columns]
            yield (ordered[:, :-1] > ordered[:, 1:]).mean(axis=0)
