r"""An append-only file of judgments, one JSON object a line, that survives any interruption.

A line is complete or it is not there: lines end in ``\n``, those of one presentation are handed to the system
in one write, and what stands behind the last ``\n`` when the file is opened again (the system or the disk
failed within a write) is cut off. A killed process loses nothing that was written, since the system holds it;
``fsync`` at intervals bounds what a power failure can take.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock

from bayesbt.errors import BayesBTError, InputError

Line = dict[str, Any]

SYNC_SECONDS = 1.0


class JournalError(BayesBTError):
    """A journal that cannot be written, or is being written by another process."""


class Journal:
    """An open journal; made by :func:`open_journal`.

    Attributes
    ----------
    path : Path
        Of the file.
    lines : list of dict
        All that stands there; line ``n`` of the file is ``lines[n - 1]``.
    repaired : int
        Bytes of a torn last line that were cut off on opening.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            content = path.read_bytes()
            whole = content.rfind(b"\n") + 1
            self.lines = _parse(path, content[:whole])
            self.repaired = len(content) - whole
            self._size = whole
            if self.repaired:
                os.ftruncate(self._descriptor, whole)
                os.fsync(self._descriptor)
        except BaseException:
            os.close(self._descriptor)
            raise
        self._synced = time.monotonic()

    def append(self, lines: Sequence[Line]) -> None:
        """Write lines that belong together: all of them or, where the disk is full, none.

        Raises
        ------
        JournalError
            Where the system refuses to write; the file then ends with the last complete line.
        """
        remaining = memoryview(b"".join(_encoded(line) for line in lines))
        expected = self._size + len(remaining)
        try:
            while remaining:
                remaining = remaining[os.write(self._descriptor, remaining) :]
            if time.monotonic() - self._synced >= SYNC_SECONDS:
                self._sync()
        except OSError as error:
            with suppress(OSError):  # else the torn line is cut off at the next opening
                os.ftruncate(self._descriptor, self._size)
            raise JournalError(
                f"{self.path}: cannot be written: {error.strerror}. What was judged before is kept; "
                "mend that and run the same command again."
            ) from error
        self._size = expected
        self.lines += lines

    def rewrite(self, lines: Sequence[Line]) -> None:
        """Put other lines in the place of all, whole or not at all.

        Raises
        ------
        JournalError
            Where the system refuses to write; the file then is as it was.
        """
        content = b"".join(_encoded(line) for line in lines)
        temporary = self.path.with_name(f".{self.path.name}.new")
        try:
            with temporary.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, self.path)
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise JournalError(f"{self.path}: cannot be rewritten: {error.strerror}.") from error
        os.close(self._descriptor)
        self._descriptor, self._size, self.lines = descriptor, len(content), list(lines)

    def close(self) -> None:
        """Bring everything to the disk."""
        try:
            self._sync()
        finally:
            os.close(self._descriptor)

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        self._synced = time.monotonic()


@contextmanager
def open_journal(path: Path, *, force: bool = False) -> Iterator[Journal]:
    """Open a journal for one writer, repair its end, read what it holds.

    Parameters
    ----------
    path : Path
        Ends in ``.jsonl``; its folder is made where missing.
    force : bool
        Drop what the file holds.

    Raises
    ------
    JournalError
        Where another process holds the journal.
    InputError
        Where a line is no JSON object; it is named.
    """
    if path.suffix != ".jsonl":
        raise InputError(
            f"-o {path}: judgments of a model are written line by line, so the name must end in .jsonl. "
            "Turn the file into CSV or Parquet afterwards with `bayesbt import`."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(path.with_name(f".{path.name}.lock"), timeout=0):
            if force:
                path.unlink(missing_ok=True)
            journal = Journal(path)
            try:
                yield journal
            finally:
                journal.close()
    except filelock.Timeout as error:
        raise JournalError(
            f"{path}: another process is writing judgments to this file. Wait for it, or give another -o."
        ) from error
    except OSError as error:
        raise JournalError(f"{path}: cannot be opened for writing: {error.strerror}.") from error


def read_lines(path: Path) -> list[Line]:
    """Read a complete journal."""
    return _parse(path, path.read_bytes())


def _encoded(line: Line) -> bytes:
    """Write one line; half a character (a lone surrogate), which UTF-8 cannot hold, is escaped."""
    text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(line, allow_nan=False) + "\n").encode("ascii")


def _parse(path: Path, content: bytes) -> list[Line]:
    lines: list[Line] = []
    for number, text in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            line = json.loads(text)
        except ValueError as error:
            raise InputError(
                f"{path}, line {number}: not a JSON object: {error}. Remove this line, and what it held "
                "will be judged again."
            ) from error
        if not isinstance(line, dict):
            raise InputError(f"{path}, line {number}: not a JSON object but {line!r}. Remove this line.")
        lines.append(line)
    return lines
