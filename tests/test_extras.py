"""Every extra that a message tells people to install is one that can be installed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CALL = re.compile(r'MissingExtraError\(.*, "(\w+)"\)')
NAMED = sorted(
    {name for path in (ROOT / "bayesbt").rglob("*.py") for name in CALL.findall(path.read_text("utf-8"))}
)


def test_some_extras_are_named() -> None:
    assert {"judge", "nutpie"} <= set(NAMED)


@pytest.mark.parametrize("extra", NAMED)
def test_a_named_extra_exists(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert extra in project["optional-dependencies"]
