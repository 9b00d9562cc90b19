"""The same judge on a Ray cluster: workers that each hold a copy of the model, and a driver that shares out.

The driver parts the questions into chunks, hands them to the workers and gives the answers out as they come
back, so that one process writes the file, as without Ray. A worker that dies, alone or with its node, costs
no judgment: its chunk goes to another, and a new worker takes its place where the cluster has room.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import ray
from ray.exceptions import RayError

from bayesbt.errors import InputError
from bayesbt.judges.backends import load_judge
from bayesbt.judges.documents import JudgeDocument
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Judge, Presentation, VerdictBatch
from bayesbt.judges.ray_shift import Shift, cause_of, wait_for_one
from bayesbt.judges.ray_worker import About, Crew, MakeJudge, RayClusterError, connect, dismiss, room
from bayesbt.judges.settings import BackendOptions, Decode, RayOptions

FIRST_WORKERS = 3
"""So many may die before one says what judge they have; of a cluster that cannot run it all will."""


class RayJudge:
    """A judge whose questions are answered by the workers of a Ray cluster.

    Fingerprint, way of answering and answers are those of the judge on the workers, and the same as without
    Ray. Nothing is connected before it is needed.

    Parameters
    ----------
    make : callable
        Makes the judge; is sent to the workers.
    options : RayOptions
        Which cluster, how many workers, and what each of them takes.
    """

    def __init__(self, make: MakeJudge, options: RayOptions) -> None:
        self._make = make
        self._options = options
        self._crew: Crew | None = None
        self._connected = False
        self._first: About | None = None

    @property
    def name(self) -> str:
        """As in the ``judge`` column."""
        return self._about.name

    @property
    def decode(self) -> Decode:
        """As the judge on the workers says."""
        return self._about.decode

    @property
    def fingerprint(self) -> str:
        """That of the judge on the workers, whose device settles the number format."""
        return self._about.fingerprint

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        """Give the exact text that the judge would read."""
        return self._here.render(presentation, prompt)

    def tokens(self, presentation: Presentation, prompt: Prompt) -> int:
        """Count the tokens of a question as it stands."""
        return self._here.tokens(presentation, prompt)

    def computed_tokens(self, presentations: Sequence[Presentation], prompt: Prompt) -> int:
        """Count the tokens that answering these questions would compute on one worker."""
        return self._here.computed_tokens(presentations, prompt)

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        """Answer chunk after chunk, and give out each as soon as it is back.

        Raises
        ------
        RayClusterError
            Where the cluster has no room, or loses one worker after another.
        BayesBTError
            Whatever the judge says about its settings or texts.
        """
        shift = Shift(self._open(), self._about, presentations, ray.put(prompt))
        try:
            yield from shift.work()
        finally:
            if shift.busy:  # interrupted: nobody waits for those answers
                shift.abandon()
                self.close()

    def close(self) -> None:
        """Let the workers go, and leave the cluster. They are hired again where they are needed again."""
        if self._crew is not None:
            self._crew.dismiss_all()
            self._crew = None
        if self._connected:
            ray.shutdown()
            self._connected = False

    @functools.cached_property
    def _here(self) -> Judge:
        return self._make()

    @property
    def _about(self) -> About:
        """What the first worker says, kept when the workers are gone."""
        if self._first is None:
            self._first = self._ask_first()
        return self._first

    def _ask_first(self) -> About:
        crew = self._open()
        problem = ""
        for _ in range(FIRST_WORKERS):
            ready = wait_for_one(list(crew.joining), busy=False, options=self._options)
            worker = crew.joining.pop(ready)
            try:
                about: About = ray.get(ready)
            except RayError as error:  # its node may have died; a new worker starts elsewhere
                problem = cause_of(error)
                dismiss(worker)
                crew.hire()
                continue
            if not about.problem:
                crew.idle.append(worker)
                return about
            problem = about.problem
            dismiss(worker)
            break
        self.close()
        raise RayClusterError(f"the judge cannot be made on a worker: {problem}")

    def _open(self) -> Crew:
        if self._crew is None:
            self._connected = connect(self._options)
            self._crew = Crew(self._make, self._options)
            for _ in range(room(self._options)):
                self._crew.hire()
        return self._crew


def distribute(document: JudgeDocument, options: BackendOptions, ray: RayOptions) -> RayJudge:
    """Make the judge of a document on a Ray cluster.

    Raises
    ------
    InputError
        For a served model: it needs no workers.
    """
    if document.backend == "openai":
        raise InputError("--engine ray: a served model is asked from here. Raise --concurrency instead.")
    if options.device == "auto" and ray.gpus == 0:
        options = replace(options, device="cpu")  # a GPU that was not asked for belongs to others
    return RayJudge(functools.partial(load_judge, document, options), ray)
