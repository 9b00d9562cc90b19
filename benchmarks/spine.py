"""Time the main steps on simulated judgments: reading, checking, counting, fitting. Run with `make bench`."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

import bayesbt as bt

T = TypeVar("T")


def simulated(n_items: int, rows: int, seed: int) -> pd.DataFrame:
    """Judgments from a Rao-Kupper model with an order effect; strengths have standard deviation 1."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 1, n_items)
    a = rng.integers(0, n_items, rows)
    b = (a + rng.integers(1, n_items, rows)) % n_items
    delta, tau = strength[a] - strength[b] + 0.2, 0.4
    p_a, p_b = 1 / (1 + np.exp(tau - delta)), 1 / (1 + np.exp(tau + delta))
    u = rng.random(rows)
    outcome = np.where(u < p_a, "a", np.where(u < p_a + p_b, "b", "tie"))
    names = np.array([f"item{number:05d}" for number in range(n_items)])
    return pd.DataFrame({"item_a": names[a], "item_b": names[b], "outcome": outcome})


def timed(what: str, work: Callable[[], T]) -> T:
    """Do the work, and print its time and the peak memory so far."""
    started = time.perf_counter()
    value = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{what:<55} {time.perf_counter() - started:8.2f} s   peak {peak:5.2f} GB", flush=True)
    return value


def main() -> None:
    """Time a million rows through the tables, and a corpus of 14,000 judgments through the engines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.csv"
        simulated(500, 1_000_000, seed=1).to_csv(path, index=False)
        judgments = timed("read 1,000,000 judgments of 500 items", lambda: bt.read_judgments(path))
        timed("check them", lambda: bt.check(judgments))
        counts = timed("count them", lambda: bt.count_judgments(judgments))
        timed("fit them, ml", lambda: bt.fit(counts, engine="ml", order="shared"))
    corpus = bt.count_judgments(bt.Judgments.from_frame(simulated(1269, 13_952, seed=2)))
    for engine in ("laplace", "numpyro"):
        timed(
            f"fit 13,952 judgments of 1,269 items, {engine}",
            lambda engine=engine: bt.fit(corpus, engine=engine, order="shared"),
        )


if __name__ == "__main__":
    main()
