"""A judge that answers from a table of probabilities: for tests, and for replaying another's answers."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bayesbt.errors import InputError
from bayesbt.judges.documents import JudgeDocument
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch
from bayesbt.judges.settings import BackendOptions

Probabilities = tuple[float, float, float]
_COLUMNS = ("item_a", "item_b", "p_a", "p_tie", "p_b")


@dataclass(frozen=True)
class ScriptedJudge:
    """Answers with ``table[item_a, item_b, dimension]``, else with ``table[item_a, item_b, ""]``.

    Attributes
    ----------
    table : mapping
        Probabilities of (a, tie, b); what they lack of one is ``p_other``. A presentation that the table does
        not know, and one whose probabilities are NaN, stays unscored.
    name : str
        As in the ``judge`` column.
    batch : int
        Answers given out at a time.
    delay : float
        Seconds spent on each presentation.
    """

    table: Mapping[tuple[str, str, str], Probabilities]
    name: str = "scripted"
    batch: int = 1
    delay: float = 0.0

    @property
    def fingerprint(self) -> str:
        """Sha256 of the table."""
        rows = sorted((*key, *map(repr, values)) for key, values in self.table.items())
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        """Look the presentations up in the order given."""
        for start in range(0, len(presentations), self.batch):
            chunk = presentations[start : start + self.batch]
            time.sleep(self.delay * len(chunk))
            yield [(start + place, self._verdict(presentation)) for place, presentation in enumerate(chunk)]

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        """Give the two turns, one after the other."""
        messages = prompt.render(presentation)
        return f"{messages.system}\n\n{messages.user}"

    def _verdict(self, presentation: Presentation) -> Verdict:
        pair = (presentation.item_a, presentation.item_b)
        found = self.table.get((*pair, presentation.dimension)) or self.table.get((*pair, ""))
        if found is None:
            return Verdict.unscored(f"error: the table of {self.name!r} does not hold this pair")
        if any(math.isnan(value) for value in found):
            return Verdict.unscored(f"refusal: the table of {self.name!r} gives no probabilities")
        return Verdict.from_label_masses(*found)


def load(document: JudgeDocument, options: BackendOptions) -> ScriptedJudge:
    """Read the table that a document names: CSV with item_a, item_b, p_a, p_tie, p_b, perhaps dimension."""
    if document.table is None:
        raise InputError(f"judge {document.name!r}: a scripted judge needs `table`, a CSV of probabilities.")
    return ScriptedJudge(_read_table(document.table), document.name)


def _read_table(path: Path) -> dict[tuple[str, str, str], Probabilities]:
    texts = dict.fromkeys(("item_a", "item_b", "dimension"), str)
    try:
        frame = pd.read_csv(
            path, dtype=texts, keep_default_na=False, na_values={c: [""] for c in _COLUMNS[2:]}
        )
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a CSV table of probabilities: {error}") from error
    missing = [column for column in _COLUMNS if column not in frame]
    if missing:
        raise InputError(f"{path}: no column {', '.join(missing)}. Needed: {', '.join(_COLUMNS)}.")
    dimensions = frame["dimension"] if "dimension" in frame else pd.Series("", index=frame.index)
    table: dict[tuple[str, str, str], Probabilities] = {}
    columns = (frame["item_a"], frame["item_b"], dimensions, frame["p_a"], frame["p_tie"], frame["p_b"])
    for row, (item_a, item_b, dimension, *values) in enumerate(zip(*columns, strict=True), start=1):
        p_a, p_tie, p_b = (float(value) for value in values)
        if min(p_a, p_tie, p_b) < 0 or p_a + p_tie + p_b > 1 + 1e-9:
            raise InputError(
                f"{path}: row {row}: {p_a}, {p_tie}, {p_b} must be 0 or more and sum to at most 1."
            )
        if (item_a, item_b, dimension) in table:
            raise InputError(
                f"{path}: row {row}: the pair {item_a!r}, {item_b!r} {dimension} stands there twice."
            )
        table[item_a, item_b, dimension] = (p_a, p_tie, p_b)
    return table
