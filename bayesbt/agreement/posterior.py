"""The posterior of each score metric: draws of two fits pushed through it, pooled and within topic.

The fits know nothing of each other, so their draws are paired at random. Noise in the strengths stays in each
draw: these correlations are attenuated, as those of point estimates are. The latent correlation
(:mod:`bayesbt.agreement.latent`) is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.agreement.scores import SCORE_METRICS, ScoreMetric, score_metrics, within_topic_metrics
from bayesbt.errors import InputError
from bayesbt.infer.fitted import Fit
from bayesbt.ranks import highest_density_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DRAWS = 2000
"""Kendall's tau of 1,269 items takes a good millisecond a draw."""
FEWEST_ITEMS = 3


@dataclass(frozen=True)
class Paired:
    """Draws (S, I) of several fits for the items that all of them have compared, and the items' topics.

    ``items`` (I,) names; ``topics`` (I,) labels, or None where there is only one.
    """

    items: tuple[str, ...]
    draws: tuple[Floats, ...]
    topics: tuple[str, ...] | None


def paired_draws(
    fits: Sequence[Fit],
    topics: Mapping[str, str] | None = None,
    *,
    seed: int = 0,
    most: int = MOST_DRAWS,
    together: bool = False,
) -> Paired:
    """Bring the draws of several fits to the same items and the same number.

    Parameters
    ----------
    fits : sequence of Fit
        With draws. Items that some of them never compares are left out.
    topics : mapping, optional
        Item to topic; by default the topics of the first fit that knows them, else the components of all
        fits together, inside which strengths of all have a common zero.
    seed : int
        Of the random pairing.
    most : int
        At most so many draws.
    together : bool
        Whether the draws belong together as they are, as those of a joint fit do.

    Raises
    ------
    InputError
        For a fit without draws, or fewer than three common items.
    """
    rng = np.random.default_rng(seed)
    known = [_compared(fit) for fit in fits]
    items = sorted(set.intersection(*map(set, known)))
    if len(items) < FEWEST_ITEMS:
        raise InputError(
            f"{len(items)} items are compared in all fits; at least {FEWEST_ITEMS} are needed, under the "
            "same ids."
        )
    size = min(most, *(len(_draws(fit)) for fit in fits))
    common = None
    parts = []
    for fit, place in zip(fits, known, strict=True):
        draws = _draws(fit)
        if not together or common is None:
            common = rng.permutation(len(draws))[:size]
        parts.append(draws[np.ix_(common, np.array([place[item] for item in items]))])
    return Paired(tuple(items), tuple(parts), _topics(fits, topics, items))


def posterior_metrics(
    one: Fit,
    other: Fit,
    topics: Mapping[str, str] | None = None,
    *,
    seed: int = 0,
    most: int = MOST_DRAWS,
    interval: float | None = None,
) -> pd.DataFrame:
    """Posterior of every score metric between two fits.

    Parameters
    ----------
    one, other : Fit
        With draws; of the judge and of the people, say.
    topics, seed, most
        See :func:`paired_draws`.
    interval : float, optional
        Probability of the highest-density interval; that of ``one`` by default.

    Returns
    -------
    DataFrame
        ``scope`` (``pooled`` over all items, as in the paper, or ``within`` topics and then averaged),
        ``metric``, ``mean``, ``sd``, ``lower``, ``upper``. No rows ``within`` where there is one topic.
    """
    paired = paired_draws([one, other], topics, seed=seed, most=most)
    first, second = paired.draws
    found = [("pooled", score_metrics(first, second))]
    if paired.topics is not None:
        found.append(("within", within_topic_metrics(first, second, paired.topics)))
    interval = one.options.interval if interval is None else interval
    rows = [
        {"scope": scope, "metric": name, **_summary(values, interval)}
        for scope, metrics in found
        for name, values in metrics.items()
    ]
    return pd.DataFrame(rows)


def probability_closer(
    first: Fit,
    second: Fit,
    human: Fit,
    metric: str = "pearson",
    *,
    topics: Mapping[str, str] | None = None,
    within: bool = False,
    seed: int = 0,
    most: int = MOST_DRAWS,
) -> float:
    """P(``first`` is closer to the people than ``second`` by a metric); equality counts one half.

    Both are compared with the same draw of the people's strengths, so that the people's noise does not pass
    for a difference. The judges' own noise stays: of two judges who agree with people equally well, the one
    with more comparisons is closer by its scores.

    Parameters
    ----------
    first, second, human : Fit
        With draws.
    metric : str
        A name of :data:`bayesbt.agreement.scores.SCORE_METRICS`.
    topics, seed, most
        See :func:`paired_draws`.
    within : bool
        Within topic and then averaged, not pooled.
    """
    paired = paired_draws([first, second, human], topics, seed=seed, most=most)
    one, other, people = paired.draws
    return probability_above(metric_gain(one, other, people, metric, paired.topics if within else None))


def probability_above(draws: Floats) -> float:
    """P(a draw is above 0); draws of exactly 0 count one half."""
    return float((draws > 0).mean() + (draws == 0).mean() / 2)


def metric_gain(
    first: Floats, second: Floats, people: Floats, metric: str, topics: Sequence[str] | None = None
) -> Floats:
    """(S,) By how much draws of ``first`` are closer to those of the people than draws of ``second``.

    The sign of MAE and RMSE is reversed, so that above 0 is always in favour of ``first``.
    """
    gap = metric_draws(first, people, metric, topics) - metric_draws(second, people, metric, topics)
    return direction(metric) * gap


def direction(metric: str) -> float:
    """1 where a higher value of the metric is more agreement, -1 where a lower one is."""
    return 1.0 if _metric(metric).higher_is_better else -1.0


def metric_draws(first: Floats, second: Floats, metric: str, topics: Sequence[str] | None = None) -> Floats:
    """(S,) One metric of paired draws (S, I), pooled, or within topics and then averaged."""
    function = _metric(metric).function
    if topics is None:
        return function(first, second)
    return within_topic_metrics(first, second, np.asarray(topics))[metric]


def _metric(name: str) -> ScoreMetric:
    if name not in SCORE_METRICS:
        raise InputError(f"--metrics {name!r} is not known. Allowed: {', '.join(SCORE_METRICS)}.")
    return SCORE_METRICS[name]


def _draws(fit: Fit) -> Floats:
    if fit.result.draws is None:
        raise InputError(
            f"--engine {fit.engine} is a point estimate; the posterior of a metric needs draws (numpyro, "
            "pymc, laplace, map, ml)."
        )
    return fit.result.draws.strength.reshape(-1, fit.counts.n_items)


def _compared(fit: Fit) -> dict[str, int]:
    """Place of each item that the fit has compared."""
    return {fit.items[i]: int(i) for i in np.flatnonzero(fit.counts.comparisons > 0)}


def _topics(
    fits: Sequence[Fit], topics: Mapping[str, str] | None, items: Sequence[str]
) -> tuple[str, ...] | None:
    if topics is not None:
        missing = [item for item in items if item not in topics]
        if missing:
            raise InputError(f"no topic is given for {', '.join(missing[:6])}. Give one for every item.")
        found = [str(topics[item]) for item in items]
    else:
        found = _known_topics(fits, items)
    return tuple(found) if len(set(found)) > 1 else None


def _known_topics(fits: Sequence[Fit], items: Sequence[str]) -> list[str]:
    for fit in fits:
        if fit.counts.topics is not None:
            of = dict(zip(fit.items, fit.counts.topics, strict=True))
            return [of[item] for item in items]
    components = [dict(zip(fit.items, fit.component.tolist(), strict=True)) for fit in fits]
    return ["/".join(str(of[item]) for of in components) for item in items]


def _summary(values: Floats, interval: float) -> dict[str, float]:
    if np.isnan(values).any():
        return dict.fromkeys(("mean", "sd", "lower", "upper"), float("nan"))
    lower, upper = highest_density_interval(values, interval)
    return {
        "mean": float(values.mean()),
        "sd": float(values.std(ddof=1)),
        "lower": float(lower),
        "upper": float(upper),
    }
