"""Maximum likelihood with standard errors, and two point estimators of the literature."""

from __future__ import annotations

import choix
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from bayesbt.counts import Counts
from bayesbt.errors import InputError, NotConvergedError
from bayesbt.infer.existence import require_finite_maximum
from bayesbt.infer.model import Cells
from bayesbt.infer.modes import Mode, Problem, find_mode, scalars_at
from bayesbt.infer.results import Draws, EngineResult, Estimate, Options, centre
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def fit_ml(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Maximum likelihood; standard errors from the observed information.

    Draws are from the asymptotic normal distribution of the estimator and serve the ranks.

    Raises
    ------
    SeparationError
        Where the maximum is not finite; the message names the items at fault and the remedies.
    """
    cells = Cells.of(counts, spec.tie_model)
    require_finite_maximum(counts, cells, spec)
    free = tuple(name for name, used in (("order", spec.has_order), ("tie_logit", cells.ties.any())) if used)
    problem = Problem(spec.ties, cells, free, component=counts.component)
    mode = find_mode(problem)
    draws = normal_draws(problem, mode, counts.component, options)
    covariance = centred_covariance(mode, counts)
    strength = centre(mode.theta[: counts.n_items], counts.component)
    return EngineResult(
        bayesian=False,
        draws=draws,
        strength=_without_evidence(strength, counts),
        covariance=covariance,
        scalars=scalar_estimates(problem, mode),
        loglik=mode.loglik,
    )


def fit_gienapp(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Gienapp et al. (2020): Rao-Kupper with a fixed threshold ``tau``, and a dummy of log-merit 1.

    Every item has ``reg`` virtual wins and ``reg`` virtual losses against the dummy, which puts all
    components on one scale. Strengths are centred over all items, not by component.
    """
    if spec.ties != "rao-kupper" or spec.has_order:
        raise InputError(
            f"--engine gienapp is Rao-Kupper with a fixed threshold and no order effect; it cannot take "
            f"--ties {spec.ties} --order {spec.order}. Leave both out, or choose --engine ml."
        )
    if options.tau <= 0 or options.reg <= 0:
        raise InputError(
            f"--tau {options.tau:g} --reg {options.reg:g}: both must be above 0 (the paper: 0.05, 0.1)."
        )
    cells, dummy = Cells.of(counts, spec.tie_model), counts.n_items
    virtual = np.full(counts.n_items, options.reg)
    augmented = Cells(
        counts.n_items + 1,
        np.append(cells.a, np.arange(dummy)),
        np.append(cells.b, np.full(dummy, dummy)),
        np.append(cells.wins_a, virtual),
        np.append(cells.ties, 0 * virtual),
        np.append(cells.wins_b, virtual),
        np.zeros(len(cells.a) + dummy, dtype=np.int64),
        np.zeros(len(cells.a) + dummy, dtype=np.int64),
    )
    tie_logit = float(np.log(np.expm1(options.tau) / 2))
    one_scale = np.zeros(dummy + 1, dtype=np.int64)
    mode = find_mode(Problem(spec.ties, augmented, (), tie_logit=tie_logit, component=one_scale))
    strength = mode.theta[:dummy]
    tie = Estimate(1 / (1 + np.exp(-tie_logit)), np.nan, "logit")
    return EngineResult(
        False, strength=strength - strength.mean(), scalars={"tie": tie}, messages=_one_scale(counts)
    )


def fit_ilsr(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Call choix for iterative Luce spectral ranking, the estimator of the paper's released code.

    Strengths are centred over all items; ``alpha`` puts all components on one scale.
    """
    if spec.tie_model.has_tie_parameter or spec.has_order:
        raise InputError(
            f"--engine ilsr is plain Bradley-Terry; it cannot take --ties {spec.ties} --order {spec.order}. "
            "Choose --ties split (the paper), split-half or drop, and no order effect; or --engine ml."
        )
    if options.alpha <= 0 and int(counts.component.max()) > 0:
        raise InputError(
            f"--alpha {options.alpha:g} with several components: ilsr needs alpha above 0 there."
        )
    cells = Cells.of(counts, spec.tie_model)
    wins = np.zeros((counts.n_items, counts.n_items))
    np.add.at(wins, (cells.a, cells.b), cells.wins_a)
    np.add.at(wins, (cells.b, cells.a), cells.wins_b)
    try:
        strength = np.asarray(choix.ilsr_pairwise_dense(wins, alpha=options.alpha))
    except (RuntimeError, ValueError) as error:
        raise NotConvergedError(
            f"choix.ilsr_pairwise_dense: {error}. Raise --alpha, or use --engine ml."
        ) from error
    return EngineResult(False, strength=strength - strength.mean(), messages=_one_scale(counts))


def _one_scale(counts: Counts) -> tuple[str, ...]:
    n_components = int(counts.component.max()) + 1
    if n_components == 1:
        return ()
    return (
        f"{n_components} components share one scale only through the engine's regularisation: "
        "a difference between items of different components says nothing about the data.",
    )


def centred_covariance(mode: Mode, counts: Counts) -> Floats:
    """(I, I) covariance of the strengths centred within their component; NaN for items never compared."""
    inverse = cho_solve(cho_factor(mode.information), np.eye(len(mode.theta)))
    block = inverse[: counts.n_items, : counts.n_items]
    covariance = centre(centre(block, counts.component).T.copy(), counts.component)
    alone = counts.comparisons == 0
    covariance[alone, :] = covariance[:, alone] = np.nan
    return covariance


def _without_evidence(strength: Floats, counts: Counts) -> Floats:
    return np.where(counts.comparisons == 0, np.nan, strength)


def scalar_estimates(problem: Problem, mode: Mode) -> dict[str, Estimate]:
    """Give the free scalars with standard errors: t on the logit scale, beta as it is."""
    n = problem.cells.n_items
    if not problem.free:
        return {}
    inverse = cho_solve(cho_factor(mode.information), np.eye(len(mode.theta))[:, n:])[n:]
    errors = np.sqrt(np.diag(inverse))
    order, tie_logit = scalars_at(problem, mode.theta)
    values = {
        "order": ("order", order, "identity"),
        "tie_logit": ("tie", 1 / (1 + np.exp(-tie_logit)), "logit"),
    }
    out = {}
    for name, error in zip(problem.free, errors, strict=True):
        public, value, scale = values[name]
        out[public] = Estimate(value, float(error), scale)
    return out


def normal_draws(problem: Problem, mode: Mode, component: Ints, options: Options) -> Draws:
    """Draws from Normal(mode, information^-1), strengths centred; shapes (1, S, ...)."""
    rng = np.random.default_rng(options.seed)
    size = options.draws * options.chains
    half = rng.standard_normal((len(mode.theta), (size + 1) // 2))
    noise = np.concatenate([half, -half], axis=1)[:, :size]  # in pairs, so that their mean is the mode
    theta = mode.theta + solve_triangular(cholesky(mode.information), noise).T
    n = problem.cells.n_items
    scalars: dict[str, Floats] = {}
    for k, name in enumerate(problem.free):
        column = theta[None, :, n + k]
        scalars |= {"order": column} if name == "order" else {"tie": 1 / (1 + np.exp(-column))}
    return Draws(centre(theta[None, :, :n], component), scalars)
