"""Agreement of two score vectors: Pearson, Spearman, Kendall's tau-b, MAE and RMSE of z-scores.

Every function takes ``x`` and ``y`` of shape (..., I), whose leading axes broadcast, and gives (...,): NaN
where a vector is constant, holds a NaN, or has fewer than two scores, so that there is nothing to agree on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau, rankdata

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FLAT = 1e-12
"""A vector whose standard deviation is below this share of its largest value is constant but for rounding."""


class ScoreMetric(NamedTuple):
    """A metric of two score vectors, and whether a higher value is more agreement."""

    function: Callable[[ArrayLike, ArrayLike], Floats]
    higher_is_better: bool


def standardise(x: ArrayLike) -> Floats:
    """Subtract the mean, divide by the standard deviation (ddof 0) along the last axis; NaN where constant.

    >>> standardise([1.0, 2.0, 3.0, 6.0]).round(3).tolist()
    [-1.069, -0.535, 0.0, 1.604]
    """
    values = np.asarray(x, dtype=float)
    if values.shape[-1] < 2:
        return np.full(values.shape, np.nan)
    centred = values - values.mean(axis=-1, keepdims=True)
    sd = np.sqrt((centred**2).mean(axis=-1, keepdims=True))
    flat = sd <= FLAT * np.abs(values).max(axis=-1, keepdims=True)
    return np.asarray(np.where(flat, np.nan, centred / np.where(flat, 1.0, sd)))


def pearson(x: ArrayLike, y: ArrayLike) -> Floats:
    """Pearson's correlation along the last axis.

    >>> float(pearson([1.0, 2.0, 3.0, 6.0], [2.0, 1.0, 4.0, 4.0]).round(4))
    0.7201
    """
    return _average(standardise(x) * standardise(y))


def spearman(x: ArrayLike, y: ArrayLike) -> Floats:
    """Spearman's correlation: Pearson's of the midranks."""
    return pearson(_ranks(x), _ranks(y))


def kendall(x: ArrayLike, y: ArrayLike) -> Floats:
    """Kendall's tau-b: concordant less discordant pairs, over the geometric mean of those not tied.

    References
    ----------
    Kendall (1945), The treatment of ties in ranking problems, Biometrika 33.
    """
    first, second = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    shape = first.shape[:-1]
    pairs = zip(first.reshape(-1, first.shape[-1]), second.reshape(-1, first.shape[-1]), strict=True)
    return np.array([_kendall(one, other) for one, other in pairs]).reshape(shape)


def mae(x: ArrayLike, y: ArrayLike) -> Floats:
    """Mean absolute difference of the z-scores, in standard deviations."""
    return _average(np.abs(standardise(x) - standardise(y)))


def rmse(x: ArrayLike, y: ArrayLike) -> Floats:
    """Root of the mean squared difference of the z-scores, in standard deviations: sqrt(2 - 2 Pearson)."""
    return np.sqrt(_average((standardise(x) - standardise(y)) ** 2))


SCORE_METRICS: dict[str, ScoreMetric] = {
    "pearson": ScoreMetric(pearson, True),
    "spearman": ScoreMetric(spearman, True),
    "kendall": ScoreMetric(kendall, True),
    "mae": ScoreMetric(mae, False),
    "rmse": ScoreMetric(rmse, False),
}


def score_metrics(x: ArrayLike, y: ArrayLike) -> dict[str, Floats]:
    """Every metric of :data:`SCORE_METRICS` for score vectors (..., I); each value is (...,)."""
    return {name: metric.function(x, y) for name, metric in SCORE_METRICS.items()}


def topic_groups(topics: ArrayLike) -> list[Ints]:
    """Positions of the items of each topic, for topics of two items or more, by the topics' names."""
    _, code = np.unique(np.asarray(topics), return_inverse=True)
    groups = [np.flatnonzero(code == topic) for topic in range(int(code.max(initial=-1)) + 1)]
    return [group for group in groups if len(group) > 1]


def within_topic_metrics(x: ArrayLike, y: ArrayLike, topics: ArrayLike) -> dict[str, Floats]:
    """Every metric within each topic, z-scores included, averaged over the topics where it is defined.

    Parameters
    ----------
    x, y : (..., I) floats
        Scores.
    topics : (I,) labels
        The topic of each item.
    """
    first, second = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    found = [score_metrics(first[..., group], second[..., group]) for group in topic_groups(topics)]
    return {name: mean_of_defined([each[name] for each in found], first.shape[:-1]) for name in SCORE_METRICS}


def mean_of_defined(values: list[Floats], shape: tuple[int, ...]) -> Floats:
    """Average arrays of one shape, leaving out NaN; NaN where nothing is left."""
    total, number = np.zeros(shape), np.zeros(shape)
    for value in values:
        known = ~np.isnan(value)
        total += np.where(known, value, 0.0)
        number += known
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))


def _average(values: Floats) -> Floats:
    """Mean along the last axis; NaN where it is empty."""
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values.mean(axis=-1))


def _ranks(x: ArrayLike) -> Floats:
    """Midranks along the last axis; all NaN where a score is NaN."""
    values = np.asarray(x, dtype=float)
    broken = np.isnan(values).any(axis=-1, keepdims=True)
    return np.asarray(np.where(broken, np.nan, rankdata(np.nan_to_num(values), axis=-1)))


def _kendall(x: Floats, y: Floats) -> float:
    if len(x) < 2 or np.isnan(x).any() or np.isnan(y).any() or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(kendalltau(x, y, method="asymptotic").statistic)
