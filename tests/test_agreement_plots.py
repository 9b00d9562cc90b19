"""The figure of judges against people: what is drawn where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbt.reporting import agreement_plots
from bayesbt.reporting.agreement_plots import agreement
from bayesbt.reporting.figures import inline_svg, png
from bayesbt.reporting.plots import COLOURS, Intervals
from tests.test_layering import imports
from tests.test_plots import drawn_points, tick_texts

DATA = Intervals(["best", "null-like", "second"], [0.71, 0.05, 0.6], [0.6, -0.1, 0.5], [0.8, 0.2, 0.7])


def spans(ax: Axes) -> dict[str, tuple[float, float]]:
    found = {}
    for patch in ax.patches:
        x = patch.get_extents().transformed(ax.transData.inverted())
        found[str(patch.get_gid())] = (x.x0, x.x1)
    return found


def test_intervals_ceiling_and_null_range() -> None:
    figure = agreement(
        DATA, xlabel="Pearson", ceiling=0.77, ceiling_interval=(0.75, 0.79), null=(-0.12, 0.16)
    )
    ax = figure.axes[0]
    assert tick_texts(ax) == list(DATA.labels)
    assert ax.yaxis_inverted()
    segments = np.array([segment.ravel() for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(segments, [[0.6, 0, 0.8, 0], [-0.1, 1, 0.2, 1], [0.5, 2, 0.7, 2]])
    assert sorted(drawn_points(ax)) == [(0.05, 1, "o"), (0.6, 2, "o"), (0.71, 0, "o")]
    lines = [line for line in ax.get_lines() if line.get_marker() == "None"]
    assert [line.get_xdata()[0] for line in lines] == [0.77]
    found = spans(ax)
    assert found["null"] == pytest.approx((-0.12, 0.16))
    assert found["ceiling-band"] == pytest.approx((0.75, 0.79))
    assert {text.get_text() for text in ax.texts} == {"null judges", "noise ceiling 0.77"}
    assert ax.get_xlabel() == "Pearson"


def test_judges_inside_the_null_range_have_hollow_points() -> None:
    ax = agreement(DATA, xlabel="Pearson", null=(-0.12, 0.16)).axes[0]
    faces = {
        float(x): line.get_markerfacecolor()
        for line in ax.get_lines()
        if line.get_marker() == "o"
        for x in line.get_xdata()
    }
    assert faces == {0.71: COLOURS[0], 0.6: COLOURS[0], 0.05: "white"}


@pytest.mark.parametrize(("ceiling", "null"), [(0.77, (-0.1, 0.15)), (0.4, (1.3, 1.5))])
def test_the_names_of_line_and_band_do_not_overlap(ceiling: float, null: tuple[float, float]) -> None:
    data = Intervals(["x", "y"], [0.5, 1.0], [0.4, 0.9], [0.6, 1.1])
    figure = agreement(data, xlabel="metric", ceiling=ceiling, null=null)
    figure.draw_without_rendering()
    one, other = (text.get_window_extent() for text in figure.axes[0].texts)
    assert not one.overlaps(other)


def test_without_ceiling_and_null_only_the_judges_are_drawn() -> None:
    ax = agreement(DATA, xlabel="Kendall's tau-b").axes[0]
    assert not ax.texts
    assert not ax.patches
    assert len(drawn_points(ax)) == 3


def test_it_draws_into_given_axes_and_becomes_a_picture() -> None:
    figure = Figure()
    ax = figure.subplots()
    assert agreement(DATA, xlabel="r", ceiling=0.8, ax=ax) is figure
    assert len(drawn_points(ax)) == 3
    assert png(figure)[:4] == b"\x89PNG"
    svg = inline_svg(agreement(DATA, xlabel="<r> & ρ", null=(0, 0.1)), "agreement")
    assert "&lt;r&gt; &amp; ρ" in svg
    assert "null-like" in svg


def test_of_ours_only_the_house_style_is_imported() -> None:
    names = imports(Path(agreement_plots.__file__), everywhere=True)
    ours = {name for name in names if name.startswith("bayesbt")}
    assert ours
    assert all(name.startswith("bayesbt.reporting.plots.") for name in ours)
