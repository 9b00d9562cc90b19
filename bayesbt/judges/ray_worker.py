"""The workers of a Ray cluster: what one does, how many there is room for, how they are hired and let go."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray

from bayesbt.errors import BayesBTError, InputError
from bayesbt.judges.asking import JudgeFailedError, ask
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Judge, Presentation, VerdictBatch
from bayesbt.judges.settings import Decode, RayOptions

MakeJudge = Callable[[], Judge]
"""Makes the judge where it is called, on a worker too."""


class RayClusterError(BayesBTError):
    """A Ray cluster that cannot be reached, has no room, or loses its workers again and again."""


@dataclass(frozen=True)
class About:
    """What a worker says of its judge. ``problem`` is what kept it from having one."""

    name: str = ""
    decode: Decode = "labels"
    fingerprint: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Reply:
    """The answers to a chunk: pairs of position and verdict.

    Where there is a ``problem`` some may be missing; ``final``: it lies in what the user asked for.
    """

    batch: VerdictBatch
    seconds: float
    problem: str = ""
    final: bool = False


class Worker:
    """Holds one copy of the model. Gives errors back as words: not every exception survives the journey."""

    def __init__(self, make: MakeJudge) -> None:
        self._make = make
        self._judge: Judge | None = None

    def about(self) -> About:
        """Make the judge, without its weights, and describe it."""
        try:
            self._judge = judge = self._make()
            return About(judge.name, judge.decode, judge.fingerprint)
        except Exception as error:  # anything can be amiss on a node
            return About(problem=_words(error))

    def answer(self, questions: Sequence[Presentation], prompt: Prompt) -> Reply:
        """Answer every question, so that one that fails costs no other its answer."""
        batch: VerdictBatch = []
        begun = time.perf_counter()
        problem, final = "", False
        try:
            judge = self._judge = self._judge or self._make()
            for part in ask(judge, questions, prompt):
                batch += part
        except JudgeFailedError as error:
            problem = _words(error)
        except BayesBTError as error:
            problem, final = _words(error), True
        except Exception as error:
            problem = _words(error)
        return Reply(batch, time.perf_counter() - begun, problem, final)


@dataclass
class Crew:
    """The workers of one judge.

    Attributes
    ----------
    joining : dict
        Workers that have not answered yet, by what they are waited for with.
    idle : list
        Workers without a task.
    """

    make: MakeJudge
    options: RayOptions
    joining: dict[Any, Any] = field(default_factory=dict)
    idle: list[Any] = field(default_factory=list)

    def hire(self) -> None:
        """Ask the cluster for one more worker; it joins when there is room."""
        actor = ray.remote(Worker).options(
            num_cpus=self.options.cpus,
            num_gpus=self.options.gpus,
            max_restarts=0,  # a new one is hired instead, wherever there is room
            scheduling_strategy="SPREAD",
        )
        worker: Any = actor.remote(self.make)
        self.joining[worker.about.remote()] = worker

    def dismiss_all(self) -> None:
        """Let everybody go."""
        for worker in (*self.joining.values(), *self.idle):
            dismiss(worker)
        self.joining.clear()
        self.idle.clear()


def dismiss(worker: Any) -> None:
    """End a worker, whatever it is doing."""
    ray.kill(worker)


def connect(options: RayOptions) -> bool:
    """Connect to the cluster, and say whether that was needed.

    Raises
    ------
    RayClusterError
        Where there is none at that address.
    """
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        _knock(options.address)
        try:
            ray.init(address=options.address, **quiet)
        except ConnectionError:
            if options.address != "auto":
                raise
            ray.init(address="local", include_dashboard=False, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        raise RayClusterError(
            f"no Ray cluster can be used at {options.address!r}: {_words(error)} Start one with `ray start "
            "--head`, give the host:port of its head, or leave the address out."
        ) from error
    return True


def room(options: RayOptions) -> int:
    """Count the workers that the cluster has room for, node by node.

    Raises
    ------
    RayClusterError
        Where that is none, and no number of workers was asked for (a cluster may grow for them).
    """
    number = 0
    said = []
    nodes: Callable[[], list[dict[str, Any]]] = ray.nodes
    for node in nodes():
        if not node["Alive"]:
            continue
        has = {name: float(node["Resources"].get(name, 0.0)) for name in ("CPU", "GPU")}
        wants = {"CPU": options.cpus, "GPU": options.gpus}
        number += min(int(has[name] // want) for name, want in wants.items() if want > 0)
        said.append(f"{has['CPU']:g} CPUs and {has['GPU']:g} GPUs")
    if options.workers is not None:
        return options.workers
    if number == 0:
        raise RayClusterError(
            f"no node of the cluster has room for a worker of {options.cpus:g} CPUs and {options.gpus:g} "
            f"GPUs: its nodes have {'; '.join(said)}. Lower --worker-cpus or --worker-gpus."
        )
    return number


def check_same(expected: About, found: About) -> None:
    """Raise an InputError where two workers would not give the same answers."""
    if expected.fingerprint != found.fingerprint or expected.decode != found.decode:
        raise InputError(
            f"the nodes of the cluster do not hold the same model under {expected.name!r} (weights, number "
            "format or way of asking differ), so their judgments cannot stand in one file."
        )


def _knock(address: str) -> None:
    """Raise an OSError where nobody listens; Ray itself would go on knocking for ten minutes."""
    host, colon, port = address.rpartition(":")
    if colon and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:400]
    return text if isinstance(error, BayesBTError) and text else f"{type(error).__name__}: {text}"
