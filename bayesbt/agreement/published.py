"""Published tables of judges, read into rows beside which a user's own judges can be laid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bayesbt.agreement.measuring import METRICS_OF
from bayesbt.errors import InputError, rows_phrase
from bayesbt.formats.files import read_frame

LEADS = {
    "judge": ("judge", "model", "llm"),
    "prompt": ("prompt", "prompting", "strategy"),
    "dimension": ("dimension", "dim", "aspect"),
}
METRIC_NAMES = {
    "agreement": ("agreement",),
    "%_agreement": ("%_agreement", "percent_agreement", "% agreement", "agreement_percent"),
    "kappa": ("kappa", "cohen_kappa", "cohens_kappa"),
    "alpha": ("alpha", "krippendorff_alpha"),
    **{name: (name,) for name in METRICS_OF["scores"]},
}
PERCENT = "%_agreement"


def read_published(path: str | Path) -> pd.DataFrame:
    """Read a table with a row for each judge, prompt and dimension, and a column for each metric.

    Parameters
    ----------
    path : path
        Columns in any case: judge (model, llm), prompt, dimension (dim), and metrics as they are called here,
        ``cohen_kappa``, or ``%_agreement`` for a percentage; other columns are left out.

    Returns
    -------
    DataFrame
        ``judge``, ``prompt``, ``dimension``, ``kind``, ``metric``, ``estimate``; agreement as a share.

    Raises
    ------
    InputError
        Without a judge column or any metric, for a cell that is no number, or a row that occurs twice.
    """
    frame = read_frame(Path(path))
    known = {str(column).strip().casefold(): column for column in frame.columns}
    leads = {
        name: next((known[word] for word in words if word in known), None) for name, words in LEADS.items()
    }
    metrics = {
        name: next((known[word] for word in words if word in known), None)
        for name, words in METRIC_NAMES.items()
    }
    found = {name: column for name, column in metrics.items() if column is not None}
    if leads["judge"] is None or not found:
        raise InputError(
            f"{path}: no table of judges. Wanted are a column judge (or model), and metrics: "
            f"{', '.join(METRIC_NAMES)}. Columns: {', '.join(map(str, frame.columns))}."
        )
    named = pd.DataFrame(
        {
            name: "" if column is None else frame[column].fillna("").astype(str)
            for name, column in leads.items()
        },
        index=frame.index,
    )
    again = named.duplicated(keep=False).to_numpy()
    if again.any():
        raise InputError(
            f"{path}, {rows_phrase((np.flatnonzero(again) + 1).tolist())}: the same judge, prompt and "
            "dimension more than once."
        )
    parts = []
    for name, column in found.items():
        values = pd.to_numeric(frame[column], errors="coerce")
        bad = values.isna() & frame[column].notna() & (frame[column].astype(str).str.strip() != "")
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"{path}, {rows_phrase([row + 1])}, column {column!r}: {frame[column].iloc[row]!r} is "
                "no number."
            )
        metric = "agreement" if name == PERCENT else name
        kind = "labels" if metric in METRICS_OF["labels"] else "scores"
        estimate = values / 100 if name == PERCENT else values
        parts.append(named.assign(kind=kind, metric=metric, estimate=estimate.astype(float)))
    return pd.concat(parts, ignore_index=True)


def with_means(rows: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """Add rows ``mean``: over these dimensions, with ``sd`` (ddof 1), where all of them are there."""
    rows = rows[rows["dimension"].isin(dimensions)].assign(sd=np.nan)
    if len(dimensions) < 2:
        return rows
    grouped = rows.groupby(["judge", "prompt", "kind", "metric"], sort=False)["estimate"]
    over = grouped.agg(["mean", "std", "count"]).reset_index()
    over = over[over["count"] == len(dimensions)].rename(columns={"mean": "estimate", "std": "sd"})
    return pd.concat([rows, over.drop(columns="count").assign(dimension="mean")], ignore_index=True)
