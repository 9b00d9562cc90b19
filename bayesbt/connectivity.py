"""What the counts of one dimension say about a fit: components, separation, bridges, position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesbt import graph
from bayesbt.counts import Counts
from bayesbt.findings import Finding

SHOWN = 6
"""How many names a message shows."""
FEW_JUDGMENTS = 10
"""Fewer judgments are not called constant."""
ORDER_SHARE = 0.9
"""An order effect of which strengths imitate more is called confounded with them."""


def examine_counts(counts: Counts) -> list[Finding]:
    """Find what makes a fit of these counts doubtful."""
    found = []
    for examine in (_components, _separation, _without_ties, _bridges, _single_votes, _sides, _order):
        found += examine(counts)
    return found


def names_phrase(names: Sequence[str]) -> str:
    """Join names for a message, the first few of many."""
    shown = ", ".join(names[:SHOWN])
    return f"{shown}, ... ({len(names):,} in all)" if len(names) > SHOWN else shown


def _components(counts: Counts) -> list[Finding]:
    component = counts.component
    compared = counts.comparisons > 0
    found = []
    if alone := tuple(np.array(counts.items, dtype=object)[~compared].tolist()):
        message = f"No judgment with an outcome and a count above 0: {names_phrase(alone)}."
        found.append(Finding("warning", "no-comparisons", message, items=alone))
    numbers = np.unique(component[compared])
    if len(numbers) < 2:
        return found
    members = [np.array(counts.items, dtype=object)[component == number].tolist() for number in numbers]
    if counts.topics is not None and _one_topic_each(counts, numbers):
        message = f"{len(numbers)} components, one for each topic: items are ranked within their topic."
        return [*found, Finding("note", "disconnected", message)]
    groups = "; ".join(f"({names_phrase(names)})" for names in members[:SHOWN])
    more = "; ..." if len(members) > SHOWN else ""
    message = (
        f"{len(numbers)} components without a comparison between them: {groups}{more}. Items are ranked "
        "within their component; a difference across components is prior only."
    )
    return [*found, Finding("warning", "disconnected", message)]


def _one_topic_each(counts: Counts, numbers: np.ndarray) -> bool:
    topics = np.array(counts.topics, dtype=object)
    per_component = [set(topics[counts.component == number]) for number in numbers]
    distinct = set().union(*per_component)
    return all(len(topic) == 1 for topic in per_component) and len(distinct) == len(numbers)


def _separation(counts: Counts) -> list[Finding]:
    """Name the items without a win, those without a loss, and groups linked by wins one way only."""
    parts = graph.separation(counts.n_items, counts.a, counts.b, counts.wins_a, counts.ties, counts.wins_b)
    refused = "the likelihood has no finite maximum (--engine ml refuses), the value is set by the prior"
    never_won, never_lost, other = [], [], []
    for part in parts:
        alone = [group for group in part.groups if len(group.items) == 1]
        never_won += [counts.items[group.items[0]] for group in alone if not group.beats_others]
        never_lost += [counts.items[group.items[0]] for group in alone if not group.loses_to_others]
        ends = [group for group in alone if not (group.beats_others and group.loses_to_others)]
        if len(part.groups) - len(ends) > 1:
            other.append(f"{graph.describe(part, counts.items)} (--engine ml refuses.)")
    found = []
    for code, verb, names in (("never-wins", "won", never_won), ("never-loses", "lost", never_lost)):
        if names:
            message = f"{names_phrase(names)} never {verb}: {refused}."
            found.append(Finding("warning", code, message, items=tuple(names)))
    return found + [Finding("warning", "separated", message) for message in other]


def _without_ties(counts: Counts) -> list[Finding]:
    """Say whether only ties keep the maximum finite."""
    if not counts.ties.any():
        return []
    none = np.zeros_like(counts.ties)
    with_ties, without = (
        graph.separation(counts.n_items, counts.a, counts.b, counts.wins_a, ties, counts.wins_b)
        for ties in (counts.ties, none)
    )
    if with_ties or not without:
        return []
    reason = graph.describe(without[0], counts.items)
    message = f"Only ties link some items both ways. Without them (--ties drop): {reason}"
    return [Finding("note", "separated-without-ties", message)]


def _bridges(counts: Counts) -> list[Finding]:
    """Find pairs that alone hold two groups together, and items that met a single other."""
    pairs = graph.bridges(counts.n_items, counts.a, counts.b)
    if not pairs:
        return []
    degree = np.zeros(counts.n_items, dtype=np.int64)
    met = np.unique(np.sort(np.column_stack([counts.a, counts.b]), axis=1), axis=0)
    np.add.at(degree, met.ravel(), 1)
    inner = [(x, y) for x, y in pairs if degree[x] > 1 and degree[y] > 1]
    leaves = [x if degree[x] == 1 else y for x, y in pairs if (degree[x] == 1) != (degree[y] == 1)]
    found = []
    if inner:
        named = tuple((counts.items[x], counts.items[y]) for x, y in inner)
        message = (
            f"The comparison of {names_phrase([' - '.join(pair) for pair in named])} alone links two groups "
            "of items; what is said about one group against the other hangs on it."
        )
        ends = tuple(item for pair in named for item in pair)
        both = named + tuple((y, x) for x, y in named)
        found.append(Finding("warning", "bridge", message, items=ends, pairs=both))
    if leaves:
        names = [counts.items[x] for x in sorted(leaves)]
        message = f"Compared with one other item only: {names_phrase(names)}."
        found.append(Finding("note", "single-opponent", message, items=tuple(names)))
    return found


def _single_votes(counts: Counts) -> list[Finding]:
    """Find single judgments without which the likelihood would lose its finite maximum."""
    up, down = counts.wins_a + counts.ties, counts.wins_b + counts.ties
    first, second = up > 0, down > 0
    winner = np.concatenate([counts.a[first], counts.b[second]])
    loser = np.concatenate([counts.b[first], counts.a[second]])
    arcs = graph.single_arcs(counts.n_items, winner, loser, np.concatenate([up[first], down[second]]))
    if not arcs:
        return []
    named = tuple((counts.items[x], counts.items[y]) for x, y in arcs)
    pairs = list(dict.fromkeys(" - ".join(sorted(pair)) for pair in named))  # a tie is an arc each way
    subject = "One judgment" if len(pairs) == 1 else f"Each of {len(pairs):,} judgments"
    message = (
        f"{subject} alone keeps the maximum of the likelihood finite: {names_phrase(pairs)}. Without it some "
        "items would never have won, or never lost, against the rest."
    )
    return [Finding("note", "one-vote", message, pairs=named)]


def _order(counts: Counts) -> list[Finding]:
    """Say how far strengths can imitate an order effect, given who was shown first."""
    weight = counts.wins_a + counts.ties + counts.wins_b
    share = graph.order_share(counts.n_items, counts.a, counts.b, weight)
    if share < ORDER_SHARE:
        return []
    if share > 1 - 1e-9:
        message = "An order effect could not be told from the strengths at all: judge pairs in both orders."
    else:
        message = (
            f"Strengths can imitate {share:.0%} of an order effect, given who was shown first: it would be "
            f"known {1 / np.sqrt(1 - share):.1f} times less precisely than with each pair in both orders."
        )
    return [Finding("note", "order-confounded", message)]


def _sides(counts: Counts) -> list[Finding]:
    """Find position confounding: items shown on one side only, and a side that always wins."""
    per_cell = counts.wins_a + counts.ties + counts.wins_b
    first = np.bincount(counts.a, per_cell, counts.n_items)
    second = np.bincount(counts.b, per_cell, counts.n_items)
    found = []
    decided = counts.wins_a.sum() + counts.wins_b.sum()
    for side, wins in (("first", counts.wins_a.sum()), ("second", counts.wins_b.sum())):
        if wins == decided and decided >= FEW_JUDGMENTS:
            both = set(zip(counts.a.tolist(), counts.b.tolist(), strict=True))
            twice = sum((y, x) in both for x, y in both) // 2
            shown = f"of which {twice:,} were" if twice else "of which none was"
            message = (
                f"The item shown {side} won each of the {decided:,.10g} decided judgments, on "
                f"{len(both) - twice:,} pairs {shown} shown in both orders."
            )
            found.append(Finding("warning", "position", message))
    one_sided = np.flatnonzero((first + second > 0) & ((first == 0) | (second == 0)))
    if len(one_sided):
        names = [counts.items[x] for x in one_sided]
        message = (
            f"Only ever shown on one side: {names_phrase(names)}. With an order effect, its size and the "
            "strength of such items are hard to tell apart."
        )
        found.append(Finding("note", "one-sided", message, items=tuple(names)))
    return found
