"""The wheel, installed where the checkout is not in sight."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def call(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """Python of an environment that has the wheel, and sees the packages of this one for the rest."""
    folder = wheel.parent / "elsewhere"
    call(sys.executable, "-m", "venv", folder, cwd=wheel.parent)
    binary = folder / "bin" / "python"
    call(binary, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=wheel.parent)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "zz_rest.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return binary


def test_wheel_holds_documents_and_data_and_no_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {
        name.removeprefix("bayesbt/_documents/") for name in names if name.startswith("bayesbt/_documents/")
    }
    in_checkout = {
        path.relative_to(ROOT).as_posix()
        for kind in ("models", "data")
        for path in (ROOT / kind).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == in_checkout
    assert "bayesbt/py.typed" in names
    assert any(name.endswith(".html") or name.endswith(".j2") for name in names if "templates/" in name)
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_documents_are_found_by_name_elsewhere(python: Path, tmp_path: Path) -> None:
    program = "import bayesbt.documents as d; print(d.documents_root())"
    assert "_documents" in call(python, "-c", program, cwd=tmp_path)
    listed = json.loads(call(python, "-m", "bayesbt", "models", "list", "--json", cwd=tmp_path))
    assert "smollm2-135m" in [row["name"] for row in listed["judges"]]
    program = "from bayesbt.judges.prompts import read_prompt; print(*read_prompt('zero-shot').dimensions)"
    assert call(python, "-c", program, cwd=tmp_path).split() == ["logic", "rhetoric", "dialectic"]


def test_demo_study_reads_its_own_data_elsewhere(python: Path, tmp_path: Path) -> None:
    program = (
        "from bayesbt.documents import documents_root\n"
        "from bayesbt.study.document import read_study\n"
        "from bayesbt.formats import read_items\n"
        "study = read_study(documents_root() / 'data' / 'ladder')\n"
        "print(study.name, len(read_items(study.data.items)))"
    )
    assert call(python, "-c", program, cwd=tmp_path).split() == ["ladder", "36"]


def test_command_fits_elsewhere(python: Path, tmp_path: Path) -> None:
    (tmp_path / "judged.csv").write_text("item_a,item_b,outcome\nx,y,a\ny,z,tie\nz,x,a\n")
    command = python.parent / "bayesbt"
    document = json.loads(call(command, "fit", "judged.csv", "--engine", "ml", "--json", cwd=tmp_path))
    assert document["data"]["judgments"] == 3
