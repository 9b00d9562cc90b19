"""Several dimensions together by Laplace's method: fast, for any number of items in small components.

Given the standard deviations, the correlation, the order effects and the tie parameters, the strengths are
integrated out by a Gaussian approximation at their mode, component by component, as items of different
components are independent then. What is left is a density of few parameters; draws from a multivariate t at
its mode are weighted by it (importance sampling), so that its skewness near a correlation of 1 is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from bayesbt.counts import Counts
from bayesbt.errors import InputError, NotConvergedError
from bayesbt.infer.joint_marginal import JointMarginal
from bayesbt.infer.results import Options
from bayesbt.infer.samples import Samples
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]

NODES = 400  # points at which the density is evaluated
FREEDOM = 6.0  # of the t distribution
STEP = 0.05  # of finite differences, on scales on which the parameters have sd of about 0.1
SMALL = 1e-5  # of finite differences for the gradient
WIDEST = 1.5  # standard deviation of the proposal along any direction
ROUNDS = 4
ENOUGH, LEAST_EFFECTIVE = 120.0, 50.0  # effective points: to stop at once, and to stop at all
WIDENED = 1.2  # variance of a new proposal, of that of the points
FARTHEST = 6.0  # atanh of a correlation of 0.99999
BOUNDS = {"log_sd": (-5.0, 3.0), "z": (-3.8, 3.8), "order": (-5.0, 5.0), "tie_logit": (-9.0, 6.0)}


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
