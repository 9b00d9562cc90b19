"""What one judge has still to do with one prompt, and the doing of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bayesbt.judges.asking import ask
from bayesbt.judges.console import judging_bar
from bayesbt.judges.journal import Journal, Line
from bayesbt.judges.lines import judgment_lines, stored_verdict
from bayesbt.judges.presenting import unreadable_reason
from bayesbt.judges.protocol import Presentation, Verdict
from bayesbt.judges.resume import Key, Numbered, attempt_of, judged_lines, key_of
from bayesbt.judges.series import Run


@dataclass(frozen=True)
class Question:
    """What is to be asked: a presentation, for which runs, and how often it was asked before."""

    presentation: Presentation
    runs: tuple[int, ...]
    attempt: int


@dataclass
class Work:
    """What one judge has to do with one prompt."""

    run: Run
    judged: dict[Key, dict[int, Line]]
    pending: list[Question]

    @classmethod
    def of(cls, run: Run, own: Numbered, path: Path) -> Work:
        """Find what is not judged, or may be asked again, beside the judge's own lines in a journal.

        Raises
        ------
        MixedRunsError
            Where those were made in another way.
        """
        judged, mended = judged_lines(own, run.asked, run.making, path)
        pending: list[Question] = []
        for presentation in run.asked:
            key = key_of(presentation)
            present = judged.get(key, {})
            again = {
                number: attempt_of(line) + 1
                for number, line in present.items()
                if (key, number) in mended or run.may_retry(line)
            }
            if (reason := unreadable_reason(presentation)) is not None:
                again = {number: n for number, n in again.items() if present[number]["reason"] != reason}
            wanted = range(1, run.settings.runs + 1)
            if not run.writes:
                if not present or again:
                    lacking = {*again, *(number for number in wanted if number not in present)}
                    pending.append(
                        Question(presentation, tuple(sorted(lacking)), max(again.values(), default=1))
                    )
            else:
                pending += [
                    Question(run.written(presentation, number, attempt), (number,), attempt)
                    for number in wanted
                    for attempt in [again.get(number, 1)]
                    if number not in present or number in again
                ]
        return cls(run, judged, pending)

    def complete_runs(self, journal: Journal) -> int:
        """Draw the runs that judged presentations still lack from their stored probabilities."""
        if self.run.writes:
            return 0
        drawn = 0
        waiting = {key_of(question.presentation) for question in self.pending}
        for presentation in self.run.asked:
            key = key_of(presentation)
            present = self.judged.get(key, {})
            missing = [number for number in range(1, self.run.settings.runs + 1) if number not in present]
            if present and missing and key not in waiting:
                line = present[min(present)]
                new = judgment_lines(
                    presentation, stored_verdict(line), self.run.making, missing, attempt_of(line)
                )
                journal.append(new)
                drawn += len(new)
        return drawn

    def ask_pending(self, journal: Journal, progress: bool) -> None:
        """Ask, and write each answer as soon as it is known."""
        run, total = self.run, self.run.questions
        with judging_bar(run.making.judge, total, total - len(self.pending), progress) as advance:
            for place, verdict in self._answers():
                question = self.pending[place]
                journal.append(
                    judgment_lines(
                        question.presentation, verdict, run.making, question.runs, question.attempt
                    )
                )
                advance(1)

    def _answers(self) -> Iterator[tuple[int, Verdict]]:
        reasons = [unreadable_reason(question.presentation) for question in self.pending]
        for place, reason in enumerate(reasons):
            if reason:
                yield place, Verdict.unscored(reason)
        places = [place for place, reason in enumerate(reasons) if not reason]
        questions = [self.pending[place].presentation for place in places]
        for batch in ask(self.run.judge, questions, self.run.prompt):
            yield from ((places[place], verdict) for place, verdict in batch)
