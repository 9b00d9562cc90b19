"""Hard inputs: what a fit makes of them (numbers of the cases' own README)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayesbt.counts import count_judgments
from bayesbt.errors import SeparationError
from bayesbt.formats import read_items, read_judgments
from bayesbt.infer import Fit, fit
from bayesbt.ranking import rank

Shared = Callable[..., Path]


def fitted(shared: Shared, name: str, **options: object) -> Fit:
    return fit(read_judgments(shared("bugcases", name)), **options)


def contrast(one: Fit, first: str, second: str) -> float:
    strength = dict(zip(one.items, one.estimates["strength"], strict=True))
    return strength[first] - strength[second]


def test_01_an_item_that_never_won(shared: Shared) -> None:
    with pytest.raises(SeparationError, match="c never won"):
        fitted(shared, "01_never_wins.csv", engine="ml", ties="drop")
    posterior = fitted(shared, "01_never_wins.csv", ties="drop", seed=1)
    assert any("c never won" in m and "prior" in m for m in posterior.diagnostics.messages)
    table = posterior.ranking().set_index("item")
    assert np.isfinite(table[["strength", "sd", "lower", "upper"]].to_numpy()).all()
    assert table["rank"].to_dict() == {"a": 1, "b": 2, "c": 3}
    assert table.loc["c", "sd"] > table.loc["a", "sd"]  # wide, and skewed downwards:
    assert (
        table.loc["c", "strength"] - table.loc["c", "lower"]
        > table.loc["c", "upper"] - table.loc["c", "strength"]
    )


def test_03_disconnected_groups_are_ranked_apart(shared: Shared) -> None:
    posterior = fitted(shared, "03_disconnected.csv", engine="laplace")
    assert posterior.counts.n_components == 2
    assert any("2 components" in m and "prior only" in m for m in posterior.diagnostics.messages)
    for _, group in posterior.ranking().groupby("component"):
        assert group["rank"].tolist() == list(range(1, len(group) + 1))
        assert group["strength"].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
def test_05_all_ties(shared: Shared, ties: str) -> None:
    posterior = fitted(shared, "05_all_ties.csv", ties=ties, draws=2000, seed=2)
    assert posterior.diagnostics.rhat_max < 1.01
    table = posterior.ranking().set_index("item")
    assert table["p_best"].to_numpy() == pytest.approx([1 / 3] * 3, abs=0.05)
    assert (table["upper"] - table["lower"] > 0.1).all()
    assert posterior.parameters()["tie"]["mean"] > 0.8
    assert any("Every judgment is a tie" in m for m in posterior.diagnostics.messages)


def test_05_all_ties_as_wins_each_way_are_equal_strengths(shared: Shared) -> None:
    ml = fitted(shared, "05_all_ties.csv", ties="split", engine="ml")
    assert ml.estimates["strength"].to_numpy() == pytest.approx([0, 0, 0], abs=1e-10)
    assert ml.ranking()["rank"].tolist() == [1, 1, 1]


def test_07_two_items(shared: Shared) -> None:
    ml = fitted(shared, "07_two_items.csv", ties="drop", engine="ml", reference="Model2")
    first = ml.ranking().set_index("item").loc["Model1"]
    assert first["strength"] == pytest.approx(np.log(7 / 3), abs=1e-8)
    assert first["sd"] == pytest.approx(np.sqrt(1 / 7 + 1 / 3), abs=1e-8)  # 0.6901


def test_09_self_comparisons_do_not_count(shared: Shared) -> None:
    ml = fitted(shared, "09_self_comparisons_mixed.csv", ties="drop", engine="ml")
    assert contrast(ml, "a", "b") == pytest.approx(np.log(3 / 2), abs=1e-8)
    assert any("itself" in m for m in ml.diagnostics.messages)


def test_13_missing_ids_give_nobody_a_win(shared: Shared) -> None:
    ml = fitted(shared, "13_nan_and_blank_ids.csv", ties="drop", engine="ml")
    assert ml.items == ("a", "b")
    assert contrast(ml, "a", "b") == pytest.approx(np.log(5 / 4), abs=1e-8)


@pytest.mark.parametrize("engine", ["ml", "laplace"])
def test_18_huge_counts(shared: Shared, engine: str) -> None:
    one = fitted(shared, "18_huge_counts.csv", ties="drop", engine=engine)
    assert one.counts.judgments == 1_500_000_000 + 1_499_000_000 + 2_000_000_000 + 1_990_000_000 + 10
    assert contrast(one, "a", "b") == pytest.approx(np.log(1500 / 1499), abs=5e-5)
    assert contrast(one, "b", "c") == pytest.approx(np.log(2000 / 1990), abs=5e-5)
    assert (one.estimates["sd"] > 5e-6).all()
    assert (one.estimates["sd"] < 1e-4).all()


def test_21_one_draw_keeps_the_two_equal(shared: Shared) -> None:
    for ties in ("rao-kupper", "davidson", "split", "split-half"):
        mode = fitted(shared, "21_draw_symmetry.csv", ties=ties, engine="map")
        assert contrast(mode, "A", "B") == pytest.approx(0, abs=1e-12)
        assert mode.ranking()["rank"].tolist() == [1, 1]


def test_25_an_unrelated_pair_changes_no_contrast(shared: Shared) -> None:
    base, plus = (
        fitted(shared, f"25_unrelated_item_added_{name}.csv", ties="drop", engine="ml")
        for name in ("base", "plus")
    )
    assert contrast(base, "a", "b") == pytest.approx(np.log(3), abs=1e-9)
    assert contrast(plus, "a", "b") == pytest.approx(contrast(base, "a", "b"), abs=1e-9)


@pytest.mark.parametrize("engine", ["ml", "map", "laplace", "numpyro"])
def test_26_an_item_with_two_games_has_a_wide_interval(shared: Shared, engine: str) -> None:
    judgments = read_judgments(shared("bugcases", "26_sparse_bootstrap.csv"))
    one = fit(judgments, ties="drop", engine=engine, seed=1)
    table = one.ranking().set_index("item")
    sparse = table["comparisons"].idxmin()
    assert table.loc[sparse, "comparisons"] == 2
    assert (table["lower"] < table["strength"]).all()
    assert (table["strength"] < table["upper"]).all()
    assert table.loc[sparse, "sd"] == table["sd"].max()
    assert table["lower"].min() > -10  # peers' bootstrap bars reached -3800
    assert table["upper"].max() < 10


def test_29_a_pure_position_judge(shared: Shared) -> None:
    posterior = fitted(shared, "29_pure_position_judge.csv", ties="drop", order="shared", seed=1)
    assert posterior.parameters()["order"]["lower"] > 0.5
    assert posterior.estimates["strength"].abs().max() < 0.1
    assert any("order effect has no finite estimate" in m for m in posterior.diagnostics.messages)


def test_31_a_declared_item_without_comparisons(shared: Shared) -> None:
    items = read_items(shared("bugcases", "31_unobserved_declared_item.items.txt"))
    posterior = fit(
        read_judgments(shared("bugcases", "31_unobserved_declared_item.csv")), items=items, engine="laplace"
    )
    row = posterior.ranking().set_index("item").loc["never_compared"]
    assert np.isnan(row["rank"])
    assert row["comparisons"] == 0
    assert any("No comparisons: never_compared" in m for m in posterior.diagnostics.messages)
    assert rank(posterior).summary()["items"][-1]["rank"] is None


def test_33_converged_and_not_just_stopped(shared: Shared) -> None:
    ml = fitted(shared, "33_slow_mm_two_cliques.csv", ties="drop", engine="ml")
    assert dict(zip(ml.items, ml.estimates["strength"], strict=True))["p0"] == pytest.approx(0.4233, abs=1e-4)


def test_36_exact_ties_share_a_rank(shared: Shared) -> None:
    ml = fitted(shared, "36_exact_ties_in_rank.csv", ties="split", engine="ml")
    table = ml.ranking().set_index("item")
    assert table.loc[["h", "n", "s"], "rank"].nunique() == 1
    assert (table["rank_lower"] < table["rank_upper"]).loc[["h", "n", "s"]].all()


def test_40_a_million_rows_become_a_few_thousand_cells(shared: Shared, tmp_path: Path) -> None:
    import runpy
    import sys

    path = tmp_path / "million.csv"
    sys.argv, before = [str(shared("bugcases", "40_generate_1m_rows.py")), str(path)], sys.argv
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        sys.argv = before
    counts = count_judgments(read_judgments(path))
    assert counts.judgments == 1_000_000
    assert len(counts.a) == 55 * 54
    ml = fit(counts, ties="drop", engine="ml").estimates  # its ties are independent of the strengths
    assert len(ml) == 55
    z = (ml["strength"] - np.linspace(-1.5, 1.5, 55)) / ml["sd"]  # m00, m01, ... as the generator has them
    assert z.abs().max() < 4
    assert z.std() == pytest.approx(1, abs=0.35)
