"""Where a judge and people part: which items, at which margins, for which lengths, in which topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.special import expit
from scipy.stats import beta, norm

from bayesbt.agreement.labels import OUTCOME_NAMES, LabelPairs
from bayesbt.agreement.nulls import word_counts
from bayesbt.agreement.resampling import Measured
from bayesbt.agreement.scores import pearson, standardise
from bayesbt.tables import Items, Judgments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHOWN = 10
BINS = 4


@dataclass(frozen=True)
class Parting:
    """Where one configuration and people part in one dimension.

    Attributes
    ----------
    configuration, dimension : str
    items : DataFrame
        Those with the largest difference of z-scores (judge less humans, within topic where there are
        topics): ``item``, ``topic``, ``judge``, ``human``, ``difference``; ``text`` where there are texts.
    by_margin : DataFrame
        Agreement of labels in quarters of the difference of the humans' scores: ``from``, ``to``, ``pairs``,
        ``agreement``, ``lower``, ``upper``.
    by_length : DataFrame
        The same in quarters of log(words of a / words of b), with the shares of decisive labels that chose
        the item shown first, ``judge_first`` and ``human_first``. Empty without texts.
    by_topic : DataFrame
        The same by topic, with Pearson's correlation inside it. Empty where there is one topic.
    confusion : DataFrame
        Row what the humans said, column what the judge said.
    verbosity : DataFrame
        Logistic regressions of decisive labels (1: a) on log(words of a / words of b): see
        :func:`verbosity_bias`. Empty without texts.
    """

    configuration: str
    dimension: str
    items: pd.DataFrame
    by_margin: pd.DataFrame
    by_length: pd.DataFrame
    by_topic: pd.DataFrame
    confusion: pd.DataFrame
    verbosity: pd.DataFrame

    def summary(self) -> dict[str, Any]:
        """Return plain rows, for JSON."""
        names = ("items", "by_margin", "by_length", "by_topic", "verbosity")
        rows: dict[str, Any] = {name: getattr(self, name).to_dict(orient="records") for name in names}
        return rows | {"confusion": self.confusion.to_dict(orient="index")}


def part(
    measured: Measured,
    number: int,
    name: str,
    human: Judgments | None,
    texts: Items | None = None,
    interval: float = 0.95,
) -> Parting:
    """Look at one configuration in one dimension.

    Parameters
    ----------
    measured : Measured
    number : int
        Which of its configurations.
    name : str
        What it is called.
    human : Judgments or None
        The humans' labels that its label pairs point to; None where there are none.
    texts : Items, optional
        With a column ``text``.
    """
    words = None if texts is None else word_counts(texts)
    known = ~np.isnan(measured.scores[number]) & ~np.isnan(measured.human)
    gap = standardised_difference(measured, number)
    items = _items(measured, gap, known, texts)
    labels = measured.pairs[number]
    empty = pd.DataFrame()
    if labels is None or human is None or len(labels) == 0:
        nothing = pd.DataFrame(np.zeros((3, 3), dtype=int), list(OUTCOME_NAMES), list(OUTCOME_NAMES))
        by_topic = _by_topic(measured, number, None, interval)
        return Parting(name, measured.name, items, empty, empty, by_topic, nothing, empty)
    rows = label_rows(measured, labels, human, words)
    return Parting(
        name,
        measured.name,
        items,
        by_margin(rows, interval),
        by_length(rows, interval) if words else empty,
        _by_topic(measured, number, rows, interval),
        labels.confusion,
        verbosity_bias(rows, interval) if words else empty,
    )


def standardised_difference(measured: Measured, number: int) -> pd.DataFrame:
    """(I,) z-scores of judge and humans over the common items of a topic, and judge less humans."""
    judge, human = measured.scores[number], measured.human
    out = np.full((2, len(human)), np.nan)
    for topic in range(measured.n_topics):
        own = np.flatnonzero((measured.topics == topic) & ~np.isnan(judge) & ~np.isnan(human))
        if len(own) > 1:
            out[:, own] = standardise(judge[own]), standardise(human[own])
    return pd.DataFrame({"judge": out[0], "human": out[1], "difference": out[0] - out[1]})


def _items(
    measured: Measured, gap: pd.DataFrame, known: NDArray[np.bool_], texts: Items | None
) -> pd.DataFrame:
    frame = gap.assign(item=measured.items)
    columns = ["item", "judge", "human", "difference"]
    if measured.n_topics > 1:
        frame["topic"] = np.asarray(measured.topic_names, dtype=object)[measured.topics]
        columns.insert(1, "topic")
    if texts is not None and "text" in texts.frame:
        frame["text"] = frame["item"].map(dict(zip(texts.frame["item"], texts.frame["text"], strict=True)))
        columns.append("text")
    frame = frame[known & frame["difference"].notna()]
    order = frame["difference"].abs().sort_values(ascending=False, kind="stable").index[:SHOWN]
    return frame.loc[order, columns].reset_index(drop=True)


def label_rows(
    measured: Measured, labels: LabelPairs, human: Judgments, words: Mapping[str, int] | None
) -> pd.DataFrame:
    """One row a label pair.

    ``agree``; ``human`` and ``judge`` (1 for a, 0 for b, NaN for a tie); ``margin`` (humans' score of a less
    that of b); ``length`` (log of the ratio of words, each plus 1); ``topic`` (code); ``pair`` (code).
    """
    score = dict(zip(measured.items, measured.human.tolist(), strict=True))
    topic = dict(zip(measured.items, measured.topics.tolist(), strict=True))
    a, b = (human.frame[side].astype(object).to_numpy()[labels.row] for side in ("item_a", "item_b"))
    nan = float("nan")
    frame = pd.DataFrame(
        {
            "agree": labels.human_label == labels.judge_label,
            "human": _decisive(labels.human),
            "judge": _decisive(labels.judge),
            "margin": [score.get(x, nan) - score.get(y, nan) for x, y in zip(a, b, strict=True)],
            "topic": [topic.get(x, -1) for x in a],
            "pair": pd.factorize(pd.Series([f"{min(x, y)}\0{max(x, y)}" for x, y in zip(a, b, strict=True)]))[
                0
            ],
        }
    )
    if words:
        frame["length"] = [
            np.log1p(words[x]) - np.log1p(words[y]) if x in words and y in words else nan
            for x, y in zip(a, b, strict=True)
        ]
    return frame


def by_margin(rows: pd.DataFrame, interval: float = 0.95) -> pd.DataFrame:
    """Agreement in quarters of the humans' margin, from the closest pairs to the clearest."""
    return _binned(rows, rows["margin"].abs(), interval)[
        ["from", "to", "pairs", "agreement", "lower", "upper"]
    ]


def by_length(rows: pd.DataFrame, interval: float = 0.95) -> pd.DataFrame:
    """Agreement, and how often each side chose the first item, in quarters of the length difference."""
    return _binned(rows, rows["length"], interval)


def _binned(rows: pd.DataFrame, by: pd.Series[float], interval: float) -> pd.DataFrame:
    known = by.notna()
    rows, by = rows[known], by[known]
    ends = np.unique(np.quantile(by, np.linspace(0, 1, BINS + 1))) if len(by) else np.zeros(0)
    if len(ends) < 2:
        ends = np.array([by.min(), by.max()]) if len(by) else np.zeros(2)
    place = np.clip(np.searchsorted(ends, by.to_numpy(), side="right") - 1, 0, len(ends) - 2)
    out = []
    for number in range(len(ends) - 1):
        own = rows[place == number]
        if len(own):
            out.append(
                {"from": float(ends[number]), "to": float(ends[number + 1])}
                | _agreement(own, interval)
                | {"judge_first": float(own["judge"].mean()), "human_first": float(own["human"].mean())}
            )
    columns = ["from", "to", "pairs", "agreement", "lower", "upper", "judge_first", "human_first"]
    return pd.DataFrame(out, columns=columns)


def _agreement(rows: pd.DataFrame, interval: float) -> dict[str, float]:
    """Share of agreeing labels with its Jeffreys interval."""
    number, agreeing = len(rows), float(rows["agree"].sum())
    tails = [(1 - interval) / 2, (1 + interval) / 2]
    lower, upper = np.asarray(beta.ppf(tails, agreeing + 0.5, number - agreeing + 0.5)).tolist()
    share = agreeing / number if number else float("nan")
    return {"pairs": number, "agreement": share, "lower": float(lower), "upper": float(upper)}


def _by_topic(measured: Measured, number: int, rows: pd.DataFrame | None, interval: float) -> pd.DataFrame:
    if measured.n_topics < 2:
        return pd.DataFrame()
    judge, human = measured.scores[number], measured.human
    out = []
    for topic, name in enumerate(measured.topic_names):
        own = np.flatnonzero((measured.topics == topic) & ~np.isnan(judge) & ~np.isnan(human))
        row: dict[str, Any] = {
            "topic": name,
            "items": len(own),
            "pearson": float(pearson(judge[own], human[own])),
        }
        if rows is not None:
            row |= _agreement(rows[rows["topic"] == topic], interval)
        out.append(row)
    return pd.DataFrame(out).sort_values("pearson", kind="stable", ignore_index=True)


def verbosity_bias(rows: pd.DataFrame, interval: float = 0.95) -> pd.DataFrame:
    """Measure whether the judge favours the longer text beyond what people find in it.

    Logistic regressions of decisive labels (1 where ``a`` won) on the log ratio of words, in log-odds for a
    text e times as long; standard errors allow for several labels on a pair.

    Returns
    -------
    DataFrame
        ``who``, ``controlled``, ``coefficient``, ``lower``, ``upper``, ``labels``:

        ``judge``, controlled: the judge's labels, given the humans' strength difference. It is 0 where length
        counts only as far as people find longer texts better; since that difference is itself estimated with
        noise, a judge without any bias shows a little of people's own preference here.
        ``judge`` and ``human``, not controlled: how each side follows length.
        NaN where the longer text always wins, so that no finite coefficient exists.
    """
    out = []
    for who, controlled in (("judge", True), ("judge", False), ("human", False)):
        used = rows[rows[who].notna() & rows["length"].notna() & rows["margin"].notna()]
        columns = [np.ones(len(used)), used["length"].to_numpy()]
        if controlled:
            columns.append(used["margin"].to_numpy())
        found = logistic(np.column_stack(columns), used[who].to_numpy(), used["pair"].to_numpy())
        value, error = (float("nan"),) * 2 if found is None else (found[0][1], found[1][1])
        reach = float(norm.ppf((1 + interval) / 2)) * error
        out.append((who, controlled, value, value - reach, value + reach, len(used)))
    return pd.DataFrame(out, columns=["who", "controlled", "coefficient", "lower", "upper", "labels"])


def logistic(design: Floats, outcome: Floats, cluster: Ints) -> tuple[Floats, Floats] | None:
    """Logistic regression by Newton's method, with standard errors robust to clusters.

    Returns
    -------
    tuple of two arrays, or None
        Coefficients and standard errors; None where the maximum is not finite.

    References
    ----------
    Liang and Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73.
    """
    coefficient = np.zeros(design.shape[1])
    if len(outcome) <= design.shape[1]:
        return None
    for _ in range(50):
        p = expit(design @ coefficient)
        information = (design * (p * (1 - p))[:, None]).T @ design
        try:
            step = np.linalg.solve(information, design.T @ (outcome - p))
        except LinAlgError:
            return None
        coefficient = coefficient + step
        if np.abs(coefficient).max() > 50 or np.linalg.cond(information) > 1e12:
            return None
        if np.abs(step).max() < 1e-9:
            break
    else:
        return None
    p = expit(design @ coefficient)
    inverse = np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design)
    score = pd.DataFrame(design * (outcome - p)[:, None]).groupby(cluster).sum().to_numpy()
    covariance = inverse @ (score.T @ score) @ inverse
    return coefficient, np.sqrt(np.diag(covariance))


def _decisive(codes: Ints) -> Floats:
    """1 for a, 0 for b, NaN for a tie."""
    return np.asarray(np.select([codes == 0, codes == 2], [1.0, 0.0], np.nan), dtype=float)
