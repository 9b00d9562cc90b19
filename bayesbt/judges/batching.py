"""Batches of similar length under a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def batches(sizes: Mapping[int, tuple[int, int]], budget: int) -> Iterator[list[int]]:
    """Part questions into batches, the longest first.

    Parameters
    ----------
    sizes : mapping
        For each question its (length of the longest row in tokens, number of rows).
    budget : int
        Most tokens in a batch, counted as rows times the longest row. A question that is larger alone makes a
        batch of its own.

    Yields
    ------
    list of int
        Keys of ``sizes``, each once. Equal lengths keep their order, so nothing else matters.

    Examples
    --------
    >>> list(batches({0: (10, 1), 1: (30, 1), 2: (11, 1), 3: (10, 1)}, budget=30))
    [[1], [2, 0], [3]]
    """
    batch: list[int] = []
    rows = width = 0
    for key in sorted(sizes, key=lambda key: -sizes[key][0]):
        length, own_rows = sizes[key]
        if batch and (rows + own_rows) * max(width, length) > budget:
            yield batch
            batch, rows, width = [], 0, 0
        batch.append(key)
        rows, width = rows + own_rows, max(width, length)
    if batch:
        yield batch
