"""From pairs and items to the list of presentations that a judge is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayesbt.errors import InputError, rows_phrase
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation
from bayesbt.tables import Items, Pairs


def presentations_of(
    pairs: Pairs, items: Items, prompt: Prompt, dimensions: Sequence[str] = (), both_orders: bool = False
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

    Raises
    ------
    InputError
        For an item without a text, a dimension that is not known, or pairs without a dimension.
    """
    texts = _texts(pairs, items)
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


def _texts(pairs: Pairs, items: Items) -> dict[str, str]:
    """Texts of the items by id; every item of the pairs has one."""
    if "text" not in items.frame:
        raise InputError(f"{items.source}: the items have no column `text`, so there is nothing to judge.")
    texts = {item: text for item, text in _column(items, "text").items() if text and not text.isspace()}
    known = set(items.frame["item"])
    frame = pairs.frame
    for problem, allowed in (("is not among the items", known), ("has no text", set(texts))):
        bad = ~(frame["item_a"].isin(allowed) & frame["item_b"].isin(allowed))
        if bad.any():
            rows = [place + 1 for place, is_bad in enumerate(bad) if is_bad]
            row = frame.iloc[rows[0] - 1]
            item = row["item_a"] if row["item_a"] not in allowed else row["item_b"]
            raise InputError(
                f"{pairs.source}, {rows_phrase(rows)}: item {item!r} {problem} in {items.source}. "
                "Give every item that is to be judged a row with a text, or remove these pairs."
            )
    return texts


def _column(items: Items, name: str) -> dict[str, Any]:
    if name not in items.frame:
        return {}
    return dict(zip(items.frame["item"], items.frame[name], strict=True))


def _shared_topic(topics: dict[str, Any], first: str, second: str) -> str | None:
    topic = topics.get(first)
    return topic if topic is not None and topic == topics.get(second) else None
