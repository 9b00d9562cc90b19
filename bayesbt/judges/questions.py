"""Presentations as a model reads them: tokens, cut where that is asked for, refused where they do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayesbt.judges.chat import ChatFormat, Encoded, ForgedMarkerError
from bayesbt.judges.labels import LabelPlan
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch
from bayesbt.judges.truncation import cut_to_fit

NOTHING_TO_READ = LabelPlan(((),), {})
"""Of a question that is answered by writing."""


@dataclass(frozen=True)
class Question:
    """A question in tokens.

    Attributes
    ----------
    seed : int
        Of what is written.
    note : str
        What was done to its texts; empty where nothing was.
    """

    encoded: Encoded
    seed: int = 0
    note: str = ""


@dataclass(frozen=True)
class QuestionReader:
    """Turns presentations into questions.

    Attributes
    ----------
    chat : ChatFormat
        Of the model.
    context : float
        Most tokens that the model takes.
    answer_tokens : int or None
        Room for the answer of a model that writes; None: labels are scored. A quarter of the context at most
        is kept for it.
    truncates : bool
        Cut texts that do not fit.
    """

    chat: ChatFormat
    context: float
    answer_tokens: int | None = None
    truncates: bool = False

    @property
    def longest(self) -> float:
        """Most tokens that a question may have."""
        if self.answer_tokens is None:
            return self.context
        return self.context - min(self.answer_tokens, self.context // 4)

    def read(
        self, presentations: Sequence[Presentation], places: Iterable[int], prompt: Prompt
    ) -> tuple[dict[int, Question], VerdictBatch]:
        """Read presentations at some places: questions by place, verdicts for what cannot be asked."""
        questions: dict[int, Question] = {}
        unscored: VerdictBatch = []
        for place in places:
            found = self._question(presentations[place], prompt)
            if isinstance(found, Verdict):
                unscored.append((place, found))
            else:
                questions[place] = found
        return questions, unscored

    def _question(self, presentation: Presentation, prompt: Prompt) -> Question | Verdict:
        note = ""
        try:
            encoded = self._encode(presentation, prompt)
            length = encoded.length
            if length > self.longest and self.truncates:
                cut, note = cut_to_fit(
                    self.chat, presentation, lambda one: self._encode(one, prompt).length <= self.longest
                )
                encoded = self._encode(cut, prompt)
        except ForgedMarkerError as error:
            return Verdict.unscored(f"error: {error}")
        if encoded.length > self.longest:
            room = "" if self.answer_tokens is None else f", {self.longest:.0f} where it is to write"
            return Verdict.unscored(
                f"error: the prompt has {length} tokens, the model takes {self.context:.0f}{room}"
            )
        return Question(encoded, presentation.seed, note)

    def _encode(self, presentation: Presentation, prompt: Prompt) -> Encoded:
        if self.answer_tokens is None:
            return self.chat.encode(presentation, prompt)
        return Encoded(self.chat.encode_context(presentation, prompt), NOTHING_TO_READ)
