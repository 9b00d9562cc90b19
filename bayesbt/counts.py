"""Sufficient statistics: judgments become integers once, here, and labels come back once, in the results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt import graph
from bayesbt.errors import EmptyInputError, InputError
from bayesbt.tables import Items, Judgments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Counts:
    """Counts of the three outcomes per ordered pair: C cells, I items.

    Attributes
    ----------
    items : tuple of str
        The labels, sorted; item ``i`` of every array is ``items[i]``.
    topics : tuple of str or None
        The topic of each item, where every item has exactly one.
    a, b : (C,) int arrays
        The item shown first and the item shown second.
    wins_a, ties, wins_b : (C,) float arrays
        Weighted counts.
    unscored : float
        Judgments without an outcome: counted, never in the likelihood.
    messages : tuple of str
        What a reader of any output must know about how the counts came about.
    """

    items: tuple[str, ...]
    a: Ints
    b: Ints
    wins_a: Floats
    ties: Floats
    wins_b: Floats
    topics: tuple[str, ...] | None = None
    unscored: float = 0.0
    messages: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """I, the number of items, those without comparisons included."""
        return len(self.items)

    @property
    def judgments(self) -> float:
        """Weighted number of scored judgments."""
        return float(self.wins_a.sum() + self.ties.sum() + self.wins_b.sum())

    @cached_property
    def component(self) -> Ints:
        """(I,) The connected component of each item, numbered by its first item."""
        return graph.components(self.n_items, self.a, self.b)

    @property
    def n_components(self) -> int:
        """Number of components that hold a comparison."""
        return len(np.unique(self.component[self.comparisons > 0]))

    @cached_property
    def comparisons(self) -> Floats:
        """(I,) Weighted number of scored judgments of each item."""
        per_cell = self.wins_a + self.ties + self.wins_b
        total = np.bincount(self.a, per_cell, self.n_items) + np.bincount(self.b, per_cell, self.n_items)
        return np.asarray(total, dtype=float)

    def to_frame(self) -> pd.DataFrame:
        """One row a cell, with labels."""
        labels = np.asarray(self.items, dtype=object)
        columns = {"item_a": labels[self.a], "item_b": labels[self.b]}
        return pd.DataFrame(columns | {"wins_a": self.wins_a, "ties": self.ties, "wins_b": self.wins_b})


def count_judgments(
    judgments: Judgments,
    *,
    items: Items | None = None,
    dimension: str | None = None,
    judge: str | None = None,
    topic: str | None = None,
) -> Counts:
    """Count the outcomes of each ordered pair.

    Parameters
    ----------
    judgments : Judgments
    items : Items, optional
        Declared items; those without a comparison are kept and marked so.
    dimension, judge, topic : str, optional
        Keep only these judgments.

    Raises
    ------
    InputError
        Where several dimensions remain, or a name to keep is not in the file.
    EmptyInputError
        Where no scored judgment remains.
    """
    frame = judgments.frame
    for column, wanted in (("dimension", dimension), ("judge", judge), ("topic", topic)):
        if wanted is not None:
            frame = frame[_matches(frame, column, wanted, judgments.source)]
    _one_dimension(frame, judgments.source)
    messages = [finding.message for finding in judgments.findings]
    if "judge" in frame and frame["judge"].nunique() > 1:
        messages.append(f"The judgments of {frame['judge'].nunique():,} judges are pooled (judges: ignore).")
    weight, run_message = _run_weights(frame)
    messages += run_message
    scored = frame["outcome"].notna()
    if not scored.any():
        raise EmptyInputError(f"{judgments.source}: no judgment with an outcome is left to fit.")
    labels = _labels(frame, items)
    a, b = (_codes(frame[column], labels) for column in ("item_a", "item_b"))
    return Counts(
        tuple(labels),
        *_cells(a, b, frame["outcome"].cat.codes.to_numpy().astype(np.int64), weight),
        topics=_topics(frame, items, labels),
        unscored=float(weight[~scored].sum()),
        messages=tuple(messages),
    )


def _matches(frame: pd.DataFrame, column: str, wanted: str, source: str) -> pd.Series[bool]:
    if column not in frame:
        raise InputError(f"{source}: no column {column!r}, so --{column} {wanted!r} cannot be kept.")
    known = sorted(map(str, frame[column].dropna().unique()))
    if wanted not in known:
        raise InputError(
            f"{source}: {column} {wanted!r} is not in the file. Allowed: {', '.join(known[:20])}."
        )
    return frame[column] == wanted


def _one_dimension(frame: pd.DataFrame, source: str) -> None:
    if "dimension" in frame and frame["dimension"].nunique() > 1:
        known = sorted(map(str, frame["dimension"].dropna().unique()))
        raise InputError(
            f"{source}: several dimensions ({', '.join(known)}) are not one ranking. "
            f"Choose one with --dimension, or fit each apart with --by dimension."
        )


def _run_weights(frame: pd.DataFrame) -> tuple[Floats, list[str]]:
    """Weigh each row by its count, divided by the scored runs of its judge on that presentation.

    An unscored run takes no weight from the others: two scored runs of three weigh 1/2 each.
    """
    weight = frame["count"].to_numpy(dtype=float)
    if "run" not in frame or frame["run"].nunique() <= 1:
        return weight, []
    keys = [name for name in ("item_a", "item_b", "judge", "dimension", "topic") if name in frame]
    scored = frame["outcome"].notna()
    runs = frame[scored].groupby(keys, observed=True, dropna=False)["run"].transform("nunique")
    divisor = runs.reindex(frame.index, fill_value=1).to_numpy(dtype=float)
    message = (
        f"Up to {int(divisor.max())} runs of one judge on one pair are repeats, not independent judgments: "
        "each weighs 1/(number of runs). `bayesbt vote` gives one label a pair instead."
    )
    return weight / divisor, [message] if divisor.max() > 1 else []


def _labels(frame: pd.DataFrame, items: Items | None) -> pd.Index[str]:
    used = pd.Index(frame["item_a"].cat.remove_unused_categories().cat.categories)
    used = used.union(frame["item_b"].cat.remove_unused_categories().cat.categories)
    if items is not None:
        used = used.union(pd.Index(items.frame["item"]))
    labels: pd.Index[str] = pd.Index(sorted(used), dtype=object)
    return labels


def _codes(column: pd.Series[str], labels: pd.Index[str]) -> Ints:
    positions = labels.get_indexer(column.cat.categories)
    return np.asarray(positions[column.cat.codes.to_numpy()], dtype=np.int64)


def _cells(a: Ints, b: Ints, outcome: Ints, weight: Floats) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Sum the weights of each ordered pair by outcome (0 a, 1 tie, 2 b): a, b, wins_a, ties, wins_b."""
    keep = (outcome >= 0) & (weight > 0)
    a, b, outcome, weight = a[keep], b[keep], outcome[keep], weight[keep]
    width = int(max(a.max(initial=0), b.max(initial=0))) + 1
    cells, cell = np.unique(a * width + b, return_inverse=True)
    wins_a, ties, wins_b = (
        np.asarray(np.bincount(cell, weight * (outcome == code), len(cells)), dtype=float)
        for code in range(3)
    )
    return cells // width, cells % width, wins_a, ties, wins_b


def _topics(frame: pd.DataFrame, items: Items | None, labels: Iterable[str]) -> tuple[str, ...] | None:
    tables = []
    if items is not None and "topic" in items.frame:
        tables.append(items.frame[["item", "topic"]])
    elif "topic" in frame:
        sides = [frame[[side, "topic"]].rename(columns={side: "item"}) for side in ("item_a", "item_b")]
        tables += [side.drop_duplicates() for side in sides]
    if not tables:
        return None
    pairs = pd.concat([table.astype(object) for table in tables]).dropna().drop_duplicates()
    if pairs["item"].duplicated().any():
        return None
    topic_of = dict(zip(pairs["item"], pairs["topic"], strict=True))
    return tuple(topic_of.get(label, "") for label in labels)
