"""Sections on the items: the ranking, and the whole distribution of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesbt.infer.fitted import Fit
from bayesbt.ranks import rank_distribution, win_probability
from bayesbt.reporting import plots
from bayesbt.reporting.blocks import Block, Heading, Notice, Picture, Section, Table, Text
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.groups import CENTRED_OVER_ALL, Group, groups, never_compared
from bayesbt.reporting.wording import between, count, listed, number, percent, plural, probability

FOLD_ROWS = 60
NAMED_ROWS = 60
HEATMAPS = 6
MATRICES = 4
MATRIX_ITEMS = 24


def intervals(found: Sequence[Group]) -> plots.Intervals:
    """Strengths of the groups of a ranking as rows of a picture."""
    frame = pd.concat([group.rows for group in found])
    strength, lower, upper = (frame[name].to_numpy(dtype=float) for name in ("strength", "lower", "upper"))
    names = ["" if group.only else group.name for group in found for _ in range(len(group.rows))]
    return plots.Intervals(list(frame["item"]), strength, lower, upper, names)


def ranking(data: ReportData) -> Section | None:
    """Show the items from strongest to weakest, as a forest plot and as a table."""
    blocks: list[Block] = []
    folded = sum(len(frame) for frame in data.rankings.values()) > FOLD_ROWS
    for label, fit in data.fits.items():
        frame = data.rankings[label]
        found = groups(frame)
        if len(data.fits) > 1:
            blocks.append(Heading(label))
        blocks += [
            *_forests(label, fit.engine, found),
            *_tables(found, f"{100 * fit.options.interval:g} % interval", folded),
        ]
        alone = never_compared(frame)
        if alone:
            blocks.append(Notice("warning", f"Never compared, so not ranked: {listed(alone, 12)}."))
    return Section("ranking", "Ranking", tuple(blocks)) if blocks else None


def _forests(label: str, engine: str, found: Sequence[Group]) -> list[Block]:
    rows = intervals(found)
    several, size = len(found) > 1, len(rows.labels)
    if engine in CENTRED_OVER_ALL:
        centred = "are centred over all items together, and only regularisation places the groups"
    else:
        centred = "are centred in each, and a difference across groups means nothing"
    note = f" No comparison links the {len(found):,} groups: strengths {centred}." if several else ""
    first = found[0].rows
    strongest = listed(
        f"{plots.shorten(item)} {number(value)}"
        for item, value in zip(first["item"][:3], first["strength"][:3], strict=True)
    )
    alternative = f"Forest plot of {plural(size, 'strength')} with intervals. First: {strongest}."
    names = " Names are in the table." if size + len(found) > NAMED_ROWS else ""
    caption = f"Strengths with intervals, strongest on top.{names}{note}"
    pictures: list[Block] = [
        Picture(f"forest-{label}", plots.forest(rows, max_rows=NAMED_ROWS), caption, alternative)
    ]
    if size + len(found) > NAMED_ROWS and len(found) <= 5:
        each = max(3, 12 // len(found))
        text = f"The {each} strongest and the {each} weakest{' of each group' if several else ''}."
        pictures.append(
            Picture(f"extract-{label}", plots.forest(rows, extract=each), text, f"{text} {alternative}")
        )
    return pictures


def _tables(found: Sequence[Group], interval: str, folded: bool) -> list[Block]:
    sizes = [plural(len(group.rows), "item") for group in found]
    captions = [
        size if group.only else f"{group.name} ({size})" for group, size in zip(found, sizes, strict=True)
    ]
    return [
        ranking_table(group.rows, caption, interval, folded)
        for group, caption in zip(found, captions, strict=True)
    ]


def ranking_table(frame: pd.DataFrame, caption: str, interval: str, folded: bool = False) -> Table:
    """Rank, strength, intervals, P(best) and comparisons of each item of a group."""
    columns = ("item", "rank", "strength", interval, "rank interval", "P(best)", "comparisons")
    rows = tuple(
        (
            str(row.item),
            count(_float(row.rank)),
            number(_float(row.strength)),
            between(_float(row.lower), _float(row.upper)),
            between(_float(row.rank_lower), _float(row.rank_upper), 0),
            probability(_float(row.p_best)),
            count(_float(row.comparisons)),
        )
        for row in frame.itertuples()
    )
    return Table(columns, rows, caption, folded=folded)


def _float(value: Any) -> float:
    return float("nan") if value is None or value is pd.NA else float(value)


def ranks(data: ReportData) -> Section | None:
    """Show the whole distribution of ranks, and who is stronger than whom."""
    blocks: list[Block] = []
    for label, fit in data.fits.items():
        found = [group for group in groups(data.rankings[label]) if len(group.rows) > 1]
        if fit.strength_draws is None or not found:
            continue
        if len(data.fits) > 1:
            blocks.append(Heading(label))
        blocks += [_heatmap(label, fit, group) for group in found[:HEATMAPS]]
        if len(found) * len(data.fits) <= MATRICES:
            blocks += [_matrix(label, fit, group) for group in found]
        if len(found) > HEATMAPS:
            blocks.append(Text(f"Shown are the first {HEATMAPS} of {len(found):,} groups."))
    intro = Text(
        "Each row is an item: the darker the cell, the more probable the rank. A narrow dark band is sure."
    )
    return Section("ranks", "Ranks and their uncertainty", (intro, *blocks)) if blocks else None


def _prefix(group: Group) -> str:
    return "" if group.only else f"{group.name}: "


def _heatmap(label: str, fit: Fit, group: Group) -> Picture:
    members, cells = rank_distribution(np.asarray(fit.strength_draws), fit.counts.component, group.component)
    items = [fit.counts.items[i] for i in members]
    best = int(cells[:, 0].argmax())
    capped = f" Only the best 40 of {len(items):,} items." if len(items) > 40 else ""
    return Picture(
        f"ranks-{label}-{group.component}",
        plots.rank_heatmap(items, cells),
        f"{_prefix(group)}P(rank) by item.{capped}",
        f"Rank probabilities of {plural(len(items), 'item')}. Most often first: "
        f"{plots.shorten(items[best])}, with probability {probability(float(cells[best, 0]))}.",
    )


def _matrix(label: str, fit: Fit, group: Group) -> Picture:
    members, cells = win_probability(np.asarray(fit.strength_draws), fit.counts.component, group.component)
    items = [fit.counts.items[i] for i in members]
    sure = float((np.abs(cells - 0.5)[np.triu_indices(len(items), 1)] >= 0.45).mean())
    text = f"{percent(sure)} of all pairs have an order that holds with probability 0.95 or more."
    return Picture(
        f"wins-{label}-{group.component}",
        plots.win_matrix(items, cells, max_items=MATRIX_ITEMS),
        f"{_prefix(group)}P(row stronger than column). {text}",
        f"Win probabilities among {plural(len(items), 'item')}. {text}",
    )
