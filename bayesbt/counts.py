"""Sufficient statistics: judgments become integers once, here, and labels come back once, in the results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt import graph
from bayesbt.errors import EmptyInputError, InputError, rows_phrase
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
    judge, dimension : (C,) int arrays
        Index into ``judges`` and ``dimensions``; all zero where judges are pooled, or with one dimension.
    ties_link : bool
        Whether a tie counts as a comparison; not where the tie model leaves ties out.
    covariates : (I, K) float array
        Standardised item covariates, see :mod:`bayesbt.covariates`.
    judges, dimensions : tuple of str
        The labels; one empty label where judges are pooled or no dimension is named.
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
    judge: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    dimension: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    judges: tuple[str, ...] = ("",)
    dimensions: tuple[str, ...] = ("",)
    ties_link: bool = True
    covariates: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        """One judge and one dimension where none is given."""
        for name in ("judge", "dimension"):
            if len(getattr(self, name)) != len(self.a):
                object.__setattr__(self, name, np.zeros(len(self.a), dtype=np.int64))

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
        linked = self._per_cell > 0 if not self.ties_link else slice(None)
        return graph.components(self.n_items, self.a[linked], self.b[linked])

    @property
    def n_components(self) -> int:
        """Number of components that hold a comparison."""
        return len(np.unique(self.component[self.comparisons > 0]))

    @property
    def _per_cell(self) -> Floats:
        """(C,) Judgments that the model counts."""
        return self.wins_a + self.wins_b + (self.ties if self.ties_link else 0.0)

    @cached_property
    def comparisons(self) -> Floats:
        """(I,) Weighted number of the judgments of each item that the model counts."""
        per_cell = self._per_cell
        total = np.bincount(self.a, per_cell, self.n_items) + np.bincount(self.b, per_cell, self.n_items)
        return np.asarray(total, dtype=float)

    def to_frame(self) -> pd.DataFrame:
        """One row a cell, with labels; judge and dimension only where there are several."""
        labels = np.asarray(self.items, dtype=object)
        columns = {"item_a": labels[self.a], "item_b": labels[self.b]}
        for name, known in (("judge", self.judges), ("dimension", self.dimensions)):
            if len(known) > 1:
                columns[name] = np.asarray(known, dtype=object)[getattr(self, name)]
        return pd.DataFrame(columns | {"wins_a": self.wins_a, "ties": self.ties, "wins_b": self.wins_b})

    def of_dimension(self, which: int) -> Counts:
        """Keep the cells of one dimension, and all items."""
        kept = self.dimension == which
        arrays = {name: getattr(self, name)[kept] for name in ("a", "b", "wins_a", "ties", "wins_b", "judge")}
        return replace(
            self, **arrays, dimension=np.zeros(0, dtype=np.int64), dimensions=(self.dimensions[which],)
        )


def count_judgments(
    judgments: Judgments,
    *,
    items: Items | None = None,
    dimension: str | None = None,
    judge: str | None = None,
    topic: str | None = None,
    by_judge: bool = False,
    by_dimension: bool = False,
    soft: bool = False,
) -> Counts:
    """Count the outcomes of each ordered pair.

    Parameters
    ----------
    judgments : Judgments
    items : Items, optional
        Declared items; those without a comparison are kept and marked so.
    dimension, judge, topic : str, optional
        Keep only these judgments.
    by_judge, by_dimension : bool
        Keep judges, or dimensions, apart: a cell is then an ordered pair of one judge or dimension.
    soft : bool
        Count label probabilities (``p_a``, ``p_tie``, ``p_b``, renormalised) in the place of outcomes.

    Raises
    ------
    InputError
        Where several dimensions remain and are not kept apart, a name to keep is not in the file, judges or
        probabilities are asked for and a row has none.
    EmptyInputError
        Where no scored judgment remains.
    """
    frame = judgments.select(dimension=dimension, judge=judge, topic=topic).frame
    if not by_dimension:
        _one_dimension(frame, judgments.source)
    messages = [finding.message for finding in judgments.findings]
    if not by_judge and "judge" in frame and frame["judge"].nunique() > 1:
        messages.append(f"The judgments of {frame['judge'].nunique():,} judges are pooled (judges: ignore).")
    weight, run_message = run_weights(frame)
    messages += run_message
    shares = _shares(frame, judgments.source) if soft else _indicators(frame)
    scored = shares.sum(axis=1) > 0
    if not (scored & (weight > 0)).any():
        raise EmptyInputError(
            f"{judgments.source}: no judgment with an outcome and a count above 0 is left to fit."
        )
    labels = _labels(frame, items)
    judges, judge_code = _groups(frame, "judge", by_judge, judgments.source)
    dimensions, dimension_code = _groups(frame, "dimension", by_dimension, judgments.source)
    keys = [*(_codes(frame[side], labels) for side in ("item_a", "item_b")), judge_code, dimension_code]
    (a, b, of_judge, of_dimension), (wins_a, ties, wins_b) = _cells(np.stack(keys), shares * weight[:, None])
    return Counts(
        tuple(labels),
        a,
        b,
        wins_a,
        ties,
        wins_b,
        topics=_topics(frame, items, labels),
        unscored=float(weight[~scored].sum()),
        messages=tuple(messages),
        judge=of_judge,
        dimension=of_dimension,
        judges=judges,
        dimensions=dimensions,
    )


def _indicators(frame: pd.DataFrame) -> Floats:
    """(rows, 3) One in the column of the outcome a, tie or b; a row of zeros where there is none."""
    codes = frame["outcome"].cat.codes.to_numpy()
    return np.asarray(codes[:, None] == np.arange(3), dtype=float)


def _shares(frame: pd.DataFrame, source: str) -> Floats:
    """(rows, 3) Label probabilities of a, tie and b that sum to one; zeros where the judgment is unscored."""
    names = ["p_a", "p_tie", "p_b"]
    missing = [name for name in names if name not in frame]
    if missing:
        raise InputError(
            f"{source}: no column {', '.join(missing)}, so soft judgments cannot be counted. Judge with "
            "--decode labels, or leave --soft out."
        )
    scored = frame["outcome"].notna().to_numpy()
    mass = frame[names].to_numpy(dtype=float)
    total = mass.sum(axis=1)
    bad = scored & ~(total > 0)
    if bad.any():
        rows = rows_phrase(frame.loc[bad, "row"].tolist())
        raise InputError(
            f"{source}, {rows}: an outcome without label probabilities cannot be counted softly."
        )
    return np.where(scored[:, None], mass / np.where(scored, total, 1.0)[:, None], 0.0)


def _groups(frame: pd.DataFrame, column: str, apart: bool, source: str) -> tuple[tuple[str, ...], Ints]:
    """Labels of the judges or dimensions to keep apart, and each row's index into them."""
    if not apart:
        known: list[str] = list(frame[column].dropna().unique()) if column in frame else []
        label = str(known[0]) if len(known) == 1 and column == "dimension" else ""
        return (label,), np.zeros(len(frame), dtype=np.int64)
    if column not in frame:
        raise InputError(f"{source}: no column {column!r}, so {column}s cannot be kept apart.")
    blank = frame[column].isna()
    if blank.any():
        rows = rows_phrase(frame.loc[blank, "row"].tolist())
        raise InputError(f"{source}, {rows}, column {column!r}: blank, so {column}s cannot be kept apart.")
    labels = sorted(map(str, frame[column].unique()))
    return tuple(labels), _codes(frame[column], pd.Index(labels, dtype=object))


def _one_dimension(frame: pd.DataFrame, source: str) -> None:
    if "dimension" not in frame:
        return
    blank = frame["dimension"].isna()
    if blank.any() and not blank.all():
        rows = rows_phrase(frame.loc[blank, "row"].tolist())
        raise InputError(
            f"{source}, {rows}, column 'dimension': blank, while other rows name one. Fill them in, or "
            "choose a dimension with --dimension, which leaves these rows out."
        )
    if frame["dimension"].nunique() > 1:
        known = sorted(map(str, frame["dimension"].dropna().unique()))
        raise InputError(
            f"{source}: several dimensions ({', '.join(known)}) are not one ranking. "
            f"Choose one with --dimension, or fit each apart with --by dimension."
        )


def run_weights(frame: pd.DataFrame) -> tuple[Floats, list[str]]:
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


def _cells(keys: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """Sum (rows, 3) weights over equal columns of the keys (a, b, judge, dimension): (4, C) and (3, C)."""
    carrying = weights.sum(axis=1) > 0
    keys, weights = keys[:, carrying], weights[carrying]
    widths = keys.max(axis=1, initial=0) + 1
    code = np.ravel_multi_index(tuple(keys), tuple(widths))
    cells, cell = np.unique(code, return_inverse=True)
    totals = np.stack([np.bincount(cell, weights[:, k], len(cells)) for k in range(3)]).astype(float)
    return np.stack(np.unravel_index(cells, tuple(widths))).astype(np.int64), totals


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
