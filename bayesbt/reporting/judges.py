"""The section on what the model gives each judge."""

from __future__ import annotations

import pandas as pd

from bayesbt.infer.fitted import Fit
from bayesbt.reporting.blocks import Block, Heading, Section, Table, Text
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.wording import count, number, percent

SHOWN = 20
"""Judges at each end, where there are many."""
HEADINGS = {"adherence": "adherence", "order": "order effect (log-odds)", "tie": "P(tie) between equals"}


def judges(data: ReportData) -> Section | None:
    """Show adherence, order effect and tie parameter by judge, the extreme ones where there are many."""
    blocks: list[Block] = []
    for label, fit in data.fits.items():
        if fit.spec.by_judge:
            blocks += [Heading(label)] if len(data.fits) > 1 else []
            blocks.append(_table(fit))
    if not blocks:
        return None
    meaning = (
        "An adherence of 1 is typical, near 0 answers at random. An order effect above 0 favours the item "
        "shown first. Judges are drawn towards each other, the more so the fewer judgments they gave."
    )
    return Section("judges", "Judges", (*blocks, Text(meaning)))


def _table(fit: Fit) -> Table:
    table = fit.judge_parameters()
    known = [name for name in HEADINGS if name in table]
    table = table.sort_values(known[0], kind="stable")
    shown = table if len(table) <= 2 * SHOWN else pd.concat([table.head(SHOWN), table.tail(SHOWN)])
    rows = []
    for _, row in shown.iterrows():
        cells = []
        for name in known:
            write = percent if name == "tie" else number
            mean, lower, upper = (write(row[key]) for key in (name, f"{name}_lower", f"{name}_upper"))
            cells.append(f"{mean} ({lower} to {upper})")
        rows.append((str(row["judge"]), count(row["judgments"]), *cells))
    caption = (
        f"{len(table):,} judges"
        if len(table) == len(shown)
        else (f"{SHOWN} judges at either end of {HEADINGS[known[0]]}, of {len(table):,}")
    )
    return Table(("judge", "judgments", *(HEADINGS[name] for name in known)), tuple(rows), caption)
