"""Reading and writing the tables; one reader a public format, all in :data:`READERS`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bayesbt.errors import InputError
from bayesbt.formats import (
    alpaca_eval,
    arena,
    counts,
    csv,
    llmbar,
    matrix,
    mtbench,
    pandalm,
    ukpconvarg,
    webis,
)
from bayesbt.formats.files import write_frame
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.outcomes import OutcomeKind
from bayesbt.tables import JUDGMENT_COLUMNS, Items, Judgments, Pairs

__all__ = [
    "READERS",
    "Imported",
    "Reader",
    "import_source",
    "read_items",
    "read_judgments",
    "read_pairs",
    "write_items",
    "write_judgments",
    "write_pairs",
]

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        webis.READER,
        llmbar.READER,
        pandalm.READER,
        ukpconvarg.READER,
        counts.READER,
        mtbench.READER,
        alpaca_eval.READER,
        arena.READER,
        matrix.READER,
        csv.READER,
    )
}
"""Readers by name, in the order in which ``--format auto`` tries them."""


def import_source(
    path: str | Path,
    *,
    format: str = "auto",
    mapping: Mapping[str, str] | None = None,
    outcomes: OutcomeKind = "auto",
    strict: bool = False,
) -> Imported:
    """Read a source in any known format; ``-`` is standard input.

    Parameters
    ----------
    path : path
        A file or a folder.
    format : str
        A key of :data:`READERS`, or ``auto``.
    mapping : mapping, optional
        Names of columns and words for outcomes, as in ``--map``.
    outcomes : {"auto", "side", "name"}
        Whether outcomes name a side or an item.
    strict : bool
        Refuse missing ids and self comparisons instead of dropping them with a finding.

    Raises
    ------
    EmptyInputError
        Where there are no rows.
    InputError
        Where the source cannot be read as that format; the message gives the rows.
    """
    source = Source(path)
    options = ReadOptions(mapping or {}, outcomes, strict)
    return _reader(source, format).read(source, options)


def _reader(source: Source, format: str) -> Reader:
    if format != "auto":
        if format not in READERS:
            raise InputError(f"--format {format!r} is not known. Allowed: auto, {', '.join(READERS)}.")
        return READERS[format]
    for reader in READERS.values():
        if reader.sniff(source):
            return reader
    known = "; ".join(f"{reader.name}: {reader.what}" for reader in READERS.values())
    raise InputError(f"{source.name}: a folder in no known format. Known: {known}.")


def read_judgments(
    path: str | Path,
    *,
    format: str = "auto",
    mapping: Mapping[str, str] | None = None,
    outcomes: OutcomeKind = "auto",
    strict: bool = False,
) -> Judgments:
    """Read judgments in any known format; see :func:`import_source`."""
    return import_source(path, format=format, mapping=mapping, outcomes=outcomes, strict=strict).judgments


def read_items(path: str | Path) -> Items:
    """Read items; a ``.txt`` file holds one id a line."""
    source = Source(path)
    return Items.from_frame(source.frame, source=source.name)


def read_pairs(path: str | Path) -> Pairs:
    """Read pairs."""
    source = Source(path)
    return Pairs.from_frame(source.frame, source=source.name)


def write_judgments(judgments: Judgments, path: str | Path, *, force: bool = False) -> None:
    """Write judgments as the suffix says.

    ``row`` is not written, as it belongs to the source, nor is ``count`` where every count is 1.
    """
    frame = judgments.frame
    own = [name for name in JUDGMENT_COLUMNS if name in frame]
    if np.all(frame["count"] == 1):
        own.remove("count")
    extra = [name for name in frame.columns if name not in JUDGMENT_COLUMNS and name != "row"]
    write_frame(frame[own + extra], path, force=force)


def write_items(items: Items, path: str | Path, *, force: bool = False) -> None:
    """Write items as the suffix says."""
    write_frame(items.frame, path, force=force)


def write_pairs(pairs: Pairs, path: str | Path, *, force: bool = False) -> None:
    """Write pairs as the suffix says."""
    write_frame(pairs.frame, path, force=force)
