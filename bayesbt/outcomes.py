"""Reading the outcome column: which words mean that a won, that b won, or a tie.

A file has one vocabulary. It is either a vocabulary of sides (``a``/``b``, ``model_a``/``model_b``, ...) or
the names of the items. Nothing that is not understood ever becomes a tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesbt.columns import Codes, Encoded, Mask, values_with_rows
from bayesbt.errors import InputError, rows_phrase
from bayesbt.findings import Finding

Outcome = Literal["a", "tie", "b"]
OutcomeKind = Literal["auto", "side", "name"]

OUTCOME_CODES: dict[str, int] = {"a": 0, "tie": 1, "b": 2}
OUTCOME_DTYPE = pd.CategoricalDtype(["a", "tie", "b"])
NOT_UNDERSTOOD = -1

ONE_TWO_ZERO = "1 / 2 / 0"
SIDE_VOCABULARIES: dict[str, dict[str, str]] = {
    "a / b / tie": {"a": "a", "A": "a", "b": "b", "B": "b"},
    "model_a / model_b / tie": {"model_a": "a", "model_b": "b"},
    "left / right / tie": {"left": "a", "right": "b"},
    "first / second / tie": {"first": "a", "second": "b"},
    ONE_TWO_ZERO: {"1": "a", "2": "b", "0": "tie"},
}
"""Words for the sides; ``tie`` in any case belongs to each."""

NAME_VOCABULARY = "the winning item's own name / tie"


@dataclass(frozen=True)
class OutcomeColumn:
    """The outcome column of a table, and what it is read against.

    Attributes
    ----------
    cells : Series
        As written.
    encoded : Encoded
        The same as codes and texts; -1 where blank.
    item_a, item_b : (rows,) ints
        Codes of the two items into ``items``.
    items : tuple of str
        All items, in Unicode normal form C.
    rows : (rows,) ints
        Data rows of the source, for messages.
    unscored : (rows,) booleans
        Where a reason explains a blank outcome.
    name, source : str
        The column's name in the source, and the source, for messages.
    """

    cells: pd.Series[Any]
    encoded: Encoded
    item_a: Codes
    item_b: Codes
    items: tuple[str, ...]
    rows: npt.NDArray[np.int64]
    unscored: Mask
    name: str
    source: str


@dataclass(frozen=True)
class Reading:
    """One way to read the column: ``codes`` index ``a, tie, b``; -1 is not understood (or blank)."""

    vocabulary: str
    codes: Codes


def read_outcomes(column: OutcomeColumn, words: Mapping[str, str], kind: OutcomeKind = "auto") -> Reading:
    """Read every outcome; its code is -1 where the judgment is unscored.

    Parameters
    ----------
    column : OutcomeColumn
        What is read.
    words : mapping of str to {"a", "tie", "b"}
        Further words, from ``--map``; they overrule the vocabularies.
    kind : {"auto", "side", "name"}
        Whether the words are sides or names of items. ``auto`` finds out, and asks where both are possible.

    Raises
    ------
    InputError
        Where a value is not understood, is blank without a reason, or can be read in two ways.
    """
    if kind not in ("auto", "side", "name"):
        raise InputError(f"outcomes={kind!r} is not known. Allowed: auto, side, name.")
    blank = column.encoded.codes < 0
    side, name = _side_reading(column, words), _name_reading(column, words)
    reading = _choose(column, side, name, kind, blank)
    bad = (reading.codes == NOT_UNDERSTOOD) & ~(blank & column.unscored)
    if bad.any():
        raise InputError(_not_understood(column, reading, bad))
    return reading


def find_ones_and_zeros(column: OutcomeColumn, reading: Reading, words: Mapping[str, str]) -> list[Finding]:
    """Doubt ``0`` as a tie where ``1`` occurs and ``2`` does not: it may be a column of wins and losses."""
    labels = column.encoded.labels
    if reading.vocabulary != ONE_TWO_ZERO or "0" in words or "1" not in labels or "0" not in labels:
        return []
    if "2" in labels:
        return []
    zero = column.encoded.codes == labels.index("0")
    rows = tuple(column.rows[zero].tolist())
    message = (
        f"The column {column.name!r} has 1 and 0 but no 2, and is read as {ONE_TWO_ZERO}: each 0 is a tie "
        f'({rows_phrase(rows)}). If 0 means that b won, --map "1=a,0=b" settles it; if it is a tie, '
        '--map "1=a,0=tie".'
    )
    return [Finding("warning", "ones-and-zeros", message, rows)]


def _side_reading(column: OutcomeColumn, words: Mapping[str, str]) -> Reading:
    """Read by the vocabulary of sides that leaves the fewest rows open."""
    weight = np.bincount(column.encoded.codes + 1, minlength=len(column.encoded.labels) + 1)[1:]
    tables = {
        vocabulary: np.array([_word(text, sides, words) for text in column.encoded.labels], dtype=np.int64)
        for vocabulary, sides in SIDE_VOCABULARIES.items()
    }
    best = min(tables, key=lambda vocabulary: weight[tables[vocabulary] == NOT_UNDERSTOOD].sum())
    return Reading(best, np.append(tables[best], NOT_UNDERSTOOD)[column.encoded.codes])


def _word(text: str, sides: Mapping[str, str], words: Mapping[str, str]) -> int:
    if text in words:
        return OUTCOME_CODES[words[text]]
    if text in sides:
        return OUTCOME_CODES[sides[text]]
    return OUTCOME_CODES["tie"] if text.casefold() == "tie" else NOT_UNDERSTOOD


def _name_reading(column: OutcomeColumn, words: Mapping[str, str]) -> Reading:
    number = {item: code for code, item in enumerate(column.items)}
    labels = column.encoded.labels
    winner = np.array([*(number.get(text, -2) for text in labels), -2], dtype=np.int64)[column.encoded.codes]
    word = [_word(text, {}, words) for text in labels]
    codes = np.array([*word, NOT_UNDERSTOOD], dtype=np.int64)[column.encoded.codes]
    mapped = np.array([*(text in words for text in labels), False])[column.encoded.codes]
    codes[(winner == column.item_a) & ~mapped] = OUTCOME_CODES["a"]
    codes[(winner == column.item_b) & ~mapped] = OUTCOME_CODES["b"]
    return Reading(NAME_VOCABULARY, codes)


def _choose(column: OutcomeColumn, side: Reading, name: Reading, kind: str, blank: Mask) -> Reading:
    if kind != "auto":
        return side if kind == "side" else name
    side_open = int(((side.codes == NOT_UNDERSTOOD) & ~blank).sum())
    name_open = int(((name.codes == NOT_UNDERSTOOD) & ~blank).sum())
    if side_open or name_open:
        return side if side_open <= name_open else name
    if column.name == "outcome" and side.vocabulary == "a / b / tie":
        return side
    differ = side.codes != name.codes
    if differ.any():
        raise InputError(
            f"{column.source}: the column {column.name!r} can be read in two ways, because items are called "
            f"like sides: as {side.vocabulary} (a is shown first) or as names of items. They differ at "
            f"{values_with_rows(column.cells[differ], column.rows[differ])}. Say which is meant: "
            "--outcomes side or --outcomes name (in Python outcomes='side' or outcomes='name'); or call the "
            "column 'outcome' and write a, b, tie."
        )
    return side


def _not_understood(column: OutcomeColumn, reading: Reading, bad: Mask) -> str:
    count = int(bad.sum())
    what = "row has an outcome that is" if count == 1 else "rows have an outcome that is"
    blanks = bool((bad & (column.encoded.codes < 0)).any())
    texts = [column.encoded.labels[code] for code in np.unique(column.encoded.codes[bad]) if code >= 0]
    parts = [
        f"{column.source}: {count:,} {what} not understood, in column {column.name!r}: "
        f"{values_with_rows(column.cells[bad], column.rows[bad])}."
    ]
    if not bad.all():
        parts.append(f"The file reads as {reading.vocabulary}, and a file has one vocabulary.")
    parts.append(f"Allowed: {'; '.join(SIDE_VOCABULARIES)}; {NAME_VOCABULARY} (tie, a and b in any case).")
    if texts:
        example = ",".join(f"{text}={_guess(text)}" for text in texts[:3])
        parts.append(f'Mend them, or say what a value means, for example: --map "{example}".')
    if blanks:
        parts.append("A judgment without an outcome needs its cause in a column 'reason'.")
    return " ".join(parts)


def _guess(text: str) -> str:
    """Guess the outcome that a misspelt word means, for the example in the message."""
    plain = "".join(letter for letter in text.casefold() if letter.isalnum())
    for sides in SIDE_VOCABULARIES.values():
        for word, outcome in sides.items():
            if plain == word.replace("_", ""):
                return outcome
    return "tie" if plain in ("draw", "equal", "same", "both") else "a"
