"""How many tokens a pass may hold: halved where memory runs out, and grown again where it does not."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import torch

from bayesbt.judges.batching import batch_size

T = TypeVar("T")
R = TypeVar("R")

_SIGNS = ("out of memory", "not enough memory", "can't allocate memory", "alloc_failed")
_PATIENCE = 8


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on an accelerator or on a processor."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in _SIGNS)


class TokenBudget:
    """Most tokens, padding included, in one pass.

    Attributes
    ----------
    now : int
        The budget at present, never above what was asked for.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._patience = _PATIENCE
        self._good = 0
        self.now = most

    @property
    def is_short(self) -> bool:
        """Whether memory was too short for the whole budget not long ago."""
        return self.now < self._most

    def failed(self, cost: int) -> None:
        """Take note that a pass of ``cost`` tokens was too large: at most half of it is tried next."""
        self.now = max(1, min(self.now, cost // 2))
        self._patience = min(2 * self._patience, 256)
        self._good = 0

    def succeeded(self, cost: int) -> None:
        """Take note of a pass that went well; after some of full size the budget grows by a quarter."""
        if self.now >= self._most or 2 * cost < self.now:
            return
        self._good += 1
        if self._good >= self._patience:
            self.now = min(self._most, self.now + max(1, self.now // 4))
            self._good = 0


@dataclass(frozen=True)
class Done(Generic[T, R]):
    """A batch and what came of it: a result, or None and the error of a unit that memory does not hold."""

    batch: list[T]
    result: R | None
    problem: str = ""


def in_batches(
    units: Sequence[T],
    size: Callable[[T], tuple[int, int]],
    work: Callable[[list[T]], R],
    budget: TokenBudget,
    split: Callable[[T], list[T]] = lambda _: [],
) -> Iterator[Done[T, R]]:
    """Work through units in batches that memory holds, the longest first.

    Parameters
    ----------
    units : sequence
        What to work on.
    size : callable
        Gives the (length in tokens, rows) of a unit.
    work : callable
        Makes one pass over a batch.
    budget : TokenBudget
        Shared by all that runs on the same model.
    split : callable
        Parts a unit that memory does not hold into smaller ones; none: it cannot be parted.
    """
    waiting = deque(sorted(units, key=lambda unit: -size(unit)[0]))
    while waiting:
        number = batch_size((size(unit) for unit in waiting), budget.now)
        batch = [waiting.popleft() for _ in range(number)]
        cost = sum(size(unit)[1] for unit in batch) * max(size(unit)[0] for unit in batch)
        if budget.is_short and cost > budget.now and (parts := split(batch[0])):
            waiting.extendleft(reversed(parts))
            continue
        result, problem = attempt(partial(work, batch))
        if not problem:
            budget.succeeded(cost)
            yield Done(batch, result)
            continue
        budget.failed(cost)
        parts = batch if len(batch) > 1 else split(batch[0])
        if parts:
            waiting.extendleft(reversed(parts))
        else:
            yield Done(batch, None, problem)


def attempt(work: Callable[[], R]) -> tuple[R | None, str]:
    """Do the work; where memory runs out, free what it held, and say so."""
    try:
        return work(), ""
    except Exception as error:
        if not out_of_memory(error):
            raise
        problem = str(error).strip().partition("\n")[0]
    gc.collect()  # behind the handler: the error itself holds what the pass had allocated
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None, problem
