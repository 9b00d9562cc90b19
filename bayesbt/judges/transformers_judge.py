"""A judge that runs here: a causal language model of the transformers library."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from transformers import AutoTokenizer

from bayesbt.judges.batching import reading_order
from bayesbt.judges.chat import ChatFormat
from bayesbt.judges.documents import JudgeDocument
from bayesbt.judges.generation import Budgets, Opening, Outcome, write_plain, write_shared
from bayesbt.judges.loading import load_model, locate, pick_device, pick_dtype, read_config
from bayesbt.judges.memory import TokenBudget
from bayesbt.judges.parsing import read_verdict
from bayesbt.judges.passes import Passes, scales_with_length, sharing_limit
from bayesbt.judges.prefix_tree import Layout
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch
from bayesbt.judges.questions import Question, QuestionReader
from bayesbt.judges.scoring import score_plain, score_shared, tree_of
from bayesbt.judges.settings import BackendOptions, Decode

WINDOW = 4096
"""Questions that are tokenised and laid out at a time."""


@dataclass(frozen=True)
class Tuning:
    """What suits a kind of device.

    Attributes
    ----------
    batch_tokens : int
        Of one pass, padding included.
    writing_tokens : int
        That the rows being written hold together, for this ``batch_tokens``.
    layout : Layout
        Of rows.
    """

    batch_tokens: int
    writing_tokens: int
    layout: Layout


TUNING = {
    "cpu": Tuning(512, 8192, Layout(width=512, pass_cost=32)),
    "cuda": Tuning(16384, 131_072, Layout(width=512, pass_cost=1024)),
}
"""For processors the fastest of what ``benchmarks/judge.py`` was tried with; for accelerators a guess."""


class TransformersJudge:
    """A causal language model of the transformers library, asked for labels or for written answers.

    The tokenizer loads at once, the weights when the first presentation is judged.

    Parameters
    ----------
    document : JudgeDocument
        Which model, and its peculiarities.
    options : BackendOptions
        Device, number format, batch size, way of answering.
    """

    def __init__(self, document: JudgeDocument, options: BackendOptions) -> None:
        self._document = document
        self._options = options
        self._device = pick_device(options.device)
        self._dtype = pick_dtype(document, options, self._device)
        self._place = locate(document)
        self._config = read_config(document, self._place)
        tokenizer = AutoTokenizer.from_pretrained(self._place.source, revision=self._place.revision)
        self._chat = ChatFormat(tokenizer, document.system_role, document.label_prefix)
        own = getattr(self._config.get_text_config(), "max_position_embeddings", None) or math.inf
        self._reader = QuestionReader(
            self._chat,
            min(own, document.context or math.inf),
            options.max_new_tokens if self.decode == "generate" else None,
            options.over_long == "truncate",
        )
        tuning = TUNING.get(self._device.type, TUNING["cuda"])
        self._layout = tuning.layout
        self._batch_tokens = options.batch_tokens or tuning.batch_tokens
        self._writing_tokens = self._batch_tokens * tuning.writing_tokens // tuning.batch_tokens

    @property
    def name(self) -> str:
        """As in the ``judge`` column."""
        return self._document.name

    @property
    def decode(self) -> Decode:
        """``labels`` unless asked to write."""
        return "generate" if self._options.decode == "generate" else "labels"

    @property
    def fingerprint(self) -> str:
        """Sha256 over the weights' identity, the number format and the way of asking."""
        parts: dict[str, object] = {
            "weights": self._place.content or getattr(self._config, "_commit_hash", None),
            "dtype": str(self._dtype),
            "folds_system": self._chat.folds_system,
            "label_prefix": self._chat.label_prefix,
            "context": str(self._reader.context),
            "decode": self.decode,
        }
        if self.decode == "generate":
            parts["max_new_tokens"] = self._options.max_new_tokens
        if self._options.over_long != "error":
            parts["over_long"] = self._options.over_long
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        """Give the exact text that the model reads, up to where the label begins."""
        return self._chat.render(presentation, prompt)

    def tokens(self, presentation: Presentation, prompt: Prompt) -> int:
        """Count the tokens of a question as it stands, without its answer."""
        return self._chat.count(presentation, prompt)

    def computed_tokens(self, presentations: Sequence[Presentation], prompt: Prompt) -> int:
        """Count the tokens that reading these questions would compute, padding left out.

        What questions share counts as often as it is computed. The weights are not loaded, so it is taken for
        granted that the model can share; what it writes comes on top. A question that cannot be asked costs
        nothing.
        """
        total = 0
        for window in _windows(presentations):
            questions, _ = self._reader.read(presentations, window, prompt)
            shared, alone = self._parted(questions, self._sharing_limit)
            total += tree_of([question.encoded for question in shared.values()], self._layout).computed()
            for question in alone.values():
                rows = question.encoded.plan.suffixes
                total += len(question.encoded.context) * len(rows) + sum(map(len, rows))
        return total

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        """Judge questions that share a beginning together, and give out each batch as soon as it is known."""
        answers = self._scored if self.decode == "labels" else self._written
        for window in _windows(presentations):
            questions, unscored = self._reader.read(presentations, window, prompt)
            if unscored:
                yield unscored
            if questions:
                yield from answers(questions, prompt)

    def close(self) -> None:
        """Let go of the weights. They load again where they are needed again."""
        for name in ("_passes", "_shares"):
            self.__dict__.pop(name, None)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _scored(self, questions: Mapping[int, Question], prompt: Prompt) -> Iterator[VerdictBatch]:
        shared, alone = self._parted(questions, self._sharing_limit if self._shares else 0)
        encoded = {place: question.encoded for place, question in alone.items()}
        for batch in score_plain(self._passes, encoded, self._plain_budget):
            yield _noted(batch, questions)
        encoded = {place: question.encoded for place, question in shared.items()}
        for batch in score_shared(self._passes, encoded, self._budgets.reading, self._layout):
            yield _noted(batch, questions)

    def _written(self, questions: Mapping[int, Question], prompt: Prompt) -> Iterator[VerdictBatch]:
        limit = self._sharing_limit - self._options.max_new_tokens if self._shares else 0
        shared, alone = self._parted(questions, limit)
        plain = self._plain_budget if scales_with_length(self._config) else self._budgets.writing
        for batch in write_plain(self._passes, self._openings(alone), plain, self._ends):
            yield [(place, self._judged(outcome, questions[place], prompt)) for place, outcome in batch]
        openings = self._openings(shared)
        for batch in write_shared(self._passes, openings, self._budgets, self._layout, self._ends):
            yield [(place, self._judged(outcome, questions[place], prompt)) for place, outcome in batch]

    def _openings(self, questions: Mapping[int, Question]) -> dict[int, Opening]:
        room = {place: self._reader.context - one.encoded.length for place, one in questions.items()}
        return {
            place: Opening(one.encoded.context, one.seed, int(min(self._options.max_new_tokens, room[place])))
            for place, one in questions.items()
        }

    def _judged(self, outcome: Outcome, question: Question, prompt: Prompt) -> Verdict:
        """Read the verdict from what was written."""
        if isinstance(outcome, str):
            return Verdict.unscored(f"error: {outcome}", question.note)
        text = self._chat.decode(outcome.tokens)
        raw = f"[{question.note}]\n{text}" if question.note else text
        verdict = read_verdict(text, prompt.labels, cut=not outcome.complete)
        if verdict is not None:
            return Verdict.written(verdict, raw)
        cut = "" if outcome.complete else f", which was cut at {len(outcome.tokens)} tokens"
        return Verdict.unscored(f"parse: no verdict in the answer{cut}", raw)

    def _parted(
        self, questions: Mapping[int, Question], limit: float
    ) -> tuple[dict[int, Question], dict[int, Question]]:
        """Part questions into those that may share a beginning and those that are read each by itself."""
        shared = {place: one for place, one in questions.items() if one.encoded.length <= limit}
        return shared, {place: one for place, one in questions.items() if place not in shared}

    @functools.cached_property
    def _sharing_limit(self) -> float:
        return sharing_limit(self._config)

    @functools.cached_property
    def _budgets(self) -> Budgets:
        return Budgets(TokenBudget(self._batch_tokens), TokenBudget(self._writing_tokens))

    @functools.cached_property
    def _plain_budget(self) -> TokenBudget:
        """Of passes that share nothing; one question each where long rows change what short ones mean."""
        return TokenBudget(1) if scales_with_length(self._config) else TokenBudget(self._batch_tokens)

    @functools.cached_property
    def _passes(self) -> Passes:
        return Passes(load_model(self._place, self._config, self._options, self._dtype))

    @functools.cached_property
    def _shares(self) -> bool:
        return self._passes.shares_prefixes()

    @property
    def _ends(self) -> frozenset[int]:
        """Tokens that end an answer, for the model or for its tokenizer."""
        own = getattr(self._passes.model.generation_config, "eos_token_id", None)
        return self._chat.end_tokens | frozenset([own] if isinstance(own, int) else own or ())


def load(document: JudgeDocument, options: BackendOptions) -> TransformersJudge:
    """Make the judge of a document. Weights from the package index are fetched where they are missing."""
    return TransformersJudge(document, options)


def _windows(presentations: Sequence[Presentation]) -> Iterator[list[int]]:
    order = reading_order(presentations)
    return (order[start : start + WINDOW] for start in range(0, len(order), WINDOW))


def _noted(batch: VerdictBatch, questions: Mapping[int, Question]) -> VerdictBatch:
    """Say in the verdicts what was done to the texts."""
    return [(place, replace(verdict, raw=questions[place].note or verdict.raw)) for place, verdict in batch]
