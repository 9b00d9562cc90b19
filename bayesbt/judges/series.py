"""One judge with one prompt: what it is asked, and how its judgments are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bayesbt.errors import InputError
from bayesbt.judges.backends import load_distributed, load_judge
from bayesbt.judges.draws import seed_of
from bayesbt.judges.journal import Line
from bayesbt.judges.presenting import presentations_of
from bayesbt.judges.prompts import Prompt, read_prompt
from bayesbt.judges.protocol import Judge, Presentation
from bayesbt.judges.resume import Making, attempt_of, failed, key_of
from bayesbt.judges.settings import BackendOptions, JudgeSettings
from bayesbt.tables import Items, Pairs


@dataclass(frozen=True)
class Run:
    """A judge, a prompt, and every presentation that is to be judged.

    Attributes
    ----------
    asked : tuple of Presentation
        Each once, whatever the number of runs.
    making : Making
        What its lines are told apart by.
    """

    settings: JudgeSettings
    judge: Judge
    prompt: Prompt
    asked: tuple[Presentation, ...]
    making: Making

    @property
    def writes(self) -> bool:
        """Whether the judge is asked once a run, and writes its answer."""
        return self.judge.decode == "generate"

    @property
    def questions(self) -> int:
        """How many questions the judge is asked in all."""
        return len(self.asked) * (self.settings.runs if self.writes else 1)

    def written(self, presentation: Presentation, run: int, attempt: int = 1) -> Presentation:
        """Give the question for one run of a judge that writes. Another attempt has another seed."""
        key = (self.settings.seed, *self.making.series, *key_of(presentation), run)
        seed = seed_of(*key, attempt) if attempt > 1 else seed_of(*key)
        return replace(presentation, run=run, seed=seed)

    def may_retry(self, line: Line) -> bool:
        """Whether the question of a line without an answer may be asked again."""
        if line["outcome"] is not None or attempt_of(line) >= self.settings.attempts:
            return False
        return failed(line) or self.settings.retry_failed


def prepare(pairs: Pairs, items: Items, settings: JudgeSettings | Sequence[JudgeSettings]) -> list[Run]:
    """Load every prompt and judge, and list every question, before anything is asked. Weights load later.

    Raises
    ------
    InputError
        For two judges of one name with prompts of one name, a way of answering that does not suit the prompt,
        or what :func:`~bayesbt.judges.presenting.presentations_of` refuses.
    """
    wanted = [settings] if isinstance(settings, JudgeSettings) else list(settings)
    judges: dict[object, Judge] = {}
    runs: list[Run] = []
    for each in wanted:
        prompt = read_prompt(each.prompt)
        prompt = prompt.with_examples(each.examples if prompt.example is not None else None)
        asked = presentations_of(pairs, items, prompt, each.dimensions, each.both_orders, each.unreadable)
        if each.exclude_examples and prompt.example is not None:
            asked = [presentation for presentation in asked if not prompt.examples.hold(presentation)]
            if not asked:
                raise InputError(f"{pairs.source}: every pair is an example; there is nothing left to judge.")
        options = _options(each.options, prompt)
        key = (str(each.judge) if isinstance(each.judge, str | Path) else id(each.judge), options, each.ray)
        judge = judges[key] = judges.get(key) or _judge(each, options)
        if prompt.answer == "reasoning" and judge.decode == "labels":
            raise InputError(_reasoning(prompt.name, f"judge {judge.name!r} gives probabilities of labels"))
        making = Making.of(judge.name, judge.fingerprint, prompt, asked, each.seed)
        if making.series in {run.making.series for run in runs}:
            raise InputError(
                f"judge {judge.name!r} with prompt {prompt.name!r} stands there twice. Judges and prompts "
                "are told apart by name in the judgments: give each once, and each a name of its own."
            )
        runs.append(Run(each, judge, prompt, tuple(asked), making))
    return runs


def release(judge: Judge) -> None:
    """Let go of what a judge holds (memory, workers), where it offers to; it is not asked any more."""
    close = getattr(judge, "close", None)
    if close is not None:
        close()


def _options(options: BackendOptions, prompt: Prompt) -> BackendOptions:
    """Settle how a prompt that asks for written reasoning is answered."""
    if prompt.answer != "reasoning" or options.decode == "generate":
        return options
    if options.decode == "labels":
        raise InputError(_reasoning(prompt.name, "--decode labels reads the probability of a label at once"))
    return replace(options, decode="generate")


def _reasoning(prompt: str, but: str) -> str:
    return (
        f"prompt {prompt!r} has the judge write its reasoning before its verdict, but {but}. Use --decode "
        "generate, or a prompt that asks for a label."
    )


def _judge(settings: JudgeSettings, options: BackendOptions) -> Judge:
    if isinstance(settings.judge, str | Path):
        if settings.ray is None:
            return load_judge(settings.judge, options)
        return load_distributed(settings.judge, options, settings.ray)
    if settings.ray is not None:
        raise InputError("a judge object cannot be sent to a Ray cluster: give the name of its document.")
    return settings.judge
