"""Score metrics under weights: what they are on a resample, without making the resample.

A resample of I items is a vector of I counts. Every metric of :mod:`bayesbt.agreement.scores` is a function
of these counts and of signs, ranks or z-scores that are prepared once, so that thousands of resamples are a
few matrix products. The numbers are those of the metric on the items written out as often as they were drawn.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from bayesbt.agreement.scores import FLAT, SCORE_METRICS, mean_of_defined, topic_groups

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Counts = NDArray[np.integer]

CHUNK_ELEMENTS = 1_500_000
"""Weights that are worked on at once; a few times this in memory."""
BLOCKS = 8
"""The sign matrix is symmetric: in 8 block rows a little more than half of it is multiplied."""


def weighted_metrics(weights: Counts, x: Floats, y: Floats) -> dict[str, Floats]:
    """Every score metric of K score vectors against one, under N vectors of weights.

    Parameters
    ----------
    weights : (N, I) ints
        How often each item counts.
    x : (K, I) floats
        Scores of K judges; NaN where a judge has none: the metric is then over the other items.
    y : (I,) floats
        Scores to agree with; NaN likewise.

    Returns
    -------
    dict of (N, K) arrays
        NaN where the weighted scores are constant, or fewer than two items have weight.
    """
    out = {name: np.full((len(weights), len(x)), np.nan) for name in SCORE_METRICS}
    known = ~np.isnan(x) & ~np.isnan(y)
    masks, group = np.unique(known, axis=0, return_inverse=True)
    for number, mask in enumerate(masks):
        judges = np.flatnonzero(group.ravel() == number)
        if mask.sum() < 2:
            continue
        vectors, reference = [Vector.of(x[k, mask]) for k in judges], Vector.of(y[mask])
        rows = max(1, CHUNK_ELEMENTS // int(mask.sum()))
        with one_blas_thread():
            for start in range(0, len(weights), rows):
                chunk = slice(start, start + rows)
                found = _chunk_metrics(weights[chunk][:, mask], vectors, reference)
                for name, values in found.items():
                    out[name][chunk, judges] = values
    return out


def weighted_within_topics(weights: Counts, x: Floats, y: Floats, topics: Ints) -> dict[str, Floats]:
    """Every score metric within each topic, averaged over the topics where it is defined; shapes as above."""
    parts = [weighted_metrics(weights[:, group], x[:, group], y[group]) for group in topic_groups(topics)]
    shape = (len(weights), len(x))
    return {name: mean_of_defined([part[name] for part in parts], shape) for name in SCORE_METRICS}


@dataclass(frozen=True)
class Vector:
    """Scores (I,), prepared: z-scores, dense ranks, ascending order, first and last place of ties."""

    z: Floats
    rank: NDArray[np.int32]
    order: Ints
    first: Ints
    last: Ints

    @classmethod
    def of(cls, scores: Floats) -> Vector:
        """Prepare scores without NaN; constant ones have z-scores of zero."""
        sd = scores.std()
        flat = sd <= FLAT * np.abs(scores).max(initial=0.0)
        z = np.zeros_like(scores) if flat else (scores - scores.mean()) / sd
        rank = np.zeros(len(scores), np.int32) if flat else np.unique(scores, return_inverse=True)[1]
        order = np.argsort(rank, kind="stable")
        ascending = rank[order]
        first = np.searchsorted(ascending, ascending, side="left")
        last = np.searchsorted(ascending, ascending, side="right")
        return cls(z, rank.astype(np.int32), order, first, last)

    @property
    def tied(self) -> bool:
        """Whether any two scores are equal."""
        return bool((self.last - self.first > 1).any())

    def signs(self) -> NDArray[np.int8]:
        """(I, I) Sign of score i less score j."""
        rank = self.rank
        return (rank[:, None] > rank).astype(np.int8) - (rank[:, None] < rank).astype(np.int8)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread: judges are worked on in parallel, and its own threads wait by spinning."""
    return _controller().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _chunk_metrics(weights: Counts, vectors: list[Vector], reference: Vector) -> dict[str, Floats]:
    """Metrics (n, K) of all judges for one chunk of weights (n, I)."""
    single = np.ascontiguousarray(weights, dtype=np.float32)
    total = single.sum(axis=1, dtype=np.float64)
    correlation, scale, shift = _moments(np.asarray(weights, dtype=np.float64), total, vectors, reference)
    shared = Shared.of(single, total, reference, scale[:, -1])

    def one(k: int) -> tuple[Floats, Floats, Floats]:
        ordered = np.take(single, vectors[k].order, axis=1)
        return (
            _spearman(ordered, total, vectors[k], shared),
            _kendall(single, ordered, total, vectors[k], shared),
            _mae(single, total, vectors[k], shared, scale[:, k], shift[:, k]),
        )

    with ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
        columns = list(pool.map(one, range(len(vectors))))
    spearman, kendall, mae = (np.column_stack(column) for column in zip(*columns, strict=True))
    rmse = np.sqrt(np.maximum(2 - 2 * correlation, 0.0))
    return {"pearson": correlation, "spearman": spearman, "kendall": kendall, "mae": mae, "rmse": rmse}


@dataclass(frozen=True)
class Shared:
    """What all judges of a chunk share of the reference: twice the centred midranks (n, I), ties, signs."""

    ranks: Singles
    rank_variation: Floats
    untied: Floats
    signs: NDArray[np.int8]
    scaled: Singles

    @classmethod
    def of(cls, weights: Singles, total: Floats, reference: Vector, scale: Floats) -> Shared:
        """Prepare the reference."""
        ordered = np.take(weights, reference.order, axis=1)
        in_order = _double_ranks(ordered, total, reference)
        ranks = np.empty_like(in_order)
        ranks[:, reference.order] = in_order
        variation = _sum(ordered * in_order * in_order)
        scaled = reference.z.astype(np.float32) * scale[:, None].astype(np.float32)
        return cls(ranks, variation, _untied(ordered, total, reference), reference.signs(), scaled)


def _moments(
    weights: Floats, total: Floats, vectors: list[Vector], reference: Vector
) -> tuple[Floats, Floats, Floats]:
    """Pearson (n, K); 1/sd (n, K+1), the reference last; mean/sd of the judge less the reference's."""
    z = np.stack([vector.z for vector in (*vectors, reference)])
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = weights @ z.T / total[:, None]
        square = weights @ (z**2).T / total[:, None]
        variance = square - mean**2
        variance[variance <= 1e-10] = np.nan
        scale = 1 / np.sqrt(variance)
        product = weights @ (z[:-1] * z[-1]).T / total[:, None]
    covariance = product - mean[:, :-1] * mean[:, -1:]
    correlation = np.clip(covariance * scale[:, :-1] * scale[:, -1:], -1.0, 1.0)
    return correlation, scale, mean[:, :-1] * scale[:, :-1] - mean[:, -1:] * scale[:, -1:]


def _double_ranks(ordered: Singles, total: Floats, vector: Vector) -> Singles:
    """(n, I) Twice the weighted midrank less its mean, in ascending order of the scores; exact integers."""
    through = np.cumsum(ordered, axis=1, dtype=np.float32)
    middle = total.astype(np.float32)[:, None]
    if not vector.tied:
        return np.asarray(2 * through - ordered - middle)
    padded = np.pad(through, ((0, 0), (1, 0)))
    return np.asarray(padded[:, vector.first] + padded[:, vector.last] - middle)


def _untied(ordered: Singles, total: Floats, vector: Vector) -> Floats:
    """(n,) Twice the number of pairs of drawn items whose scores differ."""
    starts = np.unique(vector.first)
    grouped = np.add.reduceat(ordered, starts, axis=1) if vector.tied else ordered
    return np.asarray(total**2 - _sum(grouped * grouped))


def _spearman(ordered: Singles, total: Floats, vector: Vector, shared: Shared) -> Floats:
    ranks = _double_ranks(ordered, total, vector)
    ordered_ranks = ordered * ranks
    product = _sum(ordered_ranks * np.take(shared.ranks, vector.order, axis=1))
    return _ratio(product, _sum(ordered_ranks * ranks), shared.rank_variation)


def _kendall(weights: Singles, ordered: Singles, total: Floats, vector: Vector, shared: Shared) -> Floats:
    signs = (vector.signs() * shared.signs).astype(np.float32)
    size = len(signs)
    step = -(-size // BLOCKS)
    product = np.zeros(len(weights))
    for start in range(0, size, step):
        end = min(start + step, size)
        reach = weights[:, start:end] @ signs[start:end, start:]
        reach *= weights[:, start:]
        product += _sum(reach[:, : end - start]) + 2 * _sum(reach[:, end - start :])
    return _ratio(product, _untied(ordered, total, vector), shared.untied)


def _mae(
    weights: Singles, total: Floats, vector: Vector, shared: Shared, scale: Floats, shift: Floats
) -> Floats:
    apart = vector.z.astype(np.float32) * scale[:, None].astype(np.float32)
    apart -= shared.scaled
    apart -= shift[:, None].astype(np.float32)
    np.abs(apart, out=apart)
    apart *= weights
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(_sum(apart) / total)


def _sum(values: Singles) -> Floats:
    return np.asarray(values.sum(axis=1, dtype=np.float64))


def _ratio(product: Floats, first: Floats, second: Floats) -> Floats:
    """Covariation over the geometric mean of two variations; NaN where one of them is nothing."""
    varied = (first > 0) & (second > 0)
    return np.asarray(np.where(varied, product / np.sqrt(np.where(varied, first * second, 1.0)), np.nan))
