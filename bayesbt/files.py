"""Safe writing: a file or a folder appears whole or not at all, and nothing is overwritten unasked."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayesbt.errors import InputError


@contextmanager
def atomic_path(path: str | Path, force: bool = False) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it to ``path`` when the block ends well.

    The temporary name ends with the name of ``path``, so that its suffix still tells the format. Missing
    parent folders are made. What is no regular file (a pipe, ``/dev/null``) is written directly.

    Raises
    ------
    InputError
        Where ``path`` exists and ``force`` is false, or where it cannot be written.
    """
    target = Path(path)
    with _explained(target):
        if target.exists() and not target.is_file() and not target.is_dir():
            yield target
            return
        if target.is_dir():
            raise InputError(f"{target}: is a folder; give the path of a file.")
        _require_free(target, force)
        target = _writable_target(target)
        temporary = target.with_name(f".{secrets.token_hex(4)}.{target.name}")
        try:
            yield temporary
            if not temporary.exists():
                raise InputError(f"{target}: nothing was written.")
            _require_free(target, force)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path, force: bool = False) -> Iterator[Path]:
    """Give an empty temporary folder beside ``path``; rename it to ``path`` when the block ends well.

    With ``force`` an existing folder is replaced as a whole.

    Raises
    ------
    InputError
        Where ``path`` exists (an empty folder apart) and ``force`` is false, is a file, or cannot be written.
    """
    target = Path(path)
    with _explained(target):
        _require_free_folder(target, force)
        target = _writable_target(target)
        temporary = target.with_name(f".{secrets.token_hex(4)}.{target.name}")
        replaced = target.with_name(f".{secrets.token_hex(4)}.{target.name}")
        temporary.mkdir()
        try:
            yield temporary
            if target.exists():
                os.replace(target, replaced)
            os.replace(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            if replaced.exists() and not target.exists():
                os.replace(replaced, target)
            shutil.rmtree(replaced, ignore_errors=True)


def require_folder_possible(path: str | Path, force: bool = False) -> None:
    """Say before the work what :func:`atomic_folder` would say after it; nothing stays behind.

    Raises
    ------
    InputError
        As :func:`atomic_folder`.
    """
    target = Path(path)
    with _explained(target):
        _require_free_folder(target, force)
        _require_parent_writable(target)


def require_file_possible(path: str | Path, force: bool = False) -> None:
    """Say before the work what :func:`atomic_path` would say after it; nothing stays behind.

    Raises
    ------
    InputError
        As :func:`atomic_path`.
    """
    target = Path(path)
    with _explained(target):
        if target.is_dir():
            raise InputError(f"{target}: is a folder; give the path of a file.")
        if target.exists() and not target.is_file():
            return
        _require_free(target, force)
        _require_parent_writable(target)


def write_text(path: str | Path, text: str, *, force: bool = False) -> Path:
    """Write UTF-8 text as it is, atomically."""
    return write_bytes(path, text.encode("utf-8"), force=force)


def write_bytes(path: str | Path, content: bytes, *, force: bool = False) -> Path:
    """Write bytes atomically."""
    with atomic_path(path, force) as temporary:
        temporary.write_bytes(content)
    return Path(path)


def _require_free(target: Path, force: bool) -> None:
    if target.exists() and not force:
        raise InputError(f"{target}: exists already. Give another name, or --force to overwrite it.")


def _require_free_folder(target: Path, force: bool) -> None:
    if target.exists() and not target.is_dir():
        raise InputError(f"{target}: is a file; give the path of a folder.")
    if target.is_dir() and any(target.iterdir()):
        _require_free(target, force)


def _require_parent_writable(target: Path) -> None:
    """Make a temporary folder in the nearest folder above that exists; asking for rights is not enough.

    A superuser has every right in /proc, and can still make nothing there.
    """
    target = target.resolve() if target.is_symlink() else target
    nearest = next(folder for folder in target.absolute().parents if folder.exists())
    if not nearest.is_dir():
        raise InputError(f"{target}: {nearest} is a file, so nothing can lie in it. Give another path.")
    try:
        tempfile.TemporaryDirectory(prefix=".", dir=nearest).cleanup()
    except OSError as error:
        raise _not_writable(target, error) from error


def _writable_target(target: Path) -> Path:
    """Follow a symbolic link, and make the parent folder."""
    target = target.resolve() if target.is_symlink() else target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{target}: its folder cannot be made: {error.strerror}. Give another path."
        ) from error
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target}: the folder {target.parent} cannot be written to. Give another path.")
    return target


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    """Say which path could not be written and why; what failed elsewhere inside the block passes."""
    try:
        yield
    except OSError as error:
        if not _is_of_writing(error, target):
            raise
        raise _not_writable(target, error) from error


def _not_writable(target: Path, error: OSError) -> InputError:
    full = error.errno in _FULL
    remedy = "Make room, or give another path." if full else "Give another path, or change the permissions."
    return InputError(f"{target}: cannot be written: {error.strerror or error}. {remedy}")


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _is_of_writing(error: OSError, target: Path) -> bool:
    """Whether a failure is about the target, what lies in it, or its temporary names beside it."""
    if error.errno in (*_FULL, errno.EROFS):
        return True
    if not isinstance(error.filename, str | bytes | Path):
        return False
    failed = Path(os.path.abspath(os.fsdecode(error.filename)))
    for named in (Path(os.path.abspath(target)), Path(os.path.realpath(target))):
        inside = failed.relative_to(named.parent).parts if failed.is_relative_to(named.parent) else (".",)
        if not inside or inside[0] == named.name:
            return True
        if inside[0].startswith(".") and inside[0].endswith(f".{named.name}"):
            return True
    return False
