"""Judging many pairs: asks what is not judged yet, draws the labels, writes each as soon as it is known."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from bayesbt.judges.backends import load_judge
from bayesbt.judges.console import judging_bar, say
from bayesbt.judges.draws import draw_outcome, uniform
from bayesbt.judges.journal import Journal, Line, open_journal
from bayesbt.judges.presenting import presentations_of
from bayesbt.judges.prompts import read_prompt
from bayesbt.judges.protocol import Judge, Presentation, Verdict
from bayesbt.judges.resume import Key, Making, judged_lines, key_of
from bayesbt.judges.settings import JudgeSettings
from bayesbt.tables import Finding, Items, Judgments, Pairs

__all__ = ["JudgeSettings", "judge", "judgment_lines", "judgments_of", "pair_id", "preview"]

_PROBABILITIES = ("p_a", "p_tie", "p_b", "p_other")


def judge(
    pairs: Pairs,
    items: Items,
    *,
    settings: JudgeSettings,
    output: str | Path,
    progress: bool = True,
    force: bool = False,
) -> Judgments:
    """Have a language model judge pairs, and append its judgments to a file as they are made.

    Called again after an interruption it goes on where it stopped: nothing is judged twice, and no line is
    lost or doubled. More ``runs`` than before are drawn from the stored probabilities without judging again.

    Parameters
    ----------
    pairs, items : Pairs, Items
        What to judge; every item needs a text.
    settings : JudgeSettings
        Judge, prompt, dimensions, runs, seed.
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
        Where ``output`` holds judgments made with another judge, prompt, text or seed.
    JournalError
        Where another process writes to ``output``, or the disk is full.
    """
    prompt = read_prompt(settings.prompt)
    presentations = presentations_of(pairs, items, prompt, settings.dimensions, settings.both_orders)
    judging = _judge_of(settings)
    dimensions = list(dict.fromkeys(presentation.dimension for presentation in presentations))
    making = Making.of(judging.name, judging.fingerprint, prompt, dimensions, settings.seed)
    path = Path(output)
    with open_journal(path, force=force) as journal:
        judged = judged_lines(journal.lines, presentations, making, path)
        lines = list(journal.lines)
        findings = _complete_runs(journal, lines, judged, presentations, making, settings.runs)
        pending = [presentation for presentation in presentations if key_of(presentation) not in judged]
        total, done = len(presentations), len(presentations) - len(pending)
        with judging_bar(judging.name, total, done, progress) as advance:
            for batch in judging.verdicts(pending, prompt) if pending else ():
                for place, verdict in batch:
                    new = judgment_lines(pending[place], verdict, making, range(1, settings.runs + 1))
                    journal.append(new)
                    lines += new
                advance(len(batch))
    findings += _unscored(lines)
    if progress:
        for finding in findings:
            say(finding.message)
    return judgments_of(lines, str(path), findings)


def preview(pairs: Pairs, items: Items, *, settings: JudgeSettings, limit: int = 1) -> Iterator[str]:
    """Render the first questions exactly as the judge would read them, without judging anything."""
    prompt = read_prompt(settings.prompt)
    judging = _judge_of(settings)
    presentations = presentations_of(pairs, items, prompt, settings.dimensions, settings.both_orders)
    for presentation in presentations[:limit]:
        yield judging.render(presentation, prompt)


def judgment_lines(
    presentation: Presentation, verdict: Verdict, making: Making, runs: Sequence[int]
) -> list[Line]:
    """Make the lines of one presentation: one label drawn for each run, at temperature 1."""
    key = key_of(presentation)
    lines = []
    for run in runs:
        number = uniform(making.seed, making.judge, making.prompt, *key, run)
        line: Line = {
            "item_a": presentation.item_a,
            "item_b": presentation.item_b,
            "outcome": None if verdict.reason else draw_outcome(verdict, number),
            "dimension": presentation.dimension,
            "topic": presentation.topic,
            "judge": making.judge,
            "prompt": making.prompt,
            "run": run,
        }
        for name in _PROBABILITIES:
            value: float = getattr(verdict, name)
            line[name] = None if math.isnan(value) else value
        line |= {
            "reason": verdict.reason or None,
            "raw": verdict.raw or None,
            "pair_id": pair_id(presentation),
            "made_with": making.made_with(presentation),
        }
        lines.append(line)
    return lines


def pair_id(presentation: Presentation) -> str:
    """Name a pair independently of the order shown, the dimension and the run."""
    pair = [*sorted((presentation.item_a, presentation.item_b)), presentation.topic]
    return hashlib.sha256(json.dumps(pair).encode()).hexdigest()[:12]


def judgments_of(lines: Sequence[Line], source: str, findings: Sequence[Finding] = ()) -> Judgments:
    """Turn lines of a journal into a table."""
    frame = pd.DataFrame.from_records(lines)
    table = Judgments.from_frame(frame, outcomes="side", source=source)
    return Judgments(table.frame, table.source, (*findings, *table.findings))


def _judge_of(settings: JudgeSettings) -> Judge:
    if isinstance(settings.judge, str | Path):
        return load_judge(settings.judge, settings.options)
    return settings.judge


def _complete_runs(
    journal: Journal,
    lines: list[Line],
    judged: dict[Key, dict[int, Line]],
    presentations: Sequence[Presentation],
    making: Making,
    runs: int,
) -> list[Finding]:
    """Draw the runs that judged presentations still lack, from their stored probabilities."""
    drawn = 0
    for presentation in presentations:
        present = judged.get(key_of(presentation))
        missing = [run for run in range(1, runs + 1) if run not in present] if present else []
        if present and missing:
            new = judgment_lines(presentation, _stored_verdict(present), making, missing)
            journal.append(new)
            lines += new
            drawn += len(new)
    findings = []
    if journal.repaired:
        message = (
            f"The last line of {journal.path} was torn by an interruption; its {journal.repaired:,} bytes "
            "were removed, and what it held is judged again."
        )
        findings.append(Finding("note", "torn-line-repaired", message))
    if drawn:
        message = f"{drawn:,} labels were drawn from probabilities that the file already held."
        findings.append(Finding("note", "runs-completed", message))
    return findings


def _unscored(lines: Sequence[Line]) -> list[Finding]:
    """Count the judgments without an answer, by reason."""
    reasons = Counter(line["reason"] for line in lines if line["outcome"] is None)
    if not reasons:
        return []
    reason, most = reasons.most_common(1)[0]
    message = (
        f"{reasons.total():,} of {len(lines):,} judgments have no answer and count for nothing; "
        f"the most frequent reason ({most:,}) is: {reason}."
    )
    return [Finding("warning", "unscored", message)]


def _stored_verdict(present: dict[int, Line]) -> Verdict:
    line = present[min(present)]
    p_a, p_tie, p_b, p_other = (
        math.nan if line[name] is None else float(line[name]) for name in _PROBABILITIES
    )
    return Verdict(p_a, p_tie, p_b, p_other, line.get("raw") or "", line.get("reason") or "")
