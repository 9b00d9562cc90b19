"""Several judges as one: the model that knows their adherence and position effects, votes, and their worth.

The ensemble is one fit in which every judge has an adherence ``alpha_j`` (how far its answers follow the
common strengths) and an order effect ``beta_j``. Nothing is learnt from people: they only serve to compare
the ensemble with its judges and with votes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.agreement.posterior import (
    Paired,
    direction,
    metric_draws,
    metric_gain,
    paired_draws,
    probability_above,
)
from bayesbt.errors import InputError
from bayesbt.infer import fit
from bayesbt.infer.fitted import Fit
from bayesbt.outcomes import OUTCOME_DTYPE
from bayesbt.ranks import highest_density_interval
from bayesbt.tables import Judgments
from bayesbt.voting import Rule, vote_labels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENSEMBLE, VOTE, WEIGHTED = "ensemble", "vote", "weighted vote"
ROUNDING = 9  # decimals of a tally, so that half of the votes is half


@dataclass(frozen=True)
class EnsembleComparison:
    """An ensemble, votes and single judges against people.

    Attributes
    ----------
    fits : dict of str to Fit
        ``ensemble``, ``vote``, ``weighted vote``, and each judge by name.
    scores : DataFrame
        One row each, best first: ``method``, ``kind`` (ensemble, vote, judge), ``mean``, ``lower``, ``upper``
        of the metric, and ``p_beats_best``, the probability that it is closer to people than the best single
        judge is (NaN for that judge).
    leave_one_out : DataFrame
        One row a judge: ``judge``; ``gain``, ``lower``, ``upper``, by how much the ensemble with this judge
        is closer to people than without it, above 0 where the judge helps; ``p_helps``. Both ensembles share
        the other judges' answers, which these intervals do not know: they are wider than need be. Empty
        where it was not asked for.
    judges : DataFrame
        Adherence and order effect of each judge in the ensemble, as in :meth:`Fit.judge_parameters`.
    metric : str
    best_judge : str
        The single judge with the best posterior mean, chosen by the same people's labels: a comparison with
        it flatters the judge.
    """

    fits: dict[str, Fit]
    scores: pd.DataFrame
    leave_one_out: pd.DataFrame
    judges: pd.DataFrame
    metric: str
    best_judge: str

    @property
    def p_beats_best(self) -> float:
        """P(the ensemble is closer to people than the best single judge)."""
        return float(self.scores["p_beats_best"].to_numpy(dtype=float)[self.scores["method"] == ENSEMBLE][0])


def fit_ensemble(
    judgments: Judgments, *, ties: str = "rao-kupper", engine: str = "auto", **options: Any
) -> Fit:
    """Fit all judges together, each with its adherence and its order effect.

    Raises
    ------
    InputError
        Fewer than two judges, or an engine without parameters by judge.
    """
    return fit(judgments, ties=ties, engine=engine, order="by-judge", judges="adherence", **options)


def adherence_weights(ensemble: Fit) -> dict[str, float]:
    """Weight of each judge in a vote: its adherence, over the mean of all.

    A judge's answers carry information about the strengths in proportion to its adherence: log-odds of
    ``alpha * (lambda_a - lambda_b)`` are the weights of the best linear vote (Nitzan and Paroush 1982).
    """
    parameters = ensemble.judge_parameters()
    if "adherence" not in parameters:
        raise InputError("the fit gives its judges no adherence; fit with --judges adherence.")
    alpha = parameters["adherence"].to_numpy(dtype=float)
    return dict(zip(parameters["judge"], (alpha / alpha.mean()).tolist(), strict=True))


def vote_of_judges(
    judgments: Judgments, weights: Mapping[str, float] | None = None, rule: Rule = "majority"
) -> Judgments:
    """Give one label to each pair, by a vote of its judges, whichever item they were shown first.

    Parameters
    ----------
    judgments : Judgments
        With a column ``judge``. Several answers of one judge on a pair (runs, both orders) share its vote.
    weights : mapping of str to float, optional
        Votes of each judge, 0 or more; one each by default.
    rule : {"majority", "sign"}
        As in :func:`bayesbt.vote`: more than half of the votes, or the side with more votes; else a tie.

    Returns
    -------
    Judgments
        One row a pair, shown in the order of its first judgment, ``judge`` ``vote`` (or ``weighted vote``),
        ``count`` 1, and ``votes_a``, ``votes_tie``, ``votes_b``. A pair without any vote is unscored.

    Raises
    ------
    InputError
        Without a column ``judge``, or for a judge without a weight or with one below 0.
    """
    frame = judgments.frame
    names = _judge_names(judgments)
    given = dict.fromkeys(names, 1.0) if weights is None else _checked(weights, names)
    group, first, turned = _pairs(frame)
    weight = frame["judge"].astype(object).map(given).to_numpy(dtype=float)
    code = frame["outcome"].cat.codes.to_numpy(dtype=np.int64)
    side = np.where(turned & (code >= 0), 2 - code, code)
    count = np.where(code >= 0, frame["count"].to_numpy(dtype=float), 0.0)
    ballots = pd.Series(count).groupby([group, frame["judge"].cat.codes.to_numpy()]).transform("sum")
    share = weight * count / np.where(ballots > 0, ballots, 1.0)
    columns = [np.bincount(group, share * (side == k), len(first)) for k in range(3)]
    tally = np.column_stack(columns).astype(np.float64).round(ROUNDING)
    silent = tally.sum(axis=1) == 0
    label = np.where(silent, -1, vote_labels(tally, rule))
    keys = [name for name in ("item_a", "item_b", "dimension", "topic", "row") if name in frame]
    voted = frame.iloc[first][keys].reset_index(drop=True)
    voted["outcome"] = pd.Categorical.from_codes(label, dtype=OUTCOME_DTYPE)
    voted["count"] = 1.0
    voted["judge"] = pd.Categorical([VOTE if weights is None else WEIGHTED] * len(voted))
    for k, name in enumerate(("votes_a", "votes_tie", "votes_b")):
        voted[name] = tally[:, k]
    if silent.any():
        voted["reason"] = ["no judge's answer has a vote" if none else None for none in silent]
    return Judgments(voted, judgments.source, judgments.findings)


def compare_ensemble(
    judgments: Judgments,
    human: Fit,
    *,
    metric: str = "pearson",
    ties: str = "rao-kupper",
    engine: str = "auto",
    single_engine: str = "laplace",
    leave_one_out: bool = True,
    within: bool = False,
    seed: int = 0,
    **options: Any,
) -> EnsembleComparison:
    """Compare an ensemble of judges with its judges and with votes, against people.

    Parameters
    ----------
    judgments : Judgments
        Of two judges or more.
    human : Fit
        With draws, of the people's judgments on the same items.
    metric : str
        A name of :data:`bayesbt.agreement.scores.SCORE_METRICS`.
    ties : str
        Tie model of every fit.
    engine, single_engine : str
        Of the ensemble, which must take judges' parameters; of votes and single judges, which have a shared
        order effect.
    leave_one_out : bool
        Fit the ensemble again without each judge.
    within : bool
        The metric within topics and then averaged, not pooled.
    seed : int
        Of fits and pairing.
    **options
        As for :func:`bayesbt.fit`.
    """
    names = _judge_names(judgments)
    if len(names) < 2:
        raise InputError(f"{judgments.source}: an ensemble needs two judges or more; there is one.")
    taken = {ENSEMBLE, VOTE, WEIGHTED} & set(names)
    if taken:
        raise InputError(f"a judge is called {taken.pop()!r}, like a method here; rename it.")
    single: dict[str, Any] = {
        "ties": ties,
        "engine": single_engine,
        "order": "shared",
        "seed": seed,
        **options,
    }
    whole: dict[str, Any] = {"ties": ties, "engine": engine, "seed": seed, **options}
    ensemble = fit_ensemble(judgments, **whole)
    weighted = vote_of_judges(judgments, adherence_weights(ensemble))
    fits = {
        ENSEMBLE: ensemble,
        VOTE: fit(vote_of_judges(judgments), **single),
        WEIGHTED: fit(weighted, **single),
    }
    fits |= {name: fit(judgments, judge=name, **single) for name in names}
    paired = paired_draws([human, *fits.values()], seed=seed)
    scores, best = _scores(paired, fits, names, metric, within, human.options.interval)
    if leave_one_out:
        rest = {name: _without(judgments, name, names, whole, single) for name in names}
        without = _leave_one_out(human, ensemble, rest, metric, within, seed)
    else:
        without = pd.DataFrame(columns=["judge", "gain", "lower", "upper", "p_helps"])
    return EnsembleComparison(fits, scores, without, ensemble.judge_parameters(), metric, best)


def _scores(
    paired: Paired, fits: Mapping[str, Fit], names: Sequence[str], metric: str, within: bool, interval: float
) -> tuple[pd.DataFrame, str]:
    people, topics = paired.draws[0], paired.topics if within else None
    draws = dict(zip(fits, paired.draws[1:], strict=True))
    values = {name: metric_draws(one, people, metric, topics) for name, one in draws.items()}
    worth = {name: direction(metric) * float(value.mean()) for name, value in values.items()}
    best = max(names, key=lambda name: worth[name])
    rows = []
    for name in sorted(fits, key=lambda name: -worth[name]):
        lower, upper = highest_density_interval(values[name], interval)
        rows.append(
            {
                "method": name,
                "kind": "judge" if name in names else "ensemble" if name == ENSEMBLE else "vote",
                "mean": float(values[name].mean()),
                "lower": float(lower),
                "upper": float(upper),
                "p_beats_best": np.nan
                if name == best
                else probability_above(direction(metric) * (values[name] - values[best])),
            }
        )
    return pd.DataFrame(rows), best


def _leave_one_out(
    human: Fit, ensemble: Fit, rest: Mapping[str, Fit], metric: str, within: bool, seed: int
) -> pd.DataFrame:
    rows = []
    for name, without in rest.items():
        paired = paired_draws([human, ensemble, without], seed=seed)
        people, all_of_them, fewer = paired.draws
        gain = metric_gain(all_of_them, fewer, people, metric, paired.topics if within else None)
        lower, upper = highest_density_interval(gain, human.options.interval)
        numbers = {"gain": float(gain.mean()), "lower": float(lower), "upper": float(upper)}
        rows.append({"judge": name, **numbers, "p_helps": probability_above(gain)})
    return pd.DataFrame(rows)


def _without(
    judgments: Judgments, left_out: str, names: Sequence[str], whole: dict[str, Any], single: dict[str, Any]
) -> Fit:
    """Fit the other judges: as an ensemble, or alone where only one is left."""
    others = [name for name in names if name != left_out]
    if len(others) == 1:
        return fit(judgments, judge=others[0], **single)
    frame = judgments.frame[judgments.frame["judge"] != left_out].reset_index(drop=True)
    return fit_ensemble(Judgments(frame, judgments.source, judgments.findings), **whole)


def _judge_names(judgments: Judgments) -> list[str]:
    frame = judgments.frame
    if "judge" not in frame or frame["judge"].isna().any():
        raise InputError(
            f"{judgments.source}: a column 'judge' without blanks is needed, to tell judges apart."
        )
    return sorted(map(str, frame["judge"].unique()))


def _checked(weights: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    missing = [name for name in names if name not in weights]
    if missing:
        raise InputError(f"no weight for the judges {', '.join(missing[:6])}. Give one for every judge.")
    bad = [f"{name}: {weights[name]}" for name in names if not 0 <= weights[name] < np.inf]
    if bad:
        raise InputError(f"weights of judges must be finite and 0 or more, not {', '.join(bad[:6])}.")
    return {name: float(weights[name]) for name in names}


def _pairs(frame: pd.DataFrame) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Give the pair of each row, the first row of each pair, and which rows show it the other way round."""
    a, b = (frame[name].cat.codes.to_numpy(dtype=np.int64) for name in ("item_a", "item_b"))
    keys: list[Any] = [pd.Series(np.minimum(a, b)), pd.Series(np.maximum(a, b))]
    keys += [frame[name].reset_index(drop=True) for name in ("dimension", "topic") if name in frame]
    grouped = pd.Series(a).groupby(keys, sort=False, observed=True, dropna=False)
    group = np.asarray(grouped.ngroup(), dtype=np.int64)
    first = np.unique(group, return_index=True)[1]
    return group, first, a != a[first][group]
