"""Connectivity and separation on small graphs whose answer is seen by eye."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesbt import graph


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def separation(n_items: int, cells: list[tuple[int, int, float, float, float]]) -> list[graph.Separation]:
    a, b, wins_a, ties, wins_b = (np.array(column) for column in zip(*cells, strict=True))
    return graph.separation(n_items, a, b, wins_a, ties, wins_b)


def test_components_are_numbered_by_first_item_and_an_unmet_item_stands_alone():
    assert graph.components(6, ints(4, 0, 5), ints(2, 1, 4)).tolist() == [0, 0, 1, 2, 1, 1]


def test_components_without_any_comparison():
    assert graph.components(3, ints(), ints()).tolist() == [0, 1, 2]


def test_a_pair_met_256_times_is_still_a_link():
    a, b = np.zeros(256, dtype=np.int64), np.ones(256, dtype=np.int64)
    assert graph.components(2, a, b).tolist() == [0, 0]
    assert graph.win_graph_groups(2, np.append(a, 1), np.append(b, 0)).tolist() == [0, 0]


def test_groups_of_the_win_graph_are_the_cycles():
    # 0 > 1 > 2 > 0 is a cycle; 3 lost to 1 and never won.
    assert graph.win_graph_groups(4, ints(0, 1, 2, 1), ints(1, 2, 0, 3)).tolist() == [0, 0, 0, 1]


def test_an_item_that_never_won_is_named():
    (part,) = separation(3, [(0, 1, 4, 0, 3), (0, 2, 5, 0, 0), (1, 2, 5, 0, 0)])
    assert part.component == 0
    assert [group.items for group in part.groups] == [(0, 1), (2,)]
    assert part.groups[1] == graph.Group((2,), beats_others=False, loses_to_others=True)
    assert graph.describe(part, ["a", "b", "c"]) == "c never won: the likelihood has no finite maximum."


def test_an_item_that_never_lost_is_named():
    (part,) = separation(3, [(0, 1, 4, 0, 3), (0, 2, 0, 0, 5)])
    assert [group.items for group in part.groups] == [(2,), (0, 1)]
    assert graph.describe(part, ["a", "b", "c"]) == "c never lost: the likelihood has no finite maximum."


def test_a_tie_links_both_ways():
    assert separation(3, [(0, 1, 4, 0, 3), (0, 2, 5, 1, 0)]) == []


def test_two_blocks_linked_by_wins_one_way_only_are_named_as_a_group():
    (part,) = separation(5, [(0, 1, 1, 0, 1), (1, 2, 1, 0, 1), (3, 4, 1, 0, 1), (3, 0, 0, 0, 6)])
    assert [group.items for group in part.groups] == [(0, 1, 2), (3, 4)]
    text = graph.describe(part, ["a", "b", "c", "d", "e"])
    assert text == "d, e never won against the others: the likelihood has no finite maximum."


def test_a_chain_is_ordered_strongest_first_and_every_item_is_named():
    (part,) = separation(3, [(0, 1, 0, 0, 2), (0, 2, 2, 0, 0)])  # 1 > 0 > 2
    assert [group.items for group in part.groups] == [(1,), (0,), (2,)]
    text = graph.describe(part, ["mid", "top", "low"])
    assert "top never lost" in text
    assert "low never won" in text
    assert "mid only won against items that never won back" in text


def test_only_the_separated_component_is_given():
    (part,) = separation(5, [(0, 1, 2, 0, 1), (2, 3, 3, 0, 0)])
    assert part.component == 1
    assert [group.items for group in part.groups] == [(2,), (3,)]


def test_cells_without_counts_link_nothing():
    assert separation(2, [(0, 1, 0, 0, 0)]) == []


def test_bridges_are_the_pairs_that_hold_the_graph_together():
    # Two triangles, 0-1-2 and 3-4-5, joined by 2-3; 6 hangs on 5.
    a = ints(0, 1, 2, 3, 4, 5, 3, 6, 3)
    b = ints(1, 2, 0, 4, 5, 3, 2, 5, 2)
    assert graph.bridges(8, a, b) == [(2, 3), (5, 6)]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 2)), max_size=25))
def test_single_arcs_are_those_without_which_a_group_falls_apart(edges: list[tuple[int, int, int]]):
    edges = [edge for edge in edges if edge[0] != edge[1]]
    network = networkx.DiGraph()
    network.add_nodes_from(range(7))
    for x, y, weight in edges:
        before = network.get_edge_data(x, y, {"weight": 0})["weight"]
        network.add_edge(x, y, weight=before + weight)
    groups = len(list(networkx.strongly_connected_components(network)))
    expected = []
    for x, y, weight in network.edges(data="weight"):
        left = network.copy()
        left.remove_edge(x, y)
        if weight == 1 and len(list(networkx.strongly_connected_components(left))) > groups:
            expected.append((x, y))
    winner, loser = ints(*(x for x, _, _ in edges)), ints(*(y for _, y, _ in edges))
    weights = np.array([weight for _, _, weight in edges], dtype=float)
    assert graph.single_arcs(7, winner, loser, weights) == sorted(expected)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=25))
def test_groups_and_components_agree_with_networkx(edges: list[tuple[int, int]]):
    network = networkx.DiGraph()
    network.add_nodes_from(range(8))
    network.add_edges_from(edges)
    start, end = ints(*(x for x, _ in edges)), ints(*(y for _, y in edges))
    for labels, expected in (
        (graph.win_graph_groups(8, start, end), networkx.strongly_connected_components(network)),
        (graph.components(8, start, end), networkx.weakly_connected_components(network)),
    ):
        ours = {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}
        assert ours == {frozenset(group) for group in expected}
        seen = list(dict.fromkeys(labels.tolist()))
        assert seen == sorted(seen)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=15))
def test_winners_stand_before_the_groups_they_beat(edges: list[tuple[int, int]]):
    edges = [(x, y) for x, y in edges if x != y]
    if not edges:
        return
    cells = [(x, y, 1.0, 0.0, 0.0) for x, y in edges]
    for part in separation(6, cells):
        place = {item: number for number, group in enumerate(part.groups) for item in group.items}
        assert all(place[x] <= place[y] for x, y in edges if x in place and y in place)


@pytest.mark.parametrize("n_items", [0, 1])
def test_graphs_of_no_edge(n_items: int):
    empty = ints()
    assert graph.bridges(n_items, empty, empty) == []
    assert graph.separation(n_items, empty, empty, floats(), floats(), floats()) == []
