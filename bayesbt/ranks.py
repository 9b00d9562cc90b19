"""Arithmetic on draws of strengths: intervals, ranks, probabilities. Arrays in, arrays out.

``draws`` is (S, I) in log-odds, ``component`` (I,) integers. Rank 1 is the strongest of its component.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def highest_density_interval(draws: Floats, probability: float) -> tuple[Floats, Floats]:
    """Shortest interval that holds ``probability`` of the draws, along the first axis.

    >>> lower, upper = highest_density_interval(np.array([0.0, 1.0, 1.1, 1.2, 5.0]), 0.6)
    >>> float(lower), float(upper)
    (1.0, 1.2)
    """
    ordered = np.sort(draws, axis=0)
    size = len(ordered)
    inside = min(max(int(np.ceil(probability * size)), 1), size)
    widths = ordered[inside - 1 :] - ordered[: size - inside + 1]
    start = np.expand_dims(np.argmin(widths, axis=0), 0)
    lower = np.take_along_axis(ordered, start, axis=0)[0]
    return lower, np.take_along_axis(ordered, start + inside - 1, axis=0)[0]


def rank_draws(draws: Floats, component: Ints) -> Ints:
    """(S, I) The rank of each item within its component, in each draw."""
    ranks = np.empty(draws.shape, dtype=np.int64)
    for c in np.unique(component):
        members = np.flatnonzero(component == c)
        order = np.argsort(-draws[:, members], axis=1, kind="stable")
        places = np.empty_like(order)
        np.put_along_axis(places, order, np.arange(1, len(members) + 1)[None, :], axis=1)
        ranks[:, members] = places
    return ranks


def shared_ranks(strength: Floats, component: Ints, tolerance: float = 1e-7) -> Floats:
    """(I,) One plus the number of stronger items of the component: equal strengths share a rank.

    Items whose strength is NaN get rank NaN.

    >>> shared_ranks(np.array([0.5, 0.1, 0.1, -0.7]), np.zeros(4, dtype=int)).tolist()
    [1.0, 2.0, 2.0, 4.0]
    """
    ranks = np.full(len(strength), np.nan)
    for c in np.unique(component):
        members = np.flatnonzero((component == c) & ~np.isnan(strength))
        ascending = np.sort(strength[members])
        stronger = len(members) - np.searchsorted(ascending, strength[members] + tolerance, side="right")
        ranks[members] = 1 + stronger
    return ranks


def rank_distribution(draws: Floats, component: Ints, which: int) -> tuple[Ints, Floats]:
    """Items of one component (n,), and P(item has rank r) as (n, n): row item, column r - 1."""
    members = np.flatnonzero(component == which)
    ranks = rank_draws(draws[:, members], np.zeros(len(members), dtype=np.int64))
    size = len(members)
    counts = np.zeros((size, size))
    for i in range(size):
        counts[i] = np.bincount(ranks[:, i] - 1, minlength=size)
    return members, counts / len(draws)


def win_probability(draws: Floats, component: Ints, which: int) -> tuple[Ints, Floats]:
    """Items of one component (n,), and P(row item is stronger) as (n, n); 1/2 on the diagonal."""
    members = np.flatnonzero(component == which)
    block = draws[:, members]
    probability = np.empty((len(members), len(members)))
    for i in range(len(members)):
        probability[i] = (block[:, [i]] > block).mean(axis=0)
    np.fill_diagonal(probability, 0.5)
    return members, probability


def p_top(draws: Floats, component: Ints, k: int) -> Floats:
    """(I,) P(the item is among the k strongest of its component)."""
    return np.asarray((rank_draws(draws, component) <= k).mean(axis=0))


def simultaneous_rank_intervals(draws: Floats, component: Ints, probability: float) -> tuple[Ints, Ints]:
    """(I,) each: lower and upper ends that hold the ranks of all items of a component together.

    In at least ``probability`` of the draws every item of the component has its rank inside its interval.
    Each interval leaves out the same tail probability on each side, the largest that keeps this true
    (Besag, Green, Higdon and Mengersen 1995, section 6.3).
    """
    ranks = rank_draws(draws, component)
    lower, upper = np.empty_like(ranks[0]), np.empty_like(ranks[0])
    for c in np.unique(component):
        members = np.flatnonzero(component == c)
        size = len(members)
        depth = np.empty((len(draws), size))
        tails = np.empty((size, size))
        for k, item in enumerate(members):
            share = np.bincount(ranks[:, item] - 1, minlength=size) / len(draws)
            tails[k] = np.minimum(np.cumsum(share), np.cumsum(share[::-1])[::-1])
            depth[:, k] = tails[k, ranks[:, item] - 1]
        worst = np.sort(depth.min(axis=1))[::-1]
        threshold = worst[int(np.ceil(probability * len(draws))) - 1]
        inside = tails >= threshold
        lower[members] = 1 + inside.argmax(axis=1)
        upper[members] = size - inside[:, ::-1].argmax(axis=1)
    return lower, upper
