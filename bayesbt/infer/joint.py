"""Several dimensions in one fit: the strengths of an item are correlated over dimensions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.counts import Counts, count_judgments
from bayesbt.covariates import design_matrix
from bayesbt.errors import InputError
from bayesbt.infer import Prepared, counted_for, criticised, messages_of
from bayesbt.infer.diagnostics import diagnose
from bayesbt.infer.engines import (
    ENGINES,
    engine_name,
    read_options,
    require_whole_model,
    run_sampler,
)
from bayesbt.infer.fitted import Fit
from bayesbt.infer.results import Options
from bayesbt.infer.samples import Samples, results_of
from bayesbt.provenance import provenance
from bayesbt.ranks import highest_density_interval
from bayesbt.spec import ModelSpec
from bayesbt.tables import Items, Judgments

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class JointFit:
    """One fit a dimension, made together, and the correlation of the strengths between dimensions.

    Attributes
    ----------
    fits : dict of str to Fit
        By dimension; their draws belong together draw by draw.
    correlation : (S, D, D) array
        Draws of the correlation matrix.
    """

    fits: dict[str, Fit]
    correlation: Floats

    def correlations(self) -> pd.DataFrame:
        """One row a pair of dimensions: ``first``, ``second``, ``mean``, ``sd``, ``lower``, ``upper``."""
        names = list(self.fits)
        interval = next(iter(self.fits.values())).options.interval
        rows = []
        for i, j in combinations(range(len(names)), 2):
            draws = self.correlation[:, i, j]
            lower, upper = highest_density_interval(draws, interval)
            numbers = (draws.mean(), draws.std(ddof=1), lower, upper)
            rows.append((names[i], names[j], *map(float, numbers)))
        return pd.DataFrame(rows, columns=["first", "second", "mean", "sd", "lower", "upper"])


def fit_joint(
    judgments: Judgments,
    *,
    engine: str = "auto",
    model: ModelSpec | None = None,
    items: Items | None = None,
    judge: str | None = None,
    topic: str | None = None,
    soft: bool = False,
    **options: Any,
) -> JointFit:
    """Fit all dimensions of a table together.

    Parameters
    ----------
    judgments : Judgments
        With two dimensions or more.
    engine : str
        One that takes the whole model: ``numpyro`` (``auto``) or ``pymc``; or ``laplace``, an approximation
        for models without covariates and parameters by judge.
    model : ModelSpec, optional
        Tie model, order effect, judges, covariates and priors; each dimension has its own tie parameter,
        order effect, coefficients and standard deviation; what a judge adds is common to all.
    items, judge, topic, soft, **options
        As in :func:`bayesbt.fit`.

    Raises
    ------
    InputError
        Fewer than two dimensions, or an engine that cannot take several.
    """
    started = time.perf_counter()
    name, settings, spec = engine_name(engine), read_options(options), model or ModelSpec()
    sample = _together(name, spec)
    counts = count_judgments(
        judgments, items=items, judge=judge, topic=topic, by_judge=spec.by_judge, by_dimension=True, soft=soft
    )
    if len(counts.dimensions) < 2:
        raise InputError(f"{judgments.source}: --joint dimension needs two dimensions or more.")
    counts = counted_for(counts, spec)
    counts = replace(counts, covariates=design_matrix(items, spec.covariates, counts.items))
    samples = sample(counts, spec, settings)
    facts = provenance(seed=settings.seed, wall_time=time.perf_counter() - started, source=judgments.source)
    fits = {}
    for d, (dimension, result) in enumerate(
        zip(counts.dimensions, results_of(samples, counts, spec), strict=True)
    ):
        alone = count_judgments(judgments, dimension=dimension, judge=judge, topic=topic, soft=soft)
        part = replace(counts.of_dimension(d), unscored=alone.unscored)
        messages = messages_of(Prepared(name, spec, part, settings))
        diagnostics = diagnose(result, name, messages, extra=_off_diagonal(samples.values["correlation"]))
        fits[dimension] = criticised(Fit(spec, part, name, settings, result, diagnostics, facts))
    size = len(counts.dimensions)
    return JointFit(fits, samples.values["correlation"].reshape(-1, size, size))


def _together(name: str, spec: ModelSpec) -> Callable[[Counts, ModelSpec, Options], Samples]:
    """Find what draws from several dimensions together."""
    if name == "laplace":
        require_whole_model(name, spec)
        from bayesbt.infer.joint_laplace import sample

        return sample
    if ENGINES[name].sampler:
        return partial(run_sampler, name)
    able = ", ".join(["laplace", *(other for other, row in ENGINES.items() if row.sampler)])
    raise InputError(f"--engine {name} cannot take several dimensions together. Engines that can: {able}.")


def _off_diagonal(correlation: Floats) -> Floats:
    """(chains, draws, pairs) The correlations above the diagonal."""
    rows, columns = np.triu_indices(correlation.shape[-1], 1)
    return correlation[..., rows, columns]
