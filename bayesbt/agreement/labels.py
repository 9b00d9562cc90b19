"""Agreement of two sets of labels on the same pairs: percent agreement, Cohen's kappa, Krippendorff's alpha.

A pair that the judge saw in the other order is mirrored. What a label is, is a choice: the outcome a, tie or
b (the default); or, as in the code of the paper, the local argument number of the winner, which both sides of
a pair can share, so that a judge who always answers ``a`` agrees more often than it should.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import krippendorff
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.errors import InputError
from bayesbt.tables import Judgments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LabelIdentity = Literal["outcome", "argument-number"]
LABEL_IDENTITIES: tuple[LabelIdentity, ...] = get_args(LabelIdentity)
OUTCOME_NAMES = ("a", "tie", "b")
LABEL_METRICS: dict[str, bool] = {"agreement": True, "kappa": True, "alpha": True}
"""Metrics of labels, and whether a higher value is more agreement: all of them."""

TIE = 1


class Margins(NamedTuple):
    """Sums over label pairs: agreeing (...,), and how often each side gave each label (..., L)."""

    agreeing: Floats
    human: Floats
    judge: Floats


@dataclass(frozen=True)
class LabelPairs:
    """Labels of humans and a judge on the same pairs: R rows, L kinds of labels.

    Attributes
    ----------
    row : (R,) int array
        Row of the human table that the label belongs to; it occurs twice where the judge saw both orders.
    human, judge : (R,) int arrays
        Outcomes in the order in which the humans saw the pair: 0 for a, 1 for tie, 2 for b.
    human_label, judge_label : (R,) int arrays
        What is compared, in 0 ... L-1: the outcomes themselves, or the winners' argument numbers.
    n_labels : int
        L.
    missing, unscored : int
        Human labels on pairs that the judge never saw, or saw without giving a label.
    """

    row: Ints
    human: Ints
    judge: Ints
    human_label: Ints
    judge_label: Ints
    n_labels: int
    missing: int = 0
    unscored: int = 0

    def __len__(self) -> int:
        """Return the number of label pairs."""
        return len(self.row)

    @property
    def confusion(self) -> pd.DataFrame:
        """Counts of outcomes: row what the humans said, column what the judge said."""
        table = np.bincount(3 * self.human + self.judge, minlength=9).reshape(3, 3)
        return pd.DataFrame(
            table, pd.Index(OUTCOME_NAMES, name="human"), pd.Index(OUTCOME_NAMES, name="judge")
        )

    def indicators(self) -> Floats:
        """(R, 1 + 2 L) Whether labels agree, and each side's label as one of L: see :func:`margins_of`."""
        known = np.arange(self.n_labels)
        columns = (
            (self.human_label == self.judge_label)[:, None],
            self.human_label[:, None] == known,
            self.judge_label[:, None] == known,
        )
        return np.concatenate(columns, axis=1).astype(float)

    def metrics(self) -> dict[str, float]:
        """Agreement as a share, Cohen's kappa, and Krippendorff's alpha.

        Alpha of outcomes is by the krippendorff package; of argument numbers, whose many values that package
        takes seconds for, by the same formula in :func:`label_metrics`.
        """
        found = label_metrics(margins_of(self.indicators().sum(axis=0)))
        metrics = {name: float(value) for name, value in found.items()}
        return metrics | {"alpha": self._alpha()} if self.n_labels == len(OUTCOME_NAMES) else metrics

    def _alpha(self) -> float:
        votes = np.zeros((len(self), self.n_labels), dtype=np.int64)
        rows = np.arange(len(self))
        np.add.at(votes, (rows, self.human_label), 1)
        np.add.at(votes, (rows, self.judge_label), 1)
        return krippendorff_alpha(votes)


def krippendorff_alpha(votes: NDArray[np.integer]) -> float:
    """Krippendorff's alpha for nominal labels, by the krippendorff package.

    Parameters
    ----------
    votes : (n, L) ints
        How many raters gave each of n units each of L labels.

    Returns
    -------
    float
        NaN where only one label occurs, or no unit has two.
    """
    used = votes[votes.sum(axis=1) >= 2]
    if (used.sum(axis=0) > 0).sum() < 2:
        return float("nan")
    return float(krippendorff.alpha(value_counts=used, level_of_measurement="nominal"))


def margins_of(sums: Floats) -> Margins:
    """Part sums of :meth:`LabelPairs.indicators` (..., 1 + 2 L) into their meanings."""
    size = (sums.shape[-1] - 1) // 2
    return Margins(sums[..., 0], sums[..., 1 : 1 + size], sums[..., 1 + size :])


def label_metrics(margins: Margins) -> dict[str, Floats]:
    """Agreement (share), Cohen's unweighted kappa, and nominal alpha of two raters without missing labels.

    Parameters
    ----------
    margins : Margins
        Weighted sums with any leading axes.

    Returns
    -------
    dict of arrays
        ``kappa`` is (p_o - p_e) / (1 - p_e), NaN where both sides gave one and the same label throughout;
        ``alpha`` uses the pooled labels of both sides for what chance gives. NaN without any pair.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, equation 1. Krippendorff (2004), Content
    Analysis, section 11.3.1.
    """
    number = margins.human.sum(axis=-1)
    pooled = margins.human + margins.judge
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = margins.agreeing / number
        by_chance = (margins.human * margins.judge).sum(axis=-1) / number**2
        kappa = (observed - by_chance) / (1 - by_chance)
        total = 2 * number
        differing = 1 - (pooled * (pooled - 1)).sum(axis=-1) / (total * (total - 1))
        alpha = 1 - (1 - observed) / differing
    one_label = (pooled > 0).sum(axis=-1) < 2
    return {
        "agreement": np.asarray(observed),
        "kappa": np.asarray(np.where(one_label, np.nan, kappa)),
        "alpha": np.asarray(np.where(one_label, np.nan, alpha)),
    }


def match_labels(
    human: Judgments,
    judge: Judgments,
    identity: LabelIdentity = "outcome",
    argument_number: Callable[[str], str] | None = None,
) -> LabelPairs:
    """Lay the labels of a judge beside those of humans, pair by pair; one dimension each.

    Parameters
    ----------
    human, judge : Judgments
        Rows of one dimension. Pairs match where both items, and the topic where both tables name it, are the
        same; each human label is compared with each label of the judge on the pair.
    identity : {"outcome", "argument-number"}
        What a label is.
    argument_number : callable, optional
        Item id to its local argument number; by default the middle of ``discussion-argument-topic``.

    Raises
    ------
    InputError
        For an unknown identity, or an id that holds no argument number.
    """
    if identity not in LABEL_IDENTITIES:
        raise InputError(
            f"--label-identity {identity!r} is not known. Allowed: {', '.join(LABEL_IDENTITIES)}."
        )
    first, second = _oriented(human), _oriented(judge)
    keys = ["low", "high"] + (["topic"] if "topic" in first and "topic" in second else [])
    first = first[first["code"] >= 0]
    met = first.merge(second[[*keys, "flipped", "code"]], on=keys, suffixes=("", "_judge"), how="left")
    missing = int(met["code_judge"].isna().sum())
    met = met[met["code_judge"].notna()]
    unscored = int((met["code_judge"] < 0).sum())
    met = met[met["code_judge"] >= 0]
    answer = met["code_judge"].to_numpy(dtype=np.int64)
    mirrored = (met["flipped"] != met["flipped_judge"]).to_numpy(dtype=bool)
    answer = np.where(mirrored, 2 - answer, answer)
    truth, row = met["code"].to_numpy(dtype=np.int64), met["row"].to_numpy(dtype=np.int64)
    order = np.argsort(row, kind="stable")
    row, truth, answer = row[order], truth[order], answer[order]
    if identity == "outcome":
        return LabelPairs(row, truth, answer, truth, answer, 3, missing, unscored)
    numbers = _numbers(human, argument_number or webis_argument_number)[:, row]
    labels = [np.where(x == 0, numbers[0], np.where(x == TIE, "Tie", numbers[1])) for x in (truth, answer)]
    known, code = np.unique(np.concatenate(labels).astype(str), return_inverse=True)
    half = len(row)
    return LabelPairs(row, truth, answer, code[:half], code[half:], len(known), missing, unscored)


def webis_argument_number(item: str) -> str:
    """Return the local argument number of an id ``discussion-argument-topic``.

    >>> webis_argument_number("15859-4-10")
    '4'
    """
    parts = item.split("-")
    if len(parts) != 3 or not parts[1]:
        raise InputError(
            f"item {item!r}: no argument number in it: --label-identity argument-number reads ids "
            "`discussion-argument-topic`, or a column of --items named by --argument-number."
        )
    return parts[1]


def has_topics(judgments: Judgments) -> bool:
    """Whether the table names topics."""
    return "topic" in judgments.frame and bool(judgments.frame["topic"].notna().any())


def _oriented(judgments: Judgments) -> pd.DataFrame:
    """Rows with the two ids in alphabetical order, and whether the table shows them the other way round."""
    frame = judgments.frame
    ids = [frame[side].astype(object).to_numpy() for side in ("item_a", "item_b")]
    flipped = np.asarray(ids[0] > ids[1], dtype=bool)
    data = {
        "low": np.where(flipped, ids[1], ids[0]),
        "high": np.where(flipped, ids[0], ids[1]),
        "flipped": flipped,
        "code": frame["outcome"].cat.codes.to_numpy(dtype=np.int64),
        "row": np.arange(len(frame)),
    }
    if has_topics(judgments):
        data["topic"] = frame["topic"].astype(object).fillna("").to_numpy()
    return pd.DataFrame(data)


def _numbers(human: Judgments, number: Callable[[str], str]) -> NDArray[np.object_]:
    """(2, rows) Argument number of the item shown first and of the one shown second."""
    known = {item: str(number(item)) for item in human.items}
    sides = [human.frame[side].astype(object).map(known).to_numpy() for side in ("item_a", "item_b")]
    return np.stack(sides).astype(object)
