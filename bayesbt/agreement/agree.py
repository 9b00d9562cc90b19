"""Judges against people: labels, scores, intervals, null judges, tests, in one call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.agreement.configurations import (
    Configuration,
    Human,
    Source,
    configurations_of,
    human_of,
    shared_dimensions,
)
from bayesbt.agreement.estimates import ScoreModel
from bayesbt.agreement.labels import LabelIdentity
from bayesbt.agreement.measuring import HIGHER_IS_BETTER, Comparing, argument_numbers, measure, points
from bayesbt.agreement.nulls import NullJudge, null_judges
from bayesbt.agreement.parting import part
from bayesbt.agreement.resampling import Key, resample
from bayesbt.agreement.result import Agreement, Settings
from bayesbt.agreement.rows import (
    confusions,
    cross_rows,
    kept_metrics,
    metric_rows,
    rows_over_seeds,
    size_rows,
    tested_rows,
)
from bayesbt.agreement.significance import Unit, require_unit
from bayesbt.agreement.uncertainty import extras
from bayesbt.agreement.verdicts import verdicts, warnings_of
from bayesbt.errors import InputError
from bayesbt.infer.fitted import Fit
from bayesbt.spec import Order
from bayesbt.tables import Items, Judgments
from bayesbt.voting import Rule

Floats = NDArray[np.float64]

BEST_BY = "pearson"
"""The best configuration, for the tables that need one, has the highest mean of this metric."""


def agree(
    llm: Source | Sequence[Source],
    human: Source | Items,
    *,
    bootstrap: int = 10_000,
    unit: Unit = "items",
    label_identity: LabelIdentity = "outcome",
    seed: int = 0,
    metrics: Sequence[str] = (),
    engine: str = "map",
    ties: str | None = None,
    order: Order = "none",
    rule: Rule = "majority",
    items: Items | None = None,
    human_scores: Items | None = None,
    argument_number: str | Callable[[str], str] | None = None,
    best: str | None = None,
    null_seeds: int = 20,
    interval: float = 0.95,
    ceiling: bool = True,
    posterior: bool = False,
    latent: bool = False,
    progress: bool = False,
    **options: Any,
) -> Agreement:
    """Measure how judges agree with people.

    Parameters
    ----------
    llm : Judgments, Fit, mapping of str to Fit, or a sequence of these
        The judges. A table is split by ``judge`` and ``prompt``; several runs vote. Fits, by dimension, give
        scores and no labels.
    human : Judgments, Fit, mapping of str to Fit, or Items
        The people; Items hold published scores, ``score_DIMENSION`` or ``DIMENSION``, in the place of a fit.
    bootstrap : int
        N, the number of resamples.
    unit : {"items", "judgments", "topics"}
        What is drawn: items, their scores held; pairs with all their judgments, every score fitted again; or
        topics as clusters.
    label_identity : {"outcome", "argument-number"}
        What a label is; the second is that of the paper's code, and misleads.
    seed : int
        Every draw comes from it.
    metrics : sequence of str
        Which metrics to give; all by default.
    engine, ties, order, **options
        The model of the scores, the same on both sides, as in :func:`bayesbt.fit`.
    rule : {"majority", "sign"}
        How runs vote.
    items : Items, optional
        Topics; texts, for the null judge ``longer text wins`` and for length.
    human_scores : Items, optional
        Published scores that replace those fitted to the human judgments.
    argument_number : str or callable, optional
        For label identity argument-number: a column of ``items``, or item to number.
    best : str, optional
        A configuration chosen beforehand, to be tested against each other one whatever the data say; by
        default the best of each metric and dimension. That choice is made on the same data: of two judges
        that are equal, the one-tailed test of the better one rejects about twice as often as its level says.
    null_seeds : int
        Seeds of the random null judges.
    interval : float
        Probability of every interval.
    ceiling : bool
        Reliability of the humans' scores by split halves, and the ceiling for correlations that follows.
    posterior : bool
        The posterior of every score metric, and P(best closer to people than each other one).
    latent : bool
        The latent correlation of each configuration with people, by the joint model: Laplace's approximation,
        or NUTS where that carries too little of the posterior.
    progress : bool
        A progress bar on standard error, where that is a terminal.

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        Unknown names, no dimension or fewer than three items in common.
    """
    sources = [llm] if isinstance(llm, Judgments | Fit | Mapping) else list(llm)
    settings = _settings(
        Settings(
            bootstrap=bootstrap,
            unit=unit,
            label_identity=label_identity,
            seed=seed,
            interval=interval,
            null_seeds=null_seeds,
            model=ScoreModel(engine, ties, order, options),
            rule=rule,
            metrics=tuple(metrics) or tuple(HIGHER_IS_BETTER),
            best=best,
        )
    )
    if isinstance(argument_number, str):
        if items is None:
            raise InputError(f"--argument-number {argument_number}: a column of --items, and there are none.")
        argument_number = argument_numbers(items, argument_number)
    configurations = configurations_of(sources, rule)
    names = [configuration.name for configuration in configurations]
    if best is not None and best not in names:
        raise InputError(f"--best {best!r} is not a configuration. Allowed: {', '.join(names)}.")
    dimensions_asked = sorted(set().union(*(each.dimensions for each in configurations)))
    people = human_of(human, dimensions_asked, human_scores)
    dimensions = shared_dimensions(configurations, people)
    texts = items if items is not None else (human if isinstance(human, Items) else None)
    how = Comparing(settings.model, label_identity, argument_number, texts)
    found = _measured(
        configurations, people, dimensions, how, settings, (ceiling, posterior, latent), progress
    )
    return replace(found, messages=(*found.messages, *_overlaps(configurations, people, found)))


def _overlaps(judges: list[Configuration], people: Human, found: Agreement) -> list[str]:
    """Say where a judge is compared with itself, and where it shares no pair with people."""
    out = []
    counted = {
        str(name)
        for judgments in people.judgments.values()
        if "judge" in judgments.frame
        for name in judgments.frame["judge"].dropna().unique()
    }
    if both := sorted(counted & {judge.name for judge in judges}):
        out.append(
            f"{', '.join(both)}: among the people that they are compared with, so that they agree with "
            "themselves in part. Name the people with --human."
        )
    sizes = found.sizes[found.sizes["name"].isin([judge.name for judge in judges])]
    for row in sizes[sizes["n_pairs"] == 0].to_dict("records"):
        if row["dimension"] in people.labels:
            out.append(
                f"{row['name']}, {row['dimension']}: no pair that people labelled too, so only scores are "
                "compared."
            )
    return out


def _settings(settings: Settings) -> Settings:
    unknown = [name for name in settings.metrics if name not in HIGHER_IS_BETTER]
    if unknown:
        raise InputError(
            f"--metrics {', '.join(unknown)}: not known. Allowed: {', '.join(HIGHER_IS_BETTER)}."
        )
    if settings.bootstrap < 1 or settings.null_seeds < 1:
        raise InputError("--bootstrap and --null-seeds must be 1 or more.")
    if not 0 < settings.interval < 1:
        raise InputError(f"--interval {settings.interval:g}: must be between 0 and 1.")
    return settings


def _measured(
    judges: list[Configuration],
    people: Human,
    dimensions: list[str],
    how: Comparing,
    settings: Settings,
    asked: tuple[bool, bool, bool],
    progress: bool,
) -> Agreement:
    nulls = _null_judges(judges, people, dimensions, how.texts)
    fixed = [null for null in nulls if not null.random]
    drawn = [null for null in nulls if null.random]
    pairs = _pairs_to_label(judges, people, dimensions)
    rows = judges + [Configuration(null.name, labels=null.label(pairs), null=True) for null in fixed]
    work = (len(rows) + 1 + len(drawn) * settings.null_seeds) * len(dimensions) + 2 * settings.bootstrap
    with _bar(work, progress) as advance:
        measured, messages = measure(rows, people, dimensions, how, advance)
        require_unit(settings.unit, len(set().union(*(each.topic_names for each in measured))))
        found = points(measured)
        resampled = resample(
            measured, settings.unit, settings.bootstrap, settings.seed, settings.model, advance
        )
        metrics = metric_rows(rows, found, resampled, dimensions, settings)
        for null in drawn:
            metrics += rows_over_seeds(null, pairs, people, dimensions, how, settings, advance)
        table = kept_metrics(pd.DataFrame(metrics), settings)
        names = [configuration.name for configuration in judges]
        best = settings.best or _best(found, names, dimensions)
        several = any(each.n_topics > 1 for each in measured)
        tests = tested_rows(names, found, resampled, dimensions, settings)
        if not several:
            tests = tests[tests["kind"] != "within_topic"].reset_index(drop=True)
        cross = cross_rows(judges, best, measured, how, settings, advance)
    further = extras(judges, people, dimensions, best, settings, asked, progress)
    number = names.index(best)
    return Agreement(
        dimensions=tuple(dimensions),
        configurations=tuple(names),
        best=best,
        metrics=table,
        sizes=size_rows(rows, measured),
        tests=tests,
        cross=cross,
        confusion=confusions(rows, measured),
        parting=tuple(
            part(each, number, best, people.labels.get(each.name), how.texts, settings.interval)
            for each in measured
        ),
        verdicts=tuple(verdicts(table, names, dimensions)),
        messages=(*people.messages, *messages, *warnings_of(tests, measured, settings), *further.messages),
        settings=settings,
        ceilings=further.ceilings,
        latent=further.latent,
        posterior=further.posterior,
        closer=further.closer,
        several_topics=several,
    )


def _pairs_to_label(
    judges: list[Configuration], people: Human, dimensions: Sequence[str]
) -> dict[str, Judgments]:
    """Pairs that null judges label: people's, else those of the first judge with labels."""
    source = people.labels or next((judge.labels for judge in judges if judge.labels), {})
    return {name: source[name] for name in dimensions if name in source}


def _null_judges(
    judges: list[Configuration], people: Human, dimensions: Sequence[str], texts: Items | None
) -> list[NullJudge]:
    pairs = _pairs_to_label(judges, people, dimensions)
    if len(pairs) < len(dimensions):
        return []
    names = {judge.name for judge in judges}
    found = null_judges(pairs, texts, human_labels=bool(people.labels))
    if clash := [null.name for null in found if null.name in names]:
        raise InputError(f"a judge is called like a null judge: {', '.join(clash)}. Give it another name.")
    return found


def _best(found: Mapping[Key, Floats], names: Sequence[str], dimensions: Sequence[str]) -> str:
    """Highest mean Pearson correlation over the dimensions; where no scores exist, highest agreement."""
    for kind, metric in (("scores", BEST_BY), ("labels", "agreement")):
        values = np.mean([found[dimension, kind, metric][: len(names)] for dimension in dimensions], axis=0)
        if not np.isnan(values).all():
            return names[int(np.nanargmax(values))]
    return names[0]


@contextmanager
def _bar(total: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    shown = wanted and sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task("comparing", total=total)
        yield lambda done: bar.advance(task, done)
