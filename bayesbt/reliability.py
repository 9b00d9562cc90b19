"""How reliable a ranking is in itself, and so how high agreement with it can be: the noise ceiling.

Two estimates of the reliability of a set of scores, the share of their variance that is no noise:

* split halves: the judgments are halved at random many times, each half gives scores, and their correlation,
  stepped up to the full number of judgments by Spearman and Brown, is the reliability. It is also the
  correlation to expect between the scores of two such panels of people.
* the posterior's: 1 - mean(Var(lambda_i | data)) / Var(lambda).

The square root of the reliability is the correlation of the scores with noise-free truth, and so the ceiling
for every judge, even one who errs nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from bayesbt import graph
from bayesbt.counts import Counts, count_judgments
from bayesbt.errors import InputError
from bayesbt.infer import counted_for
from bayesbt.infer.fitted import Fit
from bayesbt.infer.results import centre
from bayesbt.spec import ModelSpec, Order, Priors
from bayesbt.tables import Judgments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BOOTSTRAP = 2000
FLAT = 1e-10  # a variance below this share of the mean square is rounding


@dataclass(frozen=True)
class Reliability:
    """Split-half reliability.

    Attributes
    ----------
    estimate : float
        Spearman-Brown reliability of the scores from all judgments, averaged over the halvings.
    lower, upper : float
        Interval of ``estimate``: a bootstrap over the items, each with all halvings, on Fisher's z scale.
    draws : (H,) array
        The estimate of each random halving.
    half : float
        Mean correlation of the scores of two halves, without the step up.
    interval : float
        Probability of the interval.
    n_items, n_judgments : int
        Items that are compared, and units that were halved.
    """

    estimate: float
    lower: float
    upper: float
    draws: Floats
    half: float
    interval: float
    n_items: int
    n_judgments: int

    @property
    def ceiling(self) -> float:
        """Highest correlation with these scores to be expected of any judge: sqrt(estimate).

        It bounds a judge whose scores are the truth. ``estimate`` itself is what a second, equal set of
        judgments by the same people would reach: a judge above it is closer to the people's truth than
        another such panel.
        """
        return ceiling(self.estimate)

    def as_dict(self) -> dict[str, float]:
        """Numbers for a JSON document: the reliability with its interval, and the ceiling with its own."""
        numbers = {"estimate": self.estimate, "lower": self.lower, "upper": self.upper}
        roots = {"ceiling": self.ceiling, "ceiling_lower": ceiling(self.lower)}
        return numbers | roots | {"ceiling_upper": ceiling(self.upper), "half": self.half}


def ceiling(reliability: float) -> float:
    """Return sqrt(reliability), the correlation of scores of this reliability with noise-free truth.

    0 where a reliability is estimated below 0; NaN stays NaN.

    >>> round(ceiling(0.81), 3)
    0.9

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things.
    """
    return sqrt(max(reliability, 0.0)) if reliability == reliability else nan


def spearman_brown(correlation: Any, factor: float = 2.0) -> Any:
    """Step the correlation of two halves up to ``factor`` times as many judgments.

    Halves that contradict each other altogether (a correlation of -1) have no finite value: what is below
    -0.99 counts as -0.99.

    >>> round(float(spearman_brown(0.6)), 3)
    0.75

    References
    ----------
    Spearman (1910) and Brown (1910), British Journal of Psychology 3.
    """
    correlation = np.maximum(correlation, -0.99)
    return factor * correlation / (1 + (factor - 1) * correlation)


def posterior_reliability(fit: Fit) -> float:
    """Share of the variance of the scores that is no noise: 1 - mean(Var(lambda_i | data)) / Var(lambda).

    Var(lambda) is the variance of the true strengths within components. A posterior knows it: that of the
    posterior means plus the mean posterior variance. Of maximum likelihood, whose estimates spread by truth
    and noise together, the variance of the estimates stands in its place.

    Parameters
    ----------
    fit : Fit
        With draws.

    Returns
    -------
    float
        At most 1; NaN where no component has two items.

    Raises
    ------
    InputError
        For a fit without draws.
    """
    if fit.result.draws is None:
        raise InputError(f"--engine {fit.engine} is a point estimate; its posterior reliability is unknown.")
    compared = fit.counts.comparisons > 0
    component = fit.component[compared]
    draws = fit.result.draws.strength.reshape(-1, fit.counts.n_items)[:, compared]
    freedom = len(component) - len(np.unique(component))
    if freedom == 0:
        return nan
    noise = float(draws.var(axis=0).sum()) / freedom  # centring in a component costs one item's variance
    between = float((centre(draws.mean(axis=0), component) ** 2).sum()) / freedom
    return 1 - noise / (between + noise if fit.result.bayesian else between)


def split_half(
    judgments: Judgments | Counts,
    *,
    halves: int = 200,
    seed: int = 0,
    ties: str = "rao-kupper",
    order: Order = "none",
    interval: float = 0.95,
    priors: Priors | None = None,
    **selection: Any,
) -> Reliability:
    """Split-half reliability of a ranking, stepped up by Spearman and Brown.

    The judgments of every component are halved at random; each half gives posterior modes, with the tie
    parameter, the order effect and the standard deviation of the strengths held at the values that all
    judgments give. Repeated runs of one judge on one presentation stay together. The correlation of the
    two halves' scores is taken within components, over all of them.

    Parameters
    ----------
    judgments : Judgments or Counts
        Of one dimension. Of Counts, whole numbers are halved judgment by judgment.
    halves : int
        Number of random halvings.
    seed : int
        The same seed gives the same numbers.
    ties, order, priors
        The model, as for :func:`bayesbt.fit`.
    interval : float
        Probability of the interval.
    **selection
        dimension, judge, topic: keep only these judgments.

    Raises
    ------
    InputError
        Where too little is left to halve, or fractions of judgments cannot be halved.
    """
    from bayesbt.infer.halves import half_modes, halvings, units_of_counts, units_of_rows

    if halves < 2:
        raise InputError(f"--halves {halves}: must be 2 or more.")
    spec = ModelSpec(ties, order, priors=priors or Priors())
    counts = judgments if isinstance(judgments, Counts) else count_judgments(judgments, **selection)
    counts = counted_for(counts, spec)
    if isinstance(judgments, Counts):
        cell, outcome = units_of_counts(counts)
    else:
        cell, outcome = units_of_rows(judgments.select(**selection), counts)
    component = graph.components(counts.n_items, counts.a[cell], counts.b[cell])
    rng = np.random.default_rng(seed)
    chosen = halvings(component[counts.a[cell]], halves, rng)
    one, other = half_modes(counts, spec, cell, outcome, chosen)
    compared = np.flatnonzero(counts.comparisons > 0)
    component = component[compared]
    if len(compared) - len(np.unique(component)) < 2:
        raise InputError("fewer than three items are compared, so nothing can be correlated between halves.")
    one, other = centre(one[:, compared], component), centre(other[:, compared], component)
    halved = _weighted_correlations(one, other, np.ones((1, len(compared))))[0]
    half = float(halved.mean())
    lower, upper = spearman_brown(_interval(one, other, half, interval, rng))
    return Reliability(
        float(spearman_brown(half)),
        float(lower),
        float(upper),
        np.asarray(spearman_brown(halved)),
        half,
        interval,
        len(compared),
        len(cell),
    )


def _interval(one: Floats, other: Floats, half: float, interval: float, rng: np.random.Generator) -> Floats:
    """(2,) Interval of the mean correlation: Fisher's z with its standard error by a bootstrap over items.

    On the scale of the correlation itself the interval would be too short for correlations that came out
    high by chance, and too long for low ones.
    """
    items = one.shape[1]
    again = rng.multinomial(items, np.full(items, 1 / items), BOOTSTRAP).astype(float)
    correlation = _weighted_correlations(one, other, again).mean(axis=1)
    edge = 1 - FLAT
    z = np.arctanh(np.clip(correlation[np.isfinite(correlation)], -edge, edge))  # few items may be all alike
    reach = norm.ppf(0.5 + interval / 2) * z.std(ddof=1)
    return np.asarray(np.tanh(np.arctanh(np.clip(half, -edge, edge)) + np.array([-reach, reach])))


def _weighted_correlations(one: Floats, other: Floats, weights: Floats) -> Floats:
    """(B, H) Pearson's correlation over items of (H, I) scores, for each row of weights (B, I)."""
    total = weights.sum(axis=1, keepdims=True)
    means = [weights @ x.T / total for x in (one, other, one * one, other * other, one * other)]
    covariance = means[4] - means[0] * means[1]
    variance = (means[2] - means[0] ** 2) * (means[3] - means[1] ** 2)
    flat = variance <= FLAT * means[2] * means[3]
    return np.asarray(np.where(flat, np.nan, covariance / np.sqrt(np.where(flat, 1.0, variance))))
