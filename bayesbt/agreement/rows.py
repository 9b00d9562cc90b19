"""Rows of results: metrics with intervals, null judges, tests, the best judge in people's place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.agreement.configurations import Configuration, Human
from bayesbt.agreement.measuring import (
    HIGHER_IS_BETTER,
    METRICS_OF,
    Comparing,
    counts_of_labels,
    measure,
    points,
)
from bayesbt.agreement.nulls import NullJudge
from bayesbt.agreement.resampling import Key, Measured, Resampled, resample
from bayesbt.agreement.result import MEAN, Settings
from bayesbt.agreement.significance import compare, holm, percentile_interval
from bayesbt.tables import Judgments

Floats = NDArray[np.float64]


def metric_rows(
    rows: Sequence[Configuration],
    found: Mapping[Key, Floats],
    resampled: Resampled,
    dimensions: Sequence[str],
    settings: Settings,
) -> list[dict[str, Any]]:
    """Give every metric of every configuration, by dimension and over them, with its bootstrap interval."""
    out = []
    for number, row in enumerate(rows):
        for kind, names in METRICS_OF.items():
            for name in names:
                values, draws = [], []
                for dimension in dimensions:
                    key = (dimension, kind, name)
                    value = float(found[key][number])
                    drawn = resampled.draws[key][:, number] if key in resampled.draws else np.zeros(0)
                    values.append(value)
                    draws.append(drawn)
                    out.append(
                        _row(row, dimension, kind, name)
                        | _with_interval(value, drawn, settings.interval)
                        | {"sd": float("nan")}
                    )
                mean = _with_interval(float(np.mean(values)), np.mean(draws, axis=0), settings.interval)
                out.append(_row(row, MEAN, kind, name) | mean | {"sd": _sd(values)})
    return out


def _row(row: Configuration, dimension: str, kind: str, metric: str) -> dict[str, Any]:
    return {
        "name": row.name,
        "judge": row.judge,
        "prompt": row.prompt,
        "null": row.null,
        "dimension": dimension,
        "kind": kind,
        "metric": metric,
    }


def _with_interval(value: float, draws: Floats, interval: float) -> dict[str, float]:
    lower, upper = (float("nan"),) * 2 if np.isnan(value) else percentile_interval(draws, interval)
    return {"estimate": value, "lower": lower, "upper": upper}


def _sd(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def kept_metrics(table: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Keep the metrics that were asked for."""
    return table[table["metric"].isin(settings.metrics)].reset_index(drop=True)


def rows_over_seeds(
    null: NullJudge,
    pairs: Mapping[str, Judgments],
    people: Human,
    dimensions: Sequence[str],
    how: Comparing,
    settings: Settings,
    advance: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Rows of a random null judge: the mean over seeds, and where the seeds lie."""
    several = [
        Configuration(f"{null.name} {number}", labels=null.label(pairs, settings.seed + number), null=True)
        for number in range(settings.null_seeds)
    ]
    measured, _ = measure(several, people, dimensions, how, advance)
    found = points(measured)
    row = Configuration(null.name, null=True)
    out = []
    for kind, names in METRICS_OF.items():
        for name in names:
            values = np.stack([found[dimension, kind, name] for dimension in dimensions])
            for dimension, own in zip((*dimensions, MEAN), (*values, values.mean(axis=0)), strict=True):
                known = own[~np.isnan(own)]
                estimate = float(known.mean()) if len(known) else float("nan")
                spread = _sd([_mean(x) for x in values]) if dimension == MEAN else float("nan")
                out.append(
                    _row(row, dimension, kind, name)
                    | _with_interval(estimate, known, settings.interval)
                    | {"sd": spread}
                )
    return out


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


TESTS = (
    "dimension",
    "kind",
    "metric",
    "better",
    "worse",
    "difference",
    "lower",
    "upper",
    "bca_lower",
    "bca_upper",
    "p",
    "p_holm",
    "n_failed",
)


def tested_rows(
    names: Sequence[str],
    found: Mapping[Key, Floats],
    resampled: Resampled,
    dimensions: Sequence[str],
    settings: Settings,
) -> pd.DataFrame:
    """The best configuration against each other one, for every metric and dimension."""
    rows = []
    for kind, metrics in METRICS_OF.items():
        for metric in (name for name in metrics if name in settings.metrics):
            higher = HIGHER_IS_BETTER[metric]
            for dimension in dimensions:
                key = (dimension, kind, metric)
                if key not in resampled.draws:
                    continue
                values = found[key][: len(names)] * (1 if higher else -1)
                if np.isnan(values).all() or len(names) < 2:
                    continue
                best = names.index(settings.best) if settings.best else int(np.nanargmax(values))
                draws, without = resampled.draws[key], resampled.jackknife[key]
                for other, name in enumerate(names):
                    if other == best or np.isnan(values[other]):
                        continue
                    tested = compare(
                        (float(found[key][best]), float(found[key][other])),
                        (draws[:, best], draws[:, other]),
                        (without[:, best], without[:, other]),
                        higher_is_better=higher,
                        interval=settings.interval,
                    )
                    rows.append((dimension, kind, metric, names[best], name, *tested))
    columns = [name for name in TESTS if name != "p_holm"]
    table = pd.DataFrame(rows, columns=columns)
    table["p_holm"] = np.nan
    for _, family in table.groupby(["kind", "metric"]):
        table.loc[family.index, "p_holm"] = holm(family["p"].to_numpy())
    return table[list(TESTS)]


def cross_rows(
    judges: list[Configuration],
    best: str,
    measured: Sequence[Measured],
    how: Comparing,
    settings: Settings,
    advance: Callable[[int], None],
) -> pd.DataFrame:
    """Measure the other configurations against the best one, in the place of people."""
    others = [judge for judge in judges if judge.name != best]
    if not others:
        return pd.DataFrame()
    reference = next(judge for judge in judges if judge.name == best)
    dimensions = [each.name for each in measured]
    person = Human(labels=reference.labels, judgments=reference.labels, fits=reference.fits)
    again, _ = measure(others, person, dimensions, how)
    found = points(again)
    resampled = resample(again, settings.unit, settings.bootstrap, settings.seed, settings.model, advance)
    return kept_metrics(pd.DataFrame(metric_rows(others, found, resampled, dimensions, settings)), settings)


def size_rows(rows: Sequence[Configuration], measured: Sequence[Measured]) -> pd.DataFrame:
    """Count items and labels of each configuration and dimension."""
    out: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        for each in measured:
            known = ~np.isnan(each.scores[number]) & ~np.isnan(each.human)
            counted = counts_of_labels(each.pairs[number])
            out.append({"name": row.name, "dimension": each.name, "n_items": int(known.sum())} | counted)
    return pd.DataFrame(out)


def confusions(
    rows: Sequence[Configuration], measured: Sequence[Measured]
) -> dict[tuple[str, str], pd.DataFrame]:
    """Give the confusion matrix of each configuration and dimension that has labels."""
    return {
        (row.name, each.name): pairs.confusion
        for number, row in enumerate(rows)
        for each in measured
        if (pairs := each.pairs[number]) is not None and len(pairs)
    }
