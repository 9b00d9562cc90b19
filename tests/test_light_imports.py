from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "torch",
    "transformers",
    "jax",
    "numpyro",
    "pymc",
    "arviz",
    "matplotlib",
    "pandas",
    "numpy",
    "scipy",
    "pyarrow",
}
COMMAND = """
import sys
from bayesbt.cli import main
sys.argv = "bayesbt {}".split()
try:
    main()
except SystemExit:
    pass
"""
TELL = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


@pytest.mark.parametrize(
    "program",
    [
        "import bayesbt; dir(bayesbt)",
        "import bayesbt.cli",
        COMMAND.format("--help"),
        COMMAND.format("fit --help"),
        "import bayesbt; bayesbt.BayesBTError",
    ],
)
def test_nothing_heavy_is_imported(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{TELL}"], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "bayesbt" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        (
            "import bayesbt; bayesbt.read_judgments",
            {"torch", "transformers", "jax", "pymc", "arviz", "matplotlib"},
        ),
        ("import bayesbt; bayesbt.fit", {"torch", "transformers", "pymc", "matplotlib"}),
        ("import bayesbt; bayesbt.judge", {"torch", "transformers", "jax", "pymc", "arviz", "matplotlib"}),
        ("import bayesbt; bayesbt.check", {"torch", "transformers", "jax", "pymc", "arviz", "matplotlib"}),
    ],
)
def test_a_half_never_imports_the_other(program: str, heavy: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{TELL}"], capture_output=True, text=True, check=True
    )
    assert not set(json.loads(done.stdout.splitlines()[-1])) & heavy
