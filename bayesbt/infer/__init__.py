"""Fit a model to judgments: ``fit`` is the arrow from Counts to Fit; each engine is one row of a table."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from bayesbt.counts import Counts, count_judgments
from bayesbt.errors import InputError
from bayesbt.infer.diagnostics import diagnose
from bayesbt.infer.existence import separation_messages
from bayesbt.infer.fit import Fit
from bayesbt.infer.model import Cells
from bayesbt.infer.results import EngineResult, Options
from bayesbt.provenance import provenance
from bayesbt.spec import ModelSpec, Order, Prior, Priors
from bayesbt.tables import Items, Judgments

__all__ = ["ENGINES", "Fit", "Options", "fit", "load_fit"]


@dataclass(frozen=True)
class Engine:
    """Where an engine lives, what it uses of the model, and the tie model it takes when none is named."""

    path: str
    default_ties: str = "rao-kupper"


ENGINES: dict[str, Engine] = {
    "ml": Engine("bayesbt.infer.classical:fit_ml"),
    "map": Engine("bayesbt.infer.laplace:fit_map"),
    "laplace": Engine("bayesbt.infer.laplace:fit_laplace"),
    "numpyro": Engine("bayesbt.infer.numpyro_engine:fit_numpyro"),
    "gienapp": Engine("bayesbt.infer.classical:fit_gienapp"),
    "ilsr": Engine("bayesbt.infer.classical:fit_ilsr", default_ties="split"),
}
AUTO = "numpyro"


def fit(
    judgments: Judgments | Counts,
    *,
    ties: str | None = None,
    engine: str = "auto",
    order: Order = "none",
    priors: Priors | Mapping[str, str | float | Prior] | None = None,
    items: Items | None = None,
    dimension: str | None = None,
    judge: str | None = None,
    topic: str | None = None,
    **options: Any,
) -> Fit:
    """Fit strengths to judgments.

    Parameters
    ----------
    judgments : Judgments or Counts
    ties : str, optional
        Tie model; rao-kupper where none is named (split for ilsr).
    engine : str
        A name of :data:`ENGINES`, or ``auto`` (numpyro).
    order : {"none", "shared"}
        Whether the item shown first gets an advantage.
    priors : Priors or dict, optional
        Changes to the default priors, such as ``{"strength_sd": 3, "tie": "Beta(2, 5)"}``.
    items : Items, optional
        Declared items; those never compared are kept and marked.
    dimension, judge, topic : str, optional
        Keep only these judgments.
    **options
        Fields of :class:`bayesbt.infer.results.Options`: draws, tune, chains, target_accept, seed, interval,
        tau, reg, alpha, reference, progress.

    Returns
    -------
    Fit

    Raises
    ------
    InputError
        Unknown names, impossible combinations, nothing to fit.
    SeparationError
        Maximum likelihood without a finite maximum.
    """
    started = time.perf_counter()
    name = AUTO if engine == "auto" else engine
    if name not in ENGINES:
        raise InputError(f"--engine {engine!r} is not known. Allowed: auto, {', '.join(ENGINES)}.")
    settings = read_options(options)
    priors = priors if isinstance(priors, Priors) else Priors().updated(priors or {})
    spec = ModelSpec(ties or ENGINES[name].default_ties, order, priors=priors)
    counts = _counted(judgments, items=items, dimension=dimension, judge=judge, topic=topic)
    if settings.reference is not None and settings.reference not in counts.items:
        raise InputError(f"--reference {settings.reference!r} is not an item of these judgments.")
    result = run_engine(name, counts, spec, settings)
    messages = (*counts.messages, *_data_messages(counts, spec, name))
    elapsed = time.perf_counter() - started
    facts = provenance(seed=settings.seed, wall_time=elapsed, source=getattr(judgments, "source", "counts"))
    return Fit(spec, counts, name, settings, result, diagnose(result, name, messages), facts)


def run_engine(name: str, counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Call an engine by its name; its module is imported here and not before."""
    module, _, function = ENGINES[name].path.partition(":")
    result: EngineResult = getattr(import_module(module), function)(counts, spec, options)
    return result


def read_options(options: Mapping[str, Any]) -> Options:
    """Check the names and ranges of the options of :func:`fit`."""
    allowed = [option.name for option in fields(Options)]
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise InputError(f"fit: no option named {', '.join(unknown)}. Allowed: {', '.join(allowed)}.")
    settings = Options(**options)
    for name, least in (("draws", 2), ("tune", 1), ("chains", 1)):
        if getattr(settings, name) < least:
            raise InputError(f"--{name} {getattr(settings, name)}: must be {least} or more.")
    for name, value in (("interval", settings.interval), ("target-accept", settings.target_accept)):
        if not 0 < value < 1:
            raise InputError(f"--{name} {value:g}: must be between 0 and 1.")
    return settings


def _counted(judgments: Judgments | Counts, **selection: Any) -> Counts:
    if isinstance(judgments, Judgments):
        return count_judgments(judgments, **selection)
    given = [name for name, value in selection.items() if value is not None]
    if given:
        raise InputError(
            f"fit: {', '.join(given)} cannot be chosen once judgments are counted; count them so."
        )
    return judgments


def _data_messages(counts: Counts, spec: ModelSpec, engine: str) -> list[str]:
    """Say what the data cannot tell: separation, several components, items never compared."""
    messages = []
    if engine != "ml":
        cells = Cells.of(counts, spec.tie_model)
        found = separation_messages(counts, cells, spec)
        messages += [
            f"{text} The likelihood has no unique finite maximum there: the value is set by the prior."
            for text in found
        ]
    compared = counts.comparisons > 0
    if counts.n_components > 1:
        messages.append(
            f"The items form {counts.n_components} components that no comparison links: "
            "ranks are within a component, and a difference across components is prior only."
        )
    alone = [item for item, known in zip(counts.items, compared, strict=True) if not known]
    if alone:
        messages.append(
            f"No comparisons: {', '.join(alone[:12])}{' ...' if len(alone) > 12 else ''} (not ranked)."
        )
    return messages


def load_fit(folder: Any) -> Fit:
    """Read a fit folder written by :meth:`Fit.save`."""
    from bayesbt.infer.folder import load

    return load(folder)
