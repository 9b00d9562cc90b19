"""The tables that stages hand to each other: Judgments, Items, Pairs.

A table is checked when it is made. Ids are text exactly as written: ``01`` is not ``1``, and white space
around an id belongs to it; only Unicode is brought to normal form C, with a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesbt.cells import (
    PROBABILITY_COLUMNS,
    TEXT_COLUMNS,
    as_objects,
    number_or_text,
    read_labels,
    read_numbers,
    texts_or_none,
    whole_ids,
)
from bayesbt.columns import OUTCOMES, encode_ids, rename_columns, require_columns, values_with_rows
from bayesbt.errors import EmptyInputError, InputError
from bayesbt.findings import Finding
from bayesbt.identity import identify
from bayesbt.outcomes import (
    OUTCOME_DTYPE,
    Outcome,
    OutcomeColumn,
    OutcomeKind,
    find_ones_and_zeros,
    read_outcomes,
)

__all__ = ["Finding", "Items", "Judgments", "Outcome", "Pairs"]

JUDGMENT_COLUMNS = (
    "item_a",
    "item_b",
    "outcome",
    "dimension",
    "topic",
    "judge",
    "run",
    "count",
    *PROBABILITY_COLUMNS,
    *TEXT_COLUMNS,
)
ITEM_SYNONYMS = {"item": ("id", "item_id", "argument_id")}


@dataclass(frozen=True, eq=False)
class Judgments:
    """Judgments, one a row; the fields of ``frame`` are those of CONTRACT section 3.

    Attributes
    ----------
    frame : DataFrame
        ``item_a``, ``item_b``: categories, the same for both, sorted, exactly the items of the table;
        ``outcome``: the categories ``a, tie, b``, NA where unscored (then ``reason`` says why);
        ``count``: float, 0 or more; ``row``: data row of the source. Where given: ``dimension``, ``topic``,
        ``judge`` (categories), ``run`` (int), ``p_a``, ``p_tie``, ``p_b``, ``p_other`` (probabilities),
        ``reason``, ``raw``, ``pair_id``, ``made_with`` (text or None). Other columns are kept as they came.
    source : str
        Where they come from, for messages.
    findings : tuple of Finding
        What reading dropped or changed.
    """

    frame: pd.DataFrame
    source: str = "memory"
    findings: tuple[Finding, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    @property
    def items(self) -> tuple[str, ...]:
        """The ids of all items that occur, sorted."""
        return tuple(self.frame["item_a"].cat.categories)

    def select(
        self, dimension: str | None = None, judge: str | None = None, topic: str | None = None
    ) -> Judgments:
        """Keep the judgments of one dimension, judge or topic, and the items that occur in them.

        Raises
        ------
        InputError
            Where the column is missing, or nothing in it (or in what is left of it) has this name.
        """
        frame = self.frame
        for column, wanted in (("dimension", dimension), ("judge", judge), ("topic", topic)):
            if wanted is not None:
                frame = frame[_matches(frame, column, wanted, self.source)]
        if frame is self.frame:
            return self
        frame = frame.reset_index(drop=True)
        sides = [frame[side].cat.remove_unused_categories().cat.categories for side in ("item_a", "item_b")]
        known = pd.CategoricalDtype(sorted({*sides[0], *sides[1]}))
        changed: dict[str, Any] = {
            side: frame[side].cat.set_categories(known.categories) for side in ("item_a", "item_b")
        }
        return Judgments(frame.assign(**changed), self.source, self.findings)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        mapping: Mapping[str, str] | None = None,
        outcomes: OutcomeKind = "auto",
        strict: bool = False,
        source: str = "memory",
        rows: Sequence[int] | npt.NDArray[np.int64] | None = None,
    ) -> Judgments:
        """Check a table of judgments and bring it into its one form.

        Parameters
        ----------
        frame : DataFrame
            Two columns of items and one of outcomes, under our names, a synonym, or as ``mapping`` says.
        mapping : mapping, optional
            ``{"player1": "item_a", "result": "outcome", "x": "a", "draw": "tie"}``.
        outcomes : {"auto", "side", "name"}
            Whether outcomes name a side or an item.
        strict : bool
            Refuse missing ids and self comparisons, which else are dropped with a finding.
        source : str
            Named in messages.
        rows : (rows,) ints, optional
            Data rows of the source; 1, 2, ... by default.

        Raises
        ------
        EmptyInputError
            Where there are no rows.
        InputError
            Where a column is missing, a value is not understood, or a number is impossible.
        """
        if len(frame) == 0:
            raise EmptyInputError(f"{source}: no judgments: there is a header and nothing below it.")
        mapping = mapping or {}
        renamed, origin = rename_columns(frame, mapping, JUDGMENT_COLUMNS, source)
        require_columns(frame, origin, ("item_a", "item_b", "outcome"), source)
        findings = _unused_columns(frame, renamed, origin)
        renamed = renamed.drop(columns="row", errors="ignore").reset_index(drop=True)
        number = np.arange(1, len(frame) + 1) if rows is None else np.asarray(rows, dtype=np.int64)
        who = identify(renamed, number, strict, source)
        renamed, number = renamed[who.kept].reset_index(drop=True), number[who.kept]
        texts = {name: texts_or_none(renamed[name]) for name in TEXT_COLUMNS if name in renamed}
        column = OutcomeColumn(
            cells=renamed["outcome"],
            encoded=encode_ids(renamed["outcome"], f"{source}, column {origin['outcome']!r}")[0],
            item_a=who.item_a,
            item_b=who.item_b,
            items=who.items,
            rows=number,
            unscored=texts["reason"].notna().to_numpy() if "reason" in texts else np.zeros(len(number), bool),
            name=origin["outcome"],
            source=source,
        )
        words = {word: outcome for word, outcome in mapping.items() if outcome in OUTCOMES}
        reading = read_outcomes(column, words, outcomes)
        findings += find_ones_and_zeros(column, reading, words)
        data: dict[str, Any] = {
            "item_a": pd.Categorical.from_codes(who.item_a, dtype=pd.CategoricalDtype(list(who.items))),
            "item_b": pd.Categorical.from_codes(who.item_b, dtype=pd.CategoricalDtype(list(who.items))),
            "outcome": pd.Categorical.from_codes(reading.codes, dtype=OUTCOME_DTYPE),
        }
        data |= read_labels(renamed, source)
        data |= read_numbers(renamed, number, origin, source)
        data |= texts
        extra = {name: as_objects(renamed[name]) for name in renamed.columns if name not in JUDGMENT_COLUMNS}
        return cls(pd.DataFrame(data | {"row": number} | extra), source, (*findings, *who.findings))


@dataclass(frozen=True, eq=False)
class Items:
    """The items: ``item`` (text), and where given ``topic``, ``author``, ``text`` and further columns.

    Attributes
    ----------
    frame : DataFrame
        One row an item. A further column whose cells are all numbers is float64; others are text or None.
    source : str
        Where they come from, for messages.
    """

    frame: pd.DataFrame
    source: str = "memory"

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.frame)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, mapping: Mapping[str, str] | None = None, source: str = "memory"
    ) -> Items:
        """Check a table of items.

        Raises
        ------
        EmptyInputError
            Where there are no rows.
        InputError
            Where an id is missing or occurs twice.
        """
        if len(frame) == 0:
            raise EmptyInputError(f"{source}: no items: there is a header and nothing below it.")
        known = ("item", "text", "topic", "author")
        renamed, origin = rename_columns(frame, mapping or {}, known, source, ITEM_SYNONYMS)
        require_columns(frame, origin, ("item",), source)
        renamed = renamed.reset_index(drop=True)
        ids = whole_ids(renamed["item"], "item", source)
        again = ids.duplicated(keep=False)
        if again.any():
            where = values_with_rows(ids[again], np.flatnonzero(again) + 1)
            raise InputError(
                f"{source}, column 'item': an id occurs more than once: {where}. Keep one row each."
            )
        data: dict[str, Any] = {"item": ids}
        for name in renamed.columns:
            if name in known[1:]:
                data[name] = texts_or_none(renamed[name])
            elif name not in data:
                data[str(name)] = number_or_text(renamed[name], source)
        return cls(pd.DataFrame(data), source)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs to be judged: ``item_a`` (shown first), ``item_b``, and where given ``topic``, ``dimension``.

    Attributes
    ----------
    frame : DataFrame
        One row a pair; all of it text.
    source : str
        Where they come from, for messages.
    """

    frame: pd.DataFrame
    source: str = "memory"

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.frame)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, mapping: Mapping[str, str] | None = None, source: str = "memory"
    ) -> Pairs:
        """Check a table of pairs.

        Raises
        ------
        EmptyInputError
            Where there are no rows.
        InputError
            Where an id is missing or an item is paired with itself.
        """
        if len(frame) == 0:
            raise EmptyInputError(f"{source}: no pairs: there is a header and nothing below it.")
        known = ("item_a", "item_b", "topic", "dimension")
        renamed, origin = rename_columns(frame, mapping or {}, known, source)
        require_columns(frame, origin, ("item_a", "item_b"), source)
        renamed = renamed.reset_index(drop=True)
        data = {name: whole_ids(renamed[name], name, source) for name in ("item_a", "item_b")}
        same = data["item_a"] == data["item_b"]
        if same.any():
            where = values_with_rows(data["item_a"][same], np.flatnonzero(same) + 1)
            raise InputError(f"{source}: an item is paired with itself: {where}. Remove these rows.")
        data |= {str(name): texts_or_none(renamed[name]) for name in renamed.columns if name not in data}
        return cls(pd.DataFrame(data), source)


def _matches(frame: pd.DataFrame, column: str, wanted: str, source: str) -> pd.Series[bool]:
    """Mark the rows of one dimension, judge or topic."""
    if column not in frame:
        raise InputError(f"{source}: no column {column!r}, so --{column} {wanted!r} cannot be kept.")
    known = sorted(map(str, frame[column].dropna().unique()))
    if wanted not in known:
        raise InputError(
            f"{source}: {column} {wanted!r} is not in the file. Allowed: {', '.join(known[:20])}."
        )
    return frame[column] == wanted


def _unused_columns(frame: pd.DataFrame, renamed: pd.DataFrame, origin: dict[str, str]) -> list[Finding]:
    """Name the columns that another one displaced, and a foreign column ``row``."""
    unused = [str(c) for c in frame.columns if str(c) in origin and origin[str(c)] != str(c)]
    if "row" in renamed and renamed["row"].dtype != np.int64:
        unused.append("row")
    return [
        Finding("note", "column-ignored", f"The column {name!r} of the source was not used.")
        for name in unused
    ]
