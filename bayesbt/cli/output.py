"""What commands print: one JSON document, or text for people."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

CELL = 60
UNPRINTED = ("Cc", "Cs", "Zl", "Zp")


def print_json(document: Any) -> None:
    """Print one JSON document on standard output; NaN and infinities become null."""
    sys.stdout.write(json.dumps(_plain(document), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def say(message: str) -> None:
    """Tell people something on standard error."""
    print(message, file=sys.stderr, flush=True)


def say_written(written: Sequence[str], what: str) -> None:
    """Tell people what went into which files; of standard output, where it can be seen, only what."""
    files = [name for name in written if name != "-"]
    say(f"Wrote {' and '.join(files)}: {what}." if files else f"{what}.")


def plural(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> plural(1, "judgment"), plural(1200, "vote")
    ('1 judgment', '1,200 votes')
    """
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def whole(value: float) -> int | float:
    """Turn a whole count into an integer; a weighted one stays as it is."""
    return int(value) if value.is_integer() else value


def print_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
    """Print rows under aligned headings; numbers to the right, absent cells empty."""
    rows = list(rows)
    names = list(columns or (rows[0] if rows else ()))
    broken = {name for name in names if any(_is_broken(row.get(name)) for row in rows)}
    cells = [[_text(row.get(name), name in broken) for name in names] for row in rows]
    headings = [one_line(name) for name in names]
    right = [all(_is_number(row.get(name)) for row in rows) for name in names]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    for line in [headings, *cells]:
        padded = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        print("  ".join(padded).rstrip())


def _text(value: Any, broken: bool) -> str:
    """Write one cell; all numbers of a column with broken numbers get three places."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.3f}" if broken else f"{value:.0f}"
    return one_line(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def one_line(text: str, length: int = CELL) -> str:
    r"""Escape what would break or colour a line of a terminal, and shorten the middle of a long text.

    >>> print(one_line("line\nbreak"), one_line("x" * 9 + "y", 5))
    line\nbreak xx…xy
    """
    plain = "".join(
        letter.encode("unicode_escape").decode() if unicodedata.category(letter) in UNPRINTED else letter
        for letter in text
    )
    if len(plain) <= length:
        return plain
    return f"{plain[: length // 2]}…{plain[len(plain) - (length - 1) // 2 :]}"


def _is_broken(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and not value.is_integer()


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)


def records(frame: Any) -> list[dict[str, Any]]:
    """Turn a DataFrame into rows of plain values, None where absent."""
    cells = frame.astype(object).where(frame.notna(), None)
    return [_plain(row) for row in cells.to_dict(orient="records")]
