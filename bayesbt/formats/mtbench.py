"""MT-Bench (Zheng et al. 2023): pairwise judgments of people and models, as FastChat has them.

Two shapes: the published table with ``model_a, model_b, winner``, and FastChat's own output, whose records
hold a verdict for each order (``g1_winner``: model_1 was shown first, ``g2_winner``: model_2 was).
The question is the topic, the turn the dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesbt.columns import as_text
from bayesbt.errors import InputError
from bayesbt.findings import Finding
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.formats.verdicts import (
    Words,
    nested_columns,
    nested_finding,
    read_verdicts,
    stacked,
    unscored_finding,
    with_findings,
)

INCONSISTENT = "tie (inconsistent)"
TIES = dict.fromkeys(("tie", INCONSISTENT, "tie (bothbad)"), "tie")
UNSCORED = {"error": "error"}
PUBLISHED = {"model_a", "model_b", "winner"}
GAMES = {"model_1", "model_2", "g1_winner", "g2_winner"}
TAKEN = PUBLISHED | GAMES | {"question_id", "judge", "turn"}


def _sniff(source: Source) -> bool:
    columns = set(source.columns)
    known = {"question_id", "judge", "turn"} <= columns and "anony" not in columns
    return known and (columns >= PUBLISHED or columns >= GAMES)


def _read(source: Source, options: ReadOptions) -> Imported:
    frame = source.frame.reset_index(drop=True)
    columns = set(map(str, frame.columns))
    if "question_id" not in columns or not (columns >= PUBLISHED or columns >= GAMES):
        raise InputError(
            f"{source.name}: the columns question_id and model_a, model_b, winner are needed (or model_1, "
            f"model_2, g1_winner, g2_winner). The columns are: {', '.join(map(str, frame.columns))}."
        )
    if columns >= GAMES:
        games = [("model_1", "model_2", "g1_winner"), ("model_2", "model_1", "g2_winner")]
    else:
        games = [("model_a", "model_b", "winner")]
    shared = _shared(frame)
    parts = []
    for first, second, winner in games:
        words = Words({first: "a", second: "b", **TIES}, UNSCORED).with_options(options)
        verdicts = read_verdicts(frame[winner], words, f"{source.name}, column {winner!r}")
        items = pd.DataFrame({"item_a": frame[first], "item_b": frame[second]})
        parts.append(pd.concat([items, shared, verdicts], axis=1))
    judgments = stacked(parts, options, source.name)
    found = [
        *_inconsistent(frame),
        *nested_finding(nested_columns(frame.drop(columns="judge", errors="ignore"))),
    ]
    return Imported(with_findings(judgments, [*unscored_finding(judgments), *found]))


def _shared(frame: pd.DataFrame) -> pd.DataFrame:
    """Give what both games of a row have in common."""
    question = frame["question_id"]
    data: dict[str, Any] = {"topic": question, "number": np.arange(1, len(frame) + 1)}
    data["pair_id"] = question
    if "turn" in frame:
        known = frame["turn"].notna()
        data["dimension"] = ("turn " + frame["turn"].map(as_text)).where(known, None)
    if "judge" in frame:
        data["judge"] = frame["judge"].map(_judge)
    return pd.DataFrame(data)


def _judge(cell: Any) -> Any:
    """Name a judge: FastChat gives a model and the name of its prompt."""
    return "/".join(map(str, cell)) if isinstance(cell, list | tuple | np.ndarray) else cell


def _inconsistent(frame: pd.DataFrame) -> list[Finding]:
    rows = (
        () if "winner" not in frame else tuple((np.flatnonzero(frame["winner"] == INCONSISTENT) + 1).tolist())
    )
    if not rows:
        return []
    message = (
        f"{len(rows):,} rows are {INCONSISTENT!r}: the judge named another winner when the order "
        "changed. They are read as ties, which hides the order effect; the file with both verdicts shows it."
    )
    return [Finding("warning", "tie-inconsistent", message, rows)]


READER = Reader("mtbench", "MT-Bench's judgments: question_id, model_a, model_b, winner, turn", _sniff, _read)
