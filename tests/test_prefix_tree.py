"""Layouts of questions that share beginnings: every question stands in full, once, and sees only itself."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from bayesbt.judges.batching import reading_order
from bayesbt.judges.prefix_tree import Branch, Layout, PrefixTree, Row, common_length
from bayesbt.judges.protocol import Presentation

Tokens = tuple[int, ...]

contexts = st.lists(st.integers(0, 2), min_size=1, max_size=14).map(tuple)
branches = st.builds(Branch, contexts, st.sampled_from([((),), ((7,),), ((7, 8), (9,), (6,))]))


def seen(row: Row, place: int) -> dict[int, int]:
    """Which tokens of a row the token at a place sees, by their position in its question."""
    own, behind = next(
        (own, behind) for own, behind in row.stretches if own.start <= place < own.start + own.length
    )
    found = {own.position + n: row.tokens[own.start + n] for n in range(place - own.start + 1)}
    for each in behind:
        for n in range(each.length):
            assert each.position + n not in found
            found[each.position + n] = row.tokens[each.start + n]
    return found


@settings(deadline=None, max_examples=150)
@given(st.lists(branches, min_size=1, max_size=14), st.integers(1, 40), st.integers(0, 12))
def test_every_question_sees_its_own_tokens_and_no_others(
    asked: list[Branch], width: int, pass_cost: int
) -> None:
    tree = PrefixTree(asked, Layout(width, pass_cost))
    groups = tree.groups()
    prefixes: list[Tokens] = []
    placed_keys = []
    computed = 0
    for place, group in enumerate(groups):
        before = prefixes[group.parent] if group.parent is not None else ()
        assert group.parent is None or group.parent < place
        own = tree.prefix(group, len(before)) if group.base else ()
        prefixes.append(before + own)
        computed += len(own)
        assert len(prefixes[-1]) == group.base
        for row in tree.rows(group.members, group.base):
            assert len(row.tokens) <= width or len(row.placed) == 1
            computed += len(row.tokens)
            for placed in row.placed:
                branch = asked[placed.key]
                placed_keys.append(placed.key)
                whole = {n: token for n, token in enumerate(branch.context) if n >= group.base}
                assert branch.context[: group.base] == prefixes[-1]
                assert seen(row, placed.last) == whole
                for suffix, start in zip(branch.suffixes, placed.suffix_starts, strict=True):
                    for n in range(len(suffix)):
                        tail = {len(branch.context) + k: suffix[k] for k in range(n + 1)}
                        assert seen(row, start + n) == whole | tail
    assert sorted(placed_keys) == list(range(len(asked)))
    assert tree.computed() == computed
    assert computed <= sum(len(branch.context) + branch.appended for branch in asked)


@settings(deadline=None)
@given(st.lists(branches, min_size=1, max_size=10), st.integers(1, 40), st.randoms())
def test_the_order_of_the_questions_does_not_matter(asked: list[Branch], width: int, random: object) -> None:
    shuffled = list(asked)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    layout = Layout(width, 4)
    plain = [Branch(branch.context) for branch in asked]
    again = [Branch(branch.context) for branch in shuffled]
    assert PrefixTree(plain, layout).computed() == PrefixTree(again, layout).computed()


def test_topic_and_first_argument_are_computed_once() -> None:
    """Two topics of 100 tokens, in each 3 first arguments of 50, for each 4 second ones of 20."""
    topics = [tuple([topic] * 100) for topic in (1, 2)]
    firsts = [tuple([first] * 50) for first in (3, 4, 5)]
    seconds = [tuple([second] * 20) for second in (6, 7, 8, 9)]
    asked = [Branch(sum(parts, ())) for parts in itertools.product(topics, firsts, seconds)]
    least = 2 * 100 + 6 * 50 + 24 * 20
    assert PrefixTree(asked, Layout(60, 30)).computed() == least  # every first argument has its own pass
    wide = PrefixTree(asked, Layout(130, 5_000))
    assert [group.base for group in wide.groups()] == [0]  # no prefix is worth a pass
    assert wide.computed() == 24 * 170
    rows = PrefixTree(asked, Layout(130, 130))
    bases = [group.base for group in rows.groups()]
    assert bases == [0, 100, 100]  # the topics are; the first arguments stand in rows of one or more
    assert rows.computed() == least


def test_deep_chains_of_texts_are_no_trouble() -> None:
    asked = [Branch((1,) * length) for length in range(1, 1500)]
    tree = PrefixTree(asked, Layout(100, 10))
    assert tree.computed() < 20 * 1500
    assert sorted(key for group in tree.groups() for key in group.members) == list(range(1499))


def test_common_length() -> None:
    assert common_length((), (1,)) == 0
    assert common_length((1, 2, 3), (1, 2, 3)) == 3
    assert common_length((1, 2, 3, 9, 9), (1, 2, 4, 9, 9)) == 2


def test_questions_are_read_by_dimension_topic_and_first_text() -> None:
    asked = [
        Presentation("x", "y", "B", "A", "logic", "t"),
        Presentation("x", "y", "A", "B", "logic", "u"),
        Presentation("x", "y", "A", "C", "logic", "t"),
        Presentation("x", "y", "A", "B", "dialectic"),
        Presentation("x", "y", "A", "B", "logic", "t"),
    ]
    assert reading_order(asked) == [3, 4, 2, 0, 1]
