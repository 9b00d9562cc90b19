"""What can be left out: a judgment, all judgments of an item, all judgments of a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.infer.fitted import Fit
from bayesbt.infer.pointwise import counts_by_outcome, terms
from bayesbt.infer.results import Draws

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Unit = Literal["judgment", "item", "topic"]

OUTCOMES = ("a", "tie", "b")
WHOLE = 1e-9  # a count this close to an integer is one


@dataclass(frozen=True)
class Left:
    """U units and what they contribute at S draws.

    Attributes
    ----------
    table : DataFrame
        One row a unit: its labels, its position (``cell`` and ``kind`` of a judgment, else ``group``),
        ``weight`` (v) and ``count`` (c), as in :mod:`bayesbt.infer.loo`.
    fitted : (U, S) array
        What the unit adds to the log-likelihood as fitted.
    decisive : (U, S) array
        Log-probability of its winners, given no tie; NaN where it holds no decisive judgment.
    full : (U, S) array or None
        Log-probability of its outcomes, of models that have a P(tie).
    """

    table: pd.DataFrame
    fitted: Floats
    decisive: Floats
    full: Floats | None


def judgments(fit: Fit, draws: Draws) -> Iterator[Left]:
    """Judgments of one kind have the same terms: they are one row, whose ``count`` says how many they are.

    Ties are left out of models without a P(tie): no yardstick scores them there.
    """
    observed = counts_by_outcome(fit.counts)
    for part in terms(fit, draws):
        pieces = []
        for kind in range(3) if part.full is not None else (0, 2):
            n = observed[kind, part.cells]
            whole = np.floor(n + WHOLE)
            rest = np.where(n - whole > WHOLE, n - whole, 0.0)
            for weight, count in ((np.ones(len(n)), whole), (rest, rest)):
                at = np.flatnonzero(count > 0)
                table = _judgment_labels(fit.counts, part.cells[at], kind).assign(
                    weight=weight[at], count=count[at]
                )
                full = None if part.full is None else part.full[kind][:, at].T
                decisive = part.decisive[kind][:, at].T
                if kind == 1:
                    decisive = np.full_like(decisive, np.nan)
                pieces.append(Left(table, (weight * part.fitted[kind])[:, at].T, decisive, full))
        yield from (piece for piece in pieces if len(piece.table))


def _judgment_labels(counts: Counts, cells: Ints, kind: int) -> pd.DataFrame:
    labels = np.asarray(counts.items, dtype=object)
    columns = {"item_a": labels[counts.a[cells]], "item_b": labels[counts.b[cells]]}
    if len(counts.judges) > 1:
        columns["judge"] = np.asarray(counts.judges, dtype=object)[counts.judge[cells]]
    return pd.DataFrame(columns | {"outcome": OUTCOMES[kind], "cell": cells, "kind": kind})


def items(fit: Fit, draws: Draws) -> Iterator[Left]:
    """Every compared item, with all its judgments; each counts half."""
    yield _grouped(fit, draws, "item", fit.counts.items, item_members(fit.counts), 0.5)


def topics(fit: Fit, draws: Draws) -> Iterator[Left]:
    """Every topic, with all its judgments."""
    labels, members = topic_members(fit.counts)
    yield _grouped(fit, draws, "topic", labels, members, 1.0)


def item_members(counts: Counts) -> csr_array:
    """(I, C) One where the cell is a judgment of the item."""
    cells = np.arange(len(counts.a))
    both = (np.concatenate([counts.a, counts.b]), np.concatenate([cells, cells]))
    return csr_array((np.ones(len(both[0])), both), shape=(counts.n_items, len(cells)))


def topic_members(counts: Counts) -> tuple[tuple[str, ...], csr_array]:
    """Labels of the topics, and (T, C) one where the cell lies in the topic.

    Raises
    ------
    InputError
        Where items have no topic, or a judgment crosses topics.
    """
    if counts.topics is None:
        raise InputError("--unit topic: these judgments name no topic, or an item stands under several.")
    labels, of_item = np.unique(np.asarray(counts.topics, dtype=str), return_inverse=True)
    crossing = np.flatnonzero(of_item[counts.a] != of_item[counts.b])
    if len(crossing):
        a, b = counts.items[counts.a[crossing[0]]], counts.items[counts.b[crossing[0]]]
        raise InputError(
            f"--unit topic: {a!r} and {b!r} are compared but stand under different topics "
            f"({len(crossing)} such pairs). Leave out by judgment or item."
        )
    cells = np.arange(len(counts.a))
    members = csr_array((np.ones(len(cells)), (of_item[counts.a], cells)), shape=(len(labels), len(cells)))
    return tuple(map(str, labels)), members


def _grouped(
    fit: Fit, draws: Draws, name: str, labels: tuple[str, ...], members: csr_array, count: float
) -> Left:
    observed = counts_by_outcome(fit.counts)
    size = draws.strength.shape[0] * draws.strength.shape[1]
    fitted, decisive, full = np.zeros((3, len(labels), size))
    for part in terms(fit, draws):
        n, of = observed[:, None, part.cells], members[:, part.cells]
        fitted += of @ (n * part.fitted).sum(axis=0).T
        decisive += of @ (n * part.decisive).sum(axis=0).T
        full += 0.0 if part.full is None else of @ (n * part.full).sum(axis=0).T
    held = np.asarray(members @ observed.T)
    decisive[held[:, 0] + held[:, 2] == 0] = np.nan
    used = np.flatnonzero(held.sum(axis=1) > 0)
    table = pd.DataFrame({name: [labels[u] for u in used], "group": used, "weight": 1.0, "count": count})
    keep_full = full[used] if fit.spec.tie_model.has_tie_parameter else None
    return Left(table, fitted[used], decisive[used], keep_full)


def taken(counts: Counts, unit: Unit, row: pd.Series[float]) -> Floats:
    """(3, C) The judgments, by outcome and cell, that a row of a table of units takes out of the counts."""
    observed = counts_by_outcome(counts)
    if unit == "judgment":
        out = np.zeros_like(observed)
        out[int(row["kind"]), int(row["cell"])] = row["weight"]
        return out
    members = item_members(counts) if unit == "item" else topic_members(counts)[1]
    inside: Floats = members[[int(row["group"])], :].toarray()
    return np.asarray(observed * inside)


UNITS: dict[Unit, Callable[[Fit, Draws], Iterator[Left]]] = {
    "judgment": judgments,
    "item": items,
    "topic": topics,
}
