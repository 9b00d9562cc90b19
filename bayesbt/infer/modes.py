"""Newton's method for the strengths, the order effect and the tie parameter together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from bayesbt.errors import NotConvergedError
from bayesbt.graph import components
from bayesbt.infer.derivatives import cell_derivatives, scalar_prior_derivatives
from bayesbt.infer.model import Cells
from bayesbt.spec import Prior

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-9  # of a Newton step, in log-odds
MAX_ITERATIONS = 200


@dataclass(frozen=True)
class Problem:
    """A concave objective over ``theta = (strength (I,), *free)``.

    Attributes
    ----------
    tie_model : str
    cells : Cells
    free : tuple of str
        Among ``order`` and ``tie_logit``, in the order in which they follow the strengths.
    order, tie_logit : float
        Their values where not free.
    precision : float
        Of the Normal prior of every strength (1/sd^2); 0 for maximum likelihood.
    component : (I,) int array or None
        For maximum likelihood: hold the mean strength of each component at zero.
    priors : dict
        Priors of the free scalars; none for maximum likelihood.
    """

    tie_model: str
    cells: Cells
    free: tuple[str, ...]
    order: float = 0.0
    tie_logit: float = 0.0
    precision: float = 0.0
    component: Ints | None = None
    priors: dict[str, Prior] = field(default_factory=dict)

    @cached_property
    def members(self) -> tuple[Ints, ...]:
        """The items of each component of the cells."""
        label = components(self.cells.n_items, self.cells.a, self.cells.b)
        ordered = np.argsort(label, kind="stable")
        return tuple(np.split(ordered, np.flatnonzero(np.diff(label[ordered])) + 1))


@dataclass(frozen=True)
class Mode:
    """The maximum: theta (P,), the log-likelihood and objective there, and minus the Hessian (P, P).

    For maximum likelihood the information holds a centring term that makes it invertible.
    """

    theta: Floats
    loglik: float
    value: float
    information: Floats


def scalars_at(problem: Problem, theta: Floats) -> tuple[float, float]:
    """(order, tie_logit) of a parameter vector, the held ones included."""
    values = {"order": problem.order, "tie_logit": problem.tie_logit}
    values |= dict(zip(problem.free, theta[problem.cells.n_items :].tolist(), strict=True))
    return values["order"], values["tie_logit"]


def find_mode(problem: Problem, start: Floats | None = None) -> Mode:
    """Climb to the maximum by damped Newton steps.

    Raises
    ------
    NotConvergedError
        Where no step gets below the tolerance; the message says how far it was.
    """
    theta = start_values(problem) if start is None else start
    value, gradient, information, loglik = _evaluate(problem, theta)
    step = np.full_like(theta, np.inf)
    for _ in range(MAX_ITERATIONS):
        step = _newton_step(problem, information, gradient)
        if np.abs(step).max(initial=0.0) <= TOLERANCE:
            return Mode(theta, loglik, value, information)
        step *= min(1.0, 5.0 / np.abs(step).max())
        shrink = 1.0
        while True:
            candidate = _evaluate(problem, theta + shrink * step)
            if candidate[0] >= value - 1e-13 * abs(value) or shrink < 1e-8:
                break
            shrink /= 2
        theta = theta + shrink * step
        value, gradient, information, loglik = candidate
    raise NotConvergedError(
        f"Newton's method stopped after {MAX_ITERATIONS} steps; the last step was {np.abs(step).max():.2g} "
        f"log-odds (tolerance {TOLERANCE:g}). The likelihood may be nearly flat: run `bayesbt check`, or use "
        "--engine numpyro."
    )


def start_values(problem: Problem) -> Floats:
    """Equal strengths, no order effect, the tie rate of the data."""
    theta = np.zeros(problem.cells.n_items + len(problem.free))
    if "tie_logit" in problem.free:
        rate = (problem.cells.ties.sum() + 0.5) / (problem.cells.total + 1.0)
        theta[problem.cells.n_items + problem.free.index("tie_logit")] = np.log(rate) - np.log1p(-rate)
    return theta


def _newton_step(problem: Problem, information: Floats, gradient: Floats) -> Floats:
    damping = 0.0
    scale = float(np.abs(np.diag(information)).max(initial=1.0))
    while True:
        try:
            return Arrow(information + damping * np.eye(len(gradient)), problem.members).solve(gradient)
        except LinAlgError:
            damping = max(10 * damping, 1e-6 * scale)
            if damping > 1e6 * scale:
                raise NotConvergedError(
                    "The Hessian of the likelihood is not finite; run `bayesbt check`."
                ) from None


class Arrow:
    """A factorised information matrix: one block a component, bordered by the free scalars.

    Parameters
    ----------
    information : (P, P) array
        Symmetric and positive definite; zero between the items of different components.
    members : sequence of int arrays
        The items of each component.
    """

    def __init__(self, information: Floats, members: Sequence[Ints]) -> None:
        size = sum(map(len, members))
        self._members, self._size = members, size
        self._factors = [cho_factor(information[np.ix_(one, one)]) for one in members]
        self._border = information[size:, :size]
        self._across = self._blockwise(self._border.T)
        self._corner = cho_factor(information[size:, size:] - self._border @ self._across)

    def _blockwise(self, right: Floats) -> Floats:
        """(n, ...) Solve within the blocks."""
        solved = np.empty_like(right)
        for one, factor in zip(self._members, self._factors, strict=True):
            solved[one] = cho_solve(factor, right[one])
        return solved

    def solve(self, right: Floats) -> Floats:
        """(P,) Solve for one right-hand side."""
        inner = self._blockwise(right[: self._size])
        outer = cho_solve(self._corner, right[self._size :] - self._border @ inner)
        return np.concatenate([inner - self._across @ outer, outer])

    def log_determinant(self) -> float:
        """Return the log of the determinant."""
        return float(sum(2 * np.log(np.diag(factor)).sum() for factor, _ in (*self._factors, self._corner)))


def _evaluate(problem: Problem, theta: Floats) -> tuple[float, Floats, Floats, float]:
    """Objective, gradient, information (minus Hessian) and log-likelihood."""
    cells, n = problem.cells, problem.cells.n_items
    order, tie_logit = scalars_at(problem, theta)
    strength = theta[:n]
    cell = cell_derivatives(
        problem.tie_model, strength[cells.a] - strength[cells.b] + order, tie_logit, cells
    )
    loglik = float(cell.value.sum())
    gradient, hessian = _assemble(problem, cell.d, cell.u, (cell.dd, cell.du, cell.uu))
    value = loglik
    for name, prior in problem.priors.items():
        at = n + problem.free.index(name)
        log_prior, slope, curvature = scalar_prior_derivatives(
            name, problem.tie_model, prior, float(theta[at])
        )
        value, gradient[at] = value + log_prior, gradient[at] + slope
        hessian[at, at] += curvature
    if problem.precision:
        value -= 0.5 * problem.precision * float(strength @ strength)
        gradient[:n] -= problem.precision * strength
        hessian[np.arange(n), np.arange(n)] -= problem.precision
    if problem.component is not None:
        value -= _hold_centres(problem.component, theta, gradient, hessian)
    return value, gradient, -hessian, loglik


def _assemble(
    problem: Problem, d: Floats, u: Floats, second: tuple[Floats, Floats, Floats]
) -> tuple[Floats, Floats]:
    """Chain rule from the cells' (delta, u) to theta, dense."""
    cells, n = problem.cells, problem.cells.n_items
    dd, du, uu = second
    size = n + len(problem.free)
    gradient, hessian = np.zeros(size), np.zeros((size, size))
    gradient[:n] = np.bincount(cells.a, d, n) - np.bincount(cells.b, d, n)
    diagonal = np.arange(n)
    np.add.at(hessian, (cells.a, cells.b), -dd)
    hessian[:n, :n] += hessian[:n, :n].T.copy()
    hessian[diagonal, diagonal] += np.bincount(cells.a, dd, n) + np.bincount(cells.b, dd, n)
    per_cell = {"order": (d, dd), "tie_logit": (u, du)}
    for k, name in enumerate(problem.free):
        slope, cross = per_cell[name]
        gradient[n + k] = slope.sum()
        hessian[n + k, :n] = hessian[:n, n + k] = np.bincount(cells.a, cross, n) - np.bincount(
            cells.b, cross, n
        )
        for m, other in enumerate(problem.free[: k + 1]):
            both = dd if name == other == "order" else uu if name == other else du
            hessian[n + k, n + m] = hessian[n + m, n + k] = both.sum()
    return gradient, hessian


def _hold_centres(component: Ints, theta: Floats, gradient: Floats, hessian: Floats) -> float:
    """Penalise the squared mean of each component; at the maximum the mean is exactly zero.

    The strengths' likelihood is flat along these means, so the estimates are not moved.
    """
    n = len(component)
    scale = max(1.0, float(-np.diag(hessian)[:n].mean()))
    penalty = 0.0
    for c in range(int(component.max()) + 1):
        members = np.flatnonzero(component == c)
        total = float(theta[members].sum())
        weight = scale / len(members)
        penalty += 0.5 * weight * total**2
        gradient[members] -= weight * total
        hessian[np.ix_(members, members)] -= weight
    return penalty
