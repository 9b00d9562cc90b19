"""What commands print: one JSON document, or text for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def print_json(document: Any) -> None:
    """Print one JSON document on standard output; NaN and infinities become null."""
    sys.stdout.write(json.dumps(_plain(document), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def say(message: str) -> None:
    """Tell people something on standard error."""
    print(message, file=sys.stderr, flush=True)


def print_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
    """Print rows under aligned headings; numbers to the right, absent cells empty."""
    rows = list(rows)
    names = list(columns or (rows[0] if rows else ()))
    broken = {name for name in names if any(_is_broken(row.get(name)) for row in rows)}
    cells = [[_text(row.get(name), name in broken) for name in names] for row in rows]
    right = [all(_is_number(row.get(name)) for row in rows) for name in names]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    for line in [names, *cells]:
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
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


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
