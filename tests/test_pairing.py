"""Designs: the right number of pairs, within topics, linked, balanced, and the same for the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import networkx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesbt.errors import InputError
from bayesbt.formats import import_source
from bayesbt.pairing import Groups, design_pairs
from bayesbt.tables import Items, Pairs


def items_of(*sizes: int) -> Items:
    rows = [
        (f"i{place:02d}-{topic}", f"T{topic}") for topic, size in enumerate(sizes) for place in range(size)
    ]
    frame = pd.DataFrame(rows, columns=["item", "topic"])
    return Items.from_frame(frame if len(sizes) > 1 else frame.drop(columns="topic"))


def rows(pairs: Pairs) -> list[tuple[str, str]]:
    return list(zip(pairs.frame["item_a"], pairs.frame["item_b"], strict=True))


def degrees(pairs: Pairs) -> Counter[str]:
    return Counter(pairs.frame["item_a"]) + Counter(pairs.frame["item_b"])


def test_all_pairs_once_within_each_topic():
    pairs = design_pairs(items_of(4, 3))
    assert len(pairs) == 6 + 3
    assert len({frozenset(pair) for pair in rows(pairs)}) == 9
    topics = pairs.frame["topic"]
    for side in ("item_a", "item_b"):
        assert (pairs.frame[side].str[-1] == topics.str[-1]).all()


def test_without_topics_there_is_no_topic_column():
    pairs = design_pairs(items_of(5))
    assert list(pairs.frame.columns) == ["item_a", "item_b"]
    assert len(pairs) == 10


def test_both_orders_ask_for_each_pair_twice():
    pairs = design_pairs(items_of(3), both_orders=True)
    assert len(set(rows(pairs))) == 6
    assert {(b, a) for a, b in rows(pairs)} == set(rows(pairs))


@pytest.mark.parametrize("size", [3, 6, 7, 12])
def test_each_item_stands_first_about_as_often_as_second(size: int):
    first, second = (Counter(design_pairs(items_of(size)).frame[side]) for side in ("item_a", "item_b"))
    assert max(abs(first[item] - second[item]) for item in first | second) <= 1


@pytest.mark.parametrize(("size", "degree"), [(9, 2), (9, 4), (10, 6), (12, 4)])
def test_cyclic_gives_each_item_its_degree(size: int, degree: int):
    pairs = design_pairs(items_of(size), "cyclic", degree=degree, seed=3)
    assert set(degrees(pairs).values()) == {degree}
    assert len(pairs) == size * degree // 2
    assert Counter(pairs.frame["item_a"]) == dict.fromkeys(degrees(pairs), degree // 2)
    assert networkx.is_connected(networkx.Graph(rows(pairs)))


def test_cyclic_of_a_small_topic_is_all_pairs():
    assert {frozenset(p) for p in rows(design_pairs(items_of(4), "cyclic", degree=10))} == {
        frozenset(p) for p in rows(design_pairs(items_of(4)))
    }


def test_default_degree_is_4():
    assert set(degrees(design_pairs(items_of(11), "cyclic")).values()) == {4}


@given(st.integers(3, 16), st.integers(0, 60), st.integers(0, 5))
def test_a_budget_links_and_balances(size: int, extra: int, seed: int):
    budget = size - 1 + extra
    pairs = design_pairs(items_of(size), "budget", budget=budget, seed=seed)
    assert len(pairs) == min(budget, size * (size - 1) // 2)
    assert len({frozenset(pair) for pair in rows(pairs)}) == len(pairs)
    assert networkx.is_connected(networkx.Graph(rows(pairs)))
    each = degrees(pairs)
    assert len(each) == size
    assert max(each.values()) - min(each.values()) <= 2


def test_a_budget_is_shared_by_size_and_counts_both_orders():
    pairs = design_pairs(items_of(10, 5, 2), "budget", budget=72, both_orders=True)
    assert len(pairs) == 72
    assert pairs.frame["topic"].value_counts().to_dict() == {"T0": 50, "T1": 20, "T2": 2}


def test_a_budget_that_cannot_link_the_items():
    with pytest.raises(InputError, match=r"--budget 12: too few.*least is 13; all pairs are 55"):
        design_pairs(items_of(10, 5), "budget", budget=12)
    with pytest.raises(InputError, match=r"least is 26; all pairs are 110"):
        design_pairs(items_of(10, 5), "budget", budget=25, both_orders=True)


def test_the_seed_decides():
    first, again, other = (design_pairs(items_of(12), "cyclic", seed=seed) for seed in (1, 1, 2))
    assert rows(first) == rows(again)
    assert rows(first) != rows(other)


def test_a_topic_does_not_depend_on_the_others():
    both, alone = design_pairs(items_of(6, 5)), items_of(6, 5)
    kept = alone.frame[alone.frame["topic"] == "T1"].reset_index(drop=True)
    only = design_pairs(Items(kept))
    assert rows(only) == [pair for pair in rows(both) if pair[0].endswith("-1")]


@pytest.mark.parametrize(
    ("design", "options", "message"),
    [
        ("random", {}, "--design 'random'.*all, cyclic, budget"),
        ("all", {"budget": 3}, "--budget goes with"),
        ("budget", {}, "--budget goes with"),
        ("all", {"degree": 2}, "--degree goes with"),
        ("cyclic", {"degree": 3}, "--degree 3: an even number"),
        ("cyclic", {"degree": 0}, "--degree 0: an even number"),
    ],
)
def test_options_that_do_not_fit(design: str, options: dict[str, int], message: str):
    with pytest.raises(InputError, match=message):
        design_pairs(items_of(5), design, **options)  # type: ignore[arg-type]


def test_topics_for_some_items_only_or_of_one_item_each():
    items = Items.from_frame(pd.DataFrame({"item": ["x", "y", "z"], "topic": ["T", "", "T"]}))
    with pytest.raises(InputError, match=r"1 items have none \('y'\)"):
        design_pairs(items)
    with pytest.raises(InputError, match="no topic has two items"):
        design_pairs(items_of(1, 1))


@pytest.mark.parametrize("seed", [0, 4])
def test_overlapping_groups_as_the_corpus_was_sampled(seed: int):
    pairs = design_pairs(items_of(64), "cyclic", groups=Groups(16, 8), seed=seed)
    assert set(degrees(pairs).values()) == {23}  # 15 in one group and 15 in the other, 7 of them the same
    assert len(pairs) == len({frozenset(pair) for pair in rows(pairs)}) == 64 * 23 // 2
    assert networkx.is_connected(networkx.Graph(rows(pairs)))
    first, second = Counter(pairs.frame["item_a"]), Counter(pairs.frame["item_b"])
    assert max(abs(first[item] - second[item]) for item in degrees(pairs)) <= 8


@given(st.integers(2, 40), st.integers(2, 12), st.data())
def test_groups_link_all_items_and_hold_each_pair_once(size: int, group: int, data: st.DataObject):
    step = data.draw(st.integers(1, group - 1))
    pairs = design_pairs(items_of(size), "cyclic", groups=Groups(group, step))
    graph = networkx.Graph(rows(pairs))
    assert len(graph) == size
    assert networkx.is_connected(graph)
    assert graph.number_of_edges() == len(pairs)
    if group >= size:
        assert len(pairs) == size * (size - 1) // 2


def test_groups_of_step_1_are_the_nearest_neighbours():
    one = design_pairs(items_of(20), "cyclic", groups=Groups(4, 1))
    other = design_pairs(items_of(20), "cyclic", degree=6)
    assert {frozenset(pair) for pair in rows(one)} == {frozenset(pair) for pair in rows(other)}


def test_groups_give_the_numbers_of_opponents_of_the_corpus(shared: Callable[..., Path]):
    people = import_source(shared("data", "webis-argquality-20")).judgments.frame
    logic = people[people["dimension"] == "logic"]
    opponents = Counter(logic["item_a"].astype(str)) + Counter(logic["item_b"].astype(str))
    designed = degrees(design_pairs(items_of(*[64] * 20), "cyclic", groups=Groups(16, 8)))
    assert max(opponents.values()) == max(designed.values()) == 23
    assert Counter(opponents.values()).most_common(1)[0][0] == 23


@pytest.mark.parametrize(
    ("size", "step", "said"), [(1, 1, "--group-size 1"), (4, 4, "--group-step 4"), (4, 0, "--group-step 0")]
)
def test_groups_that_link_nothing_are_refused(size: int, step: int, said: str):
    with pytest.raises(InputError, match=said):
        Groups(size, step)


def test_groups_belong_to_the_cyclic_design():
    with pytest.raises(InputError, match="--group-size goes with --design cyclic"):
        design_pairs(items_of(5), groups=Groups(3, 1))
    with pytest.raises(InputError, match="not with --degree"):
        design_pairs(items_of(5), "cyclic", degree=2, groups=Groups(3, 1))
