"""What the cells of a table mean: column names, ids as text, numbers; and how bad cells are named.

Labels are handled once per distinct value, never once per row, so a million rows cost little.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesbt.errors import InputError, rows_phrase

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

MISSING = frozenset({"NaN", "nan", "NAN", "None", "null", "NULL", "NA", "<NA>"})
"""Texts that stand for an absent value, besides text of white space only."""

SYNONYMS: dict[str, tuple[str, ...]] = {
    "item_a": ("model_a", "left", "first", "home", "item_i", "player1", "argument_a"),
    "item_b": ("model_b", "right", "second", "away", "item_j", "player2", "argument_b"),
    "outcome": ("winner", "label", "verdict", "preference"),
    "count": ("weight",),
    "judge": ("rater", "annotator", "worker"),
}
"""Other names under which a column is found, in any case, a space or hyphen standing for ``_``."""

OUTCOMES = ("a", "tie", "b")


@dataclass(frozen=True)
class Encoded:
    """A column as integers: ``codes`` (one a row, -1 where absent) into ``labels`` (distinct texts)."""

    codes: Codes
    labels: tuple[str, ...]


def parse_mapping(text: str | None) -> dict[str, str]:
    """Read ``--map``: ``"player1=item_a,x=a,draw=tie"``; quotes protect a comma: ``'"a, b"=a'``.

    >>> parse_mapping("result=outcome,x=a")
    {'result': 'outcome', 'x': 'a'}
    """
    mapping: dict[str, str] = {}
    for entry in next(csv.reader(io.StringIO(text or ""), skipinitialspace=True), []):
        left, equals, right = entry.rpartition("=")
        if not equals or not left or not right:
            raise InputError(
                f"--map: {entry!r} is not of the form LEFT=RIGHT. Write, for example, "
                '--map "player1=item_a,result=outcome,x=a,y=b,draw=tie".'
            )
        mapping[left] = right.strip()
    return mapping


def normal_name(name: object) -> str:
    """Bring a column name to the form in which names are compared: lower case, ``_`` for space and hyphen."""
    return "_".join(str(name).replace("-", " ").lower().split())


def rename_columns(
    frame: pd.DataFrame,
    mapping: Mapping[str, str],
    known: Sequence[str],
    source: str,
    synonyms: Mapping[str, Sequence[str]] = SYNONYMS,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Give the columns their names: by ``mapping`` first, then by their own name, then by synonyms.

    Returns
    -------
    frame : DataFrame
        The same data under our names; a column that another one displaced is left out.
    origin : dict
        Our name -> the name in the source.
    """
    columns = [str(column) for column in frame.columns]
    repeated = sorted({column for column in columns if columns.count(column) > 1})
    if repeated:
        raise InputError(f"{source}: the column name {repeated[0]!r} occurs twice. Name each column once.")
    origin: dict[str, str] = {}
    for left, right in mapping.items():
        if right in OUTCOMES:
            continue
        if right not in known:
            raise InputError(
                f'--map "{left}={right}": {right!r} is neither an outcome (a, b, tie) nor a column. '
                f"Columns that can be named: {', '.join(known)}."
            )
        if left not in columns:
            raise InputError(
                f'--map "{left}={right}": {source} has no column {left!r}. Its columns: {", ".join(columns)}.'
            )
        origin[right] = left
    for name in known:
        if name not in origin:
            found = _find_column(name, [c for c in columns if c not in origin.values()], source, synonyms)
            if found is not None:
                origin[name] = found
    names = {old: new for new, old in origin.items()}
    kept = [column for column in columns if column in names or column not in origin]
    renamed = frame.set_axis(columns, axis="columns")[kept].rename(columns=names)
    return renamed, origin


def _find_column(
    name: str, columns: Sequence[str], source: str, synonyms: Mapping[str, Sequence[str]]
) -> str | None:
    if name in columns:
        return name
    accepted = {name, *synonyms.get(name, ())}
    found = [column for column in columns if normal_name(column) in accepted]
    if len(found) > 1:
        raise InputError(
            f"{source}: the columns {' and '.join(found)} could each be {name!r}. "
            f'Say which: --map "{found[0]}={name}".'
        )
    return found[0] if found else None


def require_columns(
    frame: pd.DataFrame, found: Mapping[str, str], required: Sequence[str], source: str
) -> None:
    """Raise an InputError that names the missing columns and how to point to them.

    Parameters
    ----------
    frame : DataFrame
        As it came.
    found : mapping
        Our name -> the name in the source, from :func:`rename_columns`.
    required : sequence of str
        Our names of the columns that must be there.
    source : str
        Named in the message.
    """
    missing = [name for name in required if name not in found]
    if missing:
        example = ",".join(f"YOUR_COLUMN={name}" for name in missing)
        raise InputError(
            f"{source}: no column {' and no column '.join(missing)}. The columns are: "
            f'{", ".join(map(str, frame.columns))}. Rename them or say which is meant: --map "{example}".'
        )


def as_text(value: Any) -> str:
    """Turn a cell into text: text as it is, whole numbers without a decimal point.

    >>> as_text("01"), as_text(1.0), as_text(2.5)
    ('01', '1', '2.5')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def is_missing(text: str) -> bool:
    """Tell whether a text stands for an absent value: white space only, NaN, None, null, NA."""
    return not text.strip() or text in MISSING


def encode(series: pd.Series[Any], place: str) -> Encoded:
    """Turn a column into codes and distinct texts as written; absent values get the code -1."""
    codes: Codes
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = np.asarray(series.cat.codes, dtype=np.int64)
        values: Iterable[Any] = series.cat.categories
    else:
        try:
            raw_codes, values = pd.factorize(series)
        except TypeError as error:
            raise InputError(
                f"{place}: a cell holds a list or a record; text or a number is needed."
            ) from error
        codes = np.asarray(raw_codes, dtype=np.int64)
    return _merge(codes, [as_text(value) for value in values], place)


def encode_ids(series: pd.Series[Any], place: str) -> tuple[Encoded, Encoded]:
    """Encode ids in Unicode normal form C; also return the encoding of the ids as written."""
    written = encode(series, place)
    return _merge(written.codes, [unicodedata.normalize("NFC", t) for t in written.labels], place), written


def _merge(codes: Codes, texts: Sequence[str], place: str) -> Encoded:
    """Give equal texts one code, and absent ones -1."""
    number: dict[str, int] = {}
    lookup = np.full(len(texts) + 1, -1, dtype=np.int64)  # the last entry serves the code -1
    for position, text in enumerate(texts):
        if is_missing(text):
            continue
        if not text.isascii():
            _require_unicode(text, place)
        lookup[position] = number.setdefault(text, len(number))
    return Encoded(lookup[codes], tuple(number))


def _require_unicode(text: str, place: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{place}: {text!r} holds half a character (a lone surrogate); mend the text."
        ) from error


def numbers(series: pd.Series[Any], place: str) -> tuple[Floats, Mask]:
    """Read a column of numbers.

    Returns
    -------
    values : (rows,) floats
        NaN where the cell is absent or no number; ``inf`` stays what it is.
    unreadable : (rows,) booleans
        Where a cell holds something that is no number.
    """
    if pd.api.types.is_numeric_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, np.zeros(len(values), dtype=bool)
    encoded = encode(series, place)
    parsed = np.array([*(_number(text) for text in encoded.labels), np.nan])
    values = parsed[encoded.codes]
    return values, np.isnan(values) & (encoded.codes >= 0)


def _number(text: str) -> float:
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan


def values_with_rows(series: pd.Series[Any], rows: npt.NDArray[np.int64], limit: int = 6) -> str:
    """Name bad cells for a message: ``'modelb' (rows 7, 8), blank (row 15)``."""
    places: dict[str, list[int]] = {}
    for value, row in zip(series.astype(object), rows, strict=True):
        text = "" if value is None or value is pd.NA or value != value else as_text(value)
        places.setdefault("blank" if not text.strip() else repr(text), []).append(int(row))
    shown = [f"{value} ({rows_phrase(where)})" for value, where in list(places.items())[:limit]]
    if len(places) > limit:
        shown.append(f"and {len(places) - limit:,} other values")
    return ", ".join(shown)
