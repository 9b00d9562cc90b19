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
from bayesbt.judges.draws import draw_outcome, uniform
from bayesbt.judges.parsing import read_verdict
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch
from bayesbt.judges.settings import BackendOptions, Decode

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
    decode : str
        ``generate``: it writes an answer, drawn from its probabilities with the question's seed; what they
        lack of one is the probability of an answer without a verdict.
    """

    table: Mapping[tuple[str, str, str], Probabilities]
    name: str = "scripted"
    batch: int = 1
    delay: float = 0.0
    decode: Decode = "labels"

    @property
    def fingerprint(self) -> str:
        """Sha256 of the table, and of the way of answering."""
        rows = sorted((*key, *map(repr, values)) for key, values in self.table.items())
        if self.decode == "generate":
            rows.append(("generate",))
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        """Look the presentations up in the order given."""
        for start in range(0, len(presentations), self.batch):
            chunk = presentations[start : start + self.batch]
            time.sleep(self.delay * len(chunk))
            yield [(start + place, self._answer(each, prompt)) for place, each in enumerate(chunk)]

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        """Give the two turns, one after the other."""
        messages = prompt.render(presentation)
        return f"{messages.system}\n\n{messages.user}"

    def tokens(self, presentation: Presentation, prompt: Prompt) -> int:
        """Count the words of a question; the table itself reads none of them."""
        return len(self.render(presentation, prompt).split())

    def computed_tokens(self, presentations: Sequence[Presentation], prompt: Prompt) -> int:
        """Count the words of all questions; nothing is shared."""
        return sum(self.tokens(presentation, prompt) for presentation in presentations)

    def _answer(self, presentation: Presentation, prompt: Prompt) -> Verdict:
        if self.decode == "generate":
            return self._written(presentation, prompt)
        return self._verdict(presentation)

    def _verdict(self, presentation: Presentation) -> Verdict:
        pair = (presentation.item_a, presentation.item_b)
        found = self.table.get((*pair, presentation.dimension)) or self.table.get((*pair, ""))
        if found is None:
            return Verdict.unscored(f"error: the table of {self.name!r} does not hold this pair")
        if any(math.isnan(value) for value in found):
            return Verdict.unscored(f"refusal: the table of {self.name!r} gives no probabilities")
        return Verdict.from_label_masses(*found)

    def _written(self, presentation: Presentation, prompt: Prompt) -> Verdict:
        """Write an answer, and read it as any other."""
        verdict = self._verdict(presentation)
        if verdict.reason:
            return verdict
        number = uniform("scripted", presentation.seed)
        if number < verdict.p_other:
            text = "I cannot decide."
        else:
            outcome = draw_outcome(verdict, (number - verdict.p_other) / (1 - verdict.p_other))
            text = f"Verdict: {prompt.labels[outcome]}"
        found = read_verdict(text, prompt.labels)
        return Verdict.written(found, text) if found else Verdict.unscored("parse: no verdict", text)


def load(document: JudgeDocument, options: BackendOptions) -> ScriptedJudge:
    """Read the table that a document names: CSV with item_a, item_b, p_a, p_tie, p_b, perhaps dimension."""
    if document.table is None:
        raise InputError(f"judge {document.name!r}: a scripted judge needs `table`, a CSV of probabilities.")
    decode: Decode = "generate" if options.decode == "generate" else "labels"
    return ScriptedJudge(_read_table(document.table), document.name, decode=decode)


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
