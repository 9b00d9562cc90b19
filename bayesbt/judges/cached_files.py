"""Whether the files of a cached model are those that were put there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

ORIGIN = "origin.json"
ALWAYS_READ = 1 << 24
"""Files up to this size are read and hashed each time; larger ones where size or time of change differ."""


def file_sha256(file: Path) -> str:
    """Give the sha256 of a file, lower-case hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_origin(folder: Path, origin: dict[str, str]) -> None:
    """Write where a model comes from, with size, time of change and sha256 of each of its files."""
    files = {path.name: _facts(path) for path in sorted(folder.iterdir()) if path.is_file()}
    content = json.dumps({**origin, "files": files}, indent=2) + "\n"
    (folder / ORIGIN).write_text(content, encoding="utf-8")


def damage(folder: Path) -> str | None:
    """Say what is wrong with a cached model; None where it is whole.

    A folder without the list of its files (of an earlier version) counts as whole where its weights are as
    long as their own header says.
    """
    try:
        origin = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{ORIGIN} is missing or cannot be read"
    files = origin.get("files") if isinstance(origin, dict) else None
    if not isinstance(files, dict):
        cut = [path.name for path in folder.glob("*.safetensors") if not _is_complete(path)]
        return f"{cut[0]} is cut short" if cut else None
    for name, facts in files.items():
        if (problem := _problem(folder / name, facts)) is not None:
            return f"{name} {problem}"
    return None


def _facts(file: Path) -> dict[str, Any]:
    status = file.stat()
    return {"size": status.st_size, "changed_ns": status.st_mtime_ns, "sha256": file_sha256(file)}


def _problem(file: Path, facts: dict[str, Any]) -> str | None:
    try:
        status = file.stat()
        if status.st_size != facts["size"]:
            return f"has {status.st_size:,} bytes in the place of {facts['size']:,}"
        untouched = status.st_size > ALWAYS_READ and status.st_mtime_ns == facts["changed_ns"]
        if not untouched and file_sha256(file) != facts["sha256"]:
            return "does not hold what was put there (sha256)"
    except FileNotFoundError:
        return "is gone"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None


def _is_complete(file: Path) -> bool:
    """Whether a safetensors file is as long as its header says."""
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length))
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        return file.stat().st_size == 8 + length + max(ends, default=0)
    except (OSError, ValueError, KeyError, TypeError, MemoryError, OverflowError):
        return False
