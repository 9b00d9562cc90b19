"""How questions are shared out among the workers of a Ray cluster, and again where workers are lost."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError

from bayesbt.errors import InputError
from bayesbt.judges.batching import reading_order
from bayesbt.judges.console import say
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch
from bayesbt.judges.ray_worker import About, Crew, RayClusterError, Reply, check_same, dismiss
from bayesbt.judges.settings import RayOptions

CHUNK_SECONDS = 20.0
FEWEST, MOST = 8, 1024
"""A chunk is what a worker answers in so many seconds, within these bounds; more than that is never lost."""

ATTEMPTS = 3
"""So many workers die over one question before it counts as failed."""

LOSSES_IN_A_ROW = 8
WAIT_SECONDS = 600.0


@dataclass(frozen=True)
class _Chunk:
    """Places of questions, and how many workers were lost over them."""

    places: tuple[int, ...]
    losses: int = 0


class Shift:
    """The answering of one list of questions by a crew."""

    def __init__(self, crew: Crew, about: About, presentations: Sequence[Presentation], prompt: Any) -> None:
        self._crew = crew
        self._expected = about
        self._presentations = presentations
        self._prompt = prompt
        self._fresh = deque(reading_order(presentations))
        self._returned: deque[_Chunk] = deque()
        self._rate = 0.0
        self._lost_in_a_row = 0
        self.busy: dict[Any, tuple[Any, _Chunk]] = {}

    def work(self) -> Iterator[VerdictBatch]:
        """Hand out chunks until every question has its verdict."""
        while self._fresh or self._returned or self.busy:
            self._hand_out()
            ready = wait_for_one([*self.busy, *self._crew.joining], bool(self.busy), self._crew.options)
            if ready in self._crew.joining:
                self._welcome(ready)
            else:
                batch = self._collect(ready)
                if batch:
                    yield batch

    def abandon(self) -> None:
        """End the workers that are at work."""
        for worker, _ in self.busy.values():
            dismiss(worker)
        self.busy.clear()

    def _hand_out(self) -> None:
        while self._crew.idle and (self._returned or self._fresh):
            chunk = self._returned.popleft() if self._returned else self._next_chunk()
            worker = self._crew.idle.pop(0)
            questions = [self._presentations[place] for place in chunk.places]
            self.busy[worker.answer.remote(questions, self._prompt)] = (worker, chunk)

    def _next_chunk(self) -> _Chunk:
        """Take neighbours, which share the longest beginnings; less at the end, so that all end together."""
        hands = max(1, len(self.busy) + len(self._crew.idle))
        size = max(FEWEST, min(MOST, int(self._rate * CHUNK_SECONDS)))
        size = max(1, min(size, -(-len(self._fresh) // (2 * hands))))
        return _Chunk(tuple(self._fresh.popleft() for _ in range(size)))

    def _welcome(self, ready: Any) -> None:
        worker = self._crew.joining.pop(ready)
        try:
            about: About = ray.get(ready)
        except RayError as error:
            self._replace(worker, cause_of(error))
            return
        if about.problem:
            self._replace(worker, about.problem)
            return
        check_same(self._expected, about)
        self._crew.idle.append(worker)

    def _collect(self, ready: Any) -> VerdictBatch:
        """Take the answers to a chunk; what has none goes back to be handed out again."""
        worker, chunk = self.busy.pop(ready)
        try:
            reply: Reply = ray.get(ready)
        except RayError as error:
            self._replace(worker, cause_of(error))
            say(f"a Ray worker was lost; its {len(chunk.places):,} questions are asked again")
            return self._give_back(chunk, chunk.places)
        if reply.final:
            self._crew.idle.append(worker)
            raise InputError(reply.problem)
        answered = [(chunk.places[number], verdict) for number, verdict in reply.batch]
        if reply.batch:
            self._lost_in_a_row = 0
            self._rate = max(self._rate, len(reply.batch) / max(reply.seconds, 1e-6))
        if reply.problem:
            self._replace(worker, reply.problem)
        else:
            self._crew.idle.append(worker)
        known = dict(answered)
        left = tuple(place for place in chunk.places if place not in known)
        return answered + (self._give_back(chunk, left) if left else [])

    def _give_back(self, chunk: _Chunk, left: tuple[int, ...]) -> VerdictBatch:
        """Give questions back; by halves where workers are lost over them, and no more where it is one.

        They go behind those that were given back before: halves that can be answered are, between losses.
        """
        losses = chunk.losses + 1
        if len(left) == 1 and losses >= ATTEMPTS:
            reason = f"error: {losses} workers were lost over this question"
            return [(left[0], Verdict.unscored(reason))]
        half = len(left) if losses == 1 else max(1, len(left) // 2)
        self._returned += [_Chunk(part, losses) for part in (left[:half], left[half:]) if part]
        return []

    def _replace(self, worker: Any, problem: str) -> None:
        dismiss(worker)
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= LOSSES_IN_A_ROW:
            raise RayClusterError(
                f"{self._lost_in_a_row} workers were lost without an answer between them, the last one with: "
                f"{problem} What was judged before is kept."
            )
        self._crew.hire()


def wait_for_one(refs: list[Any], busy: bool, options: RayOptions) -> Any:
    """Wait for the first answer. Where nobody works, a cluster without room is not waited for for ever."""
    begun = time.monotonic()
    said = False
    while True:
        ready, _ = ray.wait(refs, num_returns=1, timeout=30.0)
        if ready:
            return ready[0]
        waited = time.monotonic() - begun
        if not busy and waited >= WAIT_SECONDS:
            raise RayClusterError(
                f"no worker of {options.cpus:g} CPUs and {options.gpus:g} GPUs started within "
                f"{WAIT_SECONDS:.0f} s: the cluster has no room. What was judged before is kept."
            )
        if not busy and not said:
            say("waiting for room on the Ray cluster")
            said = True


def cause_of(error: RayError) -> str:
    """Give the name of an error of Ray, and the last line of what it says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"[:300]
