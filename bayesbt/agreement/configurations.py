"""The configurations to be measured: each judge with each prompt, with its labels, or its fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bayesbt.errors import InputError
from bayesbt.infer.fitted import Fit
from bayesbt.tables import Items, Judgments
from bayesbt.voting import Rule, vote

Source = Judgments | Fit | Mapping[str, Fit]
"""Where labels or scores come from: a table, a fit, or fits by dimension."""

WHOLE = "overall"
"""The name of the dimension where a table names none."""


@dataclass(frozen=True)
class Configuration:
    """A judge with a prompt.

    Attributes
    ----------
    judge, prompt : str
        The prompt is empty where the table names none.
    labels : dict of str to Judgments
        By dimension: one label a presentation. Empty for fits.
    fits : dict of str to Fit
        By dimension, where fits were given in the place of judgments.
    null : bool
        A baseline that reads nothing.
    """

    judge: str
    prompt: str = ""
    labels: Mapping[str, Judgments] = field(default_factory=dict)
    fits: Mapping[str, Fit] = field(default_factory=dict)
    null: bool = False

    @property
    def name(self) -> str:
        """Judge and prompt."""
        return f"{self.judge}, {self.prompt}" if self.prompt else self.judge

    @property
    def dimensions(self) -> list[str]:
        """What it was asked about."""
        return list(self.labels or self.fits)


@dataclass(frozen=True)
class Human:
    """What the judges are measured against.

    Attributes
    ----------
    labels : dict of str to Judgments
        By dimension: one row a label to compare with.
    judgments : dict of str to Judgments
        By dimension: what the human scores are fitted to.
    fits : dict of str to Fit
        By dimension, in the place of judgments.
    scores : dict of str to Series
        By dimension: published scores by item, in the place of a fit.
    messages : tuple of str
    """

    labels: Mapping[str, Judgments] = field(default_factory=dict)
    judgments: Mapping[str, Judgments] = field(default_factory=dict)
    fits: Mapping[str, Fit] = field(default_factory=dict)
    scores: Mapping[str, pd.Series[float]] = field(default_factory=dict)
    messages: tuple[str, ...] = ()

    @property
    def dimensions(self) -> list[str]:
        """What the humans were asked about."""
        return list(self.judgments or self.fits or self.scores)


def configurations_of(sources: Sequence[Source], rule: Rule = "majority") -> list[Configuration]:
    """Split tables into configurations, one label a presentation by a vote over the runs.

    Raises
    ------
    InputError
        Where two configurations have the same name, or there is none.
    """
    found: list[Configuration] = []
    for number, source in enumerate(sources, start=1):
        if isinstance(source, Judgments):
            found += _of_table(source, rule)
        else:
            fits = by_dimension_of_fits(source)
            found.append(Configuration(f"fit {number}" if len(sources) > 1 else "fit", fits=fits))
    names = [configuration.name for configuration in found]
    again = sorted({name for name in names if names.count(name) > 1})
    if again:
        raise InputError(
            f"several tables hold a judge and prompt {', '.join(map(repr, again))}. "
            "Name them apart in the columns judge and prompt, or give each once."
        )
    if not found:
        raise InputError("agree: no judge to measure.")
    return found


def _of_table(judgments: Judgments, rule: Rule) -> list[Configuration]:
    frame = judgments.frame
    keys = [name for name in ("judge", "prompt") if name in frame and frame[name].notna().any()]
    if not keys:
        return [Configuration("judge", labels=by_dimension(vote(judgments, rule)))]
    labels = [frame[name].astype(object).fillna("").astype(str) for name in keys]
    out = []
    for values, rows in frame.groupby(labels, sort=True).indices.items():
        named = dict(zip(keys, values if isinstance(values, tuple) else (values,), strict=True))
        part = _rows(judgments, np.sort(rows))
        labelled = by_dimension(vote(part, rule))
        out.append(Configuration(named.get("judge") or "judge", named.get("prompt", ""), labelled))
    return out


def human_of(source: Source | Items, dimensions: Sequence[str], published: Items | None = None) -> Human:
    """Read what the judges are measured against.

    Parameters
    ----------
    source : Judgments, Fit, mapping of Fit, or Items
        Items hold a column of scores a dimension: ``score_DIMENSION`` or ``DIMENSION``.
    dimensions : sequence of str
        The dimensions of the judges, for the names of columns.
    published : Items, optional
        Scores that replace those of a fit to the human judgments.
    """
    if isinstance(source, Items):
        return Human(scores=published_scores(source, dimensions))
    scores = {} if published is None else published_scores(published, dimensions)
    if not isinstance(source, Judgments):
        return Human(fits=by_dimension_of_fits(source), scores=scores)
    messages = []
    labels = source
    if "judge" in source.frame and source.frame["judge"].nunique() > 1:
        messages.append(
            f"{source.frame['judge'].nunique():,} humans: the label of a pair is that of their majority, "
            "else tie; their scores are fitted to all judgments."
        )
        labels = Judgments(source.frame.drop(columns=["judge", "run"], errors="ignore"), source.source)
        labels = vote(labels)
    elif "run" in source.frame:
        labels = vote(source)
    return Human(by_dimension(labels), by_dimension(source), scores=scores, messages=tuple(messages))


def published_scores(items: Items, dimensions: Sequence[str]) -> dict[str, pd.Series[float]]:
    """Read the column of scores of each dimension, by item.

    Raises
    ------
    InputError
        Where no column is called so, or it is not numeric.
    """
    frame = items.frame.set_index("item")
    found = {}
    for dimension in dimensions:
        names = [f"score_{dimension}", dimension, "score", "strength"]
        known = [name for name in names if name in frame and pd.api.types.is_numeric_dtype(frame[name])]
        if not known:
            raise InputError(
                f"{items.source}: no numeric column of scores for dimension {dimension!r}. "
                f"Allowed names: {', '.join(names[:2])} (or score, where there is one dimension)."
            )
        found[dimension] = frame[known[0]].astype(float).dropna()
    return found


def by_dimension(judgments: Judgments) -> dict[str, Judgments]:
    """Part a table by dimension; rows without one are an error where others have one."""
    frame = judgments.frame
    if "dimension" not in frame or frame["dimension"].isna().all():
        return {WHOLE: judgments}
    if frame["dimension"].isna().any():
        row = int(frame.loc[frame["dimension"].isna(), "row"].iloc[0])
        raise InputError(
            f"{judgments.source}, row {row}, column 'dimension': blank, while other rows name one. "
            "Fill it in."
        )
    groups = frame.groupby(frame["dimension"].astype(str), sort=True).indices
    return {str(name): _rows(judgments, np.sort(rows)) for name, rows in groups.items()}


def by_dimension_of_fits(source: Fit | Mapping[str, Fit]) -> dict[str, Fit]:
    """Name fits by their dimension."""
    if isinstance(source, Fit):
        return {source.counts.dimensions[0] or WHOLE: source}
    alone = len(source) == 1
    return {fit.counts.dimensions[0] or (WHOLE if alone else name): fit for name, fit in source.items()}


def shared_dimensions(configurations: Sequence[Configuration], human: Human) -> list[str]:
    """Dimensions that the humans and every judge have, in order.

    Raises
    ------
    InputError
        Where there is none.
    """
    judged = [set(configuration.dimensions) for configuration in configurations]
    common = set(human.dimensions).intersection(*judged)
    if not common:
        theirs = sorted(set().union(*judged))
        raise InputError(
            f"agree: judges and humans share no dimension: {', '.join(theirs)} against "
            f"{', '.join(human.dimensions)}. Name them alike in the column dimension, or in neither table."
        )
    return [name for name in human.dimensions if name in common]


def without_judge(judgments: Judgments, judge: str) -> Judgments:
    """Leave one judge out; a table that does not name it stays as it is.

    Raises
    ------
    InputError
        Where nothing is left.
    """
    if "judge" not in judgments.frame:
        return judgments
    kept = np.flatnonzero((judgments.frame["judge"].astype(object) != judge).to_numpy(dtype=bool))
    if len(kept) == 0:
        raise InputError(f"{judgments.source}: every judgment is by {judge!r}, who is the human here.")
    return judgments if len(kept) == len(judgments) else _rows(judgments, kept)


def _rows(judgments: Judgments, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Judgments:
    """Keep some rows, and the items that occur in them."""
    frame = judgments.frame.iloc[rows].reset_index(drop=True)
    return Judgments(frame, judgments.source, judgments.findings).select()
