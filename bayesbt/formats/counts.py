"""Tables of counts: one row a pair, with the wins of each side and the ties."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesbt.columns import SYNONYMS, numbers, rename_columns, require_columns, values_with_rows
from bayesbt.errors import EmptyInputError, InputError
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.tables import JUDGMENT_COLUMNS, Judgments

WINS = {
    "wins_a": ("wins_i", "home_wins", "first_wins", "left_wins"),
    "wins_b": ("wins_j", "away_wins", "second_wins", "right_wins"),
    "ties": ("draws",),
}
KNOWN = ("item_a", "item_b", *WINS, *(name for name in JUDGMENT_COLUMNS[3:] if name != "count"))


def _sniff(source: Source) -> bool:
    columns = set(source.columns)
    return all(columns & {name, *WINS[name]} for name in ("wins_a", "wins_b"))


def _read(source: Source, options: ReadOptions) -> Imported:
    frame = source.frame
    if len(frame) == 0:
        raise EmptyInputError(f"{source.name}: no counts: there is a header and nothing below it.")
    renamed, origin = rename_columns(frame, options.mapping, KNOWN, source.name, SYNONYMS | WINS)
    require_columns(frame, origin, ("item_a", "item_b", "wins_a", "wins_b"), source.name)
    counts = {
        outcome: _whole(renamed, name, source.name) if name in renamed else np.zeros(len(frame))
        for outcome, name in (("a", "wins_a"), ("tie", "ties"), ("b", "wins_b"))
    }
    table, rows = judgments_of_counts(renamed.drop(columns=list(WINS), errors="ignore"), counts)
    arguments = options.for_table(source.name) | {"mapping": {}, "rows": rows}
    return Imported(Judgments.from_frame(table, **arguments))


def judgments_of_counts(
    pairs: pd.DataFrame, counts: dict[str, npt.NDArray[np.float64]]
) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """Give each pair one judgment an outcome, with its count; also the row of ``pairs``, from 1.

    A pair without any count keeps one judgment of count 0, so that its items are not lost.
    """
    total = sum(counts.values(), start=np.zeros(len(pairs)))
    keep = {outcome: np.flatnonzero(values > 0) for outcome, values in counts.items()}
    keep["a"] = np.sort(np.concatenate([keep["a"], np.flatnonzero(total == 0)]))
    rows = np.concatenate(list(keep.values()))
    outcome = np.repeat(list(keep), [len(places) for places in keep.values()])
    count = np.concatenate([counts[name][places] for name, places in keep.items()])
    order = np.argsort(rows, kind="stable")
    table = pairs.iloc[rows[order]].reset_index(drop=True)
    return table.assign(outcome=outcome[order], count=count[order]), rows[order] + 1


def _whole(frame: pd.DataFrame, name: str, source: str) -> npt.NDArray[np.float64]:
    values, _ = numbers(frame[name], f"{source}, column {name!r}")
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        where = values_with_rows(frame[name][bad], np.flatnonzero(bad) + 1)
        raise InputError(f"{source}, column {name!r}: {where}. Allowed: a finite number, 0 or more.")
    return values


READER = Reader(
    "counts", "a table with the columns item_a, item_b, wins_a, wins_b and perhaps ties", _sniff, _read
)
