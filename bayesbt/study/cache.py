"""Stages with memory: a stage is done again only when something that it depends on has changed.

The folder of a finished stage holds ``stage.json``: the key, which is the sha256 of everything that the stage
depends on in canonical JSON, and the sha256 of every file it made. What is named as an input is what counts;
a setting that does not change the outcome stays out of the key.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesbt.files import atomic_folder, write_text

RECORD = "stage.json"


def file_hash(path: Path) -> str:
    """Give the sha256 of a file, or of a folder's files and their names."""
    if path.is_dir():
        inside = {str(entry.relative_to(path)): file_hash(entry) for entry in _files(path)}
        return key_of(inside)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def key_of(inputs: Mapping[str, Any]) -> str:
    """Give the sha256 of the inputs as canonical JSON; paths count by the content they point to."""
    text = json.dumps(inputs, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Stage:
    """One stage: where its files lie, what it depends on, how it is done.

    Attributes
    ----------
    name : str
        For messages: ``fit smollm2-135m/zero-shot/logic``.
    folder : Path
        Holds the files of the stage and nothing else.
    inputs : mapping
        Everything that the outcome depends on. A Path stands for its content.
    work : callable
        Is given the folder to write to, and returns the files that it wrote elsewhere. For a stage in place
        the folder is ``folder`` itself, with what an interrupted run has left there; else it is an empty
        folder that becomes ``folder`` at the end.
    in_place : bool
        Whether the work continues where it was interrupted.
    """

    name: str
    folder: Path
    inputs: Mapping[str, Any]
    work: Callable[[Path], Iterable[Path]]
    in_place: bool = False

    @property
    def key(self) -> str:
        """The key of the present inputs."""
        return key_of(self.inputs)

    def is_done(self) -> bool:
        """Whether the stage was done with these inputs and all its files are as it left them."""
        record = self.record()
        files: Mapping[str, str] = record.get("files", {})
        return record.get("key") == self.key and all(self._is(*entry) for entry in files.items())

    def made(self, path: Path) -> bool:
        """Whether this stage made the file and it is still as the stage left it."""
        name = self._relative(path)
        return name in (files := self.record().get("files", {})) and self._is(name, files[name])

    def remove_others(self, kept: Iterable[Path]) -> list[Path]:
        """Remove what the stage made elsewhere by its record and does not make now.

        Returns
        -------
        list of Path
            The files that somebody changed since: they are left alone.
        """
        names = {self._relative(path) for path in kept}
        files: Mapping[str, str] = self.record().get("files", {})
        former = {name: content for name, content in files.items() if Path(name).parts[0] == ".."}
        changed = []
        for name in sorted(former.keys() - names):
            path = Path(os.path.normpath(self.folder / name))
            if not self._is(name, former[name]):
                changed += [path] if path.is_file() else []
                continue
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
        return changed

    def _is(self, name: str, content: str) -> bool:
        path = self.folder / name
        return path.is_file() and file_hash(path) == content

    def _relative(self, path: Path) -> str:
        return os.path.relpath(path, self.folder)

    def record(self) -> Mapping[str, Any]:
        """Read ``stage.json``; empty where it is not there or torn."""
        try:
            content = json.loads((self.folder / RECORD).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def run(self) -> None:
        """Do the work and record it."""
        key = self.key
        if self.in_place:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write_record(self.folder, key, self.work(self.folder))
            return
        with atomic_folder(self.folder, force=True) as folder:
            self._write_record(folder, key, self.work(folder))

    def _write_record(self, folder: Path, key: str, elsewhere: Iterable[Path]) -> None:
        inside = [path for path in _files(folder) if path.name != RECORD]
        files = {path.relative_to(folder).as_posix(): file_hash(path) for path in inside}
        files |= {self._relative(path): file_hash(path) for path in elsewhere}
        record = {"stage": self.name, "key": key, "files": files}
        write_text(folder / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n", force=True)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _plain(value: Any) -> Any:
    """Turn what JSON does not know into what it knows."""
    if isinstance(value, Path):
        return {"sha256": file_hash(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} cannot be part of a stage's key")
