"""Examples for few-shot prompts: pairs that people judged, chosen for each dimension and topic.

For each dimension and topic these are, among the pairs with one label by majority: the pair that got ``a``
with the largest difference of scores in favour of its first item, the pair that got ``b`` with the largest
in favour of its second, and the tie with the smallest difference. An example has told the judge its answer,
so judgments on it are marked, and can be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from bayesbt.errors import InputError
from bayesbt.judges.protocol import Outcome, Presentation
from bayesbt.tables import Items, Judgments

ExampleKey = tuple[str, str]
"""Dimension and topic; an empty text stands for all."""

ORDER: tuple[Outcome, ...] = ("a", "b", "tie")
"""In which the examples are shown."""


@dataclass(frozen=True)
class Example:
    """A judged pair that is shown with its label."""

    item_a: str
    item_b: str
    text_a: str
    text_b: str
    outcome: Outcome


@dataclass(frozen=True)
class Examples:
    """The chosen examples.

    Attributes
    ----------
    chosen : mapping
        (dimension, topic) -> examples in the order in which they are shown: ``a``, ``b``, ``tie``.
    missing : tuple of str
        What could not be found, one sentence each.
    """

    chosen: Mapping[ExampleKey, tuple[Example, ...]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def of(self, dimension: str, topic: str | None) -> tuple[Example, ...]:
        """Give the examples for one question; empty where there are none."""
        keys = ((dimension, topic or ""), ("", topic or ""), (dimension, ""), ("", ""))
        return next((self.chosen[key] for key in keys if key in self.chosen), ())

    def hold(self, presentation: Presentation) -> bool:
        """Whether the pair is among the examples that its own question shows, in either order."""
        pair = {presentation.item_a, presentation.item_b}
        shown = self.of(presentation.dimension, presentation.topic)
        return any({example.item_a, example.item_b} == pair for example in shown)


def choose_examples(judgments: Judgments, items: Items, scores: pd.DataFrame | None = None) -> Examples:
    """Choose the examples from people's judgments.

    Parameters
    ----------
    judgments : Judgments
        People's judgments. The topic is the judgment's own, else that of the items where both share it.
    items : Items
        With texts. Without ``scores`` they hold them too, in columns ``score_DIMENSION`` (or ``score`` where
        the judgments have no dimension).
    scores : DataFrame, optional
        ``item`` and ``score`` (``strength`` will do), and ``dimension`` where the scores differ by it.

    Raises
    ------
    InputError
        Where items have no texts, or a dimension has no scores.
    """
    pairs = _labelled_pairs(judgments, items)
    texts = _texts(items)
    chosen: dict[ExampleKey, tuple[Example, ...]] = {}
    missing: list[str] = []
    for dimension, own in pairs.groupby("dimension", sort=False):
        score = _scores(str(dimension), items, scores)
        known = own[own["item_a"].isin(texts) & own["item_b"].isin(texts)]
        known = known.assign(difference=known["item_a"].map(score) - known["item_b"].map(score))
        for topic, group in known.dropna(subset="difference").groupby("topic", sort=False):
            best = {outcome: _extreme(group, outcome) for outcome in ORDER}
            chosen[str(dimension), str(topic)] = tuple(
                Example(row["item_a"], row["item_b"], texts[row["item_a"]], texts[row["item_b"]], outcome)
                for outcome in ORDER
                if (row := best[outcome]) is not None
            )
            missing += [
                f"No example for the label {outcome!r} ({_place(str(dimension), str(topic))})."
                for outcome, row in best.items()
                if row is None
            ]
    return Examples({key: shown for key, shown in chosen.items() if shown}, tuple(missing))


def _labelled_pairs(judgments: Judgments, items: Items) -> pd.DataFrame:
    """Give each ordered pair of each dimension and topic its label by majority; pairs without one go."""
    frame = judgments.frame[judgments.frame["outcome"].notna()]
    topic_of = (
        dict(zip(items.frame["item"], items.frame["topic"], strict=True)) if "topic" in items.frame else {}
    )
    pairs = pd.DataFrame(
        {
            "dimension": frame["dimension"].astype(object) if "dimension" in frame else "",
            "topic": frame["topic"].astype(object) if "topic" in frame else None,
            "item_a": frame["item_a"].astype(object),
            "item_b": frame["item_b"].astype(object),
            "outcome": frame["outcome"].astype(object),
            "count": frame["count"],
        }
    )
    first, second = pairs["item_a"].map(topic_of), pairs["item_b"].map(topic_of)
    shared = first.where(first == second)
    pairs["topic"] = pairs["topic"].where(pairs["topic"].notna(), shared).fillna("")
    pairs["dimension"] = pairs["dimension"].fillna("")
    keys = ["dimension", "topic", "item_a", "item_b"]
    votes = pairs.groupby([*keys, "outcome"], sort=False)["count"].sum().reset_index()
    whole = votes.groupby(keys, sort=False)["count"].transform("sum")
    return votes[votes["count"] > whole / 2]


def _extreme(group: pd.DataFrame, outcome: str) -> pd.Series | None:
    """Find the pair of one label that shows it best; of equals the first by the names of the items."""
    own = group[group["outcome"] == outcome]
    sign = {"a": 1.0, "b": -1.0}.get(outcome)
    if sign is None:
        own = own.assign(rank=own["difference"].abs())
    else:
        own = own[own["difference"] * sign > 0]
        own = own.assign(rank=-own["difference"] * sign)
    if own.empty:
        return None
    return own.sort_values(["rank", "item_a", "item_b"], kind="stable").iloc[0]


def _texts(items: Items) -> dict[str, str]:
    if "text" not in items.frame:
        raise InputError(
            f"{items.source}: the items have no column `text`, so they cannot serve as examples."
        )
    pairs = zip(items.frame["item"], items.frame["text"], strict=True)
    return {item: text for item, text in pairs if isinstance(text, str) and text.strip()}


def _scores(dimension: str, items: Items, scores: pd.DataFrame | None) -> dict[str, float]:
    """Give the scores of the items on one dimension."""
    if scores is None:
        column = f"score_{dimension}" if dimension else "score"
        if column not in items.frame:
            raise InputError(
                f"{items.source}: no column {column!r}, so that no examples can be chosen"
                f"{f' for the dimension {dimension!r}' if dimension else ''}. Add it to the items, or give "
                "--example-scores, a table with item, score and perhaps dimension."
            )
        frame = items.frame.rename(columns={column: "value"})
    else:
        column = "score" if "score" in scores else "strength"
        if not {"item", column} <= set(scores.columns):
            raise InputError(
                f"--example-scores: needs the columns item and score, got {', '.join(map(str, scores))}."
            )
        frame = scores.rename(columns={column: "value"})
        if "dimension" in frame and dimension:
            frame = frame[frame["dimension"].astype(str) == dimension]
        again = frame["item"][frame["item"].duplicated()]
        if len(again):
            raise InputError(
                f"--example-scores: item {again.iloc[0]!r} has several scores"
                f"{f' on {dimension!r}' if dimension else ''}. Keep one row for each item and dimension."
            )
    numbers = pd.to_numeric(frame["value"], errors="coerce")
    found = {str(item): float(n) for item, n in zip(frame["item"], numbers, strict=True) if n == n}
    if not found:
        raise InputError(f"No item has a score{f' on the dimension {dimension!r}' if dimension else ''}.")
    return found


def _place(dimension: str, topic: str) -> str:
    parts = [f"dimension {dimension!r}" if dimension else "", f"topic {topic!r}" if topic else ""]
    return ", ".join(filter(None, parts)) or "all"
