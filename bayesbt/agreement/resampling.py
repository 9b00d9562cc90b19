"""Every metric of every configuration on the same resamples, and with one unit left out at a time.

What is drawn: ``items``, with their scores as they are (labels are then drawn by pair); ``judgments``, by
pair, and all scores fitted again; or ``topics`` as clusters. All judgments of a pair go together, over
orders, raters, configurations and dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.agreement.estimates import ScoreModel, Strengths
from bayesbt.agreement.labels import LabelPairs, label_metrics, margins_of
from bayesbt.agreement.refit import Refit
from bayesbt.agreement.scores import score_metrics, within_topic_metrics
from bayesbt.agreement.significance import Unit, draw_weights, leave_one_out
from bayesbt.agreement.weighted import weighted_metrics, weighted_within_topics

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weights = NDArray[np.integer]
Key = tuple[str, str, str]
"""Dimension, kind (``labels``, ``scores``, ``within_topic``), metric."""
Pair = tuple[str, str, str]
"""Two items in alphabetical order, and the topic under which they were compared, empty where unnamed."""

CHUNK = 4_000_000
MOST_GROUPS = 100
"""The jackknife over judgments leaves out groups of pairs, at most this many."""


@dataclass(frozen=True)
class Measured:
    """What one dimension knows: I items, K configurations.

    Attributes
    ----------
    name : str
    items : tuple of str
        Those that the humans have scores for.
    topics : (I,) int array
        Code of each item's topic; all zero where there is one.
    topic_names : tuple of str
    human : (I,) floats
        Scores of the humans.
    scores : (K, I) floats
        Scores of the configurations; NaN where one has none.
    pairs : tuple of LabelPairs or None
        By configuration; None where there are no labels.
    label_pairs : tuple of (str, str, str)
        The pair of each row of the human labels.
    fits : tuple of Strengths or None
        Of the configurations, for refits.
    human_fit : Strengths or None
        Of the humans; None where scores are published.
    """

    name: str
    items: tuple[str, ...]
    topics: Ints
    topic_names: tuple[str, ...]
    human: Floats
    scores: Floats
    pairs: tuple[LabelPairs | None, ...]
    label_pairs: tuple[Pair, ...] = ()
    fits: tuple[Strengths | None, ...] = ()
    human_fit: Strengths | None = None

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.topics.max(initial=-1)) + 1


@dataclass(frozen=True)
class Resampled:
    """Metrics on resamples: by key, ``draws`` (N, K) and ``jackknife`` (n, K)."""

    draws: Mapping[Key, Floats]
    jackknife: Mapping[Key, Floats] = field(default_factory=dict)


Evaluate = Callable[[Weights], dict[Key, Floats]]


def resample(
    dimensions: Sequence[Measured],
    unit: Unit,
    resamples: int,
    seed: int,
    model: ScoreModel | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> Resampled:
    """Draw units with replacement, and measure every configuration in every dimension.

    Parameters
    ----------
    dimensions : sequence of Measured
        Of the same configurations.
    unit : {"items", "judgments", "topics"}
    resamples : int
        N.
    seed : int
    model : ScoreModel, optional
        How to fit again; for ``judgments``.
    advance : callable
        Told after every chunk how many resamples it had.
    """
    scores, labels = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    if unit == "judgments":
        units = sorted(set().union(*(_pairs_of(dimension) for dimension in dimensions)))
        evaluate = joined(by_pairs(dimensions, units), refitted(dimensions, units, model or ScoreModel()))
        return run(evaluate, len(units), resamples, labels, groups=MOST_GROUPS, advance=advance)
    if unit == "topics":
        topics = sorted(set().union(*(dimension.topic_names for dimension in dimensions)))
        evaluate = joined(by_topics(dimensions, topics), topics_to_items(dimensions, topics))
        return run(evaluate, len(topics), resamples, scores, advance=advance)
    items = sorted(set().union(*(dimension.items for dimension in dimensions)))
    pairs = sorted(set().union(*(dimension.label_pairs for dimension in dimensions)))
    parts = [run(by_items(dimensions, items), len(items), resamples, scores, advance=advance)]
    if pairs:
        parts.append(run(by_pairs(dimensions, pairs), len(pairs), resamples, labels, groups=MOST_GROUPS))
    return Resampled(
        {key: values for part in parts for key, values in part.draws.items()},
        {key: values for part in parts for key, values in part.jackknife.items()},
    )


def run(
    evaluate: Evaluate,
    size: int,
    resamples: int,
    rng: np.random.Generator,
    *,
    groups: int | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> Resampled:
    """Evaluate on resamples of ``size`` units, and without each unit (or each of so many groups of units)."""
    rows = max(1, CHUNK // size)
    found = []
    for weights in draw_weights(rng, size, resamples, rows):
        found.append(evaluate(weights))
        advance(len(weights))
    draws = _stacked(found)
    if groups is None or size <= groups:
        without = leave_one_out(size)
    else:
        member = np.arange(size) % groups
        member = rng.permutation(member)
        without = (member[None, :] != np.arange(groups)[:, None]).astype(np.uint16)
    parts = [without[start : start + rows] for start in range(0, len(without), rows)]
    return Resampled(draws, _stacked([evaluate(part) for part in parts]))


def joined(*parts: Evaluate) -> Evaluate:
    """Evaluate several kinds of metrics on the same weights."""

    def evaluate(weights: Weights) -> dict[Key, Floats]:
        return {key: values for part in parts for key, values in part(weights).items()}

    return evaluate


def by_items(dimensions: Sequence[Measured], items: Sequence[str]) -> Evaluate:
    """Score metrics under weights of items."""
    place = {item: number for number, item in enumerate(items)}
    columns = [np.array([place[item] for item in dimension.items]) for dimension in dimensions]
    return _weighted(dimensions, lambda weights, number: weights[:, columns[number]])


def topics_to_items(dimensions: Sequence[Measured], topics: Sequence[str]) -> Evaluate:
    """Score metrics under weights of topics: each item has that of its topic."""
    columns = [_topic_places(dimension, topics)[dimension.topics] for dimension in dimensions]
    return _weighted(dimensions, lambda weights, number: weights[:, columns[number]])


def _weighted(dimensions: Sequence[Measured], pick: Callable[[Weights, int], Weights]) -> Evaluate:
    def evaluate(weights: Weights) -> dict[Key, Floats]:
        out: dict[Key, Floats] = {}
        for number, dimension in enumerate(dimensions):
            own = pick(weights, number)
            pooled = weighted_metrics(own, dimension.scores, dimension.human)
            within = pooled
            if dimension.n_topics > 1:
                within = weighted_within_topics(own, dimension.scores, dimension.human, dimension.topics)
            out |= {(dimension.name, "scores", name): values for name, values in pooled.items()}
            out |= {(dimension.name, "within_topic", name): values for name, values in within.items()}
        return out

    return evaluate


def by_pairs(dimensions: Sequence[Measured], units: Sequence[Pair]) -> Evaluate:
    """Label metrics under weights of pairs."""
    place = {pair: number for number, pair in enumerate(units)}
    columns = [
        np.array([place[pair] for pair in dimension.label_pairs], dtype=np.int64) for dimension in dimensions
    ]
    return _labels(dimensions, columns, len(units))


def by_topics(dimensions: Sequence[Measured], topics: Sequence[str]) -> Evaluate:
    """Label metrics under weights of topics: a pair has the topic of its items."""
    columns = []
    for dimension in dimensions:
        code = _topic_places(dimension, topics)[dimension.topics]
        topic = dict(zip(dimension.items, code.tolist(), strict=True))
        columns.append(
            np.array([topic.get(low, topic.get(high, -1)) for low, high, _ in dimension.label_pairs])
        )
    return _labels(dimensions, columns, len(topics))


def _labels(dimensions: Sequence[Measured], columns: Sequence[Ints], size: int) -> Evaluate:
    """Sum indicators by unit once; then one matrix product a chunk serves all configurations."""
    blocks, owners = [], []
    for dimension, column in zip(dimensions, columns, strict=True):
        for number, pairs in enumerate(dimension.pairs):
            if pairs is not None and len(pairs):
                unit = column[pairs.row]
                sums = np.zeros((size, 1 + 2 * pairs.n_labels), dtype=np.float32)
                np.add.at(sums, unit[unit >= 0], pairs.indicators()[unit >= 0].astype(np.float32))
                blocks.append(sums)
                owners.append((dimension, number))
    if not blocks:
        return lambda weights: {}
    together = np.concatenate(blocks, axis=1)
    ends = np.cumsum([0] + [block.shape[1] for block in blocks])

    def evaluate(weights: Weights) -> dict[Key, Floats]:
        sums = np.asarray(weights, dtype=np.float32) @ together
        out: dict[Key, Floats] = {}
        for (dimension, number), (start, end) in zip(owners, pairwise(ends.tolist()), strict=True):
            found = label_metrics(margins_of(sums[:, start:end].astype(np.float64)))
            for name, values in found.items():
                shape = (len(weights), len(dimension.pairs))
                out.setdefault((dimension.name, "labels", name), np.full(shape, np.nan))[:, number] = values
        return out

    return evaluate


def refitted(dimensions: Sequence[Measured], units: Sequence[Pair], model: ScoreModel) -> Evaluate:
    """Score metrics of fits to weighted pairs, those of the humans included."""
    place = {pair: number for number, pair in enumerate(units)}

    def refit_of(strengths: Strengths) -> Refit:
        return Refit(strengths, np.array([place[pair] for pair in cell_pairs(strengths)]), model)

    humans = [None if each.human_fit is None else refit_of(each.human_fit) for each in dimensions]
    judges = [[None if fit is None else refit_of(fit) for fit in each.fits] for each in dimensions]

    def evaluate(weights: Weights) -> dict[Key, Floats]:
        out: dict[Key, Floats] = {}
        for dimension, human, own in zip(dimensions, humans, judges, strict=True):
            y = np.tile(dimension.human, (len(weights), 1))
            if human is not None:
                y = aligned(human.strengths(weights), human.counts.items, dimension.items)
            for number, refit in enumerate(own):
                if refit is None:
                    continue
                x = aligned(refit.strengths(weights), refit.counts.items, dimension.items)
                x = np.where(np.isnan(dimension.scores[number]), np.nan, x)
                known = ~np.isnan(dimension.scores[number]) & ~np.isnan(dimension.human)
                parts = {
                    "scores": score_metrics(x[:, known], y[:, known]),
                    "within_topic": within_topic_metrics(x[:, known], y[:, known], dimension.topics[known]),
                }
                shape = (len(weights), len(own))
                for kind, metrics in parts.items():
                    for name, values in metrics.items():
                        key = (dimension.name, kind, name)
                        out.setdefault(key, np.full(shape, np.nan))[:, number] = values
        return out

    return evaluate


def aligned(values: Floats, items: Sequence[str], wanted: Sequence[str]) -> Floats:
    """Bring values (..., items) into another order of items; NaN for those that are not there."""
    place = pd.Index(list(items)).get_indexer(pd.Index(list(wanted)))
    return np.asarray(np.where(place < 0, np.nan, values[..., place]))


def cell_pairs(strengths: Strengths) -> list[Pair]:
    """Give the pair of each cell."""
    counts = strengths.counts
    labels, topics = counts.items, strengths.cell_topics or ("",) * len(counts.a)
    cells = zip(counts.a.tolist(), counts.b.tolist(), topics, strict=True)
    return [pair_of(labels[a], labels[b], topic) for a, b, topic in cells]


def pair_of(a: str, b: str, topic: str = "") -> Pair:
    """Order two items by their names."""
    return (a, b, topic) if a < b else (b, a, topic)


def _pairs_of(dimension: Measured) -> set[Pair]:
    fits = [fit for fit in (*dimension.fits, dimension.human_fit) if fit is not None]
    return set(dimension.label_pairs).union(*(cell_pairs(fit) for fit in fits))


def _topic_places(dimension: Measured, topics: Sequence[str]) -> Ints:
    place = {topic: number for number, topic in enumerate(topics)}
    return np.array([place[name] for name in dimension.topic_names], dtype=np.int64)


def _stacked(parts: Sequence[dict[Key, Floats]]) -> dict[Key, Floats]:
    return {key: np.concatenate([part[key] for part in parts]) for key in (parts[0] if parts else {})}
