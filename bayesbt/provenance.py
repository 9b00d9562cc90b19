"""Where a result comes from: versions, seed, device, hashes of the inputs, command line, wall time."""

from __future__ import annotations

import hashlib
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "bayesbt",
    "numpy",
    "scipy",
    "pandas",
    "jax",
    "numpyro",
    "pymc",
    "arviz",
    "choix",
    "torch",
    "transformers",
)


def sha256_of(path: str | Path) -> str:
    """Hash of a file's bytes, hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def package_versions() -> dict[str, str]:
    """Versions of the packages that shape a number; absent ones are left out."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def provenance(*, seed: int, wall_time: float, source: str) -> dict[str, Any]:
    """Facts to store with a result; wall time in seconds."""
    facts: dict[str, Any] = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": source,
        "seed": seed,
        "wall_time": round(wall_time, 3),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": package_versions(),
        "command_line": sys.argv,
    }
    if Path(source).is_file():
        facts["inputs"] = {Path(source).name: sha256_of(source)}
    if "jax" in sys.modules:
        facts["device"] = str(sys.modules["jax"].devices()[0].platform)
    return facts
