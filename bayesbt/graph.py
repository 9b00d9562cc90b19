"""Connectivity of comparisons, on integers: what is linked, what is separated, what hangs on one pair.

Items are ``0 .. I-1``. Every label array of I items is numbered by first item: item 0 has label 0, the first
item not labelled like it has label 1, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import lsqr

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_EXACT = 1e-9  # sums of weights that differ by less are equal


@dataclass(frozen=True)
class Group:
    """Items that are linked by wins in both directions, and how they stand to the other groups.

    Attributes
    ----------
    items : tuple of int
        In ascending order.
    beats_others, loses_to_others : bool
        Whether an item of the group won against, or lost to, an item of another group of the component.
    """

    items: tuple[int, ...]
    beats_others: bool
    loses_to_others: bool


@dataclass(frozen=True)
class Separation:
    """A component whose win graph is not strongly connected, so that no finite maximum exists (Ford 1957).

    Attributes
    ----------
    component : int
        Its number, as in :func:`components`.
    groups : tuple of Group
        Two or more; a group stands before every group that it beats.
    """

    component: int
    groups: tuple[Group, ...]


def components(n_items: int, a: Ints, b: Ints) -> Ints:
    """Label the connected components of the comparisons.

    Parameters
    ----------
    n_items : int
        I.
    a, b : (C,) ints
        The two items of each cell.

    Returns
    -------
    (I,) ints
        Items without comparisons are components of their own.
    """
    return _label(n_items, a, b, "weak")


def win_graph_groups(n_items: int, winner: Ints, loser: Ints) -> Ints:
    """Label the strongly connected groups of the win graph.

    Parameters
    ----------
    n_items : int
        I.
    winner, loser : (C,) ints
        One entry for each ordered pair that occurred; a tie is an entry each way.

    Returns
    -------
    (I,) ints
        Two items have the same label where each is reached from the other along wins.
    """
    return _label(n_items, winner, loser, "strong")


def separation(
    n_items: int, a: Ints, b: Ints, wins_a: Floats, ties: Floats, wins_b: Floats
) -> list[Separation]:
    """Find the components in which some items only ever won against, or only ever lost to, the rest.

    Parameters
    ----------
    n_items : int
        I.
    a, b : (C,) ints
        The two items of each cell.
    wins_a, ties, wins_b : (C,) floats
        Counts; a tie links both ways.

    Returns
    -------
    list of Separation
        One for each component that is not strongly connected; empty where the maximum is finite.

    References
    ----------
    Ford (1957), "Solution of a ranking problem from binary comparisons".
    """
    a, b = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    first_up, second_up = (wins_a > 0) | (ties > 0), (wins_b > 0) | (ties > 0)
    winner = np.concatenate([a[first_up], b[second_up]])
    loser = np.concatenate([b[first_up], a[second_up]])
    group = win_graph_groups(n_items, winner, loser)
    component = components(n_items, winner, loser)
    across = group[winner] != group[loser]
    edges = np.unique(np.column_stack([group[winner[across]], group[loser[across]]]), axis=0)
    members: dict[int, list[int]] = {}
    for item, label in enumerate(group.tolist()):
        members.setdefault(label, []).append(item)
    of_component: dict[int, list[int]] = {}
    for label, items in members.items():
        of_component.setdefault(int(component[items[0]]), []).append(label)
    beats, loses = set(edges[:, 0].tolist()), set(edges[:, 1].tolist())
    order = _strongest_first(len(members), edges)
    return [
        Separation(
            number,
            tuple(
                Group(tuple(members[label]), label in beats, label in loses)
                for label in sorted(labels, key=order.__getitem__)
            ),
        )
        for number, labels in sorted(of_component.items())
        if len(labels) > 1
    ]


def bridges(n_items: int, a: Ints, b: Ints) -> list[tuple[int, int]]:
    """Find the pairs whose removal would take a component apart, each as (smaller, larger), sorted."""
    import networkx

    linked = networkx.Graph()
    linked.add_nodes_from(range(n_items))
    linked.add_edges_from({(int(min(x, y)), int(max(x, y))) for x, y in zip(a, b, strict=True) if x != y})
    return sorted((min(x, y), max(x, y)) for x, y in networkx.bridges(linked))


def single_arcs(n_items: int, winner: Ints, loser: Ints, weight: Floats) -> list[tuple[int, int]]:
    """Find the wins that rest on one judgment, and without which the win graph would fall apart.

    Parameters
    ----------
    n_items : int
        I.
    winner, loser : (A,) ints
        Arcs of the win graph; a tie is an arc each way.
    weight : (A,) floats
        Judgments behind each arc; arcs of the same pair are added up.

    Returns
    -------
    list of (winner, loser)
        Arcs of a weight of at most one, inside a strongly connected group that would be one no longer without
        the arc. Sorted.
    """
    import networkx

    size = (n_items, n_items)
    arcs = coo_array((weight, (winner, loser)), shape=size).tocsr()
    arcs.sum_duplicates()
    turned = arcs.T.tocsr()
    group = win_graph_groups(n_items, winner, loser)
    suspects = [
        (u, v)
        for u, v in _spanning_arcs(arcs, turned, group)
        if arcs[u, v] <= 1 + _EXACT and not _two_steps(arcs, turned, u, v)
    ]
    if not suspects:
        return []
    linked = networkx.DiGraph(arcs)
    found = []
    for u, v in suspects:
        linked.remove_edge(u, v)
        if not networkx.has_path(linked, u, v):
            found.append((u, v))
        linked.add_edge(u, v)
    return sorted(found)


def _spanning_arcs(arcs: csr_array, turned: csr_array, group: Ints) -> set[tuple[int, int]]:
    """Arcs that keep every group strongly connected: paths from one member to all, and from all to it.

    Every other arc can be spared, so that only these need to be looked at.
    """
    roots = np.unique(group, return_index=True)[1]
    kept: set[tuple[int, int]] = set()
    for root in roots[np.bincount(group) > 1].tolist():
        for links, forward in ((arcs, True), (turned, False)):
            reached, before = breadth_first_order(links, root, directed=True)
            inside = reached[(group[reached] == group[root]) & (reached != root)]
            pairs = zip(before[inside].tolist(), inside.tolist(), strict=True)
            kept |= {(x, y) if forward else (y, x) for x, y in pairs}
    return kept


def _two_steps(arcs: csr_array, turned: csr_array, u: int, v: int) -> bool:
    """Whether u beat somebody who beat v."""
    beaten = arcs.indices[arcs.indptr[u] : arcs.indptr[u + 1]]
    winners = turned.indices[turned.indptr[v] : turned.indptr[v + 1]]
    return len(np.intersect1d(beaten, winners)) > 0


def order_share(n_items: int, a: Ints, b: Ints, weight: Floats) -> float:
    """Share of an order effect that strengths can imitate, 0 to 1.

    It is R squared of the constant 1 regressed on the differences of the items over all judgments: 0 where
    every item is shown first as often as its opponents would have it, 1 where numbers v_i exist with
    v_a - v_b = 1 for every judgment, so that order effect and strengths cannot be told apart. Without ties
    and at equal strengths the variance of the order effect is 1 / (1 - R squared) times that of a balanced
    presentation.

    Parameters
    ----------
    n_items : int
        I.
    a, b : (C,) ints
        The item shown first and the item shown second.
    weight : (C,) floats
        Judgments of each cell.
    """
    rows, root = np.arange(len(a)), np.sqrt(weight)
    entries = np.concatenate([root, -root]), (np.tile(rows, 2), np.concatenate([a, b]))
    differences = csr_array(entries, shape=(len(rows), n_items))
    left = lsqr(differences, root, atol=1e-12, btol=1e-12)[3]
    return float(1 - left**2 / max(weight.sum(), _EXACT))


def describe(part: Separation, items: Sequence[str], limit: int = 8) -> str:
    """Say in words which items make a component separated.

    The largest group is taken as the rest, and the others are named against it; where all groups are single
    items, all are named.

    >>> describe(Separation(0, (Group((0, 1), True, False), Group((2,), False, True))), ["a", "b", "c"])
    'c never won: the likelihood has no finite maximum.'
    """
    largest = max(part.groups, key=lambda group: len(group.items))
    named = [group for group in part.groups if group is not largest or len(largest.items) == 1]
    phrases = [_phrase(group, items, limit) for group in named[:limit]]
    if len(named) > limit:
        phrases.append(f"and so on for {len(named) - limit:,} further groups of items")
    return f"{'; '.join(phrases)}: the likelihood has no finite maximum."


def _phrase(group: Group, items: Sequence[str], limit: int) -> str:
    names = ", ".join(items[item] for item in group.items[:limit])
    if len(group.items) > limit:
        names += f", ... ({len(group.items):,} items)"
    against, to = (" against the others", " to the others") if len(group.items) > 1 else ("", "")
    if not group.beats_others:
        return f"{names} never won{against}"
    if not group.loses_to_others:
        return f"{names} never lost{to}"
    return f"{names} only won against items that never won back and only lost to items never beaten"


def _label(n_items: int, start: Ints, end: Ints, connection: Literal["weak", "strong"]) -> Ints:
    links = coo_array((np.ones(len(start), dtype=np.int8), (start, end)), shape=(n_items, n_items)).tocsr()
    links.data[:] = 1  # repeated pairs were summed, and a sum of 256 would be no link
    _, labels = connected_components(links, directed=True, connection=connection)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: Ints = rank[inverse]
    return numbered


def _strongest_first(n_groups: int, edges: Ints) -> list[int]:
    """Give each group its place in an order in which winners stand before losers."""
    following: dict[int, list[int]] = {}
    waiting = np.bincount(edges[:, 1], minlength=n_groups)
    for winner, loser in edges.tolist():
        following.setdefault(winner, []).append(loser)
    ready = np.flatnonzero(waiting == 0).tolist()[::-1]
    place = [0] * n_groups
    for position in range(n_groups):
        group = ready.pop()
        place[group] = position
        for loser in following.get(group, []):
            waiting[loser] -= 1
            if waiting[loser] == 0:
                ready.append(loser)
    return place
