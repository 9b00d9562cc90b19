"""Cutting texts that do not fit into a model's context, and saying so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bayesbt.judges.chat import ChatFormat
from bayesbt.judges.protocol import Presentation

MARK = " [...]"
"""Stands where a text was cut, for the model to see."""


def cut_to_fit(
    chat: ChatFormat, presentation: Presentation, fits: Callable[[Presentation], bool]
) -> tuple[Presentation, str]:
    """Cut both texts, the longer one first, until the question fits.

    Parameters
    ----------
    chat : ChatFormat
        Of the model.
    presentation : Presentation
        A question that does not fit.
    fits : callable
        Says whether a question does.

    Returns
    -------
    presentation : Presentation
        With texts of the greatest number of tokens that fits, the same for both; a text that is shorter is
        left whole. The given one where the prompt does not fit even without texts.
    note : str
        What was cut, such as ``truncated: text_a 812 -> 400 tokens``; empty where nothing helps.
    """
    lengths = {
        name: chat.text_tokens(text)
        for name, text in (("text_a", presentation.text_a), ("text_b", presentation.text_b))
    }

    def shortened(most: int) -> Presentation:
        def cut(name: str, text: str) -> str:
            return text if lengths[name] <= most else chat.cut(text, most).rstrip() + MARK

        return replace(
            presentation,
            text_a=cut("text_a", presentation.text_a),
            text_b=cut("text_b", presentation.text_b),
        )

    low, high = 0, max(lengths.values())  # low: known or hoped to fit; high: known not to
    while high - low > 1:
        middle = (low + high) // 2
        if fits(shortened(middle)):
            low = middle
        else:
            high = middle
    found = shortened(low)
    if low == 0 or not fits(found):
        return presentation, ""
    cuts = [f"{name} {length} -> {low} tokens" for name, length in lengths.items() if length > low]
    return found, f"truncated: {', '.join(cuts)}"
