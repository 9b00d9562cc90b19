"""Exact probabilities of the labels: from encoded questions to verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import torch

from bayesbt.judges.chat import Encoded
from bayesbt.judges.labels import LabelPlan
from bayesbt.judges.memory import Done, TokenBudget, attempt, in_batches
from bayesbt.judges.passes import Passes, Prefix
from bayesbt.judges.prefix_tree import Branch, Layout, Placed, PrefixTree, Row
from bayesbt.judges.protocol import Verdict, VerdictBatch

R = TypeVar("R")

_CHUNK = 64
"""Positions whose logits are taken to float64 at a time."""


def tree_of(questions: Sequence[Encoded], layout: Layout) -> PrefixTree:
    """Give the tree of questions whose labels are to be scored."""
    return PrefixTree([Branch(each.context, each.plan.suffixes) for each in questions], layout)


def score_plain(
    passes: Passes, encoded: Mapping[int, Encoded], budget: TokenBudget
) -> Iterator[VerdictBatch]:
    """Score every question by rows of its own."""

    def work(batch: list[int]) -> list[Verdict]:
        questions = [encoded[key] for key in batch]
        kept = 1 + max(question.plan.longest for question in questions)
        rows = [question.context + suffix for question in questions for suffix in question.plan.suffixes]
        logits = passes.plain(rows, kept)
        wanted = []
        first = 0
        for question in questions:
            suffixes = question.plan.suffixes
            wanted += [
                (first + row, kept - 1 - len(suffixes[row]) + offset) for row, offset in spots(question.plan)
            ]
            first += len(suffixes)
        rows_of, places = (torch.tensor(part, device=logits.device) for part in zip(*wanted, strict=True))
        return _verdicts([question.plan for question in questions], logits[rows_of, places])

    def size(key: int) -> tuple[int, int]:
        return encoded[key].length, len(encoded[key].plan.suffixes)

    for done in in_batches(list(encoded), size, work, budget):
        answers = done.result or [out_of_memory_verdict(done.problem)] * len(done.batch)
        yield list(zip(done.batch, answers, strict=True))


def score_shared(
    passes: Passes, encoded: Mapping[int, Encoded], budget: TokenBudget, layout: Layout
) -> Iterator[VerdictBatch]:
    """Score every question, what questions share at their beginnings being computed once."""
    keys = list(encoded)
    plans = [encoded[key].plan for key in keys]
    tree = tree_of([encoded[key] for key in keys], layout)

    def work(rows: list[Row], prefix: Prefix | None) -> list[Verdict]:
        wanted = [
            (number, _place(placed, row, offset))
            for number, each in enumerate(rows)
            for placed in each.placed
            for row, offset in spots(plans[placed.key])
        ]
        logits, _ = passes.packed(rows, prefix, wanted)
        return _verdicts([plans[placed.key] for each in rows for placed in each.placed], logits)

    for done in in_groups(passes, tree, budget, work):
        asked = [keys[placed.key] for row in done.batch for placed in row.placed]
        answers = done.result or [out_of_memory_verdict(done.problem)] * len(asked)
        yield list(zip(asked, answers, strict=True))


def in_groups(
    passes: Passes, tree: PrefixTree, budget: TokenBudget, work: Callable[[list[Row], Prefix | None], R]
) -> Iterator[Done[Row, R]]:
    """Work through the rows of all groups, each behind its prefix.

    Where memory does not hold the pass that computes a prefix, the rows stand behind the prefix it continues.
    """
    groups = tree.groups()
    open_prefixes: list[tuple[int, Prefix | None]] = []  # those that the groups to come may continue
    for place, group in enumerate(groups):
        while open_prefixes and open_prefixes[-1][0] != group.parent:
            open_prefixes.pop()
        prefix = behind = open_prefixes[-1][1] if open_prefixes else None
        if group.parent is not None:
            tokens = tree.prefix(group, behind.length if behind else 0)
            found, _ = attempt(partial(passes.prefix, tokens, behind))
            prefix = found or behind
        open_prefixes.append((place, prefix))
        base = prefix.length if prefix else 0
        yield from in_batches(
            tree.rows(group.members, base),
            lambda row: (len(row.tokens), 1),
            partial(_with_prefix, work, prefix),
            budget,
            partial(_split, tree, base),
        )


def _with_prefix(work: Callable[[list[Row], Prefix | None], R], prefix: Prefix | None, rows: list[Row]) -> R:
    return work(rows, prefix)


def _split(tree: PrefixTree, base: int, row: Row) -> list[Row]:
    """Give each question of a row a row of its own; none where it holds only one."""
    members = [placed.key for placed in row.placed]
    return [one for key in members for one in tree.rows([key], base)] if len(members) > 1 else []


def spots(plan: LabelPlan) -> list[tuple[int, int]]:
    """Give the places whose logits are read, as (row, offset), each once."""
    return list(
        dict.fromkeys(
            (reading.row, reading.offset) for readings in plan.readings.values() for reading in readings
        )
    )


def _place(placed: Placed, row: int, offset: int) -> int:
    """Find the place in a packed row behind which a reading looks."""
    return placed.suffix_starts[row] + offset - 1 if offset else placed.last


def _verdicts(plans: Sequence[LabelPlan], logits: torch.Tensor) -> list[Verdict]:
    """Sum each label's log-probabilities.

    Parameters
    ----------
    plans : sequence of LabelPlan
        One a question.
    logits : Tensor
        (places, vocabulary): of each plan those of its :func:`spots`, one plan after the other.
    """
    # float64: summed in float32 over a large vocabulary, the normaliser alone is off by 1e-6
    normaliser = torch.cat([torch.logsumexp(part.double(), -1) for part in torch.split(logits, _CHUNK)])
    places, tokens = [], []
    first = 0
    for plan in plans:
        order = {spot: first + number for number, spot in enumerate(spots(plan))}
        for readings in plan.readings.values():
            places += [order[reading.row, reading.offset] for reading in readings]
            tokens += [reading.token for reading in readings]
        first += len(order)
    where = torch.tensor(places, device=logits.device)
    chosen = logits[where, torch.tensor(tokens, device=logits.device)].double() - normaliser[where]
    logs = iter(chosen.tolist())
    return [
        _verdict({name: [next(logs) for _ in readings] for name, readings in plan.readings.items()})
        for plan in plans
    ]


def _verdict(logs: Mapping[str, Sequence[float]]) -> Verdict:
    masses = {outcome: math.exp(sum(each)) for outcome, each in logs.items()}
    if any(math.isnan(mass) for mass in masses.values()):
        return Verdict.unscored("error: the model's logits are not finite")
    return Verdict.from_label_masses(masses["a"], masses["tie"], masses["b"])


def out_of_memory_verdict(problem: str) -> Verdict:
    """Give the verdict of a question that memory does not hold alone."""
    return Verdict.unscored(f"error: out of memory on this question alone ({problem[:200]})")
