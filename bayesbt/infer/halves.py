"""Random halves of judgments, and the posterior modes of many of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from bayesbt.counts import Counts
from bayesbt.errors import InputError, NotConvergedError
from bayesbt.infer.derivatives import cell_derivatives
from bayesbt.infer.laplace import Marginal
from bayesbt.infer.model import Cells
from bayesbt.infer.modes import scalars_at
from bayesbt.spec import ModelSpec
from bayesbt.tables import Judgments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_UNITS = 5_000_000
REPEATS = ("item_a", "item_b", "judge", "topic")
"""What repeated runs have in common: they go to the same half, as they are not independent."""
AT_ONCE = 400_000  # cells times halves
TOLERANCE = 1e-6  # of a Newton step, in log-odds: far below what a correlation shows
MAX_ITERATIONS = 60


def units_of_counts(counts: Counts) -> tuple[Ints, Floats]:
    """One unit a judgment: its cell, and its outcome (U, 3) as wins of a, ties, wins of b."""
    table = np.stack([counts.wins_a, counts.ties, counts.wins_b], axis=1)
    whole = np.rint(table)
    if not np.allclose(table, whole):
        raise InputError(
            "these counts hold fractions of judgments, which cannot be halved; give the judgments instead."
        )
    number = whole.astype(np.int64).ravel()
    _affordable(int(number.sum()))
    kind = np.repeat(np.arange(number.size), number)
    return kind // 3, np.eye(3)[kind % 3]


def units_of_rows(judgments: Judgments, counts: Counts) -> tuple[Ints, Floats]:
    """One unit a judgment, or a presentation with several runs, which share its weight."""
    frame = judgments.frame
    code = frame["outcome"].cat.codes.to_numpy()
    count = frame["count"].to_numpy(dtype=float)
    scored = (code >= 0) & (count > 0)
    frame, code, count = frame[scored], code[scored], count[scored]
    place = {item: number for number, item in enumerate(counts.items)}
    of = {name: np.array([place[i] for i in frame[name].astype(object)]) for name in ("item_a", "item_b")}
    size = counts.n_items
    number = {int(key): cell for cell, key in enumerate(counts.a * size + counts.b)}
    cell = np.array([number[int(key)] for key in of["item_a"] * size + of["item_b"]], dtype=np.int64)
    if "run" in frame and frame["run"].nunique() > 1:
        keys = [name for name in REPEATS if name in frame]
        grouped = frame.groupby(keys, observed=True, dropna=False)
        unit = grouped.ngroup().to_numpy()
        weight = count / grouped["run"].transform("nunique").to_numpy()
        outcome = np.zeros((unit.max() + 1, 3))
        np.add.at(outcome, (unit, code), weight)
        cell_of = np.empty(len(outcome), dtype=np.int64)
        cell_of[unit] = cell
        return cell_of, outcome
    whole = np.rint(count)
    if np.allclose(count, whole):
        _affordable(int(whole.sum()))
        repeat = whole.astype(np.int64)
        return np.repeat(cell, repeat), np.eye(3)[np.repeat(code, repeat)]
    return cell, np.eye(3)[code] * count[:, None]


def _affordable(units: int) -> None:
    if units > MOST_UNITS:
        raise InputError(f"{units:,} judgments are too many to halve (at most {MOST_UNITS:,}).")


def halvings(group: Ints, halves: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(H, U) A random half of the units of each group; of an odd number, the extra one by chance."""
    chosen = np.zeros((halves, len(group)), dtype=bool)
    for members in (np.flatnonzero(group == g) for g in np.unique(group)):
        order = rng.random((halves, len(members))).argsort(axis=1).argsort(axis=1)
        extra = rng.integers(0, 2, (halves, 1)) if len(members) % 2 else 0
        chosen[:, members] = order < len(members) // 2 + extra
    return chosen


def half_modes(
    counts: Counts, spec: ModelSpec, cell: Ints, outcome: Floats, chosen: Mask
) -> tuple[Floats, Floats]:
    """Strengths of the chosen units and of the others, for H halvings.

    The tie parameter, the order effect and the strengths' standard deviation are those of the posterior mode
    of all judgments, so that the halves differ in nothing but their judgments.

    Parameters
    ----------
    counts : Counts
        Of all judgments.
    spec : ModelSpec
    cell : (U,) ints
        The cell of each unit.
    outcome : (U, 3) floats
        Its weight as a win of a, a tie, a win of b.
    chosen : (H, U) booleans

    Returns
    -------
    one, other : (H, I) floats
        Posterior modes, in log-odds.
    """
    marginal = Marginal(counts, spec)
    log_sd = marginal.mode()
    _, problem, mode = marginal.at(log_sd)
    order, tie_logit = scalars_at(problem, mode.theta)
    solver = _Solver(counts, spec, order, tie_logit, float(np.exp(-2 * log_sd)))
    to_cell = csr_matrix((np.ones(len(cell)), (np.arange(len(cell)), cell)), shape=(len(cell), len(counts.a)))
    at_once = max(1, AT_ONCE // len(counts.a))
    start = mode.theta[: counts.n_items]
    found = []
    for side in (chosen, ~chosen):
        parts = []
        for first in range(0, len(side), at_once):
            block = side[first : first + at_once].astype(float)
            table = np.stack([np.asarray((block * outcome[:, k]) @ to_cell) for k in range(3)])
            parts.append(solver.modes(table, start))
        found.append(np.concatenate(parts))
    return found[0], found[1]


@dataclass(frozen=True)
class _Block:
    """A component of n items and E cells: how cells enter gradient and information.

    ``slope`` (E, n) and ``curvature`` (E, n * n) are sparse: a cell's derivative in delta counts for its
    first item and against its second.
    """

    items: Ints
    cells: Ints
    slope: Any
    curvature: Any

    @classmethod
    def of(cls, counts: Counts, component: int) -> _Block:
        items = np.flatnonzero(counts.component == component)
        cells = np.flatnonzero(counts.component[counts.a] == component)
        n, e = len(items), len(cells)
        a, b = (np.searchsorted(items, side[cells]) for side in (counts.a, counts.b))
        cell, plus = np.arange(e), np.ones(e)
        slope = csr_matrix(
            (np.r_[plus, -plus], (np.tile(cell, 2), np.r_[a, b])),
            shape=(e, n),
        )
        places = np.concatenate([a * n + a, b * n + b, a * n + b, b * n + a])
        signs = np.r_[plus, plus, -plus, -plus]
        curvature = csr_matrix((signs, (np.tile(cell, 4), places)), shape=(e, n * n))
        return cls(items, cells, slope, curvature)


class _Solver:
    """Newton's method for strengths alone, component by component, for many tables of the same cells."""

    def __init__(
        self, counts: Counts, spec: ModelSpec, order: float, tie_logit: float, precision: float
    ) -> None:
        self.counts, self.spec = counts, spec
        self.order, self.tie_logit, self.precision = order, tie_logit, precision
        self.blocks = [_Block.of(counts, int(c)) for c in np.unique(counts.component[counts.comparisons > 0])]

    def modes(self, table: Floats, start: Floats) -> Floats:
        """(H, I) Modes of the tables (3, H, C)."""
        counts, model = self.counts, self.spec.tie_model
        size, n_cells = table.shape[1:]
        wins_a, ties, wins_b = (x.ravel() for x in model.outcome_counts(*table))
        index = np.zeros(size * n_cells, dtype=np.int64)
        cells = Cells(counts.n_items, index, index, wins_a, ties, wins_b, index, index)
        strength = np.tile(start, (size, 1))
        strength[:, counts.comparisons == 0] = 0.0
        largest = np.full((size, 1), np.inf)
        for _ in range(MAX_ITERATIONS):
            delta = strength[:, counts.a] - strength[:, counts.b] + self.order
            found = cell_derivatives(self.spec.ties, delta.ravel(), self.tie_logit, cells)
            step = self._step(strength, found.d.reshape(size, -1), -found.dd.reshape(size, -1))
            largest = np.abs(step).max(axis=1, keepdims=True)
            strength += step * np.minimum(1.0, 2.0 / np.maximum(largest, TOLERANCE))
            if largest.max() < TOLERANCE:
                return strength
        raise NotConvergedError(
            f"The modes of the halves were not found in {MAX_ITERATIONS} steps of Newton's method; the last "
            f"step was {largest.max():.2g} log-odds. The likelihood may be nearly flat: run `bayesbt check`."
        )

    def _step(self, strength: Floats, slope: Floats, curvature: Floats) -> Floats:
        step = np.zeros_like(strength)
        for block in self.blocks:
            n = len(block.items)
            gradient = slope[:, block.cells] @ block.slope - self.precision * strength[:, block.items]
            information = (curvature[:, block.cells] @ block.curvature).reshape(-1, n, n)
            information[:, np.arange(n), np.arange(n)] += self.precision
            step[:, block.items] = np.linalg.solve(information, gradient[..., None])[..., 0]
        return step
