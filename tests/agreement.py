"""Models, data and random points at which every implementation of the log-density must agree."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.infer.model import free_parameters
from bayesbt.spec import ModelSpec, Priors
from bayesbt.ties import TIE_MODELS

PRIORS: dict[str, dict[str, Any]] = {
    "default": {},
    "other": {
        "strength_sd": "LogNormal(0.2, 0.5)",
        "tie": "Beta(2, 5)",
        "order": "Normal(0.3, 1.5)",
        "order_judge_sd": "LogNormal(-1, 0.4)",
        "tie_judge_sd": 0.3,
        "adherence_sd": "HalfNormal(0.7)",
        "covariate": "Normal(0.2, 0.6)",
        "correlation": "LKJ(3)",
    },
    "native": {"strength_sd": 1.7, "tie": "LogNormal(0.1, 0.8)", "order_judge_sd": 0.4},
    "fixed": {"strength_sd": 0.8, "tie": 0.2, "order": 0.4},
}


def specs() -> list[ModelSpec]:
    """Every combination of tie model, order effect, judges, tie parameter, covariates and priors."""
    found = []
    for ties, order, judges, scope, covariates, priors in product(
        TIE_MODELS,
        ("none", "shared", "by-judge"),
        ("ignore", "adherence"),
        ("shared", "by-judge"),
        ((), ("words", "year")),
        PRIORS,
    ):
        if scope == "by-judge" and not TIE_MODELS[ties].has_tie_parameter:
            continue
        found.append(ModelSpec(ties, order, judges, scope, covariates, Priors().updated(PRIORS[priors])))
    return found


def label(spec: ModelSpec) -> str:
    """Name a combination for the test's report."""
    name = next(name for name, changes in PRIORS.items() if Priors().updated(changes) == spec.priors)
    return f"{spec.ties}/{spec.order}/{spec.judges}/{spec.tie_parameter}/{len(spec.covariates)}x/{name}"


def combinations(every: int = 11) -> list[ParameterSet]:
    """Every combination with one dimension and with three; one in ``every`` is not slow.

    Eleven divides no option's number of choices, so the share holds each choice about equally often.
    """
    found = [(spec, dimensions) for spec in specs() for dimensions in (1, 3)]
    marks = [[] if number % every == every // 2 else [pytest.mark.slow] for number in range(len(found))]
    return [
        pytest.param(spec, dimensions, id=f"{label(spec)}/{dimensions}d", marks=mark)
        for (spec, dimensions), mark in zip(found, marks, strict=True)
    ]


def data(dimensions: int) -> Counts:
    """Five items, three judges, two covariates; nothing symmetric."""
    rng = np.random.default_rng(17)
    size = 40 * dimensions
    a = rng.integers(0, 5, size)
    b = (a + rng.integers(1, 5, size)) % 5
    counts = rng.integers(0, [[6], [3], [4]], (3, size)) + 0.5 * rng.integers(0, 2, (3, size))
    covariates = rng.normal(size=(5, 2))
    return Counts(
        ("p", "q", "r", "s", "t"),
        a,
        b,
        *counts,
        judge=rng.integers(0, 3, size),
        dimension=np.arange(size) % dimensions,
        judges=("j1", "j2", "j3"),
        dimensions=tuple(f"d{d}" for d in range(dimensions)),
        covariates=(covariates - covariates.mean(axis=0)) / covariates.std(axis=0),
    )


def random_point(spec: ModelSpec, counts: Counts, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Values of every free parameter, as bayesbt.infer.model names and shapes them."""
    d, i, j = len(counts.dimensions), counts.n_items, len(counts.judges)
    shapes: dict[str, tuple[int, ...]] = {
        "strength": (d, i),
        "log_sd": (d,),
        "covariate": (d, len(spec.covariates)),
        "tie_logit": (d,),
        "order": (d,),
        "order_by_judge": (j,),
        "log_order_judge_sd": (),
        "tie_by_judge": (j,),
        "log_tie_judge_sd": (),
        "log_adherence": (j,),
        "log_adherence_sd": (),
    }
    names = ("strength", *free_parameters(spec, d))
    point = {name: np.asarray(rng.normal(0, 0.7, shapes[name])) for name in names if name in shapes}
    if "correlation_cholesky" in names:
        rows = np.tril(rng.normal(size=(d, d)), -1) + np.diag(np.abs(rng.normal(1, 0.3, d)))
        point["correlation_cholesky"] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return point
