"""The typed columns of a table: labels, numbers, texts, ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesbt.columns import Mask, encode_ids, numbers, values_with_rows
from bayesbt.errors import InputError

LABEL_COLUMNS = ("dimension", "topic", "judge")
PROBABILITY_COLUMNS = ("p_a", "p_tie", "p_b", "p_other")
TEXT_COLUMNS = ("reason", "raw", "pair_id", "made_with")


def read_labels(frame: pd.DataFrame, source: str) -> dict[str, Any]:
    """Read dimension, topic and judge as categories; a column that is blank throughout is left out."""
    data = {}
    for name in LABEL_COLUMNS:
        if name in frame:
            encoded, _ = encode_ids(frame[name], f"{source}, column {name!r}")
            if encoded.labels:
                order = sorted(encoded.labels)
                rank = {label: code for code, label in enumerate(order)}
                codes = np.array([*(rank[label] for label in encoded.labels), -1], dtype=np.int64)
                data[name] = pd.Categorical.from_codes(codes[encoded.codes], dtype=pd.CategoricalDtype(order))
    return data


def read_numbers(
    frame: pd.DataFrame, rows: npt.NDArray[np.int64], origin: Mapping[str, str], source: str
) -> dict[str, Any]:
    """Read run, count and the label probabilities; an impossible number is an error with its rows.

    ``origin`` gives the name that each column has in the source.
    """

    def place(name: str) -> str:
        return f"{source}, column {origin.get(name, name)!r}"

    data: dict[str, Any] = {}
    if "run" in frame:
        values, _ = numbers(frame["run"], place("run"))
        with np.errstate(invalid="ignore"):
            bad = ~np.isfinite(values) | (values != np.round(values))
        _reject(frame["run"], bad, rows, place("run"), "a whole number that tells repeats apart")
        data["run"] = values.astype(np.int64)
    if "count" in frame:
        values, _ = numbers(frame["count"], place("count"))
        what = "a finite number, 0 or more (0: the row is ignored, its items are kept)"
        _reject(frame["count"], ~np.isfinite(values) | (values < 0), rows, place("count"), what)
        data["count"] = values
    else:
        data["count"] = np.ones(len(frame))
    total = np.zeros(len(frame))
    for name in PROBABILITY_COLUMNS:
        if name in frame:
            values, unreadable = numbers(frame[name], place(name))
            bad = unreadable | (values < 0) | (values > 1)
            _reject(frame[name], bad, rows, place(name), "a probability from 0 to 1, or blank")
            data[name] = values
            total += np.nan_to_num(values)
    over = total > 1 + 1e-6
    if over.any():
        where = values_with_rows(pd.Series(total[over]), rows[over])
        raise InputError(f"{source}: p_a + p_tie + p_b + p_other is more than 1: {where}. Mend these rows.")
    return data


def _reject(cells: pd.Series[Any], bad: Mask, rows: npt.NDArray[np.int64], place: str, allowed: str) -> None:
    if bad.any():
        where = values_with_rows(cells[bad], rows[bad])
        raise InputError(f"{place}: {where}. Allowed: {allowed}. Mend or remove these rows.")


def texts_or_none(column: pd.Series[Any]) -> pd.Series[Any]:
    """Keep the cells as they are, blank ones as None."""
    absent = column.isna().to_numpy()
    cells = column.astype(object).to_numpy()
    return pd.Series(
        [None if gone or _is_blank(cell) else cell for cell, gone in zip(cells, absent, strict=True)],
        dtype=object,
    )


def as_objects(column: pd.Series[Any]) -> pd.Series[Any]:
    """Keep a column as it is, text as Python objects whatever the version of pandas."""
    if not isinstance(column.dtype, pd.StringDtype):
        return column
    return column.astype(object).where(column.notna(), None)


def _is_blank(cell: Any) -> bool:
    return isinstance(cell, str) and not cell.strip()


def number_or_text(column: pd.Series[Any], source: str) -> pd.Series[Any]:
    """Read a column as float64 where every cell is a number or blank, else leave it text."""
    if not pd.api.types.is_numeric_dtype(column.dtype) and not _scalars(column):
        return column
    values, unreadable = numbers(column, f"{source}, column {column.name!r}")
    return texts_or_none(column) if unreadable.any() or np.isnan(values).all() else pd.Series(values)


def _scalars(column: pd.Series[Any]) -> bool:
    return not any(isinstance(cell, list | dict | np.ndarray) for cell in column)


def whole_ids(column: pd.Series[Any], name: str, source: str) -> pd.Series[Any]:
    """Read ids, none of which may be absent, as text in Unicode normal form C."""
    encoded, _ = encode_ids(column, f"{source}, column {name!r}")
    absent = encoded.codes < 0
    if absent.any():
        where = values_with_rows(column[absent], np.flatnonzero(absent) + 1)
        raise InputError(f"{source}, column {name!r}: an id is missing: {where}. Give each row an id.")
    return pd.Series(np.array(encoded.labels, dtype=object)[encoded.codes], dtype=object)
