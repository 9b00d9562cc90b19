"""Which beginnings that questions share are worth computing once, and how the rest is laid out in rows.

Contexts in lexicographic order form a tree: those that share a beginning stand side by side. Two means save
the work on a shared beginning:

* A **group** has a prefix whose keys and values are computed once, in a pass of its own, and serve every
  row of the group. A prefix may continue another's (the examples of a topic, then the first argument).
* A **row** holds several questions, one behind the other. What a question shares with the one before it
  stands there once; a mask lets each token see the beginning of its own question and nothing else.

A pass of its own costs something even where it computes little, so a prefix is worth one where it would
otherwise be computed in enough rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bayesbt.judges.labels import Tokens


@dataclass(frozen=True)
class Layout:
    """How questions are laid out.

    Attributes
    ----------
    width : int
        Tokens of a row, unless a single question needs more. Wider rows share more and attend to more.
    pass_cost : int
        What a pass of its own costs, in tokens.
    """

    width: int
    pass_cost: int


@dataclass(frozen=True)
class Branch:
    """A question to lay out: its context, and what to append to it, once for each text."""

    context: Tokens
    suffixes: tuple[Tokens, ...] = ((),)

    @property
    def appended(self) -> int:
        """Tokens of all suffixes."""
        return sum(map(len, self.suffixes))


@dataclass(frozen=True)
class Stretch:
    """Tokens that stand together in a row: the first at ``start``, and at ``position`` of its question."""

    start: int
    position: int
    length: int


@dataclass(frozen=True)
class Placed:
    """Where a question stands in a row: its context behind the prefix, and the first token of each suffix."""

    key: int
    path: tuple[Stretch, ...]
    suffix_starts: tuple[int, ...]

    @property
    def last(self) -> int:
        """Place of the last token of the context."""
        return self.path[-1].start + self.path[-1].length - 1


@dataclass
class Row:
    """Questions laid out behind one another.

    Attributes
    ----------
    tokens : list of int
        What the model reads.
    stretches : list
        Each with the stretches before it that it continues.
    placed : list
        The questions.
    """

    tokens: list[int] = field(default_factory=list)
    stretches: list[tuple[Stretch, tuple[Stretch, ...]]] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)

    def write(self, tokens: Tokens, position: int, behind: tuple[Stretch, ...]) -> Stretch:
        """Append tokens that continue the stretches ``behind``."""
        stretch = Stretch(len(self.tokens), position, len(tokens))
        self.tokens += tokens
        self.stretches.append((stretch, behind))
        return stretch


@dataclass
class Group:
    """Questions behind one prefix.

    Attributes
    ----------
    parent : int or None
        The group, by its place in the list, whose prefix this one continues.
    base : int
        Tokens of the prefix; 0 only where ``parent`` is None.
    witness : int
        Some question that begins with the prefix.
    members : list of int
        Questions of the group's own, in lexicographic order. Those of groups that continue it are theirs.
    """

    parent: int | None
    base: int
    witness: int
    members: list[int] = field(default_factory=list)


class PrefixTree:
    """The tree of some questions.

    Parameters
    ----------
    branches : sequence of Branch
        In any order. Keys are places in it.
    layout : Layout
        Width of rows and cost of a pass.
    """

    def __init__(self, branches: Sequence[Branch], layout: Layout) -> None:
        self._branches = branches
        self._layout = layout
        self._order = sorted(range(len(branches)), key=lambda key: branches[key].context)
        self._before = dict(zip(self._order[1:], self._order[:-1], strict=True))
        self._with_before = {
            key: common_length(branches[before].context, branches[key].context)
            for key, before in self._before.items()
        }

    def groups(self) -> list[Group]:
        """Part the questions into groups; a group comes after the one it continues, and before its sisters.

        From the root down, a beginning becomes the prefix of a group where the rows that would otherwise
        compute it again cost more than a pass of its own.
        """
        if not self._order:
            return []
        shared = [self._with_before.get(key, 0) for key in self._order]
        groups = [Group(None, 0, self._order[0])]
        waiting = [(0, len(self._order), 0)]
        while waiting:
            low, high, place = waiting.pop()
            base = groups[place].base
            members = self._order[low:high]
            rows = sum(1 for _ in self._parts(members, base))
            if rows == 1 or len(members) == 1:
                groups[place].members += members
                continue
            common = min(shared[low + 1 : high])
            prefix = min(common, *(len(self._branches[key].context) - 1 for key in members))
            if (rows - 1) * (prefix - base) > self._layout.pass_cost:
                groups.append(Group(place, prefix, members[0]))
                place = len(groups) - 1
            borders = [low, *(at for at in range(low + 1, high) if shared[at] == common), high]
            waiting += [(*pair, place) for pair in reversed(list(itertools.pairwise(borders)))]
        return groups

    def rows(self, members: Sequence[int], base: int) -> list[Row]:
        """Lay out questions that share the first ``base`` tokens, which the rows leave out."""
        return [self._row(part, base) for part in self._parts(members, base)]

    def prefix(self, group: Group, start: int) -> Tokens:
        """Give the tokens of a group's prefix from ``start`` on."""
        return self._branches[group.witness].context[start : group.base]

    def computed(self) -> int:
        """Count the tokens that all passes compute, padding left out."""
        groups = self.groups()
        prefixes = sum(group.base - groups[group.parent].base for group in groups if group.parent is not None)
        return prefixes + sum(
            size for group in groups for _, size in self._sized_parts(group.members, group.base)
        )

    def _parts(self, members: Sequence[int], base: int) -> Iterator[list[int]]:
        return (part for part, _ in self._sized_parts(members, base))

    def _sized_parts(self, members: Sequence[int], base: int) -> Iterator[tuple[list[int], int]]:
        """Fill one row after the other, and give its questions and tokens."""
        part: list[int] = []
        size = 0
        for key in members:
            branch = self._branches[key]
            whole = len(branch.context) - base + branch.appended
            more = whole - (self._shared(part[-1], key) - base) if part else whole
            if part and size + more > self._layout.width:
                yield part, size
                part, size, more = [], 0, whole
            part.append(key)
            size += more
        if part:
            yield part, size

    def _row(self, part: Sequence[int], base: int) -> Row:
        row = Row()
        path: tuple[Stretch, ...] = ()
        for number, key in enumerate(part):
            branch = self._branches[key]
            kept = self._shared(part[number - 1], key) if number else base
            path = _cut(path, kept)
            if kept < len(branch.context):
                path = (*path, row.write(branch.context[kept:], kept, path))
            starts = tuple(
                row.write(suffix, len(branch.context), path).start if suffix else -1
                for suffix in branch.suffixes
            )
            row.placed.append(Placed(key, path, starts))
        return row

    def _shared(self, first: int, second: int) -> int:
        if self._before.get(second) == first:
            return self._with_before[second]
        return common_length(self._branches[first].context, self._branches[second].context)


def common_length(first: Tokens, second: Tokens) -> int:
    """Count the tokens that two texts share at their beginning.

    >>> common_length((5, 6, 7), (5, 6, 8, 9))
    2
    """
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(path: tuple[Stretch, ...], position: int) -> tuple[Stretch, ...]:
    """Give the part of a path before a position."""
    return tuple(
        Stretch(each.start, each.position, min(each.length, position - each.position))
        for each in path
        if each.position < position
    )
