"""Fit the strengths again to many resamples of the judgments, all at once.

The standard deviation of the strengths, the order effect and the tie parameter stay what all data say; the
strengths climb to the mode of each resample by Newton steps with the information of all data
(chords), damped where a resample is far from it, and where that takes long by steps with its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.sparse import coo_array

from bayesbt.agreement.estimates import Blocks, ScoreModel, Strengths, estimate_strengths
from bayesbt.counts import Counts
from bayesbt.errors import BayesBTError
from bayesbt.infer.model import Cells
from bayesbt.infer.results import centre
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weights = NDArray[np.integer]

POSTERIOR_ENGINES = ("map", "laplace", "numpyro", "pymc", "auto")
"""Engines of one and the same posterior: their refits are its mode."""
TOLERANCE = 1e-5
MOST_CHORDS, MOST_STEPS = 40, 100
REACH = 30.0
STEP = 1 / 256
"""Slopes of the log-probabilities are tabled for |delta| below 30 log-odds, and interpolated (error 1e-6)."""


class Refit:
    """Refits of one label set.

    Parameters
    ----------
    strengths : Strengths
        The fit to all data.
    unit : (C,) int array
        The unit, a column of the weights, of each cell of ``strengths.counts``.
    model : ScoreModel
        Engines of the posterior are refitted together; ``ml``, ``ilsr`` and ``gienapp`` one by one.
    """

    def __init__(self, strengths: Strengths, unit: Ints, model: ScoreModel) -> None:
        self.counts, self.unit, self.model = strengths.counts, unit, model
        self.solver = Chords(strengths) if model.engine in POSTERIOR_ENGINES else None

    def strengths(self, weights: Weights) -> Floats:
        """(n, I) Strengths for weights (n, U); a row is NaN where a resample has no finite estimate."""
        per_cell = np.asarray(weights[:, self.unit], dtype=np.float64)
        if self.solver is not None:
            return self.solver.modes(per_cell)
        return np.stack([self._again(row) for row in per_cell])

    def _again(self, weight: Floats) -> Floats:
        drawn = weight > 0
        changed: dict[str, Any] = {
            name: (getattr(self.counts, name) * weight)[drawn] for name in ("wins_a", "ties", "wins_b")
        }
        changed |= {name: getattr(self.counts, name)[drawn] for name in ("a", "b", "judge", "dimension")}
        try:
            return estimate_strengths(replace(self.counts, **changed), self.model).strength
        except (BayesBTError, LinAlgError):
            return np.full(self.counts.n_items, np.nan)


class Chords:
    """Posterior modes of resamples by chord steps from the mode of all data."""

    def __init__(self, strengths: Strengths) -> None:
        counts = strengths.counts
        found = strengths if strengths.held is not None else Blocks(counts, strengths.spec).fit()
        held = found.held
        assert held is not None, "a fit by blocks holds its scalars"
        self.counts, self.start, self.order = counts, found.strength, held.order
        self.precision = held.strength_sd**-2
        self.cells = _whole_cells(counts, strengths.spec)
        self.table = slopes(strengths.spec, held.tie_logit)
        n, size = counts.n_items, len(counts.a)
        rows = np.concatenate([counts.a, counts.b])
        columns = np.concatenate([np.arange(size), np.arange(size)])
        signs = np.concatenate([np.ones(size), -np.ones(size)])
        self.incidence = coo_array((signs, (rows, columns)), shape=(n, size)).tocsr()
        self.groups = [np.flatnonzero(counts.component == c) for c in np.unique(counts.component)]
        information = self._information(self.start, np.ones(size))
        self.inverses = [np.linalg.inv(information[np.ix_(group, group)]) for group in self.groups]

    def modes(self, weight: Floats) -> Floats:
        """(n, I) Modes for weights of the cells (n, C), centred within the components of all data."""
        n = len(weight)
        theta = np.tile(self.start, (n, 1))
        damping, active = np.ones(n), np.arange(n)
        step, size = self._step(theta, weight)
        for _ in range(MOST_CHORDS):
            going = np.abs(step[active]).max(axis=1) > TOLERANCE
            active = active[going]
            if len(active) == 0:
                return centre(theta, self.counts.component)
            tried = theta[active] + damping[active, None] * step[active]
            next_step, next_size = self._step(tried, weight[active])
            worse = next_size > size[active]
            damping[active[worse]] /= 2
            better = active[~worse]
            theta[better], step[better], size[better] = tried[~worse], next_step[~worse], next_size[~worse]
        for row in active:
            theta[row] = self._newton(theta[row], weight[row])
        return centre(theta, self.counts.component)

    def _newton(self, theta: Floats, weight: Floats) -> Floats:
        """Mode (I,) by Newton steps with the resample's own information, for one that chords hardly reach."""
        information = self._information(theta, weight)
        gradient = self._gradient(theta[None], weight[None])[0]
        for _ in range(MOST_STEPS):
            step = np.empty_like(theta)
            for members in self.groups:
                step[members] = np.linalg.solve(information[np.ix_(members, members)], gradient[members])
            if np.abs(step).max() < TOLERANCE:
                return theta
            size, damping = float(gradient @ gradient), 1.0
            while damping > 1e-6:
                tried = theta + damping * step
                gradient = self._gradient(tried[None], weight[None])[0]
                if float(gradient @ gradient) < size:
                    break
                damping /= 2
            theta = tried
            information = self._information(theta, weight)
        return np.full_like(theta, np.nan)

    def _step(self, theta: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Newton steps (n, I) with the information of all data, and the gradient's squared length in it."""
        gradient = self._gradient(theta, weight)
        step = np.empty_like(theta)
        for members, inverse in zip(self.groups, self.inverses, strict=True):
            step[:, members] = gradient[:, members] @ inverse
        return step, np.asarray((gradient * step).sum(axis=1))

    def _gradient(self, theta: Floats, weight: Floats) -> Floats:
        """(n, I) Slope of each resample's log posterior density."""
        a, b = self.counts.a, self.counts.b
        slope = self._slopes(theta[:, a] - theta[:, b] + self.order)
        slope *= weight
        return np.asarray((self.incidence @ slope.T).T - self.precision * theta)

    def _slopes(self, delta: Floats) -> Floats:
        """Slope of each cell's log-likelihood in delta (n, C), from the table."""
        place = np.clip((delta + REACH) / STEP, 0.0, 2 * REACH / STEP - 1e-6)
        below = place.astype(np.int32)
        place -= below
        total = np.zeros_like(delta)
        for row, count in zip(self.table, self.cells, strict=True):
            if count.any():
                low = row[below]
                total += count * (low + place * (row[below + 1] - low))
        return total

    def _information(self, theta: Floats, weight: Floats) -> Floats:
        """(I, I) Minus the Hessian of the log posterior density."""
        counts, n = self.counts, self.counts.n_items
        delta = (theta[counts.a] - theta[counts.b] + self.order)[None]
        curvature = weight * (self._slopes(delta + 1e-2) - self._slopes(delta - 1e-2))[0] / 2e-2
        information = np.zeros((n, n))
        np.add.at(information, (counts.a, counts.b), curvature)
        information += information.T.copy()
        information[np.arange(n), np.arange(n)] = self.precision - (
            np.bincount(counts.a, curvature, n) + np.bincount(counts.b, curvature, n)
        )
        return information


def slopes(spec: ModelSpec, tie_logit: float) -> Floats:
    """(3, G) Slopes in delta of the log-probabilities of a, tie and b on a fine grid of delta."""
    from bayesbt.infer.derivatives import cell_derivatives

    grid = np.arange(-REACH, REACH + STEP / 2, STEP)
    zero = np.zeros(len(grid), dtype=np.int64)
    rows = []
    for outcome in np.eye(3):
        a, tie, b = (np.full(len(grid), share) for share in outcome)
        cells = Cells(1, zero, zero, a, tie, b, zero, zero)
        rows.append(cell_derivatives(spec.ties, grid, tie_logit, cells).d)
    return np.stack(rows)


def _whole_cells(counts: Counts, spec: ModelSpec) -> Floats:
    """(3, C) Counts as the tie model takes them, for all cells."""
    return np.stack(spec.tie_model.outcome_counts(counts.wins_a, counts.ties, counts.wins_b)).astype(float)
