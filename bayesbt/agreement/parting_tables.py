"""Where judge and people part, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import pandas as pd

from bayesbt.agreement.parting import Parting
from bayesbt.agreement.tables import Cell, Column, Row, Table

SHOWN = 300  # letters of a text


def parting_tables(parting: Parting) -> list[Table]:
    """Where the best judge and people part, in one dimension."""
    about = f"{parting.configuration}, {parting.dimension}"
    share = Column("", "agreement", "agree %", None, percent=True)
    pairs = Column("", "pairs", "labels", None, digits=0)
    out = []
    specs = (
        ("margin", parting.by_margin, "difference of people's scores", (pairs, share)),
        (
            "length",
            parting.by_length,
            "log(words of a / words of b)",
            (
                pairs,
                share,
                Column("", "judge_first", "judge: a wins %", None, percent=True),
                Column("", "human_first", "people: a wins %", None, percent=True),
            ),
        ),
    )
    for name, frame, lead, columns in specs:
        rows = tuple(
            Row(f"{row['from']:.2f} to {row['to']:.2f}", "", _cells(row, columns))
            for row in plain_rows(frame)
        )
        title = f"Agreement by {name}: {about}"
        out.append(Table(f"by-{name}-{parting.dimension}", title, columns, rows, lead=(lead, "")))
    if len(parting.by_topic):
        shown = [Column("", "items", "items", None, digits=0), Column("", "pearson", "Pearson", None)]
        shown += [pairs, share] if "agreement" in parting.by_topic else []
        rows = tuple(Row(row["topic"], "", _cells(row, shown)) for row in plain_rows(parting.by_topic))
        out.append(
            Table(
                f"by-topic-{parting.dimension}",
                f"Agreement by topic: {about}",
                tuple(shown),
                rows,
                lead=("topic", ""),
            )
        )
    gap = tuple(Column("", name, f"{name} z", None, digits=2) for name in ("judge", "human", "difference"))
    rows = tuple(
        Row(row["item"], shorten(str(row.get("text") or ""), SHOWN, placeholder=" ..."), _cells(row, gap))
        for row in plain_rows(parting.items)
    )
    title = f"Items on which judge and people part most: {about}"
    out.append(Table(f"items-{parting.dimension}", title, gap, rows, lead=("item", "text")))
    if len(parting.verbosity):
        column = Column("", "coefficient", "log-odds per log length ratio", None)
        rows = tuple(
            Row(
                {"judge": "judge", "human": "people"}[row["who"]],
                "given people's strength difference" if row["controlled"] else "alone",
                _cells(row, (column,)),
            )
            for row in plain_rows(parting.verbosity)
        )
        title = f"Does length win? {about}"
        out.append(Table(f"verbosity-{parting.dimension}", title, (column,), rows, lead=("labels of", "")))
    return out


def _cells(row: Mapping[str, Any], columns: Sequence[Column]) -> dict[tuple[str, str], Cell]:
    """Cells of one row; ``lower`` and ``upper`` belong to its agreement or coefficient."""
    out = {}
    for column in columns:
        ends = (row.get("lower"), row.get("upper")) if column.metric in ("agreement", "coefficient") else ()
        out[column.key] = Cell(number_or_none(row[column.metric]), *map(number_or_none, ends))
    return out


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Turn a frame into rows by the names of its columns."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict(orient="records")]


def number_or_none(value: Any) -> float | None:
    """Turn a cell of a frame into a number; None where it is missing."""
    return None if value is None or value != value else float(value)
