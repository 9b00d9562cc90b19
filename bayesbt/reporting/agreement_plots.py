"""Figures of agreement between judges and people: data in, figure out; ``ax=`` draws into axes of yours.

Of ours this imports the house style in :mod:`bayesbt.reporting.plots` and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bayesbt.reporting.plots import COLOURS, GRID, INK, MUTED, WIDTH, Intervals, _axes, _row_axis, styled

ROW = 0.27
CEILING, NULL = "noise ceiling", "null judges"


@styled
def agreement(
    data: Intervals,
    *,
    xlabel: str,
    ceiling: float | None = None,
    ceiling_interval: tuple[float, float] | None = None,
    null: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """One row a judge: an agreement metric with its interval, the noise ceiling and the null range.

    Parameters
    ----------
    data : Intervals
        J judges, in the order from top to bottom; values of one metric.
    xlabel : str
        The metric's name.
    ceiling : float, optional
        The value that no judge can be expected to exceed: a line.
    ceiling_interval : (lower, upper), optional
        Its uncertainty: a faint band around the line.
    null : (lower, upper), optional
        The range of judges who do not look at the items: a band. Judges whose estimate lies in it have hollow
        points.
    ax : Axes, optional
        Where to draw.
    """
    centre, lower, upper = data.arrays()
    at = np.arange(len(centre), dtype=float)
    figure, ax = _axes(ax, WIDTH, 1.05 + ROW * max(len(at), 1))
    if null is not None:
        ax.axvspan(*null, color=GRID, linewidth=0, zorder=0, gid="null")
    if ceiling_interval is not None:
        ax.axvspan(*ceiling_interval, color=COLOURS[1], alpha=0.14, linewidth=0, zorder=0, gid="ceiling-band")
    if ceiling is not None:
        ax.axvline(ceiling, color=COLOURS[1], linewidth=1.2, linestyle=(0, (5, 2)), zorder=1)
    inside = _inside(centre, null)
    ax.hlines(at, lower, upper, color=COLOURS[0], linewidth=1.6, zorder=2)
    for members, face in ((~inside, COLOURS[0]), (inside, "white")):
        ax.plot(
            centre[members], at[members], "o", color=COLOURS[0], markerfacecolor=face, linestyle="", zorder=3
        )
    _row_axis(ax, list(at), data.labels, float(at[-1]) if len(at) else 0.0)
    ax.set_xlabel(xlabel)
    _name_marks(ax, ceiling, null)
    return figure


def _inside(centre: NDArray[np.float64], null: tuple[float, float] | None) -> NDArray[np.bool_]:
    if null is None:
        return np.zeros(len(centre), dtype=bool)
    return np.asarray((centre >= null[0]) & (centre <= null[1]))


def _name_marks(ax: Axes, ceiling: float | None, null: tuple[float, float] | None) -> None:
    """Write above the axes what line and band are, each beside its own and away from the other."""
    style: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "va": "bottom", "fontsize": 8.5}
    left = ceiling is not None and null is not None and ceiling < sum(null) / 2
    if null is not None:
        ax.text(
            null[1] if left else null[0], 1.02, NULL, color=MUTED, ha="right" if left else "left", **style
        )
    if ceiling is not None:
        text = f"{CEILING} {ceiling:.2f}"
        ax.text(ceiling, 1.02, text, color=INK, ha="left" if left else "right", **style)
