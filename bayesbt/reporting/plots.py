"""Figures: data in, figure out; every function takes ``ax=`` to draw into axes of yours.

One style for all: colours that colour-blind readers can tell apart (Okabe and Ito 2008), each with a marker
of its own so that a grey print is readable, text never read as mathematics. Nothing touches pyplot's state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font_names
from matplotlib.ticker import MaxNLocator, MultipleLocator
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
P = ParamSpec("P")
R = TypeVar("R")

INK, MUTED, GRID = "#22262b", "#69717b", "#d7dbe0"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
ON_DARK, ON_LIGHT = "#fcfdfe", "#0b2236"  # on coloured cells, where a dark page must not change them
WIDTH = 5.7
ROW = 0.205
LABEL_LENGTH = 30

#: From almost white to dark blue, even in lightness, so that grey prints keep the order.
PROBABILITY_MAP = LinearSegmentedColormap.from_list(
    "probability", ["#f5f7f9", "#c6dbec", "#7fb2d6", "#3a83b8", "#155a8f", "#082f57"]
)

#: Where they are installed, for names in scripts that the main font lacks.
FALLBACK_FONTS = sorted(
    name
    for name in get_font_names()
    if name.startswith(
        ("Noto Sans CJK", "Noto Sans Arabic", "Noto Sans Devanagari", "Noto Emoji", "WenQuanYi")
    )
)

STYLE: Any = {
    "font.family": ["DejaVu Sans", *FALLBACK_FONTS],
    "font.size": 9.5,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.5,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "figure.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "bayesbt",
}


@dataclass(frozen=True)
class Intervals:
    """Point estimates with intervals, one a row.

    Attributes
    ----------
    labels : sequence of str
        Names, shown exactly as they are (long ones shortened in the middle).
    centre, lower, upper : array_like of float
        On one scale; ``lower`` and ``upper`` may be NaN where an estimator gives no interval.
    group : sequence of str, optional
        The component, topic or other group of each row; rows are drawn in blocks by group.
    """

    labels: Sequence[str]
    centre: ArrayLike
    lower: ArrayLike
    upper: ArrayLike
    group: Sequence[str] | None = None

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Return centre, lower and upper as float arrays."""
        centre, lower, upper = (np.asarray(x, dtype=float) for x in (self.centre, self.lower, self.upper))
        return centre, lower, upper

    def blocks(self) -> list[tuple[str, NDArray[np.intp]]]:
        """List groups in order of appearance, each with its rows from the highest centre to the lowest."""
        groups = np.asarray(self.group if self.group is not None else [""] * len(self.labels), dtype=object)
        centre = np.asarray(self.centre, dtype=float)
        names = list(dict.fromkeys(groups))
        rows = [np.flatnonzero(groups == name) for name in names]
        return [(name, r[np.argsort(-centre[r], kind="stable")]) for name, r in zip(names, rows, strict=True)]


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a drawing function under the shared style, leaving the user's settings alone."""

    @wraps(draw)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return wrapper


def shorten(text: str, length: int = LABEL_LENGTH) -> str:
    """One line of at most ``length`` characters, shortened in the middle so that endings stay apart.

    >>> shorten("an-argument-about-plastic-bottles-17", 20)
    'an-argumen…ottles-17'
    """
    line = " ".join(text.split()) or "(blank)"
    if len(line) <= length:
        return line
    return f"{line[: length // 2]}…{line[-(length - length // 2 - 1) :]}"


def _axes(ax: Axes | None, width: float, height: float) -> tuple[Figure, Axes]:
    if ax is not None:
        figure = ax.get_figure(root=True)
        if figure is None:
            raise ValueError("ax= belongs to no figure: give axes made by a figure's subplots().")
        return figure, ax
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _segments(ax: Axes, y: Floats, lower: Floats, upper: Floats, **style: Any) -> None:
    """Draw all intervals as one path with gaps: small files, whatever the number of items."""
    gap = np.full(len(y), np.nan)
    x = np.column_stack([lower, upper, gap]).ravel()
    ax.plot(x, np.column_stack([y, y, gap]).ravel(), solid_capstyle="butt", zorder=2, **style)


def _row_axis(ax: Axes, positions: Sequence[float], labels: Sequence[str], last: float) -> None:
    ax.set_yticks(positions, [shorten(label) for label in labels])
    ax.set_ylim(last + 0.7, -0.7)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    ax.set_axisbelow(True)


STRENGTH_LABEL = "strength (log-odds, 0 = mean of the group)"


@styled
def forest(
    data: Intervals,
    *,
    ax: Axes | None = None,
    max_rows: int = 60,
    extract: int | None = None,
    xlabel: str = STRENGTH_LABEL,
) -> Figure:
    """Strengths with intervals, strongest on top, in blocks by group.

    Parameters
    ----------
    data : Intervals
        I items, strengths in log-odds.
    ax : Axes, optional
        Where to draw.
    max_rows : int
        With more rows than this, names are left out: an overview with one thin line an item and the names of
        the groups only.
    extract : int, optional
        Show only this many of the strongest and weakest of each group; a line says how many are left out.
    xlabel : str
        Label of the axis.
    """
    blocks = data.blocks()
    if extract is None and len(data.labels) + (len(blocks) if len(blocks) > 1 else 0) > max_rows:
        return _overview(data, ax, xlabel)
    centre, lower, upper = data.arrays()
    ticks: list[tuple[float, str]] = []
    headings: list[tuple[float, str]] = []
    drawn: list[tuple[NDArray[np.intp], Floats]] = []
    y = 0.0
    for name, rows in blocks:
        if len(blocks) > 1:
            headings.append((y, name))
            y += 1
        left_out = len(rows) - 2 * extract if extract is not None else 0
        parts = [rows[:extract], rows[-extract:]] if extract and left_out > 1 else [rows]
        for number, part in enumerate(parts):
            if number:
                ticks.append((y, f"… {left_out:,} more …"))
                y += 1
            drawn.append((part, y + np.arange(len(part), dtype=float)))
            ticks += [(y + i, data.labels[row]) for i, row in enumerate(part)]
            y += len(part)
        y += 0.4 if len(blocks) > 1 else 0.0
    last = ticks[-1][0]
    figure, ax = _axes(ax, WIDTH, 0.85 + ROW * (last + 1))
    ax.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
    group_of = {int(row): number for number, (_, rows) in enumerate(blocks) for row in rows}
    for rows, at in drawn:
        style = group_of[int(rows[0])] % len(COLOURS)
        _segments(ax, at, lower[rows], upper[rows], color=COLOURS[style])
        ax.plot(centre[rows], at, MARKERS[style], color=COLOURS[style], zorder=3)
    _row_axis(ax, [t[0] for t in ticks], [t[1] for t in ticks], last)
    for at_heading, name in headings:
        text = ax.text(0.0, at_heading, shorten(name, 60), transform=ax.get_yaxis_transform(), va="center")
        text.set(
            fontweight="bold", fontsize=8.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        )
    ax.set_xlabel(xlabel)
    return figure


def _overview(data: Intervals, ax: Axes | None, xlabel: str, max_names: int = 40) -> Figure:
    """All items without their names, in blocks by group."""
    centre, lower, upper = data.arrays()
    blocks = data.blocks()
    items, space = len(data.labels), max(2.0, 0.008 * len(data.labels))
    figure, ax = _axes(ax, WIDTH, float(np.clip(0.008 * items + 0.12 * len(blocks), 3.5, 9.5)))
    ax.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
    y, middles = 0.0, []
    for _, rows in blocks:
        at = y + np.arange(len(rows), dtype=float)
        _segments(ax, at, lower[rows], upper[rows], color=COLOURS[0], alpha=0.5, linewidth=0.5)
        ax.plot(centre[rows], at, linestyle="none", marker=".", markersize=1.8, color=INK, zorder=3)
        middles.append(float(at.mean()))
        y += len(rows) + space
    named = 1 < len(blocks) <= max_names
    _row_axis(ax, middles if named else [], [name for name, _ in blocks] if named else [], y - space)
    ax.set_ylim(y - space + 0.01 * y, -0.01 * y)
    ax.set_xlabel(xlabel)
    groups = f" in {len(blocks):,} groups" if len(blocks) > 1 else ""
    ax.set_title(f"{items:,} items{groups}", color=MUTED, fontsize=8.5)
    return figure


def _square(ax: Axes, cells: Floats, row_names: Sequence[str], bar_label: str, top: float) -> None:
    image = ax.imshow(cells, cmap=PROBABILITY_MAP, vmin=0, vmax=top, aspect="auto", interpolation="none")
    ax.set_yticks(range(len(row_names)), [shorten(name, 26) for name in row_names])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.035, pad=0.015)
    bar.outline.set_visible(False)
    bar.set_label(bar_label)
    bar.ax.tick_params(length=2, width=0.6)


@styled
def rank_heatmap(
    items: Sequence[str], probability: ArrayLike, *, ax: Axes | None = None, max_items: int = 40
) -> Figure:
    """Posterior probability of each rank for each item.

    Parameters
    ----------
    items : sequence of str
        I names.
    probability : array_like, shape (I, I)
        P(item i has rank r + 1) in row i, column r; each row sums to one.
    ax : Axes, optional
        Where to draw.
    max_items : int
        With more items, only this many of the best by expected rank, and as many ranks; a note says so.
    """
    cells = np.asarray(probability, dtype=float)
    order = np.argsort(cells @ np.arange(1, cells.shape[1] + 1), kind="stable")[:max_items]
    shown = cells[order][:, :max_items]
    size = len(order)
    figure, ax = _axes(ax, WIDTH, 1.0 + max(0.17 * size, 0.9))
    # Ignorance, 1/I everywhere, has to look pale.
    darkest = max(float(shown.max()), min(1.0, 4 / len(items)))
    _square(ax, shown, [items[i] for i in order], "probability", top=darkest)
    step = max(1, math.ceil(size / 24) * 5 if size > 24 else 1)
    ranks = [rank for rank in range(1, size + 1) if rank in (1, size) or rank % step == 0]
    ax.set_xticks([rank - 1 for rank in ranks], [str(rank) for rank in ranks])
    ax.set_xlabel("rank (1 = strongest)")
    if size < len(items):
        note = f"the best {size} of {len(items):,} items by expected rank; ranks beyond {size} are not shown"
        ax.set_title(note, color=MUTED, fontsize=8.5)
    return figure


@styled
def win_matrix(
    items: Sequence[str], probability: ArrayLike, *, ax: Axes | None = None, max_items: int = 40
) -> Figure:
    """P(row item is stronger than column item), items from strongest to weakest.

    Parameters
    ----------
    items : sequence of str
        I names.
    probability : array_like, shape (I, I)
        P(row stronger than column); the diagonal is left blank.
    ax : Axes, optional
        Where to draw.
    max_items : int
        With more items, only this many of the strongest; a note says so.
    """
    cells = np.array(probability, dtype=float)
    np.fill_diagonal(cells, np.nan)
    order = np.argsort(-np.nan_to_num(np.nansum(cells, axis=1)), kind="stable")[:max_items]
    shown = cells[np.ix_(order, order)]
    size = len(order)
    figure, ax = _axes(ax, WIDTH, 1.5 + max(0.2 * size, 0.9))
    _square(ax, shown, [items[i] for i in order], "P(row stronger)", top=1.0)
    ax.set_xticks(range(size), [shorten(items[i], 18) for i in order], rotation=270)
    if size <= 12:
        for i, j in np.argwhere(~np.isnan(shown)):
            colour = ON_DARK if shown[i, j] > 0.6 else ON_LIGHT
            ax.text(j, i, f"{shown[i, j]:.2f}", ha="center", va="center", color=colour, fontsize=7.5)
    if size < len(items):
        ax.set_title(f"the strongest {size} of {len(items):,} items", color=MUTED, fontsize=8.5)
    return figure


@styled
def tie_strengths(models: Mapping[str, Intervals], *, ax: Axes | None = None, max_items: int = 20) -> Figure:
    """Strengths under each tie model, side by side.

    Parameters
    ----------
    models : mapping of str to Intervals
        By name of the tie model; all with the same labels in the same order. The first model orders the rows.
    ax : Axes, optional
        Where to draw.
    max_items : int
        With more items, only half as many of the strongest and of the weakest under the first model.
    """
    first = next(iter(models.values()))
    order = np.argsort(-first.arrays()[0], kind="stable")
    half, total = max_items // 2, len(order)
    shown = order if total <= max_items else np.concatenate([order[:half], order[-half:]])
    at = np.arange(len(shown), dtype=float)
    if len(shown) < total:
        at[half:] += 1
    figure, ax = _axes(ax, WIDTH, 1.25 + (0.09 + 0.07 * len(models)) * (at[-1] + 1))
    ax.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
    offsets = (np.arange(len(models)) - (len(models) - 1) / 2) * 0.72 / max(len(models), 1)
    for number, (name, data) in enumerate(models.items()):
        centre, lower, upper = (values[shown] for values in data.arrays())
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        _segments(ax, at + offsets[number], lower, upper, color=colour, linewidth=1.1)
        ax.plot(
            centre,
            at + offsets[number],
            marker,
            color=colour,
            markersize=3.8,
            linestyle="none",
            zorder=3,
            label=name,
        )
    positions, labels = list(at), [first.labels[i] for i in shown]
    if len(shown) < total:
        positions.insert(half, float(half))
        labels.insert(half, f"… {total - len(shown):,} more …")
    _row_axis(ax, positions, labels, float(at[-1]))
    for y in positions[1:]:
        ax.axhline(y - 0.5, color=GRID, linewidth=0.5, zorder=0)
    ax.set_xlabel(STRENGTH_LABEL)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=min(len(models), 5))
    return figure


def _interval_rows(
    data: Intervals, ax: Axes | None, reference: float | None, xlabel: str, notes: Sequence[str] | None = None
) -> tuple[Figure, Axes]:
    """One labelled row an interval, in the given order; notes at the right end."""
    centre, lower, upper = data.arrays()
    at = np.arange(len(centre), dtype=float)
    figure, ax = _axes(ax, WIDTH, 0.75 + 0.27 * max(len(at), 1))
    if reference is not None:
        ax.axvline(reference, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    _segments(ax, at, lower, upper, color=COLOURS[0], linewidth=1.6)
    ax.plot(centre, at, "o", color=COLOURS[0], zorder=3)
    _row_axis(ax, list(at), data.labels, float(at[-1]))
    for y, note in zip(at, notes or [], strict=False):
        ax.annotate(
            note,
            (1.01, y),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
            color=MUTED,
            annotation_clip=False,
        )
    ax.set_xlabel(xlabel)
    return figure, ax


@styled
def tie_parameters(data: Intervals, *, notes: Sequence[str] | None = None, ax: Axes | None = None) -> Figure:
    """Tie parameter t = P(tie | equal strength) by tie model, with intervals.

    ``notes`` are printed at the right of each row (the textbook parameter, say).
    """
    figure, ax = _interval_rows(data, ax, None, "t = P(tie) between items of equal strength", notes)
    ax.set_xlim(left=0)
    return figure


@styled
def order_effects(data: Intervals, *, ax: Axes | None = None) -> Figure:
    """Order effect beta in log-odds, above 0 in favour of the item shown first; one row a fit or judge."""
    label = "order effect β (log-odds; above 0 favours the item shown first)"
    return _interval_rows(data, ax, 0.0, label)[0]


@styled
def first_shown_shares(
    data: Intervals, *, notes: Sequence[str] | None = None, ax: Axes | None = None
) -> Figure:
    """Share of decisive judgments won by the item shown first; one row a judge and dimension, 0.5 marked."""
    figure, ax = _interval_rows(
        data, ax, 0.5, "share of decisive judgments won by the item shown first", notes
    )
    ax.set_xlim(-0.02, 1.02)
    ax.xaxis.set_major_locator(MultipleLocator(0.25))
    return figure


@styled
def reference_levels(level: ArrayLike, data: Intervals, *, ax: Axes | None = None) -> Figure:
    """Strengths against a reference known for each item (a constructed level, a published score).

    Parameters
    ----------
    level : array_like, shape (I,)
        Reference of each item, higher is better. With few distinct values the items are spread sideways so
        that they do not hide each other, and a bar marks the mean of each level.
    data : Intervals
        Strengths of the I items in log-odds.
    ax : Axes, optional
        Where to draw.
    """
    x = np.asarray(level, dtype=float)
    centre, lower, upper = data.arrays()
    figure, ax = _axes(ax, WIDTH, 3.3)
    levels = np.unique(x)
    ax.axhline(0, color=MUTED, linewidth=0.8, zorder=1)
    if len(levels) <= 10:
        gap = float(np.diff(levels).min()) if len(levels) > 1 else 1.0
        place = x.copy()
        for value in levels:
            here = np.flatnonzero(x == value)
            place[here] += gap * 0.6 * ((np.arange(len(here)) * 0.618 + 0.5) % 1 - 0.5)
            edges = value - 0.36 * gap, value + 0.36 * gap
            ax.plot(
                edges, [centre[here].mean()] * 2, color=COLOURS[1], linewidth=2.2, zorder=4, label="_mean"
            )
        ax.set_xticks(levels, [f"{value:g}" for value in levels])
    else:
        place = x
    gaps = np.full(len(x), np.nan)
    stacked = np.column_stack([place, place, gaps]).ravel(), np.column_stack([lower, upper, gaps]).ravel()
    ax.plot(*stacked, color=COLOURS[0], linewidth=0.8, alpha=0.5, zorder=2)
    ax.plot(place, centre, "o", color=COLOURS[0], markersize=3.8, linestyle="none", zorder=3)
    ax.grid(axis="y")
    ax.set_axisbelow(True)
    ax.set_xlabel(
        "reference level (higher is better); bars: mean of the level" if len(levels) <= 10 else "reference"
    )
    ax.set_ylabel("strength (log-odds)")
    return figure


@styled
def trace_and_ranks(
    draws: Mapping[str, ArrayLike], *, ax: NDArray[np.object_] | None = None, bins: int = 20
) -> Figure:
    """Trace and rank plot of parameters, to see whether the chains agree.

    Parameters
    ----------
    draws : mapping of str to array_like, shape (chains, draws)
        By name of the parameter.
    ax : ndarray of Axes, shape (parameters, 2), optional
        Where to draw.
    bins : int
        Bins of the rank histogram. Chains that agree give bars near the dashed line (Vehtari et al. 2021).
    """
    if ax is None:
        figure = Figure(figsize=(WIDTH, 0.5 + 1.25 * len(draws)), layout="constrained")
        axes = figure.subplots(len(draws), 2, squeeze=False)
    else:
        axes = np.atleast_2d(ax)
        figure = axes[0, 0].figure
    for (left, right), (name, values) in zip(axes, draws.items(), strict=True):
        chains = np.atleast_2d(np.asarray(values, dtype=float))
        ranks = chains.ravel().argsort(kind="stable").argsort(kind="stable").reshape(chains.shape)
        thin = max(1, chains.shape[1] // 500)
        edges = np.linspace(0, chains.size, bins + 1)
        for number, (chain, chain_ranks) in enumerate(zip(chains, ranks, strict=True)):
            colour = COLOURS[number % len(COLOURS)]
            left.plot(np.arange(0, len(chain), thin), chain[::thin], color=colour, linewidth=0.45, alpha=0.85)
            right.stairs(
                np.histogram(chain_ranks, edges)[0], edges, color=colour, linewidth=1.0, baseline=None
            )
        right.axhline(chains.shape[1] / bins, color=INK, linestyle=(0, (4, 3)), linewidth=0.8)
        right.set_ylim(bottom=0)
        right.xaxis.set_major_locator(MaxNLocator(4))
        left.set_title(f"{name}: trace")
        right.set_title(f"{name}: ranks by chain")
    axes[-1, 0].set_xlabel("draw")
    axes[-1, 1].set_xlabel("rank among all draws")
    return figure
