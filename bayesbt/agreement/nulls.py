"""Judges that read nothing: what any judge must beat before its agreement with people means something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.outcomes import OUTCOME_DTYPE
from bayesbt.tables import Items, Judgments

Ints = NDArray[np.int64]
Answer = Callable[[pd.DataFrame, np.random.Generator], Ints]
"""Pairs of one dimension, with the humans' outcomes, to codes: 0 for a, 1 for tie, 2 for b."""


@dataclass(frozen=True)
class NullJudge:
    """A judge that reads nothing.

    Attributes
    ----------
    name : str
    answer : callable
        Labels for the pairs of one dimension.
    random : bool
        Whether chance enters, so that its rows are ranges over seeds.
    """

    name: str
    answer: Answer
    random: bool = False

    def label(self, pairs: Mapping[str, Judgments], seed: int = 0) -> dict[str, Judgments]:
        """Give labels to the pairs of each dimension."""
        out = {}
        for number, (dimension, judgments) in enumerate(pairs.items()):
            rng = np.random.default_rng([seed, number, len(self.name)])
            out[dimension] = relabelled(judgments, self.answer(judgments.frame, rng), self.name)
        return out


def null_judges(
    pairs: Mapping[str, Judgments], texts: Items | None = None, *, human_labels: bool = True
) -> list[NullJudge]:
    """List the null judges for these pairs.

    Parameters
    ----------
    pairs : dict of str to Judgments
        By dimension.
    texts : Items, optional
        With a column ``text`` for every item: then ``longer text wins`` is among them.
    human_labels : bool
        Whether the outcomes of ``pairs`` are people's; else there is no majority and there are no rates.

    Returns
    -------
    list of NullJudge
        ``always a``; ``majority label`` where that is another one in some dimension; ``random, uniform``;
        ``random at human rates``; ``longer text wins``: more words, a tie where they are equal.
    """
    judges = [NullJudge("always a", lambda frame, _: np.zeros(len(frame), dtype=np.int64))]
    if human_labels and any(_rates(judgments.frame).argmax() != 0 for judgments in pairs.values()):
        judges.append(NullJudge("majority label", _majority))
    judges.append(NullJudge("random, uniform", lambda frame, rng: rng.integers(0, 3, len(frame)), True))
    if human_labels:
        judges.append(NullJudge("random at human rates", _at_human_rates, True))
    words = None if texts is None else word_counts(texts)
    if words is not None and all(set(judgments.items) <= set(words) for judgments in pairs.values()):
        judges.append(NullJudge("longer text wins", _longer(words)))
    return judges


def relabelled(judgments: Judgments, codes: Ints, judge: str) -> Judgments:
    """Return the same presentations with other outcomes, one judgment each."""
    kept = [name for name in ("item_a", "item_b", "dimension", "topic", "row") if name in judgments.frame]
    frame = judgments.frame[kept].assign(
        outcome=pd.Categorical.from_codes(codes, dtype=OUTCOME_DTYPE), count=1.0
    )
    return Judgments(frame, judge)


def word_counts(items: Items) -> dict[str, int] | None:
    """Words of each item that has a text; None where there is no column ``text``."""
    if "text" not in items.frame:
        return None
    known = items.frame.dropna(subset=["text"])
    return {item: len(str(text).split()) for item, text in zip(known["item"], known["text"], strict=True)}


def _rates(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Shares of a, tie and b among scored rows."""
    codes = frame["outcome"].cat.codes.to_numpy()
    counts = np.bincount(codes[codes >= 0], minlength=3).astype(float)
    return np.asarray(counts / max(float(counts.sum()), 1.0))


def _majority(frame: pd.DataFrame, rng: np.random.Generator) -> Ints:
    return np.full(len(frame), int(_rates(frame).argmax()), dtype=np.int64)


def _at_human_rates(frame: pd.DataFrame, rng: np.random.Generator) -> Ints:
    return rng.choice(3, size=len(frame), p=_rates(frame))


def _longer(words: Mapping[str, int]) -> Answer:
    def answer(frame: pd.DataFrame, rng: np.random.Generator) -> Ints:
        first, second = (frame[side].astype(object).map(words).to_numpy() for side in ("item_a", "item_b"))
        return np.asarray(1 - np.sign((first - second).astype(np.int64)), dtype=np.int64)

    return answer
