"""The documents: judge models, prompts, priors and the demo data, found by name or by path.

In a checkout they are the folders ``models/`` and ``data/`` at the top; in an installed wheel the same
folders lie inside the package.
"""

from __future__ import annotations

import difflib
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from bayesbt.errors import DocumentError


def documents_root() -> Path:
    """Give the folder that holds ``models`` and ``data``."""
    package = Path(str(files("bayesbt")))
    shipped = package / "_documents"
    return shipped if shipped.is_dir() else package.parent


def names(kind: str) -> list[str]:
    """List the documents of one kind (``judges``, ``prompts``, ``strength``) by name, sorted."""
    return sorted(path.stem for path in (documents_root() / "models" / kind).glob("*.toml"))


def find(kind: str, name_or_path: str | Path) -> Path:
    """Locate a document, by name (``smollm2-135m``) or by path (``my/judge.toml``).

    Raises
    ------
    DocumentError
        Where neither a file nor a known name is meant; the message lists the names.
    """
    path = Path(name_or_path)
    if path.suffix == ".toml" and path.is_file():
        return path
    known = names(kind)
    if str(name_or_path) in known:
        return documents_root() / "models" / kind / f"{name_or_path}.toml"
    near = difflib.get_close_matches(str(name_or_path), known, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise DocumentError(
        f"models/{kind}: no document {str(name_or_path)!r}{hint}. "
        f"Known names: {', '.join(known) or 'none'}; or give the path of a .toml file."
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as a dict; a syntax error names the file and the place."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DocumentError(f"{path}: no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DocumentError(f"{path}: not a TOML document: {error}") from error


def check_keys(place: str, entries: dict[str, Any], required: set[str], optional: set[str]) -> None:
    """Raise a DocumentError that names every missing or unknown key of a table in a document."""
    missing = sorted(required - entries.keys())
    unknown = sorted(entries.keys() - required - optional)
    if not missing and not unknown:
        return
    parts = [f"missing {', '.join(missing)}"] if missing else []
    parts += [f"unknown {', '.join(unknown)}"] if unknown else []
    raise DocumentError(f"{place}: {'; '.join(parts)}. Allowed: {', '.join(sorted(required | optional))}.")
