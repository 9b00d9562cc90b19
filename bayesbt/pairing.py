"""Which pairs to ask for: all, a cyclic design, or as many as a budget allows.

All designs put the items of a topic on a circle in a seeded order and pair items at growing distances. So
each item meets about equally many others, stands first about as often as second, and every item is linked
to every other of its topic.
"""

from __future__ import annotations

import heapq
import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from bayesbt.errors import InputError
from bayesbt.tables import Items, Pairs

Design = Literal["all", "cyclic", "budget"]
DESIGNS: tuple[Design, ...] = ("all", "cyclic", "budget")
DEFAULT_DEGREE = 4


@dataclass(frozen=True)
class Groups:
    """Groups of items that follow each other on the circle; within a group all meet.

    Webis-ArgQuality-20 was sampled with groups of 16 that begin every 8 items, so that two groups share 8.

    Attributes
    ----------
    size : int
        Items in a group, 2 or more.
    step : int
        Items from the beginning of one group to that of the next; less than ``size``, so that all are linked.
    """

    size: int
    step: int

    def __post_init__(self) -> None:
        """Check the values."""
        if self.size < 2:
            raise InputError(f"--group-size {self.size} must be at least 2.")
        if not 1 <= self.step < self.size:
            raise InputError(
                f"--group-step {self.step} must be 1 or more and less than --group-size {self.size}: groups "
                "that share no item would not be linked."
            )


def design_pairs(
    items: Items,
    design: Design = "all",
    *,
    budget: int | None = None,
    degree: int | None = None,
    groups: Groups | None = None,
    both_orders: bool = False,
    seed: int = 0,
) -> Pairs:
    """Choose the pairs to be judged, within topics where the items have any.

    Parameters
    ----------
    items : Items
        What is compared.
    design : {"all", "cyclic", "budget"}
        ``all``: every pair of a topic. ``cyclic``: each item meets its ``degree`` nearest neighbours on a
        circle, or those that it shares one of the ``groups`` with. ``budget``: ``budget`` presentations,
        spread so that each item takes part about equally often.
    budget : int, optional
        Number of rows of the result, for ``budget``; a pair in both orders counts twice.
    degree : int, optional
        Number of opponents of each item, for ``cyclic``: even, 4 by default.
    groups : Groups, optional
        For ``cyclic``, in the place of ``degree``.
    both_orders : bool
        Ask for each pair twice, each item first once.
    seed : int
        The same seed gives the same pairs.

    Returns
    -------
    Pairs
        ``item_a`` (shown first), ``item_b``, and ``topic`` where the items have one.

    Raises
    ------
    InputError
        Where an option does not fit the design, some items lack a topic, or the budget cannot link the items.
    """
    _check_options(design, budget, degree, groups)
    topics = _topics(items)
    if max(map(len, topics.values())) < 2:
        raise InputError(f"{items.source}: no topic has two items, so there is no pair to ask for.")
    sizes = [len(members) for members in topics.values()]
    if design == "budget":
        wanted = _share_out((budget or 0) // (2 if both_orders else 1), sizes, items.source, both_orders)
    elif design == "cyclic":
        half = (DEFAULT_DEGREE if degree is None else degree) // 2
        wanted = [min(half * size, size * (size - 1) // 2) for size in sizes]
    else:
        wanted = [size * (size - 1) // 2 for size in sizes]
    rows: list[tuple[str, str, str]] = []
    for (topic, members), number in zip(topics.items(), wanted, strict=True):
        rng = np.random.default_rng([seed, zlib.crc32(topic.encode())])
        circle = [members[place] for place in rng.permutation(len(members))]
        for first, second in _group_pairs(circle, groups) if groups else _circle_pairs(circle)[:number]:
            rows.append((first, second, topic))
            if both_orders:
                rows.append((second, first, topic))
    frame = pd.DataFrame(rows, columns=["item_a", "item_b", "topic"], dtype=object)
    if "topic" not in items.frame:
        frame = frame.drop(columns="topic")
    return Pairs(frame, items.source)


def _check_options(design: str, budget: int | None, degree: int | None, groups: Groups | None) -> None:
    if design not in DESIGNS:
        raise InputError(f"--design {design!r} is not known. Allowed: {', '.join(DESIGNS)}.")
    if (design == "budget") != (budget is not None):
        raise InputError(f"--budget goes with --design budget, and only with it (design: {design}).")
    if degree is not None and design != "cyclic":
        raise InputError(f"--degree goes with --design cyclic, not with {design}.")
    if groups is not None and (design != "cyclic" or degree is not None):
        raise InputError(f"--group-size goes with --design cyclic, not with {design}, and not with --degree.")
    if degree is not None and (degree < 2 or degree % 2):
        raise InputError(f"--degree {degree}: an even number, 2 or more, is allowed.")


def _topics(items: Items) -> dict[str, list[str]]:
    """Group the items by topic, in the order of the table; one topic without a name where there are none."""
    if "topic" not in items.frame:
        return {"": list(items.frame["item"])}
    absent = items.frame["topic"].isna()
    if absent.all():
        return {"": list(items.frame["item"])}
    if absent.any():
        names = ", ".join(map(repr, items.frame["item"][absent].head(6)))
        raise InputError(
            f"{items.source}, column 'topic': {int(absent.sum()):,} items have none ({names}), others do. "
            "Pairs are formed within topics: give each item a topic, or none at all."
        )
    topics: dict[str, list[str]] = {}
    for item, topic in zip(items.frame["item"], items.frame["topic"], strict=True):
        topics.setdefault(str(topic), []).append(item)
    return topics


def _circle_pairs(circle: Sequence[str]) -> list[tuple[str, str]]:
    """Return all pairs, nearest on the circle first; of one distance, in an order that spreads them."""
    size = len(circle)
    pairs = []
    for distance in range(1, size // 2 + 1):
        starts = range(size // 2) if 2 * distance == size else _spread(size, distance)
        for start in starts:
            pair = circle[start], circle[(start + distance) % size]
            # At half the circle each pair is met once, so the sides alternate.
            pairs.append(pair[::-1] if 2 * distance == size and start % 2 else pair)
    return pairs


def _group_pairs(circle: Sequence[str], groups: Groups) -> list[tuple[str, str]]:
    """Return the pairs within groups, each once; the first on the circle stands first."""
    size = len(circle)
    if groups.size >= size:
        return _circle_pairs(circle)
    pairs: dict[frozenset[int], tuple[str, str]] = {}
    for start in range(0, size, groups.step):
        for first, second in itertools.combinations(range(start, start + groups.size), 2):
            place, other = first % size, second % size
            pairs.setdefault(frozenset((place, other)), (circle[place], circle[other]))
    return list(pairs.values())


def _spread(size: int, distance: int) -> list[int]:
    """Order the positions so that every beginning is spread; the nearest pairs in turn.

    The nearest pairs in turn make a path, which links all items as soon as ``size - 1`` of them are taken.
    """
    if distance == 1:
        return list(range(size))
    return sorted(range(size), key=lambda place: (place * 0.6180339887498949) % 1)


def _share_out(pairs: int, sizes: Sequence[int], source: str, both_orders: bool) -> list[int]:
    """Give each topic its number of pairs: in proportion to its items, enough to link them, at most all."""
    least = [size - 1 for size in sizes]
    most = [size * (size - 1) // 2 for size in sizes]
    rows = 2 if both_orders else 1
    if pairs < sum(least):
        raise InputError(
            f"--budget {pairs * rows}: too few to link the items of each topic of {source}. "
            f"The least is {sum(least) * rows:,}; all pairs are {sum(most) * rows:,}."
        )
    given = list(least)
    needy = [(given[place] / size, place) for place, size in enumerate(sizes) if given[place] < most[place]]
    heapq.heapify(needy)
    for _ in range(min(pairs, sum(most)) - sum(least)):
        _, place = heapq.heappop(needy)
        given[place] += 1
        if given[place] < most[place]:
            heapq.heappush(needy, (given[place] / sizes[place], place))
    return given
