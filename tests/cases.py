"""Small data with nothing symmetric in them: unequal strengths and counts, ties, an order effect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bayesbt.counts import Counts, count_judgments
from bayesbt.formats import read_judgments

CELLS = [
    (0, 1, 7.0, 3.0, 2.0),
    (1, 0, 4.0, 2.0, 3.0),
    (0, 2, 9.0, 1.0, 4.0),
    (2, 1, 5.0, 6.0, 3.0),
    (3, 2, 1.0, 2.0, 8.0),
    (1, 3, 6.0, 1.0, 2.0),
    (3, 0, 2.0, 0.0, 5.0),
]


def asymmetric_counts() -> Counts:
    """Four items, seven ordered cells."""
    a, b, wins_a, ties, wins_b = (np.array(column) for column in zip(*CELLS, strict=True))
    return Counts(("w", "x", "y", "z"), a, b, wins_a, ties, wins_b)


def read_counts(path: Path) -> Counts:
    """Counts of a file in any format."""
    return count_judgments(read_judgments(path))


def counts_of(table: dict[tuple[str, str], tuple[float, float, float]]) -> Counts:
    """Counts from {(a, b): (wins of a, ties, wins of b)}."""
    items = sorted({item for pair in table for item in pair})
    frame = pd.DataFrame([(*pair, *values) for pair, values in table.items()], columns=list("abxyz"))
    a, b = (frame[side].map(items.index).to_numpy() for side in "ab")
    return Counts(tuple(items), a, b, *(frame[name].to_numpy(dtype=float) for name in "xyz"))
