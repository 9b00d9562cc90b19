"""The joint posterior of several dimensions with the strengths integrated out by Laplace's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import logit

from bayesbt.counts import Counts
from bayesbt.errors import NotConvergedError
from bayesbt.infer.derivatives import cell_derivatives
from bayesbt.infer.model import Cells, free_parameters, log_prior_sd, log_prior_tie
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-8  # of a Newton step, in log-odds
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class Layout:
    """Where each kind of parameter stands in the vector theta, for D dimensions.

    ``log_sd`` (D,), ``z`` (D (D - 1) / 2,) inverse hyperbolic tangents of partial correlations, ``order`` and
    ``tie_logit`` (D,); each only where it is free.
    """

    size: int
    slices: dict[str, slice]

    @classmethod
    def of(cls, spec: ModelSpec, dimensions: int) -> Layout:
        """Lay out the free parameters of a model."""
        free = free_parameters(spec, dimensions)
        lengths = {"log_sd": dimensions, "z": dimensions * (dimensions - 1) // 2}
        lengths |= {"order": dimensions, "tie_logit": dimensions}
        slices, size = {}, 0
        for name, length in lengths.items():
            if name == "z" or name in free:
                slices[name] = slice(size, size + length)
                size += length
        return cls(size, slices)


class JointMarginal:
    """The log-density of theta, the strengths integrated out; keeps the last mode as the next start."""

    def __init__(self, counts: Counts, spec: ModelSpec) -> None:
        self.counts, self.spec, self.dimensions = counts, spec, len(counts.dimensions)
        self.layout = Layout.of(spec, self.dimensions)
        self.cells = [Cells.of(counts.of_dimension(d), spec.tie_model) for d in range(self.dimensions)]
        self.blocks = [_Block.of(counts, self.cells, int(c)) for c in np.unique(counts.component)]
        self.start = np.zeros((self.dimensions, counts.n_items))

    def values(self, theta: Floats) -> dict[str, Floats]:
        """Every parameter (D,), fixed ones included, and the Cholesky factor of the correlation (D, D)."""
        priors, size = self.spec.priors, self.dimensions
        fixed = {
            "log_sd": np.log(priors.strength_sd.fixed or 1.0),
            "order": priors.order.fixed or 0.0,
            "tie_logit": logit(priors.tie.fixed) if priors.tie.fixed is not None else 0.0,
        }
        found = {name: np.full(size, value) for name, value in fixed.items()}
        found |= {name: theta[place] for name, place in self.layout.slices.items() if name != "z"}
        if not self.spec.has_order:
            found["order"] = np.zeros(size)
        return found | {"factor": correlation_factor(theta[self.layout.slices["z"]], size)}

    def log_prior(self, theta: Floats) -> float:
        """Log-prior of theta with every Jacobian, up to a constant."""
        spec, total = self.spec, 0.0
        for name, place in self.layout.slices.items():
            x = theta[place]
            if name == "log_sd":
                total += float(np.sum(log_prior_sd(np, spec.priors.strength_sd, x)))
            elif name == "order":
                total += float(np.sum(spec.priors.order.log_density(np, x)))
            elif name == "tie_logit":
                total += float(np.sum(log_prior_tie(np, spec.tie_model, spec.priors.tie, x)))
            else:
                (eta,) = spec.priors.correlation.arguments
                total += lkj_log_density(x, self.dimensions, eta)
        return total

    def __call__(self, theta: Floats) -> float:
        """Log marginal density of theta, up to a constant."""
        found = self.values(theta)
        precision, log_determinant = _precision(found)
        strength, value, factors = self.mode(found, precision)
        self.start = strength
        quadratic = float(np.einsum("di,de,ei->", strength, precision, strength))
        information = sum(2 * np.log(np.einsum("ii->i", factor)).sum() for factor in factors)
        prior = -0.5 * quadratic - 0.5 * self.counts.n_items * log_determinant
        return float(value + prior - 0.5 * information + self.log_prior(theta))

    def mode(self, found: dict[str, Floats], precision: Floats) -> tuple[Floats, float, list[Floats]]:
        """(D, I) Mode of the strengths, log-likelihood there, and Cholesky factors of the information."""
        strength = self.start.copy()
        for _ in range(MAX_ITERATIONS):
            parts = []
            for d, cells in enumerate(self.cells):
                delta = strength[d, cells.a] - strength[d, cells.b] + found["order"][d]
                parts.append(cell_derivatives(self.spec.ties, delta, float(found["tie_logit"][d]), cells))
            slope = np.concatenate([part.d for part in parts])
            curvature = -np.concatenate([part.dd for part in parts])
            step, factors = np.zeros_like(strength), []
            for block in self.blocks:
                change, factor = block.newton(strength, slope, curvature, precision)
                step[:, block.items] = change
                factors.append(factor)
            largest = np.abs(step).max()
            if largest < TOLERANCE:
                return strength, float(sum(part.value.sum() for part in parts)), factors
            strength = strength + step * min(1.0, 2.0 / largest)
        raise NotConvergedError(
            f"The mode of the strengths was not found in {MAX_ITERATIONS} steps; use --engine numpyro."
        )

    def draws(self, theta: Floats, size: int, rng: np.random.Generator) -> Floats:
        """(size, D, I) Draws of the strengths given theta."""
        found = self.values(theta)
        strength, _, factors = self.mode(found, _precision(found)[0])
        out = np.tile(strength, (size, 1, 1))
        for block, factor in zip(self.blocks, factors, strict=True):
            noise = np.linalg.solve(factor.T, rng.standard_normal((len(factor), size)))
            out[:, :, block.items] += noise.T.reshape(size, self.dimensions, -1)
        return out


@dataclass(frozen=True)
class _Block:
    """The items of one component in all dimensions, and how their E cells enter gradient and information."""

    items: Ints
    cells: Ints
    slope: Any
    curvature: Any

    @classmethod
    def of(cls, counts: Counts, cells: list[Cells], component: int) -> _Block:
        items = np.flatnonzero(counts.component == component)
        n, size = len(items), len(items) * len(cells)
        mine, first, second, offset = [], [], [], 0
        for d, part in enumerate(cells):
            here = np.flatnonzero(counts.component[part.a] == component)
            mine.append(offset + here)
            first.append(d * n + np.searchsorted(items, part.a[here]))
            second.append(d * n + np.searchsorted(items, part.b[here]))
            offset += len(part.a)
        a, b = np.concatenate(first), np.concatenate(second)
        cell, plus = np.arange(len(a)), np.ones(len(a))
        slope = csr_matrix((np.r_[plus, -plus], (np.r_[a, b], np.tile(cell, 2))), shape=(size, len(a)))
        places = np.concatenate([a * size + a, b * size + b, a * size + b, b * size + a])
        signs = np.r_[plus, plus, -plus, -plus]
        curvature = csr_matrix((signs, (places, np.tile(cell, 4))), shape=(size**2, len(a)))
        return cls(items, np.concatenate(mine), slope, curvature)

    def newton(
        self, strength: Floats, slope: Floats, curvature: Floats, precision: Floats
    ) -> tuple[Floats, Floats]:
        """(D, n) Newton's step, and the Cholesky factor of the information (D n, D n)."""
        mine = strength[:, self.items]
        gradient = self.slope @ slope[self.cells] - (precision @ mine).ravel()
        size, n = len(gradient), len(self.items)
        information = (self.curvature @ curvature[self.cells]).reshape(size, size)
        information += np.kron(precision, np.eye(n))
        factor = np.linalg.cholesky(information)
        step = np.linalg.solve(factor.T, np.linalg.solve(factor, gradient))
        return step.reshape(mine.shape), factor


def correlation_factor(z: Floats, size: int) -> Floats:
    """(D, D) Lower Cholesky factor of the correlation with canonical partial correlations tanh(z)."""
    factor = np.eye(size)
    partial = np.zeros((size, size))
    partial[np.tril_indices(size, -1)] = np.tanh(z)
    for row in range(1, size):
        left = 1.0
        for column in range(row):
            factor[row, column] = partial[row, column] * np.sqrt(left)
            left -= factor[row, column] ** 2
        factor[row, row] = np.sqrt(left)
    return factor


def lkj_log_density(z: Floats, size: int, eta: float) -> float:
    """Log-density of LKJ(eta) over z = atanh of the partial correlations, up to a constant.

    References
    ----------
    Lewandowski, Kurowicka and Joe (2009), section 2.4: they are Beta on (-1, 1); dr = (1 - r^2) dz.
    """
    shape = eta + (size - 2 - np.tril_indices(size, -1)[1]) / 2
    return float(np.sum(-2 * shape * np.log(np.cosh(z))))


def _precision(found: dict[str, Floats]) -> tuple[Floats, float]:
    """(D, D) Inverse of the covariance of one item's strengths, and log-determinant of the covariance."""
    scaled = np.exp(found["log_sd"])[:, None] * found["factor"]
    inverse = np.linalg.inv(scaled)
    return inverse.T @ inverse, 2 * float(np.log(np.diag(scaled)).sum())
