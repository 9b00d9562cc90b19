"""What must be said in words: judges no better than null judges, and what intervals and tests do not hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bayesbt.agreement.resampling import Measured
from bayesbt.agreement.result import Settings

FEW_ITEMS = 15
JUDGED_BY = (("labels", "kappa"), ("scores", "pearson"), ("scores", "spearman"), ("scores", "kendall"))


def verdicts(metrics: pd.DataFrame, names: Sequence[str], dimensions: Sequence[str]) -> list[str]:
    """Say in words which judges do not rise above the null judges in a dimension, or in one of its metrics.

    The range of the null judges ends at the highest estimate of those without chance and at the upper ends of
    the random ones.
    """
    out = []
    for dimension in dimensions:
        rows = metrics[metrics["dimension"] == dimension]
        tops: dict[tuple[str, str], tuple[float, str]] = {}
        bottoms: dict[tuple[str, str], float] = {}
        for kind, metric in JUDGED_BY:
            nulls = rows[rows["null"] & (rows["kind"] == kind) & (rows["metric"] == metric)]
            ends = np.where(nulls["name"].str.startswith("random"), nulls["upper"], nulls["estimate"])
            reach = dict(zip(nulls["name"].tolist(), ends.tolist(), strict=True))
            known = {name: value for name, value in reach.items() if not np.isnan(value)}
            if known:
                top = max(known, key=lambda name: known[name])
                tops[kind, metric] = (known[top], top)
                lows = np.where(nulls["name"].str.startswith("random"), nulls["lower"], nulls["estimate"])
                bottoms[kind, metric] = float(np.nanmin(lows))
        for name in names:
            own = rows[rows["name"] == name]
            inside: list[str] = []
            outside: list[str] = []
            below: list[str] = []
            for (kind, metric), (top, null) in tops.items():
                cell = own[(own["kind"] == kind) & (own["metric"] == metric)]["estimate"]
                if len(cell) and not np.isnan(cell.iloc[0]):
                    value = float(cell.iloc[0])
                    text = f"{metric} {value:.3f} (up to {top:.3f} by {null!r})"
                    (inside if value <= top else outside).append(text)
                    if value < bottoms[kind, metric]:
                        below.append(f"{metric} {value:.3f} (down to {bottoms[kind, metric]:.3f})")
            if below:
                out.append(
                    f"{name}, {dimension}: below every null judge in {'; '.join(below)}. It goes against "
                    "people, or its labels a and b are swapped."
                )
                continue
            if inside and not outside:
                out.append(
                    f"{name}, {dimension}: no better than a judge that reads nothing. All of its agreement "
                    f"lies inside the range of the null judges: {'; '.join(inside)}."
                )
            elif inside:
                out.append(f"{name}, {dimension}: not above the null judges in {'; '.join(inside)}.")
    return out


def warnings_of(tests: pd.DataFrame, measured: Sequence[Measured], settings: Settings) -> list[str]:
    """Say what the intervals and tests do not hold."""
    out = []
    if settings.label_identity == "argument-number":
        out.append(
            "Labels are the winners' argument numbers, as in the code of the paper: both sides of a pair can "
            "have the same number, so that a judge who reads nothing seems to agree. The default compares "
            "outcomes."
        )
    if settings.unit == "items":
        out.append(
            "Resampled: items, with their scores as estimated, and pairs for the labels. The noise of the "
            "scores themselves is not in these intervals; --unit judgments has it."
        )
    fewest = min(len(each.items) for each in measured)
    if settings.unit == "items" and fewest < FEW_ITEMS:
        out.append(
            f"{fewest} items: intervals and tests over so few are rough; --unit judgments draws judgments."
        )
    if settings.unit == "judgments":
        out.append(
            "Resampled: judgments, every score fitted again. A resample holds fewer different judgments than "
            "the data, so its scores are noisier and agree less: the intervals of the metrics lie low. A "
            "difference between two judges meets this on both sides."
        )
    if settings.unit == "topics":
        topics = len(set().union(*(each.topic_names for each in measured)))
        if topics < 10:
            out.append(f"Resampled: {topics} topics. With so few, intervals and p-values are rough.")
    if len(tests):
        family = int(tests.groupby(["kind", "metric"]).size().max())
        smallest = family / (settings.bootstrap + 1)
        if smallest > 1 - settings.interval:
            out.append(
                f"With {settings.bootstrap:,} resamples no Holm-adjusted p of {family} tests can be below "
                f"{smallest:.2g}: raise --bootstrap."
            )
        failed = int(tests["n_failed"].max())
        if failed:
            out.append(
                f"Up to {failed:,} of {settings.bootstrap:,} resamples were degenerate (a metric undefined "
                "on them) and left out of a test."
            )
        if settings.best is None:
            out.append(
                "The best configuration of each column is chosen by the same data. Of two equal judges the "
                "one-tailed test of the better one rejects about twice as often as its level says: double p, "
                "or name the configuration beforehand with --best."
            )
    return out
