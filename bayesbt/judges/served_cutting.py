"""Cutting texts that a server finds too long for its model, and saying so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from bayesbt.judges.protocol import Presentation

MARK = " [...]"
STEP = 0.75
FEWEST_WORDS = 8

_TOO_LONG = re.compile(
    r"context|too (?:long|large|many tokens)|max_(?:model_len|seq)|exceed\w* .{0,40}(?:tokens|length)"
    r"|maximum (?:input|prompt|allowed|model)?\s*length",
    re.IGNORECASE,
)


def is_too_long(complaint: str) -> bool:
    """Say whether a server refuses a question for its length, by what it says."""
    return _TOO_LONG.search(complaint) is not None


def cuts(presentation: Presentation) -> Iterator[tuple[Presentation, str]]:
    """Cut both texts shorter and shorter, the longer one first.

    The client cannot count tokens, so the number of words is lowered by a quarter at a time; the first cut
    that the server takes is within a quarter of the longest that it would take.

    Yields
    ------
    presentation : Presentation
        With texts of at most so many words; a text that is shorter is left whole.
    note : str
        What was cut, such as ``truncated: text_a 812 -> 400 words``.
    """
    texts = {"text_a": presentation.text_a, "text_b": presentation.text_b}
    lengths = {name: len(text.split()) for name, text in texts.items()}
    most = int(max(lengths.values()) * STEP)
    while most >= FEWEST_WORDS:
        shorter = {
            name: text if lengths[name] <= most else _first_words(text, most) + MARK
            for name, text in texts.items()
        }
        said = [f"{name} {length} -> {most} words" for name, length in lengths.items() if length > most]
        cut = replace(presentation, text_a=shorter["text_a"], text_b=shorter["text_b"])
        yield cut, f"truncated: {', '.join(said)}"
        most = int(most * STEP)


def _first_words(text: str, number: int) -> str:
    """Give the beginning of a text up to its ``number``-th word, spaces and lines as they are."""
    ends = [match.end() for match, _ in zip(re.finditer(r"\S+", text), range(number), strict=False)]
    return text[: ends[-1]]
