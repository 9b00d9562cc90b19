"""A square matrix of wins: the number in row i, column j tells how often i beat j."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesbt.columns import numbers, values_with_rows
from bayesbt.errors import InputError
from bayesbt.formats.counts import judgments_of_counts
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.tables import Items, Judgments


def _sniff(source: Source) -> bool:
    columns = source.columns
    if len(columns) < 3 or len(source.frame) != len(columns) - 1:
        return False
    return sorted(map(str, source.frame.iloc[:, 0])) == sorted(columns[1:])


def _read(source: Source, options: ReadOptions) -> Imported:
    if not _sniff(source):
        raise InputError(
            f"{source.name}: not a square matrix of wins. The first column holds the items, the others "
            "are called after the same items, and the cell in row i, column j tells how often i beat j."
        )
    frame = source.frame
    items = [str(name) for name in frame.columns[1:]]
    wins = pd.DataFrame({name: _wins(frame, name, source.name) for name in items})
    wins.index = pd.Index([str(name) for name in frame.iloc[:, 0]])
    square = wins.loc[items, items].to_numpy()
    row, column = np.triu_indices(len(items), k=1)
    met = (square[row, column] > 0) | (square[column, row] > 0)
    row, column = row[met], column[met]
    names = np.array(items, dtype=object)
    counts = {"a": square[row, column], "tie": np.zeros(len(row)), "b": square[column, row]}
    if len(row) == 0:
        raise InputError(f"{source.name}: every win in the matrix is 0; there is nothing to rank.")
    table, rows = judgments_of_counts(pd.DataFrame({"item_a": names[row], "item_b": names[column]}), counts)
    position = {str(name): place for place, name in enumerate(frame.iloc[:, 0], start=1)}
    rows = np.array([position[name] for name in names[row]], dtype=np.int64)[rows - 1]
    arguments = options.for_table(source.name) | {"mapping": {}, "rows": rows}
    return Imported(
        Judgments.from_frame(table, **arguments),
        Items.from_frame(pd.DataFrame({"item": names}), source=source.name),
    )


def _wins(frame: pd.DataFrame, name: str, source: str) -> npt.NDArray[np.float64]:
    """One column of wins, its own row (the diagonal) set to 0."""
    values, unreadable = numbers(frame[name], f"{source}, column {name!r}")
    diagonal = frame.iloc[:, 0].astype(str).to_numpy() == name
    if np.any(values[diagonal] > 0):
        raise InputError(
            f"{source}: {name!r} beats itself {values[diagonal][0]:g} times. The diagonal must be 0."
        )
    bad = (unreadable | (values < 0) | np.isinf(values)) & ~diagonal
    if bad.any():
        where = values_with_rows(frame[name][bad], np.flatnonzero(bad) + 1)
        raise InputError(
            f"{source}, column {name!r}: {where}. Allowed: a finite number, 0 or more, or blank."
        )
    return np.where(diagonal, 0.0, np.nan_to_num(values))


READER = Reader("matrix", "a square matrix: how often the row's item beat the column's item", _sniff, _read)
