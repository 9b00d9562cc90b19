"""One judgment, one line: what a line holds, and how lines become a table."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence

import pandas as pd

from bayesbt.findings import Finding
from bayesbt.judges.draws import draw_outcome, uniform
from bayesbt.judges.journal import Line
from bayesbt.judges.protocol import Presentation, Verdict
from bayesbt.judges.resume import Making, key_of
from bayesbt.tables import Judgments

PROBABILITIES = ("p_a", "p_tie", "p_b", "p_other")


def judgment_lines(
    presentation: Presentation, verdict: Verdict, making: Making, runs: Sequence[int], attempt: int = 1
) -> list[Line]:
    """Make the lines of one presentation, one for each run.

    A verdict with probabilities gives each run a label drawn from them, at temperature 1; a written verdict
    is that of the one run which was asked. The line says which ``attempt`` it is where it is not the first.
    """
    key = key_of(presentation)
    lines = []
    for run in runs:
        number = uniform(making.seed, making.judge, making.prompt, *key, run)
        outcome = None if verdict.reason else verdict.outcome or draw_outcome(verdict, number)
        line: Line = {
            "item_a": presentation.item_a,
            "item_b": presentation.item_b,
            "outcome": outcome,
            "dimension": presentation.dimension,
            "topic": presentation.topic,
            "judge": making.judge,
            "prompt": making.prompt,
            "run": run,
        }
        for name in PROBABILITIES:
            value: float = getattr(verdict, name)
            line[name] = None if math.isnan(value) else value
        line |= {
            "reason": verdict.reason or None,
            "raw": verdict.raw or None,
            "pair_id": pair_id(presentation),
            "made_with": making.made_with(presentation),
        }
        if making.examples is not None:
            line["few_shot_example"] = making.examples.hold(presentation)
        if attempt > 1:
            line["attempt"] = attempt
        lines.append(line)
    return lines


def stored_verdict(line: Line) -> Verdict:
    """Give the verdict of a line that holds probabilities, or a reason for none."""
    p_a, p_tie, p_b, p_other = (
        math.nan if line[name] is None else float(line[name]) for name in PROBABILITIES
    )
    return Verdict(p_a, p_tie, p_b, p_other, line.get("raw") or "", line.get("reason") or "")


def pair_id(presentation: Presentation) -> str:
    """Name a pair independently of the order shown, the dimension and the run."""
    pair = [*sorted((presentation.item_a, presentation.item_b)), presentation.topic]
    return hashlib.sha256(json.dumps(pair).encode()).hexdigest()[:12]


def judgments_of(lines: Sequence[Line], source: str, findings: Sequence[Finding] = ()) -> Judgments:
    """Turn lines of a journal into a table."""
    frame = pd.DataFrame.from_records(lines)
    table = Judgments.from_frame(frame, outcomes="side", source=source)
    return Judgments(table.frame, table.source, (*findings, *table.findings))
