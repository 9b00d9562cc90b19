"""From pairs and items to the list of presentations that a judge is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayesbt.errors import InputError, rows_phrase
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation
from bayesbt.judges.settings import Unreadable
from bayesbt.tables import Items, Pairs

_ABSENT = "is not among the items"


def presentations_of(
    pairs: Pairs,
    items: Items,
    prompt: Prompt,
    dimensions: Sequence[str] = (),
    both_orders: bool = False,
    unreadable: Unreadable = "error",
) -> list[Presentation]:
    """List every question once, in a fixed order: by dimension, then by pair, then by order.

    Parameters
    ----------
    pairs, items : Pairs, Items
        Which pairs, and the texts. The topic is the pair's own, else that of the items where both share it.
    prompt : Prompt
        Says which dimensions can be asked.
    dimensions : sequence of str
        What to ask of every pair; empty: each pair's own ``dimension``.
    both_orders : bool
        Ask each pair a second time in the other order.
    unreadable : {"error", "unscored"}
        Whether an item without a readable text is an error; else its text is empty, and
        :func:`unreadable_reason` says so.

    Raises
    ------
    InputError
        For an item without a readable text, a dimension that is not known, or pairs without a dimension.
    """
    texts = _texts(pairs, items, unreadable)
    topics = _column(items, "topic")
    rows = pairs.frame.to_dict("records")
    found: dict[tuple[str, ...], Presentation] = {}
    for dimension in _dimensions(pairs, prompt, dimensions):
        for row in rows:
            if not dimensions and row["dimension"] != dimension:
                continue
            pair = (row["item_a"], row["item_b"])
            for first, second in (pair, pair[::-1]) if both_orders else (pair,):
                topic = row.get("topic") or _shared_topic(topics, first, second)
                key = (dimension, first, second, topic or "")
                found.setdefault(
                    key, Presentation(first, second, texts[first], texts[second], dimension, topic)
                )
    return list(found.values())


def _dimensions(pairs: Pairs, prompt: Prompt, dimensions: Sequence[str]) -> list[str]:
    asked = list(dict.fromkeys(dimensions))
    if not asked:
        own = pairs.frame.get("dimension")
        if own is None or own.isna().any():
            raise InputError(
                f"{pairs.source}: the pairs do not say on which dimension they are to be judged. Say it with "
                f"--dimension ({', '.join(prompt.dimensions)}), or fill the column `dimension`."
            )
        asked = list(dict.fromkeys(own))
    for dimension in asked:
        prompt.fingerprint(dimension)  # names the allowed ones where this one is not known
    return asked


def unreadable_reason(presentation: Presentation) -> str | None:
    """Say why a question cannot be asked at all; None where it can."""
    named = ((presentation.item_a, presentation.text_a), (presentation.item_b, presentation.text_b))
    silent = [item for item, text in named if not text]
    return f"error: item {silent[0]!r} has no readable text" if silent else None


def _texts(pairs: Pairs, items: Items, unreadable: Unreadable) -> dict[str, str]:
    """Texts of the items by id; every item of the pairs has one."""
    if "text" not in items.frame:
        raise InputError(f"{items.source}: the items have no column `text`, so there is nothing to judge.")
    problems = {item: _problem(text) for item, text in _column(items, "text").items()}
    frame = pairs.frame
    sides = [frame[side].map(lambda item: problems.get(item, _ABSENT)) for side in ("item_a", "item_b")]
    problem = sides[0].where(sides[0].notna(), sides[1])
    fatal = problem.notna() if unreadable == "error" else (sides[0] == _ABSENT) | (sides[1] == _ABSENT)
    if fatal.any():
        what = _ABSENT if (problem[fatal] == _ABSENT).any() else problem[fatal].iloc[0]
        rows = [place + 1 for place, said in enumerate(zip(*sides, strict=True)) if what in said]
        row = frame.iloc[rows[0] - 1]
        item = row["item_a"] if problems.get(row["item_a"], _ABSENT) == what else row["item_b"]
        raise InputError(
            f"{pairs.source}, {rows_phrase(rows)}: item {item!r} {what} in {items.source}. Give every item "
            "that is to be judged a row with a readable text, or remove these pairs, or have those without a "
            "text counted as unscored (--unreadable unscored)."
        )
    texts = _column(items, "text")
    return {item: "" if problem else str(texts[item]) for item, problem in problems.items()}


def _problem(text: object) -> str | None:
    """Say what keeps a text from being read."""
    if text is None or text != text or (isinstance(text, str) and not text.strip()):
        return "has no text"
    if not isinstance(text, str):
        return f"has no text but a {type(text).__name__}"
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        return "has a text with half a character (a lone surrogate)"
    return None


def _column(items: Items, name: str) -> dict[str, Any]:
    if name not in items.frame:
        return {}
    return dict(zip(items.frame["item"], items.frame[name], strict=True))


def _shared_topic(topics: dict[str, Any], first: str, second: str) -> str | None:
    topic = topics.get(first)
    return topic if topic is not None and topic == topics.get(second) else None
