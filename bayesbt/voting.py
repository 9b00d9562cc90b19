"""One label a pair from several runs, and the distribution of that label under exact probabilities."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesbt.cells import PROBABILITY_COLUMNS
from bayesbt.errors import InputError
from bayesbt.outcomes import OUTCOME_DTYPE
from bayesbt.tables import Judgments

Rule = Literal["majority", "sign"]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RULES: tuple[Rule, ...] = ("majority", "sign")
PRESENTATION = ("judge", "prompt", "dimension", "topic", "item_a", "item_b")
"""What the runs of one vote have in common; the item shown first is part of it."""

A, TIE, B = range(3)


def vote(judgments: Judgments, rule: Rule = "majority") -> Judgments:
    """Give one label to each presentation, by a vote of its runs.

    Parameters
    ----------
    judgments : Judgments
        Rows of one judge, dimension, topic and ordered pair vote together; a row has ``count`` votes.
        Unscored rows do not vote.
    rule : {"majority", "sign"}
        ``majority``: the label with more than half of the votes, else tie. ``sign``: the side with more
        votes, else tie, however many ties there are (a, tie, tie gives a).

    Returns
    -------
    Judgments
        One row a presentation, in order of first appearance, ``count`` 1, without ``run`` and ``raw``; the
        column ``votes`` tells the votes (``a:2 tie:1``). Label probabilities are averaged over the runs. A
        presentation without any vote stays unscored and keeps its reason.
    """
    _require_rule(rule)
    frame = judgments.frame
    keys = [name for name in PRESENTATION if name in frame]
    grouped = frame.groupby(keys, sort=False, observed=True, dropna=False)
    group = np.asarray(grouped.ngroup(), dtype=np.int64)
    first = np.unique(group, return_index=True)[1]
    code = frame["outcome"].cat.codes.to_numpy(dtype=np.int64)
    count = frame["count"].to_numpy(dtype=np.float64)
    columns = [np.bincount(group, count * (code == label), len(first)) for label in range(3)]
    votes = np.column_stack(columns).astype(np.float64)
    unscored = np.bincount(group, code < 0, len(first))
    label = vote_labels(votes, rule)
    silent = votes.sum(axis=1) == 0
    label[silent] = -1
    voted = frame.iloc[first].reset_index(drop=True).drop(columns=["run", "raw"], errors="ignore")
    voted = voted.drop(columns=_varying(frame, voted, group))
    voted["outcome"] = pd.Categorical.from_codes(label, dtype=OUTCOME_DTYPE)
    voted["count"] = 1.0
    for name in PROBABILITY_COLUMNS:
        if name in frame:
            voted[name] = frame[name].groupby(group).mean().to_numpy()
    voted = voted.drop(columns="reason", errors="ignore")
    if silent.any():
        voted["reason"] = _reasons(frame, group, silent)
    voted["votes"] = [_tally(row, absent) for row, absent in zip(votes, unscored, strict=True)]
    return Judgments(voted, judgments.source, judgments.findings)


def without_examples(judgments: Judgments) -> Judgments:
    """Leave out judgments on pairs that their few-shot prompt has shown with a label.

    They are marked in the column ``few_shot_example``; a table without it has none.
    """
    frame = judgments.frame
    if "few_shot_example" not in frame:
        return judgments
    shown = frame["few_shot_example"].astype(str).str.casefold().isin(("true", "1"))
    return replace(judgments, frame=frame[~shown].reset_index(drop=True))


def vote_labels(votes: Floats, rule: Rule = "majority") -> Ints:
    """Decide votes.

    Parameters
    ----------
    votes : (n, 3) floats
        Votes for a, tie, b.
    rule : {"majority", "sign"}
        As in :func:`vote`.

    Returns
    -------
    (n,) ints
        0 for a, 1 for tie, 2 for b.
    """
    _require_rule(rule)
    lead_a, lead_b = votes[:, A], votes[:, B]
    if rule == "majority":
        half = votes.sum(axis=1) / 2
        a_wins, b_wins = lead_a > half, lead_b > half
    else:
        a_wins, b_wins = lead_a > lead_b, lead_b > lead_a
    return np.where(a_wins, A, np.where(b_wins, B, TIE)).astype(np.int64)


def vote_distribution(probabilities: Floats, runs: int, rule: Rule = "majority") -> Floats:
    """Compute the exact probabilities of the voted label over independent runs.

    Parameters
    ----------
    probabilities : (n, 3) floats
        P(a), P(tie), P(b) of one run; each row sums to 1.
    runs : int
        Number of runs that vote, 1 or more.
    rule : {"majority", "sign"}
        As in :func:`vote`.

    Returns
    -------
    (n, 3) floats
        Probabilities that the vote gives a, tie, b; each row sums to 1.
    """
    if runs < 1:
        raise InputError(f"runs = {runs}: a vote needs 1 run or more.")
    result = np.zeros_like(probabilities)
    for votes in itertools.product(range(runs + 1), repeat=3):
        if sum(votes) == runs:
            ways = math.factorial(runs) // math.prod(map(math.factorial, votes))
            label = vote_labels(np.array([votes], dtype=float), rule)[0]
            result[:, label] += ways * np.prod(probabilities ** np.array(votes), axis=1)
    return result


def _require_rule(rule: str) -> None:
    if rule not in RULES:
        raise InputError(f"--rule {rule!r} is not known. Allowed: {', '.join(RULES)}.")


def _varying(frame: pd.DataFrame, voted: pd.DataFrame, group: Ints) -> list[str]:
    """Further columns whose cells differ between the runs of a presentation, so that none speaks for all."""
    own = {*PRESENTATION, *PROBABILITY_COLUMNS, "outcome", "count", "row", "reason"}
    varying = []
    for name in voted.columns:
        if name not in own:
            texts = frame[name].astype(str).to_numpy()
            if np.any(texts != voted[name].astype(str).to_numpy()[group]):
                varying.append(str(name))
    return varying


def _reasons(frame: pd.DataFrame, group: Ints, silent: npt.NDArray[np.bool_]) -> pd.Series[str]:
    """Say why a presentation has no label: the reason of its first unscored run."""
    reasons: list[str | None] = ["every judgment has count 0" if mute else None for mute in silent]
    if "reason" in frame:
        absent = frame["outcome"].isna().to_numpy()
        texts = frame["reason"].to_numpy(dtype=object)
        for position in np.flatnonzero(absent & silent[group])[::-1]:
            reasons[group[position]] = texts[position]
    return pd.Series(reasons, dtype=object)


def _tally(votes: Floats, unscored: float) -> str:
    named = zip(("a", "tie", "b", "unscored"), (*votes, unscored), strict=True)
    return " ".join(f"{name}:{number:g}" for name, number in named if number)
