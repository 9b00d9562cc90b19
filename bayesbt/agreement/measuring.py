"""From configurations and people to what is compared: scores of the same items, labels of the same pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.agreement.configurations import Configuration, Human
from bayesbt.agreement.estimates import ScoreModel, Strengths, estimate_strengths
from bayesbt.agreement.labels import LABEL_METRICS, LabelIdentity, LabelPairs, has_topics, match_labels
from bayesbt.agreement.resampling import Key, Measured, Pair, aligned, pair_of
from bayesbt.agreement.scores import SCORE_METRICS, score_metrics, within_topic_metrics
from bayesbt.counts import count_judgments
from bayesbt.errors import BayesBTError, InputError
from bayesbt.infer.fitted import Fit
from bayesbt.tables import Items, Judgments

Floats = NDArray[np.float64]

KINDS = ("labels", "scores", "within_topic")
HIGHER_IS_BETTER: dict[str, bool] = LABEL_METRICS | {
    name: metric.higher_is_better for name, metric in SCORE_METRICS.items()
}
METRICS_OF: dict[str, tuple[str, ...]] = {
    "labels": tuple(LABEL_METRICS),
    "scores": tuple(SCORE_METRICS),
    "within_topic": tuple(SCORE_METRICS),
}
FEWEST_ITEMS = 3


@dataclass(frozen=True)
class Comparing:
    """How judges and people are compared.

    Attributes
    ----------
    model : ScoreModel
        What turns labels into scores, the same on both sides.
    identity : {"outcome", "argument-number"}
    argument_number : callable or None
        Item to local argument number.
    texts : Items or None
        Topics, and texts for the null judge ``longer text wins``.
    """

    model: ScoreModel
    identity: LabelIdentity = "outcome"
    argument_number: Callable[[str], str] | None = None
    texts: Items | None = None


def measure(
    configurations: Sequence[Configuration],
    human: Human,
    dimensions: Sequence[str],
    how: Comparing,
    advance: Callable[[int], None] = lambda done: None,
) -> tuple[list[Measured], list[str]]:
    """Fit every configuration in every dimension, and lay its labels beside those of the humans.

    Returns
    -------
    tuple
        One :class:`Measured` a dimension, and what must be said of the fits: a configuration whose scores
        cannot be estimated has none there.

    Raises
    ------
    InputError
        Where people and judges share fewer than three items, or no pair.
    """
    measured, messages = [], []
    for dimension in dimensions:
        by_topic = _all_name_topics(configurations, human, dimension)
        fits: list[Strengths | None] = []
        for configuration in configurations:
            try:
                fits.append(strengths_of(configuration, dimension, how.model, by_topic=by_topic))
            except BayesBTError as error:
                if not configuration.null and len(configurations) == 1:
                    raise
                messages.append(f"{configuration.name}, {dimension}: no scores. {error}")
                fits.append(None)
            advance(1)
        items, scores, fit = human_scores(human, dimension, how.model, by_topic=by_topic)
        advance(1)
        found = [None if each is None else _on(each, items) for each in fits]
        shared = [np.zeros(len(items), bool) if x is None else ~np.isnan(x) for x in found]
        _require_items(configurations, [x is not None for x in found], shared, dimension)
        used = np.any(shared, axis=0)
        if not used.any():
            raise InputError(f"{dimension}: no judge has scores to compare. {' '.join(messages)}")
        items = tuple(item for item, kept in zip(items, used, strict=True) if kept)
        nothing = np.full(len(items), np.nan)
        topics, names = topics_of([*fits, fit], items, how.texts)
        labels = human.labels.get(dimension)
        measured.append(
            Measured(
                dimension,
                items,
                topics,
                names,
                scores[used],
                np.stack([nothing if x is None else x[used] for x in found]),
                tuple(_matched(labels, each, dimension, how) for each in configurations),
                () if labels is None else _pairs(labels, by_topic),
                tuple(fits),
                fit,
            )
        )
    return measured, messages


def strengths_of(
    configuration: Configuration, dimension: str, model: ScoreModel, *, by_topic: bool = False
) -> Strengths:
    """Scores of a configuration in one dimension; ``by_topic`` keeps the cells of topics apart."""
    if configuration.fits:
        return _of_fit(configuration.fits[dimension])
    return _estimated(configuration.labels[dimension], model, by_topic)


def human_scores(
    human: Human, dimension: str, model: ScoreModel, *, by_topic: bool = False
) -> tuple[tuple[str, ...], Floats, Strengths | None]:
    """Items with their scores, published or fitted; and the fit, where there is one."""
    if dimension in human.scores:
        published = human.scores[dimension]
        order = np.argsort(published.index.to_numpy(dtype=object), kind="stable")
        items = tuple(str(published.index[place]) for place in order)
        return items, np.asarray(published, dtype=np.float64)[order], None
    if dimension in human.fits:
        fit = _of_fit(human.fits[dimension])
    else:
        fit = _estimated(human.judgments[dimension], model, by_topic)
    known = fit.compared & ~np.isnan(fit.strength)
    items = tuple(item for item, kept in zip(fit.items, known, strict=True) if kept)
    return items, fit.strength[known], fit


def points(measured: Sequence[Measured]) -> dict[Key, Floats]:
    """Every metric of every configuration on all data: (K,) by dimension, kind and metric."""
    out: dict[Key, Floats] = {}
    for dimension in measured:
        size = len(dimension.scores)
        for kind, names in METRICS_OF.items():
            out |= {(dimension.name, kind, name): np.full(size, np.nan) for name in names}
        for number, x in enumerate(dimension.scores):
            known = ~np.isnan(x) & ~np.isnan(dimension.human)
            pairs = dimension.pairs[number]
            found: dict[str, dict[str, Floats]] = {}
            if known.sum() >= FEWEST_ITEMS:
                first, second, topics = x[known], dimension.human[known], dimension.topics[known]
                found["scores"] = score_metrics(first, second)
                found["within_topic"] = within_topic_metrics(first, second, topics)
            if pairs is not None and len(pairs):
                found["labels"] = {name: np.asarray(value) for name, value in pairs.metrics().items()}
            for kind, metrics in found.items():
                for name, value in metrics.items():
                    out[dimension.name, kind, name][number] = value
    return out


def topics_of(
    fits: Sequence[Strengths | None], items: Sequence[str], texts: Items | None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Topic of each item: as declared, as the judgments name it, or else its component."""
    known: dict[str, str] = {}
    for fit in fits:
        if fit is not None and fit.counts.topics is not None:
            known = dict(zip(fit.items, fit.counts.topics, strict=True)) | known
    if texts is not None and "topic" in texts.frame:
        named = texts.frame.dropna(subset=["topic"])
        known |= dict(zip(named["item"], named["topic"].astype(str), strict=True))
    if not all(known.get(item) for item in items):
        known = _components(fits, items)
    names, code = np.unique([known[item] for item in items], return_inverse=True)
    return code.astype(np.int64), tuple(map(str, names))


def _components(fits: Sequence[Strengths | None], items: Sequence[str]) -> dict[str, str]:
    """Component of each item under the last fit that has one; where items are missing, all are one."""
    for fit in reversed(fits):
        if fit is not None:
            component = dict(zip(fit.items, fit.counts.component.tolist(), strict=True))
            if all(item in component for item in items):
                return {item: f"component {component[item] + 1}" for item in items}
    return dict.fromkeys(items, "")


def _of_fit(fit: Fit) -> Strengths:
    strength = fit.estimates["strength"].to_numpy(dtype=float)
    return Strengths(fit.counts, strength, fit.spec)


def _estimated(judgments: Judgments, model: ScoreModel, by_topic: bool) -> Strengths:
    """Fit, with the cells of each topic apart, so that a resample can draw a pair within a topic."""
    if not by_topic:
        return estimate_strengths(count_judgments(judgments), model)
    topic = judgments.frame["topic"].astype(object).fillna("").astype(str)
    frame = judgments.frame.assign(dimension=pd.Categorical(topic))
    counts = count_judgments(Judgments(frame, judgments.source, judgments.findings), by_dimension=True)
    topics = tuple(counts.dimensions[place] for place in counts.dimension.tolist())
    whole = replace(counts, dimension=np.zeros(len(counts.a), dtype=np.int64), dimensions=("",))
    return replace(estimate_strengths(whole, model), cell_topics=topics)


def _all_name_topics(configurations: Sequence[Configuration], human: Human, dimension: str) -> bool:
    """Whether every table of this dimension has topics, so that they can tell pairs apart."""
    tables = [each.labels.get(dimension) for each in configurations if not each.null]
    tables += [human.labels.get(dimension)]
    return all(table is not None and has_topics(table) for table in tables)


def _on(strengths: Strengths, items: Sequence[str]) -> Floats:
    """Scores on these items; NaN where there was no comparison."""
    values = np.where(strengths.compared, strengths.strength, np.nan)
    return aligned(values, strengths.items, items)


def _matched(
    human: Judgments | None, configuration: Configuration, dimension: str, how: Comparing
) -> LabelPairs | None:
    if human is None or dimension not in configuration.labels:
        return None
    return match_labels(human, configuration.labels[dimension], how.identity, how.argument_number)


def _pairs(judgments: Judgments, by_topic: bool) -> tuple[Pair, ...]:
    frame = judgments.frame
    sides = (frame[side].astype(object) for side in ("item_a", "item_b"))
    topics = frame["topic"].astype(object).fillna("") if by_topic else [""] * len(frame)
    return tuple(pair_of(a, b, str(topic)) for a, b, topic in zip(*sides, topics, strict=True))


def _require_items(
    configurations: Sequence[Configuration],
    fitted: Sequence[bool],
    shared: Sequence[NDArray[np.bool_]],
    dimension: str,
) -> None:
    for configuration, has_scores, known in zip(configurations, fitted, shared, strict=True):
        if has_scores and not configuration.null and known.sum() < FEWEST_ITEMS:
            raise InputError(
                f"{configuration.name}, {dimension}: {int(known.sum())} items in common with the humans; "
                f"scores can be compared from {FEWEST_ITEMS} on. Are the items named alike on both sides?"
            )


def counts_of_labels(pairs: LabelPairs | None) -> dict[str, int]:
    """How many labels were compared, and how many could not be."""
    if pairs is None:
        return {"n_pairs": 0, "missing": 0, "unscored": 0}
    return {"n_pairs": len(pairs), "missing": pairs.missing, "unscored": pairs.unscored}


def argument_numbers(items: Items, column: str) -> Callable[[str], str]:
    """Read local argument numbers from a column of items.

    Raises
    ------
    InputError
        Where there is no such column, or an item without a number is asked for.
    """
    if column not in items.frame:
        raise InputError(
            f"{items.source}: no column {column!r} for --argument-number. Columns: "
            f"{', '.join(map(str, items.frame.columns))}."
        )
    values = items.frame[column].tolist()
    known = {
        item: f"{value:g}" if isinstance(value, float) else str(value)
        for item, value in zip(items.frame["item"], values, strict=True)
        if value is not None and value == value
    }

    def number(item: str) -> str:
        if item not in known:
            raise InputError(f"{items.source}: no {column!r} for item {item!r}.")
        return known[item]

    return number
