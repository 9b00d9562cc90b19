"""Fixtures that several test files share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module", autouse=True)
def compiled_functions_are_let_go() -> Iterator[None]:
    """Free what JAX compiled for a test file: over the whole suite it would be several gigabytes."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


@pytest.fixture(scope="session")
def shared() -> Callable[..., Path]:
    """Give the path of a file of the reference material, which lies beside the repository.

    ``shared("reference", "pudding.csv")``. Without the material the test is skipped, except where the
    environment says ``CI=true``: there a missing file is a failure, so that a green run has tested it.
    """
    root = Path(os.environ.get("BAYESBT_SHARED") or REPOSITORY.parent / "shared")

    def locate(*parts: str) -> Path:
        path = root.joinpath(*parts)
        if path.exists():
            return path
        reason = (
            f"reference material {'/'.join(parts)} not found: "
            "set BAYESBT_SHARED to its folder, or put it beside the repository as shared/"
        )
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    return locate
