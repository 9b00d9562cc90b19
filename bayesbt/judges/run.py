"""Judging many pairs: asks what is not judged yet, draws the labels, writes each as soon as it is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bayesbt.judges.accounting import Judged, account
from bayesbt.judges.console import say
from bayesbt.judges.journal import Journal, open_journal
from bayesbt.judges.lines import judgment_lines, judgments_of, pair_id
from bayesbt.judges.resume import Numbered, Series, attempt_of, standing_lines
from bayesbt.judges.series import prepare, release
from bayesbt.judges.settings import JudgeSettings
from bayesbt.judges.work import Work
from bayesbt.tables import Finding, Items, Judgments, Pairs

__all__ = ["JudgeSettings", "judge", "judge_all", "judgment_lines", "judgments_of", "pair_id", "preview"]


def judge(
    pairs: Pairs,
    items: Items,
    *,
    settings: JudgeSettings | Sequence[JudgeSettings],
    output: str | Path,
    progress: bool = True,
    force: bool = False,
) -> Judgments:
    """Have language models judge pairs, and append their judgments to a file as they are made.

    Called again after an interruption it goes on where it stopped: nothing is judged twice, and no line is
    lost or doubled. More ``runs`` than before are drawn from the stored probabilities without judging again,
    where there are probabilities. What failed with an error is asked again, a limited number of times.

    Parameters
    ----------
    pairs, items : Pairs, Items
        What to judge; every item needs a text.
    settings : JudgeSettings or sequence of JudgeSettings
        Judge, prompt, dimensions, runs, seed; several of them judge one after the other into the same file.
    output : str or Path
        A ``.jsonl`` file, one judgment a line.
    progress : bool
        Show a bar on stderr, where that is a terminal.
    force : bool
        Drop what ``output`` holds.

    Returns
    -------
    Judgments
        All that stands in ``output`` at the end. What the model could not answer has no outcome but a reason.

    Raises
    ------
    MixedRunsError
        Where ``output`` holds judgments of the same judge and prompt that were made with another model,
        prompt, text or seed.
    JournalError
        Where another process writes to ``output``, or the disk is full.
    JudgeFailedError
        Where a judge fails on question after question.
    """
    return judge_all(pairs, items, settings=settings, output=output, progress=progress, force=force).judgments


def judge_all(
    pairs: Pairs,
    items: Items,
    *,
    settings: JudgeSettings | Sequence[JudgeSettings],
    output: str | Path,
    progress: bool = True,
    force: bool = False,
) -> Judged:
    """As :func:`judge`, and say what became of every question that was asked.

    Returns
    -------
    Judged
        The judgments, and the numbers asked, judged and unscored, where judged + unscored = asked.
    """
    runs = prepare(pairs, items, settings)
    path = Path(output)
    with open_journal(path, force=force) as journal:
        notes = _repaired(journal)
        standing = _drop_replaced(journal)
        works = [Work.of(run, standing.get(run.making.series, []), path) for run in runs]
        drawn = sum(work.complete_runs(journal) for work in works)
        if drawn:
            message = f"{drawn:,} labels were drawn from probabilities that the file already held."
            notes.append(Finding("note", "runs-completed", message))
        for place, work in enumerate(works):
            work.ask_pending(journal, progress)
            if all(work.run.judge is not later.run.judge for later in works[place + 1 :]):
                release(work.run.judge)
        if any(attempt_of(line) > 1 for line in journal.lines):
            _drop_replaced(journal)
        judged = account(journal.lines, runs, path, notes)
    if progress:
        for finding in judged.judgments.findings:
            say(finding.message)
    return judged


def preview(pairs: Pairs, items: Items, *, settings: JudgeSettings, limit: int = 1) -> Iterator[str]:
    """Render the first questions exactly as the judge would read them, without judging anything."""
    for run in prepare(pairs, items, settings):
        for presentation in run.asked[:limit]:
            yield run.judge.render(presentation, run.prompt)


def _repaired(journal: Journal) -> list[Finding]:
    if not journal.repaired:
        return []
    message = (
        f"The last line of {journal.path} was torn by an interruption; its {journal.repaired:,} bytes "
        "were removed, and what it held is judged again."
    )
    return [Finding("note", "torn-line-repaired", message)]


def _drop_replaced(journal: Journal) -> dict[Series, Numbered]:
    """Give the lines that stand, and take out of the file those that were asked again."""
    standing = standing_lines(journal.lines, journal.path)
    numbered = sorted((entry for own in standing.values() for entry in own), key=lambda entry: entry[0])
    if len(numbered) < len(journal.lines):
        journal.rewrite([line for _, line in numbered])
    return standing
