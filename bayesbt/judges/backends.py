"""The table of judge backends. Each is reached by name, so that its packages are imported only when used."""

from __future__ import annotations

import importlib
from pathlib import Path

from bayesbt.errors import DocumentError, MissingExtraError
from bayesbt.judges.documents import JudgeDocument, document_of
from bayesbt.judges.protocol import Judge
from bayesbt.judges.settings import BackendOptions, RayOptions

BACKENDS: dict[str, str] = {
    "openai": "bayesbt.judges.openai_judge:load",
    "scripted": "bayesbt.judges.scripted:load",
    "transformers": "bayesbt.judges.transformers_judge:load",
}
"""Backend name -> ``module:function``; the function takes a JudgeDocument and BackendOptions."""

_OF_EXTRA = {"torch", "transformers", "accelerate", "gguf", "safetensors", "huggingface_hub", "httpx2"}


def load_judge(named: str | Path | JudgeDocument, options: BackendOptions | None = None) -> Judge:
    """Make the judge that a document, a model folder or a hub id describes. Weights load when first needed.

    Raises
    ------
    DocumentError
        For a judge or backend that is not known.
    MissingExtraError
        Where the backend's packages are not installed.
    """
    options = options or BackendOptions()
    document = named if isinstance(named, JudgeDocument) else document_of(named, options)
    if document.backend not in BACKENDS:
        raise DocumentError(
            f"judge {document.name!r}: backend = {document.backend!r}. Allowed: {', '.join(BACKENDS)}."
        )
    module, _, function = BACKENDS[document.backend].partition(":")
    try:
        load = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _OF_EXTRA:
            raise MissingExtraError(f"the judge {document.name!r}", "judge") from error
        raise
    judge: Judge = load(document, options)
    return judge


def load_distributed(named: str | Path, options: BackendOptions, ray: RayOptions) -> Judge:
    """Make the judge as :func:`load_judge` does, to be asked on a Ray cluster.

    Raises
    ------
    MissingExtraError
        Where Ray is not installed.
    """
    try:
        from bayesbt.judges.ray_judge import distribute
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "ray":
            raise MissingExtraError("judging on a Ray cluster", "ray") from error
        raise
    return distribute(document_of(named, options), options, ray)
