"""What readers of recorded judges share: words for outcomes, judgments in the long form, nested columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesbt.columns import OUTCOMES, as_text, is_missing, values_with_rows
from bayesbt.errors import InputError
from bayesbt.findings import Finding
from bayesbt.formats.source import ReadOptions
from bayesbt.tables import Judgments

REASON = "parse"
"""Why a verdict that says nothing understandable has no outcome."""


@dataclass(frozen=True)
class Words:
    """The words of one judge, or of all judges of a file.

    Attributes
    ----------
    outcomes : mapping of str to {"a", "tie", "b"}
        In lower case.
    unscored : mapping of str to str
        Words that are no verdict, in lower case, and the reason that they stand for.
    others : bool
        Whether any other text is an answer that could not be parsed; else it is an error.
    """

    outcomes: Mapping[str, str]
    unscored: Mapping[str, str]
    others: bool = False

    def with_options(self, options: ReadOptions) -> Words:
        """Add the words that ``--map`` gives."""
        own = {word.lower(): outcome for word, outcome in options.mapping.items() if outcome in OUTCOMES}
        return Words({**self.outcomes, **own}, self.unscored, self.others)


def read_verdicts(cells: pd.Series[Any], words: Words, place: str) -> pd.DataFrame:
    """Read a column of verdicts: ``outcome`` and ``reason`` (one of them None), and ``raw`` where unparsed.

    Raises
    ------
    InputError
        Where a word is not known and ``words.others`` is false; the message gives the rows.
    """
    texts = ["" if _absent(cell) else as_text(cell) for cell in cells]
    keys = [text.strip().lower() for text in texts]
    outcome = [words.outcomes.get(key) for key in keys]
    blank = [is_missing(text) for text in texts]
    reason = [
        None if known else words.unscored.get(key, REASON if empty or words.others else None)
        for known, key, empty in zip(outcome, keys, blank, strict=True)
    ]
    unknown = np.array([not known and why is None for known, why in zip(outcome, reason, strict=True)])
    if unknown.any():
        bad = values_with_rows(cells[unknown], np.flatnonzero(unknown) + 1)
        allowed = ", ".join(map(repr, (*words.outcomes, *words.unscored)))
        raise InputError(
            f"{place}: verdicts that are not understood: {bad}. Allowed: {allowed}, or blank. Say what "
            'a word means: --map "word=tie".'
        )
    raw = [text if why is not None and text else None for why, text in zip(reason, texts, strict=True)]
    return pd.DataFrame({"outcome": outcome, "reason": reason, "raw": raw}, dtype=object)


def stacked(parts: Sequence[pd.DataFrame], options: ReadOptions, source: str) -> Judgments:
    """Make one table of judgments from several, whose column ``number`` gives the rows of their source."""
    frame = pd.concat(parts, ignore_index=True)
    number = frame.pop("number").to_numpy(dtype=np.int64)
    judgments = Judgments.from_frame(
        frame, outcomes="side", strict=options.strict, source=source, rows=number
    )
    for name in ("reason", "raw"):
        if judgments.frame[name].isna().all():
            judgments = Judgments(judgments.frame.drop(columns=name), source, judgments.findings)
    return judgments


def with_findings(judgments: Judgments, found: Sequence[Finding]) -> Judgments:
    """Add findings."""
    return Judgments(judgments.frame, judgments.source, (*judgments.findings, *found))


def unscored_finding(judgments: Judgments) -> list[Finding]:
    """Say how many verdicts could not be read."""
    absent = judgments.frame["outcome"].isna()
    if not absent.any():
        return []
    message = (
        f"{int(absent.sum()):,} answers hold no verdict and stay unscored; the column 'reason' says why."
    )
    return [Finding("note", "unscored", message, tuple(judgments.frame.loc[absent, "row"].tolist()))]


def nested_columns(frame: pd.DataFrame) -> list[str]:
    """Name the columns that hold lists or records, such as conversations."""
    return [str(name) for name in frame.columns if _is_nested(frame[name])]


def nested_finding(names: Sequence[str]) -> list[Finding]:
    """Say which nested columns were left out."""
    if not names:
        return []
    message = f"Columns of conversations and records were not taken over: {', '.join(names)}."
    return [Finding("note", "column-ignored", message)]


def _is_nested(column: pd.Series[Any]) -> bool:
    kinds = (list, dict, np.ndarray)
    return column.dtype == object and any(isinstance(cell, kinds) for cell in column.head(100))


def _absent(cell: Any) -> bool:
    return cell is None or cell is pd.NA or cell != cell
