"""Strengths of many label sets, quickly: the posterior mode, solved component by component.

The items of different components share only the order effect, the tie parameter and the standard deviation of
the strengths, so the information matrix is block-diagonal with a narrow border. The numbers are those of
``--engine map``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar

from bayesbt.counts import Counts
from bayesbt.errors import NotConvergedError
from bayesbt.infer import prepare
from bayesbt.infer.engines import run_engine
from bayesbt.infer.model import Cells, fixed_values, free_parameters, log_prior_sd
from bayesbt.infer.results import centre
from bayesbt.spec import ModelSpec, Order

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-8
PADDING = 2048
"""Cells are filled up to a multiple of this, so that compiled derivatives serve many tables."""


@dataclass(frozen=True)
class ScoreModel:
    """The model that turns every label set into scores, the same for judges and humans.

    Attributes
    ----------
    engine : str
        As in :func:`bayesbt.fit`; ``map`` is quick whatever the number of judges.
    ties : str or None
        Tie model; None for the engine's own.
    order : {"none", "shared"}
        Whether the item shown first gets an advantage.
    options : dict
        Options of the engine: ``alpha``, ``tau``, ``reg``, ``draws``, ``seed``, ...
    """

    engine: str = "map"
    ties: str | None = None
    order: Order = "none"
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Strengths:
    """Scores of the items of one label set: (I,) log-odds; ``compared`` marks items with a comparison.

    ``held`` holds what a refit keeps: the standard deviation of the strengths, the order effect and logit(t).
    It is None for engines other than ``map``. ``cell_topics`` names the topic of each cell, where the cells
    of the counts are kept apart by topic.
    """

    counts: Counts
    strength: Floats
    spec: ModelSpec
    held: Held | None = None
    cell_topics: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[str, ...]:
        """Item labels."""
        return self.counts.items

    @property
    def compared(self) -> NDArray[np.bool_]:
        """(I,) Items with a comparison."""
        return self.counts.comparisons > 0


@dataclass(frozen=True)
class Held:
    """What all items share: sd of the strengths and order effect in log-odds, and u = logit(t)."""

    strength_sd: float
    order: float
    tie_logit: float


def estimate_strengths(counts: Counts, model: ScoreModel) -> Strengths:
    """Fit the score model to counts; a posterior is summed up by its mean."""
    prepared = prepare(
        counts,
        engine=model.engine,
        model={"ties": model.ties, "order": model.order, "judges": "ignore", "tie_parameter": "shared"},
        covariates=(),
        priors=None,
        selection={},
        options=dict(model.options),
    )
    spec, counted = prepared.spec, prepared.counts
    if prepared.engine == "map":
        return Blocks(counted, spec).fit()
    result = run_engine(prepared.engine, counted, spec, prepared.options)
    if result.strength is not None:
        return Strengths(counted, np.asarray(result.strength, dtype=float), spec)
    assert result.draws is not None, "an engine gives estimates or draws"
    return Strengths(counted, result.draws.strength.mean(axis=(0, 1)), spec)


@dataclass(frozen=True)
class Point:
    """Objective, gradient and information at a parameter vector, the information in blocks with a border."""

    value: float
    gradient: Floats
    blocks: list[Floats]
    border: Floats
    corner: Floats


class Blocks:
    """The objective of one label set over (strengths (I,), order and tie parameter where free)."""

    def __init__(self, counts: Counts, spec: ModelSpec) -> None:
        self.counts, self.spec, self.n = counts, spec, counts.n_items
        self.cells = Cells.of(counts, spec.tie_model)
        self.free = tuple(name for name in ("order", "tie_logit") if name in free_parameters(spec))
        self.tie_logit, self.order = fixed_values(spec)
        self.members = [np.flatnonzero(counts.component == c) for c in range(int(counts.component.max()) + 1)]
        size = np.array([len(group) for group in self.members])
        local = np.empty(self.n, dtype=np.int64)
        for group in self.members:
            local[group] = np.arange(len(group))
        start = np.concatenate([[0], np.cumsum(size**2)])
        of = counts.component
        a, b = self.cells.a, self.cells.b
        self.entry = start[of[a]] + local[a] * size[of[a]] + local[b]
        self.mirrored = start[of[a]] + local[b] * size[of[a]] + local[a]
        self.start = start
        self.padded = _padded(self.cells)
        self.last: Floats | None = None

    def scalars(self, theta: Floats) -> tuple[float, float]:
        """(order, tie_logit), held or free."""
        values = {"order": self.order, "tie_logit": self.tie_logit}
        values |= dict(zip(self.free, theta[self.n :].tolist(), strict=True))
        return values["order"], values["tie_logit"]

    def fit(self) -> Strengths:
        """Posterior mode of the strengths, given the modal standard deviation of the strengths."""
        from bayesbt.infer.laplace import LOG_SD_BOUNDS

        fixed = self.spec.priors.strength_sd.fixed
        if fixed is None:
            best = minimize_scalar(
                lambda x: -self.marginal(x), bounds=LOG_SD_BOUNDS, method="bounded", options={"xatol": 1e-3}
            )
            sd = float(np.exp(best.x))
        else:
            sd = fixed
        theta, _ = self.mode(sd**-2)
        order, tie_logit = self.scalars(theta)
        strength = centre(theta[: self.n], self.counts.component)
        return Strengths(self.counts, strength, self.spec, Held(sd, order, tie_logit))

    def marginal(self, log_sd: float) -> float:
        """Laplace's log marginal density of log(sd)."""
        theta, point = self.mode(float(np.exp(-2 * log_sd)))
        log_determinant = self.solve(point, point.gradient)[1]
        self.last = theta
        prior = float(log_prior_sd(np, self.spec.priors.strength_sd, log_sd))
        return float(point.value - self.n * log_sd - 0.5 * log_determinant + prior)

    def mode(self, precision: float) -> tuple[Floats, Point]:
        """Climb by damped Newton steps."""
        theta = np.zeros(self.n + len(self.free)) if self.last is None else self.last
        point = self.evaluate(theta, precision)
        for _ in range(100):
            step, _ = self.solve(point, point.gradient)
            if np.abs(step).max(initial=0.0) <= TOLERANCE:
                return theta, point
            step *= min(1.0, 5.0 / np.abs(step).max())
            while True:
                candidate = self.evaluate(theta + step, precision)
                if candidate.value >= point.value - 1e-12 * abs(point.value) or np.abs(step).max() < 1e-9:
                    break
                step = step / 2
            theta, point = theta + step, candidate
        raise NotConvergedError(
            "the posterior mode was not found in 100 Newton steps; run `bayesbt check`, or use "
            "--engine laplace."
        )

    def evaluate(self, theta: Floats, precision: float) -> Point:
        """Objective, gradient and information, up to a constant."""
        from bayesbt.infer.derivatives import cell_derivatives, scalar_prior_derivatives

        n, cells = self.n, self.cells
        order, tie_logit = self.scalars(theta)
        strength = theta[:n]
        delta = np.zeros(len(self.padded.a))
        delta[: len(cells.a)] = strength[cells.a] - strength[cells.b] + order
        cell = cell_derivatives(self.spec.ties, delta, tie_logit, self.padded)
        d, u, dd, du, uu = (x[: len(cells.a)] for x in (cell.d, cell.u, cell.dd, cell.du, cell.uu))
        value = float(cell.value.sum()) - 0.5 * precision * float(strength @ strength)
        gradient = np.concatenate([self._to_items(d) - precision * strength, np.zeros(len(self.free))])
        flat = np.bincount(self.entry, dd, self.start[-1]).astype(float)
        flat += np.bincount(self.mirrored, dd, self.start[-1])
        diagonal = precision - np.bincount(cells.a, dd, n) - np.bincount(cells.b, dd, n)
        blocks: list[Floats] = []
        for group, first in zip(self.members, self.start, strict=False):
            block = flat[first : first + len(group) ** 2].reshape(len(group), len(group))
            block[np.arange(len(group)), np.arange(len(group))] += diagonal[group]
            blocks.append(block)
        border, corner = np.zeros((n, len(self.free))), np.zeros((len(self.free), len(self.free)))
        slopes, crosses = {"order": d, "tie_logit": u}, {"order": dd, "tie_logit": du}
        for k, name in enumerate(self.free):
            prior = self.spec.priors.order if name == "order" else self.spec.priors.tie
            at = order if name == "order" else tie_logit
            log_prior, slope, curvature = scalar_prior_derivatives(name, self.spec.ties, prior, at)
            value += log_prior
            gradient[n + k] = slopes[name].sum() + slope
            border[:, k] = -self._to_items(crosses[name])
            for m, other in enumerate(self.free):
                both = dd if name == other == "order" else uu if name == other else du
                corner[k, m] = -both.sum() - (curvature if name == other else 0.0)
        return Point(value, gradient, blocks, border, corner)

    def solve(self, point: Point, right: Floats) -> tuple[Floats, float]:
        """Information^-1 times a vector, and the log-determinant of the information."""
        n, total = self.n, 0.0
        inner = np.empty((n, 1 + len(self.free)))
        for group, block in zip(self.members, point.blocks, strict=True):
            factor = cho_factor(block, check_finite=False)
            total += 2 * float(np.log(np.diag(factor[0])).sum())
            inner[group] = cho_solve(
                factor, np.column_stack([right[group], point.border[group]]), check_finite=False
            )
        solution, through = inner[:, 0], inner[:, 1:]
        if not self.free:
            return solution, total
        schur = point.corner - point.border.T @ through
        scalars = np.linalg.solve(schur, right[n:] - point.border.T @ solution)
        total += float(np.linalg.slogdet(schur)[1])
        return np.concatenate([solution - through @ scalars, scalars]), total

    def _to_items(self, per_cell: Floats) -> Floats:
        """Sum over an item's cells, positive where it is shown first."""
        cells = self.cells
        return np.asarray(
            np.bincount(cells.a, per_cell, self.n) - np.bincount(cells.b, per_cell, self.n), float
        )


def _padded(cells: Cells) -> Cells:
    """Fill up with cells that hold no judgment."""
    missing = -len(cells.a) % PADDING
    names = ("a", "b", "wins_a", "ties", "wins_b", "judge", "dimension")
    return Cells(cells.n_items, *(np.pad(getattr(cells, name), (0, missing)) for name in names))
