"""Several dimensions together by Laplace's method: fast, for any number of items in small components.

Given the standard deviations, the correlation, the order effects and the tie parameters, the strengths are
integrated out by a Gaussian approximation at their mode, component by component, as items of different
components are independent then. What is left is a density of few parameters; draws from a multivariate t at
its mode are weighted by it (importance sampling), so that its skewness near a correlation of 1 is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, logit

from bayesbt.counts import Counts
from bayesbt.errors import InputError, NotConvergedError
from bayesbt.infer.derivatives import cell_derivatives
from bayesbt.infer.model import Cells, free_parameters, log_prior_sd, log_prior_tie
from bayesbt.infer.results import Options
from bayesbt.infer.samples import Samples
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NODES = 400  # points at which the density is evaluated
FREEDOM = 6.0  # of the t distribution
STEP = 0.05  # of finite differences, on scales on which the parameters have sd of about 0.1
SMALL = 1e-5  # of finite differences for the gradient
WIDEST = 1.5  # standard deviation of the proposal along any direction
TOLERANCE = 1e-8
MAX_ITERATIONS = 100
ROUNDS = 4
ENOUGH, LEAST_EFFECTIVE = 120.0, 50.0  # effective points: to stop at once, and to stop at all
WIDENED = 1.2  # variance of a new proposal, of that of the points
FARTHEST = 6.0  # atanh of a correlation of 0.99999
BOUNDS = {"log_sd": (-5.0, 3.0), "z": (-3.8, 3.8), "order": (-5.0, 5.0), "tie_logit": (-9.0, 6.0)}


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


def sample(counts: Counts, spec: ModelSpec, options: Options) -> Samples:
    """Draws from the joint posterior of D dimensions, ``draws * chains`` in one chain.

    Raises
    ------
    InputError
        For covariates or parameters by judge.
    NotConvergedError
        Where the approximation carries too little of the posterior; sample by numpyro then.
    """
    if spec.by_judge or spec.covariates:
        raise InputError("--engine laplace cannot take covariates or parameters by judge here; use numpyro.")
    marginal = JointMarginal(counts, spec)
    rng = np.random.default_rng(options.seed)
    middle = _highest(marginal)
    nodes, weights = _weighted_nodes(marginal, middle, rng)
    number = rng.multinomial(options.draws * options.chains, weights)
    strengths, thetas = [], []
    for node, times in zip(nodes, number, strict=True):
        if times:
            strengths.append(marginal.draws(node, int(times), rng))
            thetas += [node] * int(times)
    order = rng.permutation(len(thetas))
    found = [marginal.values(thetas[k]) for k in order]
    values = {"strength": np.concatenate(strengths)[order]}
    values["correlation"] = np.stack([each["factor"] @ each["factor"].T for each in found])
    public: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
        "log_sd": ("strength_sd", np.exp),
        "order": ("order", np.asarray),
        "tie_logit": ("tie", expit),
    }
    for name, (label, change) in public.items():
        if name in marginal.layout.slices:
            values[label] = change(np.stack([each[name] for each in found]))
    return Samples({name: value[None] for name, value in values.items()}, {})


def _precision(found: dict[str, Floats]) -> tuple[Floats, float]:
    """(D, D) Inverse of the covariance of one item's strengths, and log-determinant of the covariance."""
    scaled = np.exp(found["log_sd"])[:, None] * found["factor"]
    inverse = np.linalg.inv(scaled)
    return inverse.T @ inverse, 2 * float(np.log(np.diag(scaled)).sum())


def _highest(marginal: JointMarginal) -> Floats:
    bounds = [
        BOUNDS[name] for name, part in marginal.layout.slices.items() for _ in range(part.stop - part.start)
    ]
    start = np.zeros(marginal.layout.size)
    start[marginal.layout.slices["z"]] = 0.2
    if "tie_logit" in marginal.layout.slices:
        rates = [(part.ties.sum() + 0.5) / (part.total + 1.0) for part in marginal.cells]
        start[marginal.layout.slices["tie_logit"]] = logit(rates)

    def downhill(theta: Floats) -> tuple[float, Floats]:
        value = marginal(theta)
        slope = [(marginal(theta + step) - value) / SMALL for step in SMALL * np.eye(len(theta))]
        return -value, -np.array(slope)

    best = minimize(downhill, start, method="L-BFGS-B", jac=True, bounds=bounds)
    return np.asarray(best.x)


def _weighted_nodes(
    marginal: JointMarginal, middle: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """(N, P) Points about the mode, and their normalised importance weights (N,).

    Where the first proposal, from the curvature at the mode, fits badly, the next has the weighted mean and
    covariance of its points.
    """
    values, vectors = np.linalg.eigh(_curvature(marginal, middle))
    scale = vectors * np.minimum(1 / np.sqrt(np.maximum(values, 1e-12)), WIDEST)
    effective = 0.0
    for _ in range(ROUNDS):
        nodes, weights = _importance(marginal, middle, scale, rng)
        effective = 1 / float((weights**2).sum())
        if effective >= ENOUGH:
            return nodes, weights
        middle = weights @ nodes
        apart = nodes - middle
        covariance = (weights[:, None] * apart).T @ apart + 1e-4 * np.eye(len(middle))
        scale = np.linalg.cholesky(WIDENED * covariance)
    if effective >= LEAST_EFFECTIVE:
        return nodes, weights
    raise NotConvergedError(
        f"Laplace's method carries too little of this posterior ({effective:.0f} effective points of "
        f"{NODES}); use --engine numpyro."
    )


def _importance(
    marginal: JointMarginal, middle: Floats, scale: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Points from a t distribution, each with its mirror image, and their weights."""
    half = rng.standard_normal((NODES // 2, len(middle)))
    spread = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, NODES // 2))[:, None]
    standard = np.concatenate([half * spread, -half * spread])
    nodes = middle + standard @ scale.T
    inside = np.abs(nodes[:, marginal.layout.slices["z"]]).max(axis=1) < FARTHEST
    proposal = -(FREEDOM + len(middle)) / 2 * np.log1p((standard**2).sum(axis=1) / FREEDOM)
    density = np.array([marginal(node) if ok else -np.inf for node, ok in zip(nodes, inside, strict=True)])
    weights = np.exp(density - proposal - (density - proposal).max())
    return nodes, weights / weights.sum()


def _curvature(marginal: JointMarginal, middle: Floats) -> Floats:
    """(P, P) Minus the Hessian of the log-density, by finite differences."""
    size = len(middle)
    steps = STEP * np.eye(size)
    centre = marginal(middle)
    up = np.array([marginal(middle + step) for step in steps])
    down = np.array([marginal(middle - step) for step in steps])
    hessian = np.diag((up + down - 2 * centre) / STEP**2)
    for i in range(size):
        for j in range(i):
            corner = marginal(middle + steps[i] + steps[j])
            hessian[i, j] = hessian[j, i] = (corner - up[i] - up[j] + centre) / STEP**2
    return -hessian
