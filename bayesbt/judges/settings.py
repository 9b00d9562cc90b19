"""What is asked of a judge: the settings of a run and of a backend."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from bayesbt.errors import InputError

if TYPE_CHECKING:
    from bayesbt.judges.protocol import Judge

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
SystemRole = Literal["auto", "fold"]
Decode = Literal["labels"]


@dataclass(frozen=True)
class BackendOptions:
    """How a model is run. None of it may change an answer beyond rounding, ``dtype`` apart.

    Attributes
    ----------
    device : str
        ``auto`` (an accelerator where there is one), ``cpu``, ``cuda``, ``cuda:1``.
    dtype : str
        Overrides the document's where not ``auto``.
    batch_tokens : int or None
        Most tokens, padding included, in one forward pass; None suits the device.
    """

    device: str = "auto"
    dtype: Dtype = "auto"
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if self.dtype not in get_args(Dtype):
            raise InputError(f"--dtype {self.dtype!r}. Allowed: {', '.join(get_args(Dtype))}.")
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise InputError(f"--batch-tokens {self.batch_tokens} must be at least 1.")


@dataclass(frozen=True)
class JudgeSettings:
    """One run of one judge over many pairs.

    Attributes
    ----------
    judge : str, Path or Judge
        A document by name or path, a model folder, a hub id, or a judge object.
    prompt : str or Path
        A prompt document by name or path.
    dimensions : tuple of str
        What to ask about. Empty: each pair's own ``dimension`` column.
    runs : int
        Labels drawn for each presentation from its exact probabilities, at temperature 1.
    both_orders : bool
        Show every pair a second time with the order reversed.
    seed : int
        Of the drawing. The same seed gives the same labels, whatever the order of work.
    decode : str
        ``labels``: exact probabilities of the three labels.
    options : BackendOptions
        Device, number format and batch size.
    """

    judge: str | Path | Judge
    prompt: str | Path = "zero-shot"
    dimensions: tuple[str, ...] = ()
    runs: int = 1
    both_orders: bool = False
    seed: int = 0
    decode: Decode = "labels"
    options: BackendOptions = field(default_factory=BackendOptions)

    def __post_init__(self) -> None:
        """Check the values."""
        given: object = self.dimensions
        if isinstance(given, str):
            raise InputError(f"dimensions = {given!r} must be a tuple of names, not one text.")
        if self.runs < 1:
            raise InputError(f"--runs {self.runs} must be at least 1.")
        if self.decode not in get_args(Decode):
            raise InputError(f"--decode {self.decode!r}. Allowed: {', '.join(get_args(Decode))}.")
