"""The figures of ``bayesbt agree``: each dimension's judges, with the noise ceiling and the null range."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bayesbt.agreement.result import Agreement
from bayesbt.reporting import agreement_plots
from bayesbt.reporting.plots import Intervals

METRIC, NAME = "pearson", "Pearson correlation with people"


def save_agreement_figures(agreement: Agreement, folder: Path) -> list[str]:
    """Draw the correlation with people of every judge, one SVG file a dimension.

    Returns
    -------
    list of str
        Names of the files.
    """
    rows = agreement.metrics
    rows = rows[(rows["metric"] == METRIC) & (rows["kind"] == "scores")]
    files = []
    for place, dimension in enumerate(agreement.dimensions, start=1):
        own = rows[rows["dimension"] == dimension]
        judges = own[own["name"].isin(agreement.configurations) & own["estimate"].notna()]
        if judges.empty:
            continue
        nulls = own.loc[~own["name"].isin(agreement.configurations), "estimate"].dropna()
        ceiling = agreement.ceilings.get(dimension)
        figure = agreement_plots.agreement(
            _intervals(judges.sort_values("estimate", ascending=False)),
            xlabel=f"{NAME}: {dimension}" if dimension else NAME,
            ceiling=None if ceiling is None else ceiling["ceiling"],
            null=None if nulls.empty else (float(nulls.min()), float(nulls.max())),
        )
        name = f"agreement-{place}.svg"
        figure.savefig(folder / name, bbox_inches="tight")
        files.append(name)
    return files


def _intervals(judges: pd.DataFrame) -> Intervals:
    values = (judges[name].tolist() for name in ("estimate", "lower", "upper"))
    return Intervals(judges["name"].tolist(), *values)
