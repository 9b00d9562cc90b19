"""Effective draws a second of the samplers of one posterior, side by side.

    python benchmarks/posterior.py [JUDGMENTS] [--dimension D] [--draws N] [--samplers gibbs,numpyro]

Each sampler runs in a process of its own, with set-up and compilation inside its time; imports are not.
The figure is the smallest bulk effective sample size over strengths by the whole wall time. JUDGMENTS is any
source that ``bayesbt import`` reads; ``simulated`` makes 1,280 items in 20 groups with 22 judgments each.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from bayesbt.counts import Counts, count_judgments
from bayesbt.formats import import_source
from bayesbt.infer.engines import run_engine
from bayesbt.infer.results import Options
from bayesbt.spec import ModelSpec

ENGINES = {"gibbs": "gibbs", "numpyro": "numpyro", "pymc": "pymc", "nutpie": "pymc"}


def counts_of(source: str, dimension: str | None) -> Counts:
    """Give the counts to fit."""
    if source != "simulated":
        return count_judgments(import_source(source).judgments, dimension=dimension)
    rng = np.random.default_rng(1)
    groups, size, judgments = 20, 64, 704
    a = np.concatenate([g * size + rng.integers(0, size, judgments) for g in range(groups)])
    b = a // size * size + (a % size + rng.integers(1, size, len(a))) % size
    strength = rng.normal(0, 0.6, groups * size)
    delta, tau = strength[a] - strength[b], 0.33
    p_a, p_b = 1 / (1 + np.exp(tau - delta)), 1 / (1 + np.exp(tau + delta))
    u = rng.random(len(a))
    won, lost = (u < p_a).astype(float), (u > 1 - p_b).astype(float)
    items = tuple(f"item{i:04d}" for i in range(groups * size))
    return Counts(items, a, b, won, 1 - won - lost, lost)


def measure(source: str, dimension: str | None, sampler: str, draws: int) -> dict[str, float | str]:
    """Run one sampler in this process."""
    from bayesbt.infer.container import convergence

    counts = counts_of(source, dimension)
    options = Options(draws=draws, seed=1, sampler="nutpie" if sampler == "nutpie" else "pymc")
    started = time.perf_counter()
    result = run_engine(ENGINES[sampler], counts, ModelSpec("rao-kupper"), options)
    wall = time.perf_counter() - started
    assert result.draws is not None
    rhat, bulk, _ = convergence(result.draws.strength)
    return {
        "sampler": sampler,
        "seconds": wall,
        "rhat": float(np.nanmax(rhat)),
        "ess": float(np.nanmin(bulk)),
        "ess_per_second": float(np.nanmin(bulk)) / wall,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Run every sampler, and print one line each with its ratio to the last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", nargs="?", default="simulated")
    parser.add_argument("--dimension")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--samplers", default="gibbs,numpyro,nutpie,pymc")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.source, given.dimension, given.one, given.draws)))
        return
    rows = []
    for sampler in given.samplers.split(","):
        command = [sys.executable, __file__, given.source, "--one", sampler, "--draws", str(given.draws)]
        command += ["--dimension", given.dimension] if given.dimension else []
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    base = rows[-1]["ess_per_second"]
    print(f"{'sampler':>8} {'seconds':>8} {'R-hat':>6} {'ESS':>6} {'ESS/s':>7} {'ratio':>6} {'peak MB':>8}")
    for row in rows:
        print(
            f"{row['sampler']:>8} {row['seconds']:8.1f} {row['rhat']:6.3f} {row['ess']:6.0f} "
            f"{row['ess_per_second']:7.1f} {row['ess_per_second'] / base:6.1f} {row['peak_mb']:8.0f}"
        )


if __name__ == "__main__":
    main()
