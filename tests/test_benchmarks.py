"""The benchmarks run: here at a size at which they measure nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.model
@pytest.mark.slow
def test_the_judge_is_timed_three_ways_with_random_weights() -> None:
    command = [sys.executable, "benchmarks/judge.py", "--model", "random-llama-8b", "--device", "cpu"]
    sizes = ["--layers", "2", "--hidden", "512", "--pairs", "6", "--rounds", "1", "--checked", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command + sizes, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    for way in ("one by one", "plain batches", "shared beginnings"):
        match = re.search(rf"^{way} +([0-9.]+) +([0-9.]+)", done.stdout, re.MULTILINE)
        assert match is not None
        assert float(match[1]) > 0
    assert "6 questions of" in done.stdout
    found = re.search(r"float32 +on cpu: plain 0.0e\+00, shared ([0-9.e+-]+)", done.stdout)
    assert found is not None
    assert float(found[1]) < 1e-4
