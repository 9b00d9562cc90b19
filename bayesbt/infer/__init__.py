"""Fit a model to judgments: ``fit`` is the arrow from Counts to Fit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bayesbt.counts import Counts, count_judgments
from bayesbt.covariates import design_matrix
from bayesbt.errors import EmptyInputError, InputError
from bayesbt.infer.diagnostics import diagnose
from bayesbt.infer.engines import (
    ENGINES,
    candidates,
    engine_name,
    read_options,
    require_whole_model,
    run_engine,
)
from bayesbt.infer.existence import obstacles
from bayesbt.infer.fitted import Fit
from bayesbt.infer.model import Cells
from bayesbt.infer.results import Options
from bayesbt.provenance import provenance
from bayesbt.spec import Judges, ModelSpec, Order, Prior, Priors, TieParameter
from bayesbt.tables import Items, Judgments

__all__ = ["ENGINES", "Fit", "Options", "fit", "load_fit"]


@dataclass(frozen=True)
class Prepared:
    """A request of a fit, checked: engine, model, counts, options."""

    engine: str
    spec: ModelSpec
    counts: Counts
    options: Options


def fit(
    judgments: Judgments | Counts,
    *,
    ties: str | None = None,
    engine: str = "auto",
    order: Order = "none",
    judges: Judges = "ignore",
    tie_parameter: TieParameter = "shared",
    covariates: Sequence[str] = (),
    priors: Priors | Mapping[str, str | float | Prior] | None = None,
    items: Items | None = None,
    dimension: str | None = None,
    judge: str | None = None,
    topic: str | None = None,
    soft: bool = False,
    **options: Any,
) -> Fit:
    """Fit strengths to judgments.

    Parameters
    ----------
    judgments : Judgments or Counts
    ties : str, optional
        Tie model; rao-kupper where none is named (split for ilsr).
    engine : str
        A name of :data:`ENGINES`, or ``auto``: gibbs where the model and the number of items allow it and its
        draws pass their checks, else numpyro.
    order : {"none", "shared", "by-judge"}
        Whether the item shown first gets an advantage, the same for all or one for each judge.
    judges : {"ignore", "adherence"}
        Pool the judges, or give each an adherence (discrimination) of geometric mean 1.
    tie_parameter : {"shared", "by-judge"}
        One tie parameter, or one for each judge.
    covariates : sequence of str
        Item covariates: numeric columns of ``items``, ``words`` or ``log_words``.
    priors : Priors or dict, optional
        Changes to the default priors, such as ``{"strength_sd": 3, "tie": "Beta(2, 5)"}``.
    items : Items, optional
        Declared items; those never compared are kept and marked.
    dimension, judge, topic : str, optional
        Keep only these judgments.
    soft : bool
        Count label probabilities (p_a, p_tie, p_b) in the place of outcomes.
    **options
        Fields of :class:`bayesbt.infer.results.Options`: draws, tune, chains, target_accept, seed, interval,
        tau, reg, alpha, reference, progress, sampler.

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
    prepared = prepare(
        judgments,
        engine=engine,
        model={"ties": ties, "order": order, "judges": judges, "tie_parameter": tie_parameter},
        covariates=covariates,
        priors=priors,
        selection={"items": items, "dimension": dimension, "judge": judge, "topic": topic, "soft": soft},
        options=options,
    )
    spec, counts, settings = prepared.spec, prepared.counts, prepared.options
    messages = messages_of(prepared)
    for name in candidates(engine, spec, counts.n_items):
        result = run_engine(name, counts, spec, settings)
        diagnostics = diagnose(result, name, messages)
        if diagnostics.ok:
            break
        messages = (
            *messages,
            f"Sampled by NUTS, since --engine {name} did not pass: {diagnostics.messages[0]}",
        )
    facts = provenance(
        seed=settings.seed,
        wall_time=time.perf_counter() - started,
        source=getattr(judgments, "source", "counts"),
    )
    return criticised(Fit(spec, counts, name, settings, result, diagnostics, facts))


def criticised(fitted: Fit) -> Fit:
    """Return the fit with what its posterior says against its model, in its messages too."""
    from bayesbt.infer.criticism import criticise

    found = criticise(fitted)
    if found is None:
        return fitted
    messages = (*fitted.diagnostics.messages, *found.messages())
    return replace(
        fitted, criticism=found.as_dict(), diagnostics=replace(fitted.diagnostics, messages=messages)
    )


def prepare(
    judgments: Judgments | Counts,
    *,
    engine: str,
    model: Mapping[str, Any],
    covariates: Sequence[str],
    priors: Priors | Mapping[str, str | float | Prior] | None,
    selection: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Prepared:
    """Check what a fit was asked for, and count the judgments."""
    name, settings = engine_name(engine), read_options(options)
    priors = priors if isinstance(priors, Priors) else Priors().updated(priors or {})
    ties = model["ties"] or ENGINES[name].default_ties
    spec = ModelSpec(**{**model, "ties": ties}, covariates=tuple(covariates), priors=priors)
    require_whole_model(name, spec)
    counts = counted_for(_counted(judgments, spec, selection), spec)
    if spec.by_judge and len(counts.judges) < 2:
        raise InputError(
            "parameters by judge need two judges or more; there is one. Use --order shared at most."
        )
    if settings.reference is not None and settings.reference not in counts.items:
        raise InputError(f"--reference {settings.reference!r} is not an item of these judgments.")
    return Prepared(name, spec, counts, settings)


def _counted(judgments: Judgments | Counts, spec: ModelSpec, selection: Mapping[str, Any]) -> Counts:
    if isinstance(judgments, Judgments):
        counts = count_judgments(judgments, by_judge=spec.by_judge, **selection)
        design = design_matrix(selection["items"], spec.covariates, counts.items)
        return replace(counts, covariates=design) if spec.covariates else counts
    given = [name for name, value in selection.items() if value]
    if given:
        raise InputError(
            f"fit: {', '.join(given)} cannot be chosen once judgments are counted; count them so."
        )
    if judgments.covariates.shape != (judgments.n_items if spec.covariates else 0, len(spec.covariates)):
        raise InputError("fit: the covariates of these counts are not those that the model names.")
    return judgments


def counted_for(counts: Counts, spec: ModelSpec) -> Counts:
    """Return the counts as the tie model takes them: where it leaves ties out, a tie links no items."""
    if spec.tie_model.tie_weight != 0:
        return counts
    if not (counts.wins_a.any() or counts.wins_b.any()):
        raise EmptyInputError(f"--ties {spec.ties}: every judgment is a tie, so none is left to fit.")
    message = f"{counts.ties.sum():,.10g} ties are left out (--ties {spec.ties})."
    messages = (*counts.messages, message) if counts.ties.any() else counts.messages
    return replace(counts, ties_link=False, messages=messages)


def messages_of(prepared: Prepared) -> tuple[str, ...]:
    """Say what the reader of the fit must know of its data."""
    counts = prepared.counts
    return (*counts.messages, *_data_messages(counts, prepared.spec, prepared.engine))


def _data_messages(counts: Counts, spec: ModelSpec, engine: str) -> list[str]:
    """Say what the data cannot tell: separation, several components, items never compared."""
    messages = []
    if engine != "ml":
        cells = Cells.of(counts, spec.tie_model)
        found = obstacles(counts, cells, spec)
        messages += [
            f"{obstacle.message} The likelihood has no unique finite maximum there: "
            "the value is set by the prior."
            for obstacle in found
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


def load_fit(folder: str | Path) -> Fit:
    """Read a fit folder written by :meth:`Fit.save`."""
    from bayesbt.infer.folder import load

    return load(folder)
