"""Reading and writing frames by suffix: CSV, TSV, JSON Lines, JSON, Parquet, each also gzipped; ``-`` too.

CSV and text are read as text and nothing is guessed. Equal frames give equal bytes.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bayesbt.errors import EmptyInputError, InputError
from bayesbt.files import atomic_path

Kind = Literal["csv", "tsv", "jsonl", "json", "parquet", "txt"]
SUFFIXES: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".txt": "txt",
}
STANDARD_STREAM = "-"
ROWS_AT_ONCE = 50_000


def kind_of(path: str | Path) -> Kind:
    """Tell the format from the suffix, a final ``.gz`` aside."""
    name = Path(path).name.lower().removesuffix(".gz")
    for suffix, kind in SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    raise InputError(
        f"{path}: the suffix tells no format. Allowed: {', '.join(SUFFIXES)}, each also with .gz, "
        "or - for standard input and output."
    )


def read_frame(path: str | Path) -> pd.DataFrame:
    """Read a table. CSV and text columns are text; JSON and Parquet keep their types.

    Raises
    ------
    EmptyInputError
        Where the file holds nothing at all.
    InputError
        Where there is no such file, or it is not what its suffix says; the message gives the line.
    """
    if str(path) == STANDARD_STREAM:
        content = sys.stdin.buffer.read()
        kind: Kind = "json" if content.lstrip()[:1] in (b"{", b"[") else "csv"
        return _parse(io.BytesIO(content), kind, "standard input")
    kind = kind_of(path)
    try:
        with _open(Path(path)) as stream:
            return _parse(stream, kind, str(path))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file.") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a folder; give a file.") from error
    except (gzip.BadGzipFile, EOFError, OSError) as error:
        raise InputError(f"{path}: cannot be read: {error}.") from error


def write_frame(frame: pd.DataFrame, path: str | Path, *, force: bool = False) -> None:
    """Write a table as the suffix says, atomically; ``-`` writes CSV to standard output.

    Raises
    ------
    InputError
        Where the file exists and ``force`` is false, or the suffix tells no format.
    """
    if str(path) == STANDARD_STREAM:
        sys.stdout.write(_csv_text(frame, ","))
        return
    kind = kind_of(path)
    content = _format(frame, kind)
    if Path(path).name.lower().endswith(".gz"):
        content = _gzip(content)
    with atomic_path(path, force) as temporary:
        temporary.write_bytes(content)


def _open(path: Path) -> BinaryIO:
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")  # type: ignore[return-value]


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _parse(stream: BinaryIO, kind: Kind, source: str) -> pd.DataFrame:
    if kind == "parquet":
        return _read_parquet(stream, source)
    try:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            if kind == "txt":
                lines = [line for line in text.read().splitlines() if line.strip()]
                return pd.DataFrame({"item": pd.Series(lines, dtype=object)})
            if kind in ("jsonl", "json"):
                return _read_json(text, source)
            return _read_csv(text, "\t" if kind == "tsv" else None, source)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}: not UTF-8 text (byte {error.object[error.start]:#04x}). Save it as UTF-8."
        ) from error


def _read_csv(text: io.TextIOWrapper, delimiter: str | None, source: str) -> pd.DataFrame:
    first = text.readline()
    if not first.strip():
        raise EmptyInputError(f"{source}: the file is empty.")
    if delimiter is None:
        delimiter = next((mark for mark in ",\t;" if mark in first), ",")
    with _long_fields():
        reader = csv.reader(itertools.chain([first], text), delimiter=delimiter, strict=True)
        try:
            header = [name.strip() or f"column_{place}" for place, name in enumerate(next(reader), start=1)]
            chunks = list(_chunks(reader, len(header), source))
        except csv.Error as error:
            raise InputError(
                f"{source}, line {reader.line_num}: broken CSV: {error}. Mend the quotes."
            ) from error
    columns = {
        place: _text_column([chunk[place] for chunk in chunks]) for place in range(len(header))
    }  # by place: a name that occurs twice is named as an error later, not lost here
    return pd.DataFrame(columns).set_axis(header, axis="columns")


def _text_column(chunks: list[pa.Array]) -> pd.Series[Any]:
    """Join the chunks; equal texts share one object, so that a million rows of few labels stay small."""
    encoded = pa.chunked_array(chunks, pa.large_string()).combine_chunks().dictionary_encode()
    texts = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)[:-1]
    return pd.Series(texts[encoded.indices.to_numpy()], dtype=object)


def _chunks(reader: Iterator[list[str]], width: int, source: str) -> Iterator[list[pa.Array]]:
    row = 0
    while lines := list(itertools.islice(reader, ROWS_AT_ONCE)):
        rows = [cells for cells in lines if cells]  # a blank line is no row
        for cells in rows:
            row += 1
            if len(cells) != width:
                raise InputError(
                    f"{source}, row {row}: {len(cells)} cells, but the header names {width} columns. "
                    "Put quotes around a cell that holds the delimiter or a line break."
                )
        if rows:
            yield [pa.array(column, pa.large_string()) for column in zip(*rows, strict=True)]


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """Lift the limit of 131,072 letters a cell, which a long text exceeds."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_json(text: io.TextIOWrapper, source: str) -> pd.DataFrame:
    """Read one JSON array, or one object a line."""
    lines = text.read().split("\n")
    opening = next((line.lstrip() for line in lines if line.strip()), "")
    if not opening:
        raise EmptyInputError(f"{source}: the file is empty.")
    if opening.startswith("["):
        try:
            records = json.loads("\n".join(lines))
        except json.JSONDecodeError as error:
            raise InputError(f"{source}, line {error.lineno}: broken JSON: {error.msg}.") from error
        for place, record in enumerate(records, start=1):
            if not isinstance(record, dict):
                raise InputError(f"{source}, row {place}: {record!r} is no object {{...}}.")
    else:
        records = [
            _json_line(line, place, source) for place, line in enumerate(lines, start=1) if line.strip()
        ]
    names = dict.fromkeys(name for record in records for name in record)
    return pd.DataFrame({name: pd.Series([r.get(name) for r in records], dtype=object) for name in names})


def _json_line(line: str, place: int, source: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source}, line {place}: not a JSON object: {error.msg} at letter {error.colno}. If writing was "
            "cut off there, remove the line."
        ) from error
    if not isinstance(record, dict):
        raise InputError(f"{source}, line {place}: {line[:60]!r} is no object {{...}}. One object a line.")
    return record


def _read_parquet(stream: BinaryIO, source: str) -> pd.DataFrame:
    try:
        table = pq.read_table(io.BytesIO(stream.read()))
    except pa.ArrowException as error:
        raise InputError(f"{source}: not a Parquet file: {error}.") from error
    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    return frame


def _format(frame: pd.DataFrame, kind: Kind) -> bytes:
    if kind == "parquet":
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), buffer)
        return buffer.getvalue()
    if kind == "txt":
        raise InputError("a .txt file is only read (one item a line). Write .csv, .jsonl or .parquet.")
    if kind in ("jsonl", "json"):
        lines = [json.dumps(record, ensure_ascii=False, allow_nan=False) for record in _records(frame)]
        text = "".join(f"{line}\n" for line in lines) if kind == "jsonl" else f"[{', '.join(lines)}]\n"
    else:
        text = _csv_text(frame, "\t" if kind == "tsv" else ",")
    return text.encode("utf-8")


def _records(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Give the rows as plain values, absent cells as None."""
    columns = {str(name): _plain(frame[name]) for name in frame.columns}
    for cells in zip(*columns.values(), strict=True):
        yield dict(zip(columns, cells, strict=True))


class _Lines:
    """Collects the rows of a CSV writer, their ends ``CR LF`` made ``LF``.

    With ``LF`` as its own line end, the writer of Python 3.11 leaves a carriage return in a cell unquoted.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, line: str) -> int:
        self.lines.append(f"{line[:-2]}\n")
        return len(line)


def _csv_text(frame: pd.DataFrame, delimiter: str) -> str:
    buffer = _Lines()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(frame.columns)
    writer.writerows(zip(*(_plain(frame[name]) for name in frame.columns), strict=True))
    return "".join(buffer.lines)


def _plain(column: pd.Series[Any]) -> list[Any]:
    """Give Python values, None where absent."""
    cells = column.astype(object).where(column.notna(), None).tolist()
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
