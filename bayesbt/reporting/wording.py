"""Numbers and lists as readers want them."""

from __future__ import annotations

import math
from collections.abc import Iterable

NONE = "–"
MINUS = "\N{MINUS SIGN}"
NO_BREAK = "\N{NO-BREAK SPACE}"


def number(value: float | None, digits: int = 2) -> str:
    """Write fixed digits with a true minus sign; a dash where there is no number.

    >>> number(1234.567), number(None), number(float("nan")), number(-0.001)
    ('1,234.57', '–', '–', '0.00')
    """
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:,.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def count(value: float | None) -> str:
    """Whole where it is whole, else one digit; thousands apart.

    >>> count(13952.0), count(4.3333), count(None)
    ('13,952', '4.3', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    return f"{round(value):,}" if abs(value - round(value)) < 1e-6 else f"{value:,.1f}"


def probability(value: float | None) -> str:
    """Two digits; never a 0 or 1 that draws cannot show.

    >>> probability(0.872), probability(0.0004), probability(0.9999), probability(None)
    ('0.87', '<0.01', '>0.99', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if value < 0.005:
        return "<0.01"
    return ">0.99" if value >= 0.995 else f"{value:.2f}"


def percent(value: float | None, digits: int = 0) -> str:
    """Write a share in percent.

    >>> percent(0.966).split(), percent(0.271, 1).split()
    (['97', '%'], ['27.1', '%'])
    """
    return NONE if value is None or not math.isfinite(value) else f"{100 * value:.{digits}f}{NO_BREAK}%"


def between(lower: float | None, upper: float | None, digits: int = 2) -> str:
    """Return an interval in words; a dash where the estimator gives none.

    >>> between(0.2, 1.25), between(3, 7, 0), between(float("nan"), 1.0)
    ('0.20 to 1.25', '3 to 7', '–')
    """
    low, high = number(lower, digits), number(upper, digits)
    return NONE if NONE in (low, high) else f"{low} to {high}"


def quoted(name: str, length: int = 60) -> str:
    """Return a name in quotes, on one line, shortened at the end.

    >>> quoted("a   b"), quoted("x" * 9, 5)
    ('“a b”', '“xxxx…”')
    """
    line = " ".join(str(name).split())
    return f"“{line if len(line) <= length else line[: length - 1] + '…'}”"


def listed(words: Iterable[str], limit: int = 6) -> str:
    """Return words as a list in a sentence; beyond ``limit`` only their number.

    >>> listed(["a", "b", "c"]), listed("abcdefgh", limit=2)
    ('a, b and c', 'a, b and 6 more')
    """
    kept = list(words)
    if len(kept) > limit:
        kept = [*kept[:limit], f"{len(kept) - limit:,} more"]
    return kept[0] if len(kept) == 1 else f"{', '.join(kept[:-1])} and {kept[-1]}" if kept else "none"


def plural(value: float, noun: str, nouns: str = "") -> str:
    """Return a number with its noun.

    >>> plural(1, "item"), plural(1269, "item"), plural(2, "tie", "ties")
    ('1 item', '1,269 items', '2 ties')
    """
    return f"{count(value)} {noun if value == 1 else nouns or noun + 's'}"


def sentence(text: str) -> str:
    """Text with a full stop at its end."""
    return text if text.rstrip().endswith((".", "!", "?", ":")) else f"{text.rstrip()}."
