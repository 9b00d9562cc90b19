"""Judgments made by a known truth: to test that a fit finds it, and to plan a study.

Priors and linear predictor are written here a second time and share no code with the engines; the tie models
are the records of :mod:`bayesbt.ties`, whose formulas ``tests/reference.py`` has a second time. ``split``,
``split-half`` and ``drop`` are rules for ties, not models that make them: under these, judgments are drawn
from plain Bradley-Terry and none is a tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Design:
    """Who judges what, and how often: C cells.

    Attributes
    ----------
    items, judges, dimensions : tuple of str
        Labels; one empty label where there is one judge, or one dimension.
    a, b : (C,) int arrays
        The item shown first and the item shown second.
    judge, dimension : (C,) int arrays
    comparisons : (C,) int array
        Judgments in each cell.
    covariates : (I, K) float array
        Standardised.
    """

    items: tuple[str, ...]
    judges: tuple[str, ...]
    dimensions: tuple[str, ...]
    a: Ints
    b: Ints
    judge: Ints
    dimension: Ints
    comparisons: Ints
    covariates: Floats

    @classmethod
    def crossed(
        cls,
        items: int,
        *,
        judges: int = 1,
        dimensions: int = 1,
        comparisons: int = 1,
        covariates: Floats | None = None,
    ) -> Design:
        """Every judge sees every ordered pair, on every dimension, ``comparisons`` times."""
        _at_least({"items": (items, 2), "judges": (judges, 1), "dimensions": (dimensions, 1)})
        _at_least({"comparisons": (comparisons, 0)})
        grid = np.stack(np.meshgrid(*map(np.arange, (items, items, judges, dimensions)), indexing="ij"))
        a, b, judge, dimension = grid.reshape(4, -1)[:, (grid[0] != grid[1]).ravel()]
        return cls(
            labels("item", items),
            labels("judge", judges) if judges > 1 else ("",),
            labels("dimension", dimensions) if dimensions > 1 else ("",),
            *(a, b, judge, dimension),
            np.full(len(a), comparisons),
            np.zeros((items, 0)) if covariates is None else np.asarray(covariates, dtype=float),
        )


@dataclass(frozen=True)
class Truth:
    """Values of every parameter that the model has, fixed ones included.

    Attributes
    ----------
    values : mapping
        By name, as samplers return them: ``strength`` (D, I), ``strength_sd`` (D,), ``correlation`` (D, D),
        ``covariate`` (D, K), ``tie`` (D,) a probability, ``order`` (D,), ``order_by_judge`` (J,) and
        ``tie_by_judge`` (J,) what a judge adds in log-odds, ``adherence`` (J,) of geometric mean 1, and
        ``order_judge_sd``, ``tie_judge_sd``, ``adherence_sd`` ().
    """

    values: Mapping[str, Floats]


def prior_draw(spec: ModelSpec, design: Design, rng: np.random.Generator) -> Truth:
    """Draw every parameter from its prior.

    Raises
    ------
    InputError
        Where the spec names covariates and the design does not have as many.
    """
    priors, size, n_judges = spec.priors, len(design.dimensions), len(design.judges)
    values = _draw_strengths(spec, design, rng)
    if spec.tie_model.has_tie_parameter:
        drawn, to_logit = priors.tie.sample(rng, size), spec.tie_model.logit_of_native
        on_native = priors.tie.family == "LogNormal"
        values["tie"] = np.asarray(expit(to_logit(np, drawn)) if on_native and to_logit else drawn)
    if spec.has_order:
        values["order"] = priors.order.sample(rng, size)
    effects = {
        "order_by_judge": (spec.order == "by-judge", "order_judge_sd"),
        "tie_by_judge": (spec.tie_parameter == "by-judge", "tie_judge_sd"),
        "adherence": (spec.judges == "adherence", "adherence_sd"),
    }
    for name, (used, sd_name) in effects.items():
        if used:
            values[sd_name] = getattr(priors, sd_name).sample(rng, 1)[0]
            values[name] = rng.normal(0.0, values[sd_name], n_judges)
    if "adherence" in values:
        values["adherence"] = np.exp(values["adherence"] - values["adherence"].mean())
    return Truth({name: np.asarray(value, dtype=float) for name, value in values.items()})


def _draw_strengths(spec: ModelSpec, design: Design, rng: np.random.Generator) -> dict[str, Floats]:
    priors, size, n_covariates = spec.priors, len(design.dimensions), len(spec.covariates)
    if design.covariates.shape != (len(design.items), n_covariates):
        raise InputError(
            f"the spec has {n_covariates} covariates and the design's are of shape "
            f"{design.covariates.shape}. Give the design one row an item and one column a covariate."
        )
    sd = priors.strength_sd.sample(rng, size)
    strength = rng.standard_normal((size, len(design.items)))
    values = {"strength_sd": sd}
    if size > 1:
        factor = lkj_cholesky(size, priors.correlation.arguments[0], rng)
        strength = factor @ strength
        values["correlation"] = factor @ factor.T
    strength = sd[:, None] * strength
    if n_covariates:
        values["covariate"] = priors.covariate.sample(rng, size * n_covariates).reshape(size, n_covariates)
        strength = strength + values["covariate"] @ design.covariates.T
    return values | {"strength": strength}


def lkj_cholesky(size: int, eta: float, rng: np.random.Generator) -> Floats:
    """Draw the lower Cholesky factor of an LKJ(eta) correlation matrix of ``size`` dimensions.

    References
    ----------
    Lewandowski, Kurowicka and Joe (2009), section 2.4: partial correlations of a C-vine are Beta on (-1, 1).
    """
    factor = np.eye(size)
    for column in range(size):
        shape = eta + (size - 2 - column) / 2
        for row in range(column + 1, size):
            partial = 2 * rng.beta(shape, shape) - 1
            factor[row, column] = partial * np.sqrt(1 - np.sum(factor[row, :column] ** 2))
    factor[np.diag_indices(size)] = np.sqrt(1 - np.sum(np.tril(factor, -1) ** 2, axis=1))
    return factor


def outcome_probabilities(spec: ModelSpec, design: Design, truth: Truth) -> Floats:
    """(C, 3) P(a wins), P(tie), P(b wins) in each cell; P(tie) is 0 under rules that model no tie."""
    values = truth.values
    strength = values["strength"]
    delta = strength[design.dimension, design.a] - strength[design.dimension, design.b]
    if "adherence" in values:
        delta = values["adherence"][design.judge] * delta
    if "order" in values:
        delta = delta + values["order"][design.dimension]
    if "order_by_judge" in values:
        delta = delta + values["order_by_judge"][design.judge]
    u = np.zeros(1)
    if "tie" in values:
        u = logit(values["tie"])[design.dimension]
    if "tie_by_judge" in values:
        u = u + values["tie_by_judge"][design.judge]
    model = spec.tie_model
    probabilities = np.exp(np.stack(model.log_probabilities(np, delta, u), axis=1))
    return np.asarray(probabilities * (1.0, float(model.has_tie_parameter), 1.0))


def simulate(spec: ModelSpec, design: Design, truth: Truth, rng: np.random.Generator) -> Counts:
    """Draw the outcomes of every comparison of the design; the cells of the counts are the design's."""
    probabilities = outcome_probabilities(spec, design, truth)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    wins_a, ties, wins_b = rng.multinomial(design.comparisons, probabilities).T.astype(float)
    return Counts(
        design.items,
        *(design.a, design.b, wins_a, ties, wins_b),
        judge=design.judge,
        dimension=design.dimension,
        judges=design.judges,
        dimensions=design.dimensions,
        covariates=design.covariates,
    )


def labels(word: str, size: int) -> tuple[str, ...]:
    """Name ``size`` things so that their names sort in their order: item01, item02, ..."""
    return tuple(f"{word}{number:0{len(str(size))}d}" for number in range(1, size + 1))


def _at_least(values: Mapping[str, tuple[int, int]]) -> None:
    for name, (value, least) in values.items():
        if value < least:
            raise InputError(f"--{name} {value}: must be {least} or more.")
