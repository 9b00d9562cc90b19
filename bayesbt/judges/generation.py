"""Letting a model write its answers: many at a time, each as if it were alone.

Rows that end make room, and questions that wait are read into it. Where memory runs out, half of the rows go
back to those that wait; what they wrote is written again from the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from bayesbt.judges.decode_state import DecodeState, state_of
from bayesbt.judges.labels import Tokens
from bayesbt.judges.memory import TokenBudget, attempt, in_batches
from bayesbt.judges.passes import KeysValues, Passes, Prefix
from bayesbt.judges.plain_rows import PlainRows, keeps_state
from bayesbt.judges.prefix_tree import Branch, Layout, PrefixTree, Row
from bayesbt.judges.sampling import Answer, draw_tokens
from bayesbt.judges.scoring import in_groups

NOT_FINITE = "the model's logits are not finite"


@dataclass(frozen=True)
class Opening:
    """What an answer begins from: the context, the seed of its draws, the most tokens it may have."""

    context: Tokens
    seed: int
    most: int


Outcome = Answer | str
"""An answer, or what went wrong."""

OutcomeBatch = list[tuple[int, Outcome]]


@dataclass(frozen=True)
class Budgets:
    """Most tokens that a pass reads, and most that the rows being written hold together."""

    reading: TokenBudget
    writing: TokenBudget


@dataclass(frozen=True)
class _Read:
    """Questions that were read and may be written on, or could not be."""

    keys: list[int]
    state: DecodeState | None
    logits: torch.Tensor | None
    problem: str = ""


def write_shared(
    passes: Passes, openings: Mapping[int, Opening], budgets: Budgets, layout: Layout, ends: frozenset[int]
) -> Iterator[OutcomeBatch]:
    """Write all answers, what questions share at their beginnings being computed once."""
    writing = _Writing(passes, openings, budgets, layout, ends)
    writing.wait_for(list(openings))
    while writing.waits or writing.answers:
        writing.fill()
        if writing.answers:
            writing.step()
        if writing.ended:
            yield writing.ended
            writing.ended = []


class _Writing:
    """The rows that are being written, and the questions that wait."""

    def __init__(
        self,
        passes: Passes,
        openings: Mapping[int, Opening],
        budgets: Budgets,
        layout: Layout,
        ends: frozenset[int],
    ) -> None:
        self._passes, self._openings, self._ends = passes, openings, ends
        self._budgets, self._layout = budgets, layout
        self._sources: list[Iterator[_Read]] = []
        self._later: list[int] = []  # memory does not hold them beside what is being written
        self._state: DecodeState | None = None
        self.answers: list[Answer] = []
        self.ended: OutcomeBatch = []

    @property
    def waits(self) -> bool:
        """Whether questions wait to be read."""
        return bool(self._sources or self._later)

    def wait_for(self, keys: Sequence[int]) -> None:
        """Put questions among those that wait."""
        self._sources.append(_read(self._passes, self._openings, keys, self._budgets, self._layout))

    def fill(self) -> None:
        """Read questions until the rows take half of the room or more."""
        if self._later and not self.answers:
            self.wait_for(self._later)
            self._later = []
        while self._sources and not self._later:
            if self._state is not None and 2 * self._state.tokens > self._budgets.writing.now:
                return
            read = next(self._sources[-1], None)
            if read is None:
                self._sources.pop()
            elif read.state is not None and read.logits is not None:
                self._begin(read.keys, read.state, read.logits)
            elif self.answers:
                self._later += read.keys
            elif len(read.keys) == 1:
                self.ended.append((read.keys[0], _too_large(read.problem)))
            else:
                self._part(read.keys)

    def step(self) -> None:
        """Write one token of every row."""
        state = self._state
        if state is None:
            return
        tokens = [answer.tokens[-1] for answer in self.answers]
        cost = state.tokens
        logits, problem = attempt(lambda: state.step(self._passes, tokens))
        if logits is not None:
            self._budgets.writing.succeeded(cost)
            self._state, self.answers = self._settled(state, self.answers, logits)
            return
        self._budgets.writing.failed(cost)
        if len(self.answers) == 1:
            self.ended.append((self.answers[0].key, _too_large(problem)))
            self._state, self.answers = None, []
            return
        half = len(self.answers) // 2
        keys = [answer.key for answer in self.answers]
        self._state, _ = attempt(lambda: state.select(range(half)))
        if self._state is None:
            self.answers = []
            self._part(keys)
        else:
            self.answers = self.answers[:half]
            self._later += keys[half:]

    def _part(self, keys: list[int]) -> None:
        """Have questions read one by one that memory does not hold together."""
        for key in reversed(keys):
            self.wait_for([key])

    def _begin(self, keys: list[int], state: DecodeState, logits: torch.Tensor) -> None:
        """Write the first token of new rows, and add them to the others."""
        answers = [Answer(key, self._openings[key].seed, self._openings[key].most) for key in keys]
        new, answers = self._settled(state, answers, logits)
        if new is None:
            return
        old = self._state
        if old is not None:
            joined, _ = attempt(partial(old.joined, new))
            if joined is None:
                self._later += [answer.key for answer in answers]
                return
            new = joined
        self._state, self.answers = new, self.answers + answers

    def _settled(
        self, state: DecodeState, answers: list[Answer], logits: torch.Tensor
    ) -> tuple[DecodeState | None, list[Answer]]:
        """Draw a token for each row; rows that end go."""
        self.ended += _drawn(answers, logits, self._ends)
        left = [place for place, answer in enumerate(answers) if not answer.ended]
        if not left:
            return None, []
        if len(left) < len(answers):
            state = state.select(left)
        return state, [answers[place] for place in left]


def _read(
    passes: Passes,
    openings: Mapping[int, Opening],
    keys: Sequence[int],
    budgets: Budgets,
    layout: Layout,
) -> Iterator[_Read]:
    """Read questions, as many at a time as there is room to write on."""
    tree = PrefixTree([Branch(openings[key].context) for key in keys], layout)

    def work(rows: list[Row], prefix: Prefix | None) -> tuple[torch.Tensor, KeysValues, Prefix | None]:
        wanted = [(number, placed.last) for number, row in enumerate(rows) for placed in row.placed]
        return *passes.packed(rows, prefix, wanted, keep=True), prefix

    for done in in_groups(passes, tree, budgets.reading, work):
        placed = [(number, one) for number, row in enumerate(done.batch) for one in row.placed]
        if done.result is None:
            yield _Read([keys[one.key] for _, one in placed], None, None, done.problem)
            continue
        logits, added, prefix = done.result
        longest = max(len(openings[keys[one.key]].context) for _, one in placed)
        start = 0
        while start < len(placed):
            part = placed[start : start + max(1, budgets.writing.now // longest)]
            state, problem = attempt(partial(state_of, part, added, prefix, passes.device))
            own = logits[start : start + len(part)] if state is not None else None
            yield _Read([keys[one.key] for _, one in part], state, own, problem)
            start += len(part)


def write_plain(
    passes: Passes, openings: Mapping[int, Opening], budget: TokenBudget, ends: frozenset[int]
) -> Iterator[OutcomeBatch]:
    """Write all answers, batch after batch, with whatever state the model itself keeps."""
    keeps = bool(openings) and keeps_state(passes)

    def size(key: int) -> tuple[int, int]:
        return len(openings[key].context) + openings[key].most, 1

    for done in in_batches(
        list(openings), size, partial(_written_plain, passes, openings, ends, keeps), budget
    ):
        yield done.result or [(key, _too_large(done.problem)) for key in done.batch]


def _written_plain(
    passes: Passes, openings: Mapping[int, Opening], ends: frozenset[int], keeps: bool, batch: list[int]
) -> OutcomeBatch:
    answers = [Answer(key, openings[key].seed, openings[key].most) for key in batch]
    rows = PlainRows(passes, [openings[key].context for key in batch], keeps)
    ended: OutcomeBatch = []
    while True:
        logits = rows.read()
        live = [place for place, answer in enumerate(answers) if not answer.ended]
        ended += _drawn([answers[place] for place in live], logits[live], ends)
        if len(ended) == len(batch):
            return ended
        rows.append([0 if answer.ended else answer.tokens[-1] for answer in answers])


def _drawn(answers: Sequence[Answer], logits: torch.Tensor, ends: frozenset[int]) -> OutcomeBatch:
    """Append a token to each answer, and give those that ended with it."""
    tokens = draw_tokens(logits, [answer.uniform for answer in answers])
    ended: OutcomeBatch = []
    for answer, token in zip(answers, tokens, strict=True):
        if token is None:
            answer.ended = True
            ended.append((answer.key, NOT_FINITE))
            continue
        answer.write(token, ends)
        if answer.ended:
            ended.append((answer.key, answer))
    return ended


def _too_large(problem: str) -> str:
    return f"out of memory on this question alone ({problem[:200]})"
