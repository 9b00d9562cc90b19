"""Posterior mode and Gaussian approximation, the strengths' standard deviation integrated over a grid.

The joint mode of strengths and their standard deviation does not exist (both can shrink to zero together), so
log(sd) is handled apart: its marginal posterior by Laplace's method at each grid point, then a mixture of the
Gaussian approximations (Tierney and Kadane 1986; Rue, Martino and Chopin 2009).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from bayesbt.counts import Counts
from bayesbt.infer.classical import centred_covariance, normal_draws, scalar_estimates
from bayesbt.infer.model import Cells, fixed_values, free_parameters, log_prior_sd
from bayesbt.infer.modes import Arrow, Mode, Problem, find_mode
from bayesbt.infer.results import Draws, EngineResult, Estimate, Options, centre
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]

GRID = np.linspace(-3.0, 3.0, 13)  # in posterior standard deviations of log(sd)
LOG_SD_BOUNDS = (-7.0, 4.0)  # of log(sd): from 0.001 to 55 log-odds


def _problem(counts: Counts, spec: ModelSpec) -> Problem:
    free = tuple(name for name in ("order", "tie_logit") if name in free_parameters(spec))
    tie_logit, order = fixed_values(spec)
    priors = {"order": spec.priors.order, "tie_logit": spec.priors.tie}
    return Problem(
        spec.ties,
        Cells.of(counts, spec.tie_model),
        free,
        order=order,
        tie_logit=tie_logit,
        priors={name: priors[name] for name in free},
    )


class Marginal:
    """Laplace's log marginal density of log(sd); keeps the last mode as the next start."""

    def __init__(self, counts: Counts, spec: ModelSpec) -> None:
        self.problem = _problem(counts, spec)
        self.prior = spec.priors.strength_sd
        self.start: Floats | None = None

    def at(self, log_sd: float) -> tuple[float, Problem, Mode]:
        """Log marginal density at log(sd), with the problem and the conditional mode there."""
        problem = replace(self.problem, precision=float(np.exp(-2 * log_sd)))
        mode = find_mode(problem, self.start)
        self.start = mode.theta
        log_determinant = Arrow(mode.information, problem.members).log_determinant()
        density = mode.value - problem.cells.n_items * log_sd - 0.5 * log_determinant
        if self.prior.fixed is None:
            density += float(log_prior_sd(np, self.prior, log_sd))
        return float(density), problem, mode

    def mode(self, tolerance: float = 1e-3) -> float:
        """Return log(sd) where the marginal density is highest; the value itself where it is fixed."""
        if self.prior.fixed is not None:
            return float(np.log(self.prior.fixed))
        best = minimize_scalar(
            lambda x: -self.at(x)[0], bounds=LOG_SD_BOUNDS, method="bounded", options={"xatol": tolerance}
        )
        return float(best.x)

    def spread(self, mode: float) -> float:
        """Approximate the standard deviation of log(sd) by the curvature at the mode."""
        h = 0.1
        below, at, above = (self.at(mode + shift)[0] for shift in (-h, 0.0, h))
        curvature = (2 * at - below - above) / h**2
        return float(np.clip(1 / np.sqrt(curvature), 0.02, 1.0)) if curvature > 0 else 1.0


def fit_laplace(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Draws from the mixture of Gaussian approximations over the grid of log(sd)."""
    marginal = Marginal(counts, spec)
    rng = np.random.default_rng(options.seed)
    fixed = spec.priors.strength_sd.fixed
    if fixed is not None:
        nodes = np.array([np.log(fixed)])
    else:
        middle = marginal.mode()
        nodes = middle + marginal.spread(middle) * GRID
    points = [marginal.at(float(node)) for node in nodes]
    log_weights = np.array([point[0] for point in points])
    weights = np.exp(log_weights - log_weights.max())
    pairs = (options.draws * options.chains + 1) // 2
    sizes = 2 * rng.multinomial(pairs, weights / weights.sum())  # normal_draws mirrors each draw
    parts, log_sds = [], []
    for node, size, (_, problem, mode) in zip(nodes, sizes, points, strict=True):
        if size:
            part_options = replace(options, draws=int(size), chains=1, seed=int(rng.integers(2**32)))
            parts.append(normal_draws(problem, mode, counts.component, part_options))
            log_sds.append(np.full(size, node))
    return EngineResult(
        bayesian=True, draws=_shuffled(parts, np.concatenate(log_sds), fixed is None, rng, nodes)
    )


def _shuffled(
    parts: list[Draws], log_sd: Floats, sd_is_free: bool, rng: np.random.Generator, nodes: Floats
) -> Draws:
    """One set of draws in random order; log(sd) spread evenly within its grid step."""
    order = rng.permutation(len(log_sd))
    strength = np.concatenate([part.strength for part in parts], axis=1)[:, order]
    scalars = {
        name: np.concatenate([part.scalars[name] for part in parts], axis=1)[:, order]
        for name in parts[0].scalars
    }
    if sd_is_free:
        step = nodes[1] - nodes[0]
        scalars["strength_sd"] = np.exp(log_sd + rng.uniform(-step / 2, step / 2, len(log_sd)))[None, order]
    return Draws(strength, scalars)


def fit_map(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Posterior mode given the modal sd of the strengths, with errors from the curvature there."""
    marginal = Marginal(counts, spec)
    fixed = spec.priors.strength_sd.fixed
    log_sd = marginal.mode()
    spread = marginal.spread(log_sd) if fixed is None else float("nan")
    _, problem, mode = marginal.at(log_sd)
    scalars = scalar_estimates(problem, mode)
    if fixed is None:
        scalars["strength_sd"] = Estimate(float(np.exp(log_sd)), spread, "log")
    return EngineResult(
        bayesian=True,
        draws=normal_draws(problem, mode, counts.component, options),
        strength=centre(mode.theta[: counts.n_items], counts.component),
        covariance=centred_covariance(mode, counts),
        scalars=scalars,
        loglik=mode.loglik,
    )
