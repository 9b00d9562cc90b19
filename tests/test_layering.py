"""Who may import whom, read from the source, against the list in CONTRIBUTING.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "bayesbt"

#: From low to high. A room imports from rows below its own, and from its own row only as ROW_MATES says.
LAYERS: list[set[str]] = [
    {"errors", "provenance", "ranks"},
    {"files", "documents", "findings"},
    {"ties", "columns", "outcomes", "cells", "identity", "tables", "spec"},
    {
        "graph",
        "formats",
        "counts",
        "covariates",
        "pairing",
        "voting",
        "connectivity",
        "dissent",
        "checking",
        "simulation",
        "simulated_judgments",
    },
    {"judges", "infer", "stability"},
    {"ranking", "tie_comparison", "agreement", "reliability"},
    {"grouped", "reporting"},
    {"study"},
    {"cli"},
]
ROW_MATES: dict[str, set[str]] = {
    "outcomes": {"columns"},
    "cells": {"columns"},
    "identity": {"columns"},
    "tables": {"columns", "outcomes", "cells", "identity"},
    "spec": {"ties"},
    "counts": {"graph"},
    "connectivity": {"graph", "counts"},
    "dissent": {"counts"},
    "checking": {"graph", "counts", "connectivity", "dissent"},
    "simulation": {"counts"},
    "simulated_judgments": {"counts", "simulation"},
    "agreement": {"reliability"},
}
HEAVY = {
    "torch",
    "transformers",
    "gguf",
    "jax",
    "numpyro",
    "pymc",
    "pytensor",
    "arviz",
    "matplotlib",
    "choix",
    "ray",
}


def rooms() -> list[str]:
    return sorted(
        entry.stem
        for entry in PACKAGE.iterdir()
        if (entry.suffix == ".py" or (entry / "__init__.py").is_file()) and not entry.stem.startswith("__")
    )


def files_of(room: str) -> list[Path]:
    folder = PACKAGE / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{room}.py"]


def imports(path: Path, *, everywhere: bool) -> set[str]:
    """Dotted names that a file imports; ``everywhere`` includes imports inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = (
        list(ast.walk(tree))
        if everywhere
        else [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    )
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms_imported(room: str) -> set[str]:
    names = {name for path in files_of(room) for name in imports(path, everywhere=True)}
    parts = [name.split(".") for name in names if name.startswith("bayesbt.")]
    return {part[1] for part in parts if part[1] in rooms()} - {room}


def test_every_room_has_its_layer() -> None:
    known = set().union(*LAYERS)
    assert set(rooms()) <= known


@pytest.mark.parametrize("room", rooms())
def test_a_room_imports_only_what_lies_below(room: str) -> None:
    level = next(number for number, layer in enumerate(LAYERS) if room in layer)
    allowed = set().union(*LAYERS[:level]) | ROW_MATES.get(room, set())
    assert rooms_imported(room) <= allowed


def test_judges_see_only_tables_documents_and_files() -> None:
    assert rooms_imported("judges") <= {"errors", "files", "documents", "findings", "tables"}


def test_judges_and_infer_never_meet() -> None:
    assert "infer" not in rooms_imported("judges")
    assert "judges" not in rooms_imported("infer")


def test_plots_import_nothing_of_ours() -> None:
    names = imports(PACKAGE / "reporting" / "plots.py", everywhere=True)
    assert not {name for name in names if name.startswith("bayesbt")}


def test_heavy_packages_are_imported_in_leaves_only() -> None:
    """At the top of a file a heavy package may stand only inside judges, infer and reporting."""
    leaves = {"judges", "infer", "reporting"}
    offenders = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for room in set(rooms()) - leaves
        for path in files_of(room)
        for name in imports(path, everywhere=False)
        if name.split(".")[0] in HEAVY
    }
    assert not offenders


def test_each_heavy_package_has_one_room() -> None:
    """Each heavy package has one home; reporting draws, infer samples, judges ask models."""
    homes = {"torch": "judges", "transformers": "judges", "gguf": "judges", "matplotlib": "reporting"}
    homes |= dict.fromkeys(("jax", "numpyro", "pymc", "pytensor", "arviz", "choix"), "infer")
    for room in set(rooms()) - {"cli"}:
        used = {name.split(".")[0] for path in files_of(room) for name in imports(path, everywhere=True)}
        assert {package: room for package in used & homes.keys() if homes[package] != room} == {}
