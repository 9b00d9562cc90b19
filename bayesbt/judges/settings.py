"""What is asked of a judge: the settings of a run and of a backend."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from bayesbt.errors import InputError

if TYPE_CHECKING:
    from bayesbt.judges.examples import Examples
    from bayesbt.judges.protocol import Judge

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
SystemRole = Literal["auto", "fold"]
Decode = Literal["labels", "generate"]
DecodeChoice = Literal["auto", "labels", "generate"]
OverLong = Literal["error", "truncate"]
Unreadable = Literal["error", "unscored"]
BackendChoice = Literal["auto", "transformers", "openai"]


@dataclass(frozen=True)
class ServerOptions:
    """How a served model is reached.

    Attributes
    ----------
    base_url : str or None
        Of an OpenAI-compatible server, such as ``http://127.0.0.1:8000/v1``. A key, where one is needed, is
        read from the environment and stands in no file.
    concurrency : int
        Most requests at a time.
    timeout : float
        Seconds that one request may take.
    retries : int
        How often a request is tried again after 429, 5xx or a timeout, with growing, jittered pauses.
    """

    base_url: str | None = None
    concurrency: int = 16
    timeout: float = 120.0
    retries: int = 6

    def __post_init__(self) -> None:
        """Check the values."""
        if self.concurrency < 1:
            raise InputError(f"--concurrency {self.concurrency} must be at least 1.")
        if self.retries < 0:
            raise InputError(f"--retries {self.retries} must be 0 or more.")
        if not self.timeout > 0:
            raise InputError(f"--timeout {self.timeout} must be above 0 seconds.")


@dataclass(frozen=True)
class BackendOptions:
    """How a model is run and asked.

    Device, batch size and server may not change an answer beyond rounding; all else is part of a judge's
    fingerprint.

    Attributes
    ----------
    device : str
        ``auto`` (an accelerator where there is one), ``cpu``, ``cuda``, ``cuda:1``.
    dtype : str
        Overrides the document's where not ``auto``.
    batch_tokens : int or None
        Most tokens, padding included, in one forward pass; None suits the device.
    decode : str
        ``labels``: exact probabilities of the three labels. ``generate``: the model writes, and its last
        verdict counts. ``auto``: labels where the backend can, else generate.
    max_new_tokens : int
        Longest text under ``generate``.
    over_long : str
        What becomes of texts that do not fit into the model's context: an unscored judgment (``error``), or
        both texts cut to what fits, and said so (``truncate``).
    server : ServerOptions
        For served models.
    backend : str
        ``transformers`` loads the model here; ``openai`` asks a server for it by name. ``auto``: what the
        judge's document says, and ``openai`` where the server's address is given.
    """

    device: str = "auto"
    dtype: Dtype = "auto"
    batch_tokens: int | None = None
    decode: DecodeChoice = "auto"
    max_new_tokens: int = 1024
    over_long: OverLong = "error"
    server: ServerOptions = field(default_factory=ServerOptions)
    backend: BackendChoice = "auto"

    def __post_init__(self) -> None:
        """Check the values."""
        if self.backend not in get_args(BackendChoice):
            raise InputError(f"--backend {self.backend!r}. Allowed: {', '.join(get_args(BackendChoice))}.")
        if self.dtype not in get_args(Dtype):
            raise InputError(f"--dtype {self.dtype!r}. Allowed: {', '.join(get_args(Dtype))}.")
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise InputError(f"--batch-tokens {self.batch_tokens} must be at least 1.")
        if self.decode not in get_args(DecodeChoice):
            raise InputError(f"--decode {self.decode!r}. Allowed: {', '.join(get_args(DecodeChoice))}.")
        if self.max_new_tokens < 1:
            raise InputError(f"--max-new-tokens {self.max_new_tokens} must be at least 1.")
        if self.over_long not in get_args(OverLong):
            raise InputError(f"--over-long {self.over_long!r}. Allowed: {', '.join(get_args(OverLong))}.")


@dataclass(frozen=True)
class RayOptions:
    """How the work is shared out on a Ray cluster; every worker holds one copy of the model.

    Attributes
    ----------
    address : str
        Of the head node, ``host:port``; ``auto`` finds a cluster on this machine, or starts one.
    workers : int or None
        How many; None: as many as the cluster has room for.
    cpus, gpus : float
        What each worker takes.
    """

    address: str = "auto"
    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0

    def __post_init__(self) -> None:
        """Check the values."""
        if self.workers is not None and self.workers < 1:
            raise InputError(f"--workers {self.workers} must be at least 1.")
        if self.cpus < 0 or self.gpus < 0 or self.cpus + self.gpus == 0:
            raise InputError(
                f"--worker-cpus {self.cpus} --worker-gpus {self.gpus}: neither may be negative, nor both 0."
            )


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
        Labels for each presentation, at temperature 1: drawn from its exact probabilities, or written by the
        model once a run.
    both_orders : bool
        Show every pair a second time with the order reversed.
    seed : int
        Of the drawing. The same seed gives the same labels, whatever the order of work.
    options : BackendOptions
        Device, number format, batch size, way of answering.
    ray : RayOptions or None
        Where given, the work is shared out on a Ray cluster.
    examples : Examples or None
        What a few-shot prompt shows; :func:`~bayesbt.judges.examples.choose_examples` chooses them.
    exclude_examples : bool
        Leave out the pairs that serve as examples for their own question, instead of marking them.
    attempts : int
        How often, over all calls, a question is asked whose answer failed with an error.
    retry_failed : bool
        Ask again, within ``attempts``, what was answered without a verdict too.
    unreadable : str
        What becomes of pairs with an item that has no readable text: refused before anything is asked
        (``error``), or unscored judgments with the reason (``unscored``).
    """

    judge: str | Path | Judge
    prompt: str | Path = "zero-shot"
    dimensions: tuple[str, ...] = ()
    runs: int = 1
    both_orders: bool = False
    seed: int = 0
    options: BackendOptions = field(default_factory=BackendOptions)
    ray: RayOptions | None = None
    examples: Examples | None = None
    exclude_examples: bool = False
    attempts: int = 3
    retry_failed: bool = False
    unreadable: Unreadable = "error"

    def __post_init__(self) -> None:
        """Check the values."""
        given: object = self.dimensions
        if isinstance(given, str):
            raise InputError(f"dimensions = {given!r} must be a tuple of names, not one text.")
        if self.runs < 1:
            raise InputError(f"--runs {self.runs} must be at least 1.")
        if self.attempts < 1:
            raise InputError(f"--attempts {self.attempts} must be at least 1.")
        if self.unreadable not in get_args(Unreadable):
            raise InputError(f"--unreadable {self.unreadable!r}. Allowed: {', '.join(get_args(Unreadable))}.")
