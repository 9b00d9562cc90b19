"""What became of every question: judged + unscored = asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bayesbt.errors import BayesBTError
from bayesbt.findings import Finding
from bayesbt.judges.journal import Line
from bayesbt.judges.lines import judgments_of
from bayesbt.judges.resume import attempt_of, key_of
from bayesbt.judges.series import Run
from bayesbt.tables import Judgments


class LostJudgmentsError(BayesBTError):
    """Judgments that were asked for and do not stand in the file."""


@dataclass(frozen=True)
class Failure:
    """A judgment without an answer."""

    judge: str
    prompt: str
    dimension: str
    item_a: str
    item_b: str
    run: int
    reason: str
    attempts: int


@dataclass(frozen=True)
class Account:
    """What became of what one judge was asked with one prompt; judged + unscored = asked."""

    judge: str
    prompt: str
    asked: int
    judged: int
    unscored: int


@dataclass(frozen=True)
class Judged:
    """The end of a judging.

    Attributes
    ----------
    judgments : Judgments
        All that stands in the file.
    accounts : tuple of Account
        One for each judge and prompt.
    failures : tuple of Failure
        Every judgment without an answer among those asked for.
    """

    judgments: Judgments
    accounts: tuple[Account, ...]
    failures: tuple[Failure, ...]

    @property
    def asked(self) -> int:
        """Judgments asked for: presentations times runs, over all judges and prompts."""
        return sum(account.asked for account in self.accounts)

    @property
    def judged(self) -> int:
        """Those that have a label."""
        return sum(account.judged for account in self.accounts)

    @property
    def unscored(self) -> int:
        """Those that have none."""
        return sum(account.unscored for account in self.accounts)

    def document(self) -> dict[str, Any]:
        """Give numbers and failures as JSON has them."""
        return {
            "asked": self.asked,
            "judged": self.judged,
            "unscored": self.unscored,
            "judges": [asdict(account) for account in self.accounts],
            "failures": [asdict(failure) for failure in self.failures],
        }


def account(lines: Sequence[Line], runs: Sequence[Run], path: Path, notes: Sequence[Finding]) -> Judged:
    """Count what became of every question that was asked.

    Raises
    ------
    LostJudgmentsError
        Where one does not stand in the file. That cannot happen, and is looked for nevertheless.
    """
    accounts: list[Account] = []
    failures: list[Failure] = []
    shown = 0
    for run in runs:
        keys = {key_of(presentation) for presentation in run.asked}
        own = [line for line in lines if (line["judge"], line["prompt"]) == run.making.series]
        own = [line for line in own if line["run"] <= run.settings.runs and _key(line) in keys]
        unscored = [line for line in own if line["outcome"] is None]
        asked = len(run.asked) * run.settings.runs
        if len(own) != asked:
            raise LostJudgmentsError(
                f"{path}: judge {run.making.judge!r} was asked for {asked:,} judgments, and {len(own):,} "
                "stand in the file. Run the same command again; what is missing is judged then."
            )
        accounts.append(Account(*run.making.series, asked, asked - len(unscored), len(unscored)))
        failures += [_failure(line) for line in unscored]
        shown += sum(bool(line.get("few_shot_example")) for line in own)
    findings = [*notes, *_example_notes(runs, shown), *_unscored(failures, accounts)]
    return Judged(judgments_of(lines, str(path), findings), tuple(accounts), tuple(failures))


def _key(line: Line) -> tuple[str, str, str, str]:
    return (line["item_a"], line["item_b"], line["dimension"], line.get("topic") or "")


def _failure(line: Line) -> Failure:
    names = ("judge", "prompt", "dimension", "item_a", "item_b", "run", "reason")
    return Failure(**{name: line[name] for name in names}, attempts=attempt_of(line))


def _example_notes(runs: Sequence[Run], shown: int) -> list[Finding]:
    missing = dict.fromkeys(
        said for run in runs if run.prompt.example for said in run.prompt.examples.missing
    )
    notes = [Finding("note", "few-shot-missing", said) for said in missing]
    if shown:
        message = (
            f"{shown:,} judgments are on pairs that their own prompt shows as examples, with their label "
            "(column few_shot_example). Leave them out of any comparison with people: --exclude-examples."
        )
        notes.append(Finding("warning", "few-shot-examples", message))
    return notes


def _unscored(failures: Sequence[Failure], accounts: Sequence[Account]) -> list[Finding]:
    """Count the judgments without an answer, by reason."""
    if not failures:
        return []
    reason, most = Counter(failure.reason for failure in failures).most_common(1)[0]
    asked = sum(account.asked for account in accounts)
    message = (
        f"{len(failures):,} of {asked:,} judgments have no answer and count for nothing; "
        f"the most frequent reason ({most:,}) is: {reason}."
    )
    return [Finding("warning", "unscored", message)]
