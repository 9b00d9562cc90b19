"""Asking a judge so that one bad question, or one bad moment, costs no other question its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bayesbt.errors import BayesBTError
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Judge, Presentation, Verdict, VerdictBatch

TRIES = 2
"""How often a question is asked alone before it counts as failed."""

FAILURES_BEFORE_ANY_ANSWER = 3
FAILURES_IN_A_ROW = 20
"""So many questions that fail with no answer between them: the judge is at fault, not the questions."""


class JudgeFailedError(BayesBTError):
    """A judge that fails on every question it is asked. What was judged before is kept."""


def ask(judge: Judge, questions: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
    """Ask every question, and give out each answer as soon as it is known, each question once.

    Where the judge raises, what it has not answered is asked again by halves, down to single questions. One
    that fails alone :data:`TRIES` times gets an unscored verdict with the reason.

    Raises
    ------
    JudgeFailedError
        Where it fails on question after question. The failures since its last answer are not given out: they
        say nothing about the questions.
    BayesBTError
        Whatever the judge itself says about its settings or texts.
    """
    groups: list[list[int]] = [list(range(len(questions)))] if questions else []
    failures = _Failures(judge.name, len(questions))
    while groups:
        group = groups.pop()
        left = dict.fromkeys(group)
        problem = "the judge gave no answer"
        try:
            for batch in judge.verdicts([questions[place] for place in group], prompt):
                answers: VerdictBatch = []
                for place, verdict in batch:
                    if group[place] in left:
                        del left[group[place]]
                        answers.append((group[place], verdict))
                if answers:
                    yield failures.settled() + answers
        except BayesBTError:
            raise
        except Exception as error:  # a model can fail in any way
            problem = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
        if left:
            groups += failures.again(group, list(left), problem)
    if failures.held:
        yield failures.settled()


class _Failures:
    """What has failed since the last answer, and what is to be asked next."""

    def __init__(self, judge: str, total: int) -> None:
        self._judge, self._total = judge, total
        self._answered = self._probed = False
        self._tries: Counter[int] = Counter()
        self.held: VerdictBatch = []

    def settled(self) -> VerdictBatch:
        """Give out the failures that were held back: there is an answer now, or nothing more to ask."""
        self._answered = True
        held, self.held = self.held, []
        return held

    def again(self, group: list[int], left: list[int], problem: str) -> list[list[int]]:
        """Part what was left without an answer into groups, the last of which is asked first."""
        if len(group) == 1:
            self._tries[group[0]] += 1
            if self._tries[group[0]] < TRIES:
                return [group]
            self.held.append((group[0], Verdict.unscored(f"error: {problem}")))
            self._check(problem)
            return []
        if not self._answered and not self._probed and len(left) > FAILURES_BEFORE_ANY_ANSWER:
            self._probed = True  # is it the judge? three single questions tell
            single = [left[0], left[len(left) // 2], left[-1]]
            rest = [place for place in left if place not in single]
            return [rest, *([place] for place in single)]
        half = max(1, len(left) // 2)
        return [part for part in (left[half:], left[:half]) if part]

    def _check(self, problem: str) -> None:
        limit = FAILURES_IN_A_ROW if self._answered else FAILURES_BEFORE_ANY_ANSWER
        if len(self.held) >= limit and self._total > FAILURES_BEFORE_ANY_ANSWER:
            raise JudgeFailedError(
                f"judge {self._judge!r} fails on question after question ({len(self.held)} without an "
                f"answer between them), the last time with: {problem}. What was judged before is kept; mend "
                "that and run the same command again."
            )
