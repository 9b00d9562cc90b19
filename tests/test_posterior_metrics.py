"""Draws of two fits pushed through each metric; which of two judges is closer to people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayesbt.agreement.posterior import (
    metric_draws,
    metric_gain,
    paired_draws,
    posterior_metrics,
    probability_above,
    probability_closer,
)
from bayesbt.errors import InputError
from bayesbt.infer import Fit, fit
from bayesbt.tables import Judgments

ITEMS = [f"i{number:02d}" for number in range(24)]
TOPIC = {item: "cats" if number < 10 else "dogs" for number, item in enumerate(ITEMS)}


def judged(strength: np.ndarray, each: int, seed: int, across: bool = True) -> Judgments:
    rng = np.random.default_rng(seed)
    rows = []
    while len(rows) < each:
        a, b = rng.choice(len(ITEMS), 2, replace=False)
        if across or TOPIC[ITEMS[a]] == TOPIC[ITEMS[b]]:
            wins = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
            rows.append((ITEMS[a], ITEMS[b], "a" if wins else "b"))
    return Judgments.from_frame(pd.DataFrame(rows, columns=["item_a", "item_b", "outcome"]))


@pytest.fixture(scope="module")
def fits() -> dict[str, Fit]:
    """People, a good judge, a poor one, and one that hates what people like."""
    rng = np.random.default_rng(1)
    people = rng.normal(0, 1.2, len(ITEMS))
    noise = rng.normal(0, 1.2, len(ITEMS))
    strengths = {
        "people": people,
        "good": 0.95 * people + 0.3 * noise,
        "poor": 0.3 * people + 0.95 * noise,
        "contrary": -people,
    }
    return {
        name: fit(judged(strength, 900, k), ties="drop", engine="laplace", draws=400, seed=k)
        for k, (name, strength) in enumerate(strengths.items())
    }


def test_every_metric_of_every_draw(fits: dict[str, Fit]) -> None:
    table = posterior_metrics(fits["good"], fits["people"], seed=3, interval=0.8)
    assert list(table["scope"].unique()) == ["pooled"]
    paired = paired_draws([fits["good"], fits["people"]], seed=3)
    one, other = paired.draws
    assert one.shape == other.shape == (1600, 24)
    by_scipy = {
        "pearson": [stats.pearsonr(x, y)[0] for x, y in zip(one, other, strict=True)],
        "spearman": [stats.spearmanr(x, y)[0] for x, y in zip(one, other, strict=True)],
        "kendall": [stats.kendalltau(x, y)[0] for x, y in zip(one, other, strict=True)],
        "mae": np.abs(stats.zscore(one, axis=1) - stats.zscore(other, axis=1)).mean(axis=1),
        "rmse": np.sqrt(2 - 2 * np.array([np.corrcoef(x, y)[0, 1] for x, y in zip(one, other, strict=True)])),
    }
    rows = table.set_index("metric")
    assert list(rows.index) == list(by_scipy)
    for name, values in by_scipy.items():
        assert rows.loc[name, "mean"] == pytest.approx(np.mean(values))
        assert rows.loc[name, "sd"] == pytest.approx(np.std(values, ddof=1))
        inside = (np.array(values) >= rows.loc[name, "lower"]) & (np.array(values) <= rows.loc[name, "upper"])
        assert 0.79 < inside.mean() < 0.86  # Kendall takes few values


def test_the_posterior_of_a_metric_lies_below_the_metric_of_means(fits: dict[str, Fit]) -> None:
    """Noise of the draws attenuates: the docstring says so, and here is by how much."""
    table = posterior_metrics(fits["good"], fits["people"], seed=3).set_index("metric")
    of_means = np.corrcoef(fits["good"].estimates["strength"], fits["people"].estimates["strength"])[0, 1]
    assert of_means - 0.15 < table.loc["pearson", "mean"] < of_means - 0.01


def test_pairing_is_seeded_and_breaks_the_order_of_draws(fits: dict[str, Fit]) -> None:
    one = paired_draws([fits["good"], fits["good"]], seed=1)
    again = paired_draws([fits["good"], fits["good"]], seed=1)
    np.testing.assert_array_equal(one.draws[1], again.draws[1])
    deviations = [draws - draws.mean(axis=0) for draws in one.draws]
    assert abs((deviations[0] * deviations[1]).mean()) < 0.1 * deviations[0].var()  # independent noise
    together = paired_draws([fits["good"], fits["good"]], seed=1, together=True)
    np.testing.assert_array_equal(together.draws[0], together.draws[1])


def test_within_topic_is_averaged_over_topics(fits: dict[str, Fit]) -> None:
    table = posterior_metrics(fits["good"], fits["people"], TOPIC, seed=3).set_index(["scope", "metric"])
    one, other = paired_draws([fits["good"], fits["people"]], seed=3).draws
    cats = np.array([TOPIC[item] == "cats" for item in ITEMS])
    parts = [
        [np.corrcoef(x[rows], y[rows])[0, 1] for x, y in zip(one, other, strict=True)]
        for rows in (cats, ~cats)
    ]
    assert table.loc[("within", "pearson"), "mean"] == pytest.approx(np.mean(parts))
    assert table.loc[("within", "pearson"), "mean"] != pytest.approx(table.loc[("pooled", "pearson"), "mean"])


def test_components_stand_for_topics_where_none_are_known() -> None:
    rng = np.random.default_rng(2)
    strength = rng.normal(0, 1, len(ITEMS))
    apart = [fit(judged(strength, 300, k, across=False), ties="drop", engine="map", draws=50) for k in (1, 2)]
    assert paired_draws(apart).topics is not None
    known = dict(zip(paired_draws(apart).items, paired_draws(apart).topics, strict=True))
    assert len({known[item] for item in ITEMS[:10]}) == len({known[item] for item in ITEMS[10:]}) == 1
    assert known[ITEMS[0]] != known[ITEMS[-1]]


def test_items_that_one_fit_lacks_are_left_out(fits: dict[str, Fit]) -> None:
    rng = np.random.default_rng(3)
    few = judged(rng.normal(0, 1, 24), 200, 1).frame.astype(object)
    kept = few[~few["item_a"].isin(ITEMS[:4]) & ~few["item_b"].isin(ITEMS[:4])]
    smaller = fit(Judgments.from_frame(kept), ties="drop", engine="map", draws=50)
    paired = paired_draws([fits["people"], smaller], seed=1)
    assert paired.items == tuple(ITEMS[4:])
    expected = fits["people"].estimates["strength"].to_numpy()[4:]
    np.testing.assert_allclose(paired.draws[0].mean(axis=0), expected, atol=0.15)


def test_which_judge_is_closer(fits: dict[str, Fit]) -> None:
    people = fits["people"]
    for metric in ("pearson", "spearman", "kendall", "mae", "rmse"):
        closer = probability_closer(fits["good"], fits["poor"], people, metric, seed=1, most=400)
        assert closer > 0.98
        reverse = probability_closer(fits["contrary"], fits["poor"], people, metric, seed=1, most=400)
        assert reverse < 0.02
    same = probability_closer(fits["good"], fits["good"], people, seed=1)
    assert same == pytest.approx(0.5, abs=0.05)


def test_a_narrow_lead_is_no_certainty() -> None:
    """Two judges of equal quality: over data sets, the probability is spread about one half."""
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        people = rng.normal(0, 1, len(ITEMS))
        judges = [people + rng.normal(0, 0.5, len(ITEMS)) for _ in range(2)]
        fits = [
            fit(judged(s, 300, 10 * seed + k), ties="drop", engine="map", draws=100, seed=k)
            for k, s in enumerate([people, *judges])
        ]
        found.append(probability_closer(fits[1], fits[2], fits[0], seed=seed))
    assert 0.3 < np.mean(found) < 0.7
    assert np.std(found) > 0.08
    assert max(found) < 0.98


def test_signs_and_ties_of_gains() -> None:
    people = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    first = np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    second = np.array([[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
    assert metric_gain(first, second, people, "pearson").tolist() == pytest.approx([0.0, -1.5])
    assert metric_gain(first, second, people, "rmse")[1] == pytest.approx(1 - 2)
    assert metric_draws(first, people, "kendall").tolist() == pytest.approx([1.0, -1.0])
    assert probability_above(np.array([0.0, -1.5])) == 0.25


def test_what_has_no_posterior(fits: dict[str, Fit]) -> None:
    people = fits["people"]
    with pytest.raises(InputError, match="point estimate"):
        posterior_metrics(fit(judged(np.zeros(24), 200, 1), engine="ilsr"), people)
    with pytest.raises(InputError, match="--metrics 'r2' is not known"):
        probability_closer(fits["good"], fits["poor"], people, "r2")
    with pytest.raises(InputError, match="no topic is given for i23"):
        posterior_metrics(fits["good"], people, dict.fromkeys(ITEMS[:-1], "x"))
    renamed = replace(people, counts=replace(people.counts, items=tuple(f"x{item}" for item in ITEMS)))
    with pytest.raises(InputError, match="0 items are compared in all fits"):
        posterior_metrics(renamed, people)
