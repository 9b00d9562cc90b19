"""Score metrics: against scipy one vector at a time, and under weights against the resample written out."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from bayesbt.agreement.scores import SCORE_METRICS, score_metrics, within_topic_metrics
from bayesbt.agreement.significance import draw_weights
from bayesbt.agreement.weighted import weighted_metrics, weighted_within_topics

X = np.array([2.1, -0.4, 0.3, 1.7, 1.7, -2.2, 0.9])
Y = np.array([1.0, 0.2, -0.9, 2.5, 0.2, -1.1, 0.2])


def test_correlations_are_those_of_scipy_with_ties() -> None:
    got = score_metrics(X, Y)
    assert float(got["pearson"]) == pytest.approx(pearsonr(X, Y).statistic)
    assert float(got["spearman"]) == pytest.approx(spearmanr(X, Y).statistic)
    assert float(got["kendall"]) == pytest.approx(kendalltau(X, Y).statistic)


def test_kendall_by_counting_pairs() -> None:
    pairs = [(i, j) for i in range(7) for j in range(i)]
    signs = np.array([(np.sign(X[i] - X[j]), np.sign(Y[i] - Y[j])) for i, j in pairs])
    expected = (signs[:, 0] * signs[:, 1]).sum() / np.sqrt(np.abs(signs).sum(axis=0).prod())
    assert float(score_metrics(X, Y)["kendall"]) == pytest.approx(expected)


def test_errors_are_of_z_scores_with_ddof_0() -> None:
    got = score_metrics(3 * X + 10, Y)
    zx, zy = ((v - v.mean()) / np.sqrt(((v - v.mean()) ** 2).sum() / 7) for v in (X, Y))
    assert float(got["mae"]) == pytest.approx(np.abs(zx - zy).sum() / 7)
    assert float(got["rmse"]) == pytest.approx(np.sqrt(2 - 2 * pearsonr(X, Y).statistic))


def test_leading_axes_broadcast() -> None:
    many = np.stack([X, -X, Y])[:, None, :]
    got = score_metrics(many, np.stack([Y, X]))
    for name, values in got.items():
        assert values.shape == (3, 2)
        assert values[1, 0] == pytest.approx(float(score_metrics(-X, Y)[name]))


@pytest.mark.parametrize("broken", [np.full(7, 0.1), np.where(np.arange(7) == 3, np.nan, X)])
def test_a_constant_or_missing_score_gives_no_number(broken: np.ndarray) -> None:
    assert all(np.isnan(value) for value in score_metrics(broken, Y).values())
    assert all(np.isnan(value) for value in score_metrics(Y, broken).values())


def test_the_direction_of_each_metric() -> None:
    near, far = Y + 0.01 * X, -Y
    for name, metric in SCORE_METRICS.items():
        better = metric.function(near, Y) > metric.function(far, Y)
        assert bool(better) == metric.higher_is_better, name


def test_within_topics_averages_and_leaves_out_topics_without_a_number() -> None:
    topics = ["b", "a", "b", "a", "a", "b", "lonely"]
    got = within_topic_metrics(X, Y, topics)["pearson"]
    a, b = [1, 3, 4], [0, 2, 5]
    expected = (pearsonr(X[a], Y[a]).statistic + pearsonr(X[b], Y[b]).statistic) / 2
    assert float(got) == pytest.approx(expected)
    flat = np.where(np.isin(np.arange(7), a), 1.0, X)
    assert float(within_topic_metrics(flat, Y, topics)["pearson"]) == pytest.approx(
        pearsonr(X[b], Y[b]).statistic
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 14).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(-3, 3), min_size=n, max_size=n),
            st.lists(st.integers(-3, 3), min_size=n, max_size=n),
            st.lists(st.integers(0, 3), min_size=n, max_size=n),
        )
    )
)
def test_weights_are_as_good_as_writing_items_out(drawn: tuple[list[int], list[int], list[int]]) -> None:
    x, y, weight = (np.array(values) for values in drawn)
    got = weighted_metrics(weight[None], x[None].astype(float), y.astype(float))
    written = score_metrics(np.repeat(x, weight), np.repeat(y, weight)) if weight.sum() > 1 else {}
    for name, values in got.items():
        expected = float(written[name]) if name in written else float("nan")
        assert values[0, 0] == pytest.approx(expected, abs=5e-6, nan_ok=True), name


def test_weights_with_missing_scores_and_within_topics() -> None:
    rng = np.random.default_rng(5)
    y = rng.normal(size=40)
    x = np.stack([y + rng.normal(size=40), np.round(y + rng.normal(size=40)), rng.normal(size=40)])
    x[2, 7] = np.nan
    topics = np.arange(40) % 3
    weights = np.concatenate(list(draw_weights(rng, 40, 25, 10)))
    pooled, within = weighted_metrics(weights, x, y), weighted_within_topics(weights, x, y, topics)
    for n, weight in enumerate(weights):
        drawn = np.repeat(np.arange(40), weight)
        for k in range(3):
            kept = drawn[~np.isnan(x[k, drawn])]
            direct = score_metrics(x[k, kept], y[kept])
            inside = within_topic_metrics(x[k, kept], y[kept], topics[kept])
            for name in SCORE_METRICS:
                assert pooled[name][n, k] == pytest.approx(float(direct[name]), abs=5e-6)
                assert within[name][n, k] == pytest.approx(float(inside[name]), abs=5e-6)


def test_identical_judges_never_differ_in_any_resample() -> None:
    rng = np.random.default_rng(6)
    y, x = rng.normal(size=90), rng.normal(size=90)
    weights = np.concatenate(list(draw_weights(rng, 90, 300, 64)))
    for values in weighted_metrics(weights, np.stack([x, x]), y).values():
        assert (values[:, 0] == values[:, 1]).all()


@pytest.mark.slow
def test_the_size_of_the_paper_takes_less_than_two_minutes_on_two_cores() -> None:
    rng = np.random.default_rng(7)
    y = rng.normal(size=1269)
    x = y + rng.normal(size=(36, 1269))
    topics = np.arange(1269) % 20
    weights = np.concatenate(list(draw_weights(rng, 1269, 10_000, 2000)))
    started = time.process_time()
    pooled = weighted_metrics(weights, x, y)
    within = weighted_within_topics(weights, x, y, topics)
    assert time.process_time() - started < 2 * 120 / 3  # one of three dimensions, two cores
    assert pooled["kendall"].shape == within["kendall"].shape == (10_000, 36)
    at = 1234
    drawn = np.repeat(np.arange(1269), weights[at])
    assert pooled["kendall"][at, 35] == pytest.approx(kendalltau(x[35, drawn], y[drawn]).statistic, abs=1e-9)
