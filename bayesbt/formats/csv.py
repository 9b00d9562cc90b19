"""Our own table, and any table with two columns of items and one of outcomes."""

from __future__ import annotations

from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.tables import Judgments


def _sniff(source: Source) -> bool:
    return not source.is_folder


def _read(source: Source, options: ReadOptions) -> Imported:
    return Imported(Judgments.from_frame(source.frame, **options.for_table(source.name)))


READER = Reader(
    "csv",
    "a table with the columns item_a, item_b, outcome (CSV, TSV, JSONL, JSON or Parquet)",
    _sniff,
    _read,
)
