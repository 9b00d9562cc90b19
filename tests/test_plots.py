"""Figures: what is drawn where, with the right values; not pixels."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesbt.reporting import plots
from bayesbt.reporting.figures import inline_svg, png


def rows(n: int, groups: int = 1) -> plots.Intervals:
    rng = np.random.default_rng(n)
    centre, reach = rng.normal(size=n), rng.uniform(0.2, 0.6, size=n)
    names = None if groups == 1 else [f"topic {i % groups}" for i in range(n)]
    return plots.Intervals(
        [f"item-{i:04d}" for i in range(n)], centre, centre - reach, centre + 2 * reach, names
    )


def drawn_intervals(ax: Axes) -> np.ndarray:
    """(rows, 3): y, lower and upper of every interval drawn as part of a path with gaps."""
    found = []
    for line in ax.get_lines():
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        if len(x) >= 3 and len(x) % 3 == 0 and np.isnan(x[2::3]).all() and np.isfinite(x[0::3]).all():
            found += [np.column_stack([y[0::3], x[0::3], x[1::3]])]
    return np.concatenate(found) if found else np.empty((0, 3))


def drawn_points(ax: Axes) -> list[tuple[float, float, str]]:
    """(x, y, marker) of every point drawn with a marker."""
    return [
        (float(x), float(y), str(line.get_marker()))
        for line in ax.get_lines()
        if line.get_marker() not in ("None", "")
        for x, y in zip(*line.get_data(), strict=True)
    ]


def tick_texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def test_forest_draws_every_interval_at_its_name_strongest_on_top() -> None:
    data = plots.Intervals(["mid", "best", "worst"], [0.1, 1.2, -1.3], [-0.2, 0.5, -2.0], [0.6, 2.5, -0.9])
    ax = plots.forest(data).axes[0]
    assert tick_texts(ax) == ["best", "mid", "worst"]
    assert list(ax.get_yticks()) == [0, 1, 2]
    assert ax.yaxis_inverted()
    np.testing.assert_allclose(drawn_intervals(ax), [[0, 0.5, 2.5], [1, -0.2, 0.6], [2, -2.0, -0.9]])
    assert [point[:2] for point in drawn_points(ax)] == [(1.2, 0), (0.1, 1), (-1.3, 2)]
    assert ax.get_xlabel().startswith("strength (log-odds")


def test_forest_draws_groups_in_blocks_with_a_marker_of_their_own() -> None:
    data = plots.Intervals(
        ["a", "b", "c", "d"], [0.0, 2.0, 1.0, -1.0], [-1] * 4, [3] * 4, group=["dogs", "cats", "dogs", "cats"]
    )
    ax = plots.forest(data).axes[0]
    assert tick_texts(ax) == ["c", "a", "b", "d"]
    headings = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert list(headings) == ["dogs", "cats"]
    places = dict(zip(tick_texts(ax), ax.get_yticks(), strict=True))
    assert headings["dogs"] < places["c"] < places["a"] < headings["cats"] < places["b"] < places["d"]
    markers = {x: marker for x, _, marker in drawn_points(ax)}
    assert markers[1.0] == markers[0.0] != markers[2.0] == markers[-1.0]


def test_forest_without_intervals_draws_points_only() -> None:
    nothing = [float("nan")] * 2
    ax = plots.forest(plots.Intervals(["a", "b"], [0.3, -0.3], nothing, nothing)).axes[0]
    assert len(drawn_intervals(ax)) == 0
    assert [point[0] for point in drawn_points(ax)] == [0.3, -0.3]


def test_a_forest_of_1269_items_names_groups_only_and_draws_all() -> None:
    data = rows(1269, groups=20)
    figure = plots.forest(data)
    ax = figure.axes[0]
    assert tick_texts(ax) == [f"topic {i}" for i in range(20)]
    intervals = drawn_intervals(ax)
    assert len(intervals) == 1269
    order = np.lexsort((-np.asarray(data.centre), [i % 20 for i in range(1269)]))
    np.testing.assert_allclose(intervals[:, 1], np.asarray(data.lower)[order])
    assert (np.diff(intervals[:, 0]) > 0).all()
    assert figure.get_size_inches()[1] <= 12
    assert "1,269 items in 20 groups" in ax.get_title(loc="left")


def test_the_extract_shows_both_ends_and_says_how_many_are_left_out() -> None:
    data = rows(100)
    ax = plots.forest(data, extract=3).axes[0]
    order = np.argsort(-np.asarray(data.centre))
    expected = [data.labels[i] for i in order[:3]] + ["… 94 more …"] + [data.labels[i] for i in order[-3:]]
    assert tick_texts(ax) == expected
    np.testing.assert_allclose(drawn_intervals(ax)[:, 2], np.asarray(data.upper)[[*order[:3], *order[-3:]]])


@pytest.mark.parametrize("n", [3, 12, 60, 61, 1269])
def test_names_never_overlap(n: int) -> None:
    figure = plots.forest(rows(n))
    figure.savefig(BytesIO(), dpi=100)
    boxes = sorted(
        (text.get_window_extent() for text in figure.axes[0].get_yticklabels() if text.get_text()),
        key=lambda b: b.y0,
    )
    assert len(boxes) == (n if n <= 60 else 0)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))
    assert all(box.x0 >= 0 for box in boxes)


def test_long_names_are_shortened_in_the_middle() -> None:
    assert plots.shorten("an argument about plastic bottles, number 17", 20) == "an argumen…number 17"
    assert plots.shorten("two\nlines  here") == "two lines here"
    assert plots.shorten(" ") == "(blank)"


def test_rank_heatmap_orders_items_by_expected_rank() -> None:
    probability = [[0.1, 0.2, 0.7], [0.8, 0.2, 0.0], [0.1, 0.6, 0.3]]
    figure = plots.rank_heatmap(["low", "top", "mid"], probability)
    ax = figure.axes[0]
    assert tick_texts(ax) == ["top", "mid", "low"]
    np.testing.assert_allclose(ax.images[0].get_array(), [[0.8, 0.2, 0.0], [0.1, 0.6, 0.3], [0.1, 0.2, 0.7]])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3"]
    assert ax.get_title(loc="left") == ""


def test_rank_heatmap_is_capped_with_a_note() -> None:
    ax = plots.rank_heatmap([f"i{k}" for k in range(90)], np.eye(90)[::-1], max_items=40).axes[0]
    assert ax.images[0].get_array().shape == (40, 40)
    assert tick_texts(ax)[0] == "i89"
    assert "best 40 of 90" in ax.get_title(loc="left")


def test_equal_ignorance_is_pale_in_a_rank_heatmap() -> None:
    image = plots.rank_heatmap(list("abcdefgh"), np.full((8, 8), 1 / 8)).axes[0].images[0]
    assert image.norm.vmax == pytest.approx(0.5)


def test_win_matrix_rows_beat_columns() -> None:
    p = np.array([[0.5, 0.2, 0.6], [0.8, 0.5, 0.9], [0.4, 0.1, 0.5]])
    ax = plots.win_matrix(["b", "a", "c"], p).axes[0]
    assert tick_texts(ax) == ["a", "b", "c"]
    shown = np.asarray(ax.images[0].get_array().filled(np.nan), dtype=float)
    np.testing.assert_allclose(shown, [[np.nan, 0.8, 0.9], [0.2, np.nan, 0.6], [0.1, 0.4, np.nan]])
    assert sorted(text.get_text() for text in ax.texts) == ["0.10", "0.20", "0.40", "0.60", "0.80", "0.90"]
    assert p[0, 0] == 0.5  # the caller's array is left alone


def test_tie_strengths_draws_each_model_beside_the_others() -> None:
    base = plots.Intervals(["x", "y"], [0.4, -0.4], [0.1, -0.9], [0.8, -0.2])
    other = plots.Intervals(["x", "y"], [0.3, -0.3], [0.2, -0.5], [0.5, -0.1])
    figure = plots.tie_strengths({"rao-kupper": base, "split": other})
    ax = figure.axes[0]
    assert tick_texts(ax) == ["x", "y"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["rao-kupper", "split"]
    intervals = drawn_intervals(ax)
    np.testing.assert_allclose(intervals[:, 1:], [[0.1, 0.8], [-0.9, -0.2], [0.2, 0.5], [-0.5, -0.1]])
    assert intervals[0, 0] < 0 < intervals[2, 0] < 0.5 < intervals[1, 0] < 1 < intervals[3, 0]
    assert len({marker for _, _, marker in drawn_points(ax)}) == 2


def test_tie_strengths_of_many_items_shows_both_ends() -> None:
    data = rows(60)
    ax = plots.tie_strengths({"rao-kupper": data}, max_items=10).axes[0]
    assert len(tick_texts(ax)) == 11
    assert tick_texts(ax)[5] == "… 50 more …"


def test_order_effects_first_shown_shares_and_tie_parameters_keep_their_order_and_values() -> None:
    data = plots.Intervals(["judge-1", "judge-0"], [0.9, 0.2], [0.7, 0.1], [0.95, 0.4])
    for draw in (plots.order_effects, plots.first_shown_shares, plots.tie_parameters):
        ax = draw(data).axes[0]
        assert tick_texts(ax) == ["judge-1", "judge-0"]
        np.testing.assert_allclose(drawn_intervals(ax), [[0, 0.7, 0.95], [1, 0.1, 0.4]])
        assert [point[:2] for point in drawn_points(ax)] == [(0.9, 0), (0.2, 1)]
    marked = [line.get_xdata()[0] for line in plots.first_shown_shares(data).axes[0].get_lines()[:1]]
    assert marked == [0.5]
    texts = [text.get_text() for text in plots.tie_parameters(data, notes=["θ = 1.75", ""]).axes[0].texts]
    assert texts == ["θ = 1.75", ""]


def test_reference_levels_spreads_items_and_marks_the_mean_of_each_level() -> None:
    level = [1, 1, 1, 4, 4]
    data = plots.Intervals(list("abcde"), [0.0, 0.3, -0.6, 1.0, 2.0], [-1.0] * 5, [2.5] * 5)
    ax = plots.reference_levels(level, data).axes[0]
    bars = [line for line in ax.get_lines() if line.get_label() == "_mean"]
    assert [bar.get_ydata()[0] for bar in bars] == pytest.approx([-0.1, 1.5])
    points = {y: x for x, y, _ in drawn_points(ax)}
    assert len(set(points.values())) == 5
    assert all(abs(points[y] - x) <= 0.3 * 3 for y, x in zip([0.0, 0.3, -0.6, 1.0, 2.0], level, strict=True))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "4"]


def test_trace_and_ranks_shows_a_chain_that_stands_apart() -> None:
    draws = np.random.default_rng(1).normal(size=(3, 400))
    draws[2] += 50
    figure = plots.trace_and_ranks({"tie": draws, "order": draws[:2]}, bins=6)
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "tie: trace",
        "tie: ranks by chain",
        "order: trace",
        "order: ranks by chain",
    ]
    bars = [patch.get_data().values for patch in figure.axes[1].patches]
    assert [int(bar.sum()) for bar in bars] == [400, 400, 400]
    np.testing.assert_array_equal(bars[2], [0, 0, 0, 0, 200, 200])


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plots.forest(rows(5), ax=ax),
        lambda ax: plots.forest(rows(200), ax=ax),
        lambda ax: plots.rank_heatmap(["a", "b"], np.eye(2), ax=ax),
        lambda ax: plots.win_matrix(["a", "b"], np.eye(2), ax=ax),
        lambda ax: plots.tie_strengths({"drop": rows(4)}, ax=ax),
        lambda ax: plots.tie_parameters(rows(2), ax=ax),
        lambda ax: plots.order_effects(rows(2), ax=ax),
        lambda ax: plots.first_shown_shares(rows(2), ax=ax),
        lambda ax: plots.reference_levels(range(4), rows(4), ax=ax),
    ],
)
def test_every_plot_draws_into_given_axes_and_leaves_settings_alone(draw) -> None:
    before = dict(mpl.rcParams)
    figure = Figure()
    ax, other = figure.subplots(2)
    assert draw(ax) is figure
    assert ax.has_data() or ax.images
    assert not other.has_data()
    assert dict(mpl.rcParams) == before


def test_the_palette_is_apart_in_grey_or_by_marker() -> None:
    assert len(set(plots.COLOURS)) == len(set(plots.MARKERS)) == len(plots.COLOURS) == len(plots.MARKERS)
    steps = np.diff(
        [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b, _ in plots.PROBABILITY_MAP(np.linspace(0, 1, 20))]
    )
    assert (steps < 0).all()  # a grey print of a heatmap keeps the order


HOSTILE = [
    "<script>alert(1)</script>",
    "$x_1$ & $y$",
    'style="fill: #22262b"',
    "日本語",
    "a\\b`c`",
    "</svg><b>",
]


def test_inline_svg_shows_hostile_names_as_text() -> None:
    data = plots.Intervals(HOSTILE, range(6), range(-1, 5), range(1, 7))
    svg = inline_svg(plots.forest(data), "f1")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in svg
    assert "$x_1$ &amp; $y$" in svg
    assert "日本語" in svg
    assert "<script" not in svg
    assert "<b>" not in svg
    assert "http" not in svg
    assert svg.startswith("<svg viewBox=")
    assert svg.count("<svg") == svg.count("</svg>") == 1
    assert "var(--ink)" in svg
    assert plots.INK not in svg.replace('style="fill: #22262b"', "")


def test_inline_svg_ids_are_prefixed_and_the_same_each_time() -> None:
    first, again = (
        inline_svg(plots.rank_heatmap(["a", "b"], [[0.7, 0.3], [0.3, 0.7]]), "f7") for _ in range(2)
    )
    assert first == again
    ids = [part.split('"')[0] for part in first.split(' id="')[1:]]
    assert ids
    assert all(name.startswith("f7-") for name in ids)
    for mark in ("url(#", 'xlink:href="#'):
        assert all(part.startswith("f7-") for part in first.split(mark)[1:])


def test_png_is_a_png_with_names_of_any_script() -> None:
    picture = png(plots.forest(plots.Intervals(HOSTILE, range(6), range(-1, 5), range(1, 7))))
    assert picture.startswith(b"\x89PNG")
