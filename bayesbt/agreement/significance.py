"""Paired bootstrap: intervals of metrics, and one-tailed tests of the best configuration against each other.

All configurations are measured on the same resample, so that a difference between two of them is paired.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from bayesbt.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Unit = Literal["items", "judgments", "topics"]
UNITS: tuple[Unit, ...] = get_args(Unit)


class Interval(NamedTuple):
    """An estimate with the ends of its interval."""

    estimate: float
    lower: float
    upper: float


class Tested(NamedTuple):
    """A one-tailed paired test.

    ``p`` = (1 + number of resamples whose difference is 0 or below) / (1 + number of resamples);
    ``lower`` and ``upper`` are the percentile interval of the difference, ``bca_lower`` and ``bca_upper`` the
    bias-corrected and accelerated one; ``n_failed`` resamples where a metric is undefined are left out.
    """

    difference: float
    lower: float
    upper: float
    bca_lower: float
    bca_upper: float
    p: float
    n_failed: int


def draw_weights(
    rng: np.random.Generator, size: int, resamples: int, rows: int
) -> Iterator[NDArray[np.uint16]]:
    """How often each of ``size`` units is drawn, with replacement: chunks of ``rows`` resamples (rows, size).

    The numbers do not depend on how many rows a chunk has.
    """
    for start in range(0, resamples, rows):
        number = min(rows, resamples - start)
        drawn = rng.integers(0, size, (number, size)) + size * np.arange(number)[:, None]
        yield np.bincount(drawn.ravel(), minlength=number * size).reshape(number, size).astype(np.uint16)


def leave_one_out(size: int) -> NDArray[np.uint16]:
    """(size, size) Weights that leave out one unit each, for the jackknife."""
    return (1 - np.eye(size)).astype(np.uint16)


def compare(
    estimates: tuple[float, float],
    draws: tuple[Floats, Floats],
    jackknife: tuple[Floats, Floats] | None = None,
    *,
    higher_is_better: bool = True,
    interval: float = 0.95,
) -> Tested:
    """Test whether the first configuration is better than the second.

    Parameters
    ----------
    estimates : two floats
        The metric of both on all data.
    draws : two (N,) arrays
        The metric of both on the same resamples.
    jackknife : two (n,) arrays, optional
        The metric of both without one unit each, for the acceleration of the BCa interval.
    higher_is_better : bool
        Else the sign of the difference is reversed, so that it is above 0 where the first is better.
    """
    sign = 1.0 if higher_is_better else -1.0
    estimate = sign * (estimates[0] - estimates[1])
    difference = sign * (draws[0] - draws[1])
    known = difference[~np.isnan(difference)]
    failed = len(difference) - len(known)
    if len(known) == 0 or np.isnan(estimate):
        nothing = float("nan")
        return Tested(estimate, nothing, nothing, nothing, nothing, nothing, failed)
    without = None if jackknife is None else sign * (jackknife[0] - jackknife[1])
    lower, upper = percentile_interval(known, interval)
    bca = bca_interval(estimate, known, without, interval)
    p = (1 + int((known <= 0).sum())) / (len(known) + 1)
    return Tested(estimate, lower, upper, *bca, p, failed)


def percentile_interval(draws: Floats, interval: float = 0.95) -> tuple[float, float]:
    """Interval between two quantiles of the resamples that have a value; NaN where none has one."""
    known = draws[~np.isnan(draws)]
    if len(known) == 0:
        return float("nan"), float("nan")
    lower, upper = np.quantile(known, [(1 - interval) / 2, (1 + interval) / 2])
    return float(lower), float(upper)


def bca_interval(
    estimate: float, draws: Floats, jackknife: Floats | None, interval: float = 0.95
) -> tuple[float, float]:
    """Bias-corrected and accelerated bootstrap interval.

    Parameters
    ----------
    estimate : float
        On all data.
    draws : (N,) array
        On resamples.
    jackknife : (n,) array or None
        Without one unit each; None for no acceleration (the bias-corrected interval).

    Returns
    -------
    tuple of two floats
        NaN where every resample lies on one side of the estimate, so that the bias cannot be told.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals, JASA 82, section 4.
    """
    below = ((draws < estimate).sum() + 0.5 * (draws == estimate).sum()) / len(draws)
    if not 0 < below < 1:
        return float("nan"), float("nan")
    bias = float(norm.ppf(below))
    acceleration = 0.0
    if jackknife is not None:
        without = jackknife[~np.isnan(jackknife)]
        influence = without.mean() - without
        square = float((influence**2).sum())
        acceleration = float((influence**3).sum() / (6 * square**1.5)) if square > 0 else 0.0
    tails = bias + norm.ppf([(1 - interval) / 2, (1 + interval) / 2])
    shares = norm.cdf(bias + tails / (1 - acceleration * tails))
    lower, upper = np.quantile(draws, np.clip(shares, 0.0, 1.0))
    return float(lower), float(upper)


def holm(p: ArrayLike) -> Floats:
    """Adjust p-values of one family by Holm's step-down method; NaN stay NaN and do not count.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6.
    """
    values = np.asarray(p, dtype=float)
    out = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    steps = values[order] * np.arange(len(order), 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out


def require_unit(unit: str, n_topics: int) -> None:
    """Refuse an unknown unit, and topics where there are not two."""
    if unit not in UNITS:
        raise InputError(f"--unit {unit!r} is not known. Allowed: {', '.join(UNITS)}.")
    if unit == "topics" and n_topics < 2:
        raise InputError(
            "--unit topics draws whole topics, and these data name fewer than two that have items of their "
            "own. Use --unit items, or give the topics in a column of the judgments."
        )
