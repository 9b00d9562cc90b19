"""Batches of similar length under a budget of tokens, and an order of questions that share beginnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayesbt.judges.protocol import Presentation


def reading_order(presentations: Sequence[Presentation]) -> list[int]:
    """Give the places of questions in an order in which neighbours share the longest beginnings.

    These are those of one dimension and topic, and among them those that show the same text first.
    """

    def shown(place: int) -> tuple[str, str, str, str, int]:
        one = presentations[place]
        return (one.dimension, one.topic or "", one.text_a, one.text_b, one.run or 0)

    return sorted(range(len(presentations)), key=shown)


def batch_size(sizes: Iterable[tuple[int, int]], budget: int) -> int:
    """Count how many of the first units fit into a batch together; one always does.

    Parameters
    ----------
    sizes : iterable of (int, int)
        Length of the longest row in tokens and number of rows of each unit, the longest first.
    budget : int
        Most tokens in a batch, counted as rows times the longest row.

    Examples
    --------
    >>> batch_size([(11, 1), (10, 1), (10, 1)], budget=30)
    2
    """
    number = rows = width = 0
    for length, own_rows in sizes:
        if number and (rows + own_rows) * max(width, length) > budget:
            break
        number, rows, width = number + 1, rows + own_rows, max(width, length)
    return number
