"""What a judging would cost, before anything is judged: questions, tokens, and time at a measured rate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bayesbt.errors import InputError
from bayesbt.judges.asking import ask
from bayesbt.judges.journal import read_lines
from bayesbt.judges.presenting import unreadable_reason
from bayesbt.judges.protocol import Presentation
from bayesbt.judges.resume import standing_lines
from bayesbt.judges.series import Run, prepare, release
from bayesbt.judges.settings import JudgeSettings
from bayesbt.judges.work import Work
from bayesbt.tables import Items, Pairs


@dataclass(frozen=True)
class Cost:
    """What one judge with one prompt would cost.

    Attributes
    ----------
    decode : str
        ``labels``: each presentation is read once, whatever the number of runs. ``generate``: once a run.
    pairs, presentations, judgments : int
        Pairs asked for, whatever their order; questions; labels, which are presentations times runs.
    present : int
        Judgments that the output holds already.
    questions : int
        What the judge would be asked now.
    tokens : int
        Of all these questions, each read in full.
    computed_tokens : int
        What is left to compute where beginnings that questions share are computed once.
    written_tokens : int
        Most tokens that the judge would write.
    measured : int
        Questions that were judged to measure the rate; 0: none were.
    questions_per_second, tokens_per_second : float or None
        The measured questions, and their computed tokens, over the time they took once the model was loaded.
    seconds : float or None
        For all questions: at the measured rate of computed tokens, or of questions where the judge writes.
    """

    judge: str
    prompt: str
    decode: str
    pairs: int
    presentations: int
    judgments: int
    present: int
    questions: int
    tokens: int
    computed_tokens: int
    written_tokens: int
    measured: int = 0
    questions_per_second: float | None = None
    tokens_per_second: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Plan:
    """The costs of a judging, one for each judge and prompt, and their sums."""

    costs: tuple[Cost, ...]

    @property
    def seconds(self) -> float | None:
        """For everything; None where a rate was not measured."""
        seconds = [cost.seconds for cost in self.costs]
        known = [value for value in seconds if value is not None]
        return sum(known) if len(known) == len(seconds) else None

    def document(self) -> dict[str, Any]:
        """Give the plan as JSON has it."""
        sums = ("judgments", "present", "questions", "tokens", "computed_tokens", "written_tokens")
        total: dict[str, Any] = {name: sum(getattr(cost, name) for cost in self.costs) for name in sums}
        return {"judges": [asdict(cost) for cost in self.costs], "total": total | {"seconds": self.seconds}}


def plan(
    pairs: Pairs,
    items: Items,
    *,
    settings: JudgeSettings | Sequence[JudgeSettings],
    output: str | Path | None = None,
    measure: int = 0,
) -> Plan:
    """Say what :func:`~bayesbt.judges.run.judge` would cost, without writing anything.

    Parameters
    ----------
    pairs, items, settings
        As for judging.
    output : str or Path, optional
        Where the judgments would go; what it holds already costs nothing.
    measure : int
        Judge so many of the questions, and keep nothing, to measure the rate. The model is loaded, and asked
        once, before the time runs.

    Raises
    ------
    InputError
        As for judging.
    """
    if measure < 0:
        raise InputError(f"--measure {measure} must be 0 or more.")
    runs = prepare(pairs, items, settings)
    path = None if output is None else Path(output)
    standing = standing_lines(read_lines(path), path) if path is not None and path.exists() else {}
    costs = []
    for place, run in enumerate(runs):
        work = Work.of(run, standing.get(run.making.series, []), path or Path("-"))
        costs.append(_cost(run, work, measure))
        if all(run.judge is not later.judge for later in runs[place + 1 :]):
            release(run.judge)
    return Plan(tuple(costs))


def _cost(run: Run, work: Work, measure: int) -> Cost:
    questions = [each.presentation for each in work.pending if not unreadable_reason(each.presentation)]
    waiting = sum(len(question.runs) for question in work.pending)
    judgments = len(run.asked) * run.settings.runs
    computed = run.judge.computed_tokens(questions, run.prompt)
    cost = Cost(
        judge=run.making.judge,
        prompt=run.making.prompt,
        decode=run.judge.decode,
        pairs=len({(frozenset((each.item_a, each.item_b)), each.topic) for each in run.asked}),
        presentations=len(run.asked),
        judgments=judgments,
        present=max(0, judgments - waiting),
        questions=len(questions),
        tokens=sum(run.judge.tokens(question, run.prompt) for question in questions),
        computed_tokens=computed,
        written_tokens=len(questions) * run.settings.options.max_new_tokens if run.writes else 0,
    )
    return _measured(run, questions, cost, measure) if measure and questions else cost


def _measured(run: Run, questions: Sequence[Presentation], cost: Cost, measure: int) -> Cost:
    """Judge questions from the middle of the list, one after the other as they stand there."""
    number = min(measure, len(questions))
    start = (len(questions) - number) // 2
    sample = questions[start : start + number]
    for _ in ask(run.judge, sample[:1], run.prompt):
        pass  # loads the model
    begun = time.perf_counter()
    for _ in ask(run.judge, sample, run.prompt):
        pass
    elapsed = max(time.perf_counter() - begun, 1e-9)
    computed = run.judge.computed_tokens(sample, run.prompt)
    share = number / len(questions) if run.writes or not computed else computed / cost.computed_tokens
    return replace(
        cost,
        measured=number,
        questions_per_second=number / elapsed,
        tokens_per_second=computed / elapsed,
        seconds=elapsed / share,
    )
