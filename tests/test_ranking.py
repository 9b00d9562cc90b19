"""Ranks, rank distributions and tiers, from draws whose answers can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesbt.errors import InputError
from bayesbt.infer import fit
from bayesbt.ranking import contrast, rank
from bayesbt.ranks import (
    highest_density_interval,
    p_top,
    rank_distribution,
    rank_draws,
    shared_ranks,
    simultaneous_rank_intervals,
    win_probability,
)
from tests.cases import counts_of

DRAWS = np.array(
    [
        [3.0, 1.0, 2.0, 9.0, 8.0],
        [1.0, 2.0, 3.0, 9.0, 8.0],
        [3.0, 2.0, 1.0, 7.0, 8.0],
        [3.0, 1.0, 2.0, 9.0, 8.0],
    ]
)
COMPONENT = np.array([0, 0, 0, 1, 1])


def test_ranks_are_within_components() -> None:
    assert rank_draws(DRAWS, COMPONENT).tolist() == [
        [1, 3, 2, 1, 2],
        [3, 2, 1, 1, 2],
        [1, 2, 3, 2, 1],
        [1, 3, 2, 1, 2],
    ]


def test_rank_distribution() -> None:
    members, matrix = rank_distribution(DRAWS, COMPONENT, 0)
    assert members.tolist() == [0, 1, 2]
    assert matrix.tolist() == [[0.75, 0, 0.25], [0, 0.5, 0.5], [0.25, 0.5, 0.25]]


def test_win_probability() -> None:
    members, matrix = win_probability(DRAWS, COMPONENT, 0)
    assert members.tolist() == [0, 1, 2]
    assert matrix.tolist() == [[0.5, 0.75, 0.75], [0.25, 0.5, 0.25], [0.25, 0.75, 0.5]]
    assert win_probability(DRAWS, COMPONENT, 1)[1].tolist() == [[0.5, 0.75], [0.25, 0.5]]


def test_p_top() -> None:
    assert p_top(DRAWS, COMPONENT, 2).tolist() == [0.75, 0.5, 0.75, 1, 1]


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=40), st.floats(0.05, 0.95))
def test_interval_holds_its_share_and_no_shorter_one_does(values: list[float], probability: float) -> None:
    draws = np.array(values)
    lower, upper = (float(end) for end in highest_density_interval(draws, probability))
    assert ((draws >= lower) & (draws <= upper)).mean() >= probability - 1e-12
    need = int(np.ceil(probability * len(draws)))
    ordered = np.sort(draws)
    assert upper - lower == pytest.approx(min(ordered[need - 1 :] - ordered[: len(draws) - need + 1]))


def test_equal_strengths_share_a_rank() -> None:
    strength = np.array([0.2, 0.7, 0.2 + 1e-12, np.nan, -1.0, 3.0])
    component = np.array([0, 0, 0, 0, 0, 1])
    ranks = shared_ranks(strength, component)
    assert ranks[[0, 1, 2, 4, 5]].tolist() == [2, 1, 2, 4, 1]
    assert np.isnan(ranks[3])


CLEAR = counts_of(
    {("a", "b"): (90, 0, 10), ("b", "c"): (50, 0, 50), ("a", "c"): (88, 0, 12), ("y", "z"): (9, 0, 1)}
)


def test_tiers_part_what_the_data_part() -> None:
    table = rank(fit(CLEAR, engine="laplace", seed=1), top=2).table.set_index("item")
    assert table["tier"].to_dict() == {"a": 1, "b": 2, "c": 2, "y": 1, "z": 2}
    assert table.loc["a", "p_top"] == pytest.approx(1, abs=0.01)
    assert table.loc[["b", "c"], "p_top"].sum() == pytest.approx(1, abs=0.01)


def test_ranking_document() -> None:
    result = rank(fit(CLEAR, engine="ml", ties="drop", seed=1), distribution=True, pairwise=True)
    document = result.summary(show=1)
    assert [item["item"] for item in document["items"]] == ["a", "y"]
    first = document["rank_distribution"]["0"]
    assert first["index"][0] == "a"
    assert np.sum(first["data"], axis=0) == pytest.approx([1, 1, 1])
    stronger = document["p_stronger"]["0"]
    assert stronger["columns"] == stronger["index"]
    assert np.array(stronger["data"]) + np.array(stronger["data"]).T == pytest.approx(np.ones((3, 3)))


def test_point_estimates_have_a_ranking_but_no_probabilities() -> None:
    fitted = fit(CLEAR, engine="ilsr")
    table = rank(fitted).table
    assert table["item"].tolist()[0] == "a"
    assert table["rank"].tolist() == [1, 2, 3, 1, 2]
    assert table["p_best"].isna().all()
    with pytest.raises(InputError, match="point estimate"):
        rank(fitted, pairwise=True)
    with pytest.raises(InputError, match="--top 0"):
        rank(fitted, top=0)


def test_simultaneous_intervals_hold_all_ranks_together() -> None:
    rng = np.random.default_rng(4)
    draws = rng.normal(size=(4000, 8)) + np.array([0, 0.3, 0.5, 1.2, 1.3, 2.5, 2.6, 4])
    component = np.array([0] * 7 + [1])
    ranks = rank_draws(draws, component)
    for level in (0.5, 0.8, 0.95):
        lower, upper = simultaneous_rank_intervals(draws, component, level)
        together = ((ranks >= lower) & (ranks <= upper))[:, :7].all(axis=1).mean()
        assert level <= together < level + 0.2
        pointwise = np.quantile(ranks, ((1 - level) / 2, (1 + level) / 2), axis=0, method="inverted_cdf")
        assert (lower <= pointwise[0]).all()
        assert (upper >= pointwise[1]).all()
        assert (lower < pointwise[0]).any() or (upper > pointwise[1]).any()


def test_a_contrast_within_a_component_and_across() -> None:
    fitted = fit(CLEAR, engine="laplace", seed=1)
    within = contrast(fitted, "a", "b")
    draws = fitted.strength_draws
    assert not within.prior_only
    assert within.mean == pytest.approx((draws[:, 0] - draws[:, 1]).mean())
    assert within.p_stronger > 0.999
    across = contrast(fitted, "a", "z")
    assert across.prior_only
    assert across.p_stronger == 0.5
    assert abs(across.mean) < 0.2
    assert across.sd == pytest.approx(
        np.sqrt(2 * np.mean(fitted.parameter_draws["strength_sd"] ** 2)), rel=0.1
    )
    with pytest.raises(InputError, match="'q' is not an item"):
        contrast(fitted, "a", "q")
    with pytest.raises(InputError, match="no prior to compare"):
        contrast(fit(CLEAR, engine="ml", ties="drop"), "a", "z")


def test_tier_level_is_the_users() -> None:
    fitted = fit(CLEAR, engine="laplace", seed=1)
    assert rank(fitted, tier_level=0.51).table["tier"].tolist() == [1, 2, 3, 1, 2]
    with pytest.raises(InputError, match=r"--tier-level 0\.2"):
        rank(fitted, tier_level=0.2)
