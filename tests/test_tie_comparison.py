"""Tie assumptions side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.grouped import load_ties, save_ties
from bayesbt.infer import fit
from bayesbt.infer.tie_rate import tie_rate_check
from bayesbt.tie_comparison import MODELS, TieComparison, compare_ties, comparison_of
from tests.cases import asymmetric_counts, read_counts
from tests.reference import native_of, rao_kupper


def simulated(t: float, *, each: int, fall: bool = True) -> Counts:
    """Ten items in every ordered pair: Rao-Kupper, or (not ``fall``) as many ties at any distance."""
    rng = np.random.default_rng(12)
    strength = np.linspace(-2.5, 2.0, 10)
    a, b = (side.ravel() for side in np.mgrid[0:10, 0:10])
    a, b = a[a != b], b[a != b]
    outcomes = []
    for x_a, x_b in zip(strength[a], strength[b], strict=True):
        p = np.array(rao_kupper(math.exp(x_a), math.exp(x_b), native_of("rao-kupper", t)))
        if not fall:
            win = 1 / (1 + math.exp(x_b - x_a))
            p = np.array([(1 - t) * win, t, (1 - t) * (1 - win)])
        outcomes.append(rng.multinomial(each, p))
    wins_a, ties, wins_b = np.array(outcomes, dtype=float).T
    return Counts(tuple("abcdefghij"), a, b, wins_a, ties, wins_b)


@pytest.fixture(scope="module")
def springall(shared: Callable[..., Path]) -> TieComparison:
    counts = read_counts(shared("reference", "springall.csv"))
    return compare_ties(counts, engine="laplace", seed=1, k=4, against="split-half")


def test_springall_t1_and_t8_change_places(shared: Callable[..., Path]) -> None:
    counts = read_counts(shared("reference", "springall.csv"))
    result = compare_ties(counts, ["rao-kupper", "davidson"], engine="ml")
    row = result.rank_agreement.iloc[0]
    assert (row["first"], row["second"], row["flips"]) == ("rao-kupper", "davidson", 1)
    assert row["flipped"] == [("t1", "t8")]  # the stronger under the first model comes first
    assert row["kendall"] == pytest.approx(1 - 2 / 36)


def test_table() -> None:
    counts = asymmetric_counts()
    table = compare_ties(counts, engine="laplace", order="shared", seed=1).table.set_index("ties")
    assert list(table.index) == ["rao-kupper", "davidson", "split-half", "split", "drop"]
    # 61 decisive judgments and 15 ties: what each likelihood counts.
    assert table["effective_comparisons"].to_dict() == {
        "rao-kupper": 76,
        "davidson": 76,
        "split-half": 76,
        "split": 91,
        "drop": 61,
    }
    assert table["native_name"].tolist() == ["theta", "nu", "", "", ""]
    assert table["tie_parameter"].isna().tolist() == [False, False, True, True, True]
    assert (table["tie_lower"] < table["tie_parameter"])[:2].all()
    assert table["order"].notna().all()


def test_split_has_narrower_intervals_than_split_half_with_many_ties() -> None:
    counts = asymmetric_counts()
    tied = replace(counts, ties=counts.ties * 8)
    result = compare_ties(tied, ["split", "split-half"], engine="ml", against="split-half")
    ratio = result.table.set_index("ties")["width_ratio"]
    assert ratio["split"] < 0.8
    assert ratio["split-half"] == 1
    # Half a win each way, counted twice, is the same likelihood to the power of two only where all are ties.
    strengths = (fitted.estimates["strength"] for fitted in result.fits.values())
    assert np.corrcoef(*strengths)[0, 1] > 0.99


def test_yardsticks(springall: TieComparison) -> None:
    table = springall.table.set_index("ties")
    # 687 decisive judgments, as they were made, under each model. A coin scores log(1/2) on every winner.
    for one in springall.loos.values():
        assert one.scored("decisive")["count"].sum() == 687
    assert (table["elpd_decisive"] > 687 * math.log(0.5)).all()
    # Counting ties as wins each way flattens the winners' probabilities, twice as much when counted twice.
    order = ["split", "split-half", "drop", "rao-kupper"]
    assert table.loc[order, "elpd_decisive"].is_monotonic_increasing
    assert table["elpd_full"].isna().tolist() == [False, False, True, True, True]
    assert table["elpd_full"].dropna().tolist() == pytest.approx([-739.0, -741.1], abs=0.5)
    assert (table["pareto_k_max"] < 0.5).all()
    assert (table["pareto_k_bad"] == 0).all()
    assert table["stacking_weight"].sum() == pytest.approx(1)
    assert table["stacking_weight"].idxmax() == "rao-kupper"
    assert springall.messages == ()


def test_differences_have_smaller_errors_than_the_sums(springall: TieComparison) -> None:
    table = springall.table.set_index("ties")
    for row in springall.rank_agreement.itertuples():
        gap = table.loc[row.first, "elpd_decisive"] - table.loc[row.second, "elpd_decisive"]
        assert row.elpd_decisive_difference == pytest.approx(gap)
        assert 0 < row.elpd_decisive_difference_se < table.loc[row.first, "se"]
        both = {row.first, row.second} == {"rao-kupper", "davidson"}
        assert np.isnan(row.elpd_full_difference) != both
    rows = springall.rank_agreement.set_index(["first", "second"])
    assert rows.loc[("rao-kupper", "davidson"), "elpd_full_difference"] == pytest.approx(2.1, abs=0.5)


def test_top_changes(shared: Callable[..., Path]) -> None:
    counts = read_counts(shared("reference", "springall.csv"))
    ranks = fit(counts, ties="rao-kupper", engine="ml").ranking().set_index("item")["rank"]
    k = int(ranks["t1"])
    assert ranks["t8"] == k + 1
    for top, expected in ((k, (1, ["t1"], ["t8"])), (k + 1, (0, [], [])), (k - 1, (0, [], []))):
        row = compare_ties(counts, ["rao-kupper", "davidson"], engine="ml", k=top).rank_agreement.iloc[0]
        assert (row["top_changes"], row["top_left"], row["top_entered"]) == expected


def test_width_ratio(springall: TieComparison) -> None:
    table = springall.table.set_index("ties")
    assert springall.against == "split-half"
    assert table.loc["split-half", "width_ratio"] == 1
    expected = table["interval_width"] / table.loc["split-half", "interval_width"]
    assert table["width_ratio"].tolist() == expected.tolist()
    assert table.loc["split", "width_ratio"] < 1 < table.loc["drop", "width_ratio"]
    default = comparison_of(springall.fits)
    assert default.against == "rao-kupper"
    assert default.table["width_ratio"].iloc[0] == 1


def test_data_with_many_ties_choose_the_model_that_made_them() -> None:
    """Rao-Kupper data score better as Rao-Kupper than as Davidson; drop cannot be scored on ties."""
    result = compare_ties(
        simulated(0.5, each=40), ["rao-kupper", "davidson", "drop"], engine="laplace", draws=500, seed=2
    )
    rows = result.rank_agreement.set_index(["first", "second"])
    best = rows.loc[("rao-kupper", "davidson")]
    assert best["elpd_full_difference"] > 2 * best["elpd_full_difference_se"] > 0
    assert np.isnan(rows.loc[("rao-kupper", "drop"), "elpd_full_difference"])
    assert not np.isnan(rows.loc[("rao-kupper", "drop"), "elpd_decisive_difference"])
    assert result.table.set_index("ties").loc["rao-kupper", "tie_parameter"] == pytest.approx(0.5, abs=0.03)
    pairs = result.summary()["rank_agreement"]
    assert [row["elpd_full_difference"] is None for row in pairs] == [False, True, True]


def test_tie_rate_against_distance() -> None:
    counts = simulated(0.4, each=10)
    check = tie_rate_check(fit(counts, ties="rao-kupper", engine="laplace", seed=1))
    assert len(check) == 5
    assert check["judgments"].sum() == 900
    assert check["judgments"].between(100, 260).all()
    assert (check["delta_upper"].to_numpy()[:-1] < check["delta_lower"].to_numpy()[1:]).all()
    assert (check["observed"] * check["judgments"]).sum() == pytest.approx(counts.ties.sum())
    assert check["predicted"].is_monotonic_decreasing
    assert check["predicted"].iloc[0] == pytest.approx(0.4, abs=0.05)
    assert (check["lower"] <= check["observed"]).all()
    assert (check["observed"] <= check["upper"]).all()


def test_ties_at_any_distance_are_seen() -> None:
    fitted = fit(simulated(0.3, each=10, fall=False), ties="rao-kupper", engine="laplace", seed=1)
    far = tie_rate_check(fitted).iloc[-1]
    assert far["observed"] == pytest.approx(0.3, abs=0.06)
    assert far["observed"] > far["upper"]


def test_tie_rate_of_runs_that_weigh_less_than_one() -> None:
    counts = simulated(0.4, each=10)
    thirds = replace(
        counts, wins_a=counts.wins_a / 3, ties=counts.ties / 3, wins_b=counts.wins_b / 3
    )  # ten runs of a third each a cell: three judgments and a rest of a third
    check = tie_rate_check(fit(thirds, ties="davidson", engine="laplace", seed=1), bins=3)
    whole = tie_rate_check(fit(counts, ties="davidson", engine="laplace", seed=1), bins=3)
    assert check["judgments"].sum() == pytest.approx(300)
    assert check["predicted"].to_numpy() == pytest.approx(whole["predicted"].to_numpy(), abs=0.06)
    width = [(table["upper"] - table["lower"]).mean() for table in (check, whole)]
    assert width[0] / width[1] == pytest.approx(math.sqrt(3), rel=0.15)


def test_tie_rate_needs_a_probability_of_ties_and_a_posterior() -> None:
    for options in ({"ties": "drop", "engine": "laplace"}, {"engine": "ml"}):
        with pytest.raises(InputError, match="only rao-kupper and davidson predict a tie rate"):
            tie_rate_check(fit(asymmetric_counts(), **options))


def test_json_is_the_contracts(springall: TieComparison) -> None:
    document = springall.summary()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == ["models", "rank_agreement", "tie_rate_check"]
    named = {"ties", "elpd_decisive", "se", "elpd_full", "pareto_k_max", "tie_parameter", "interval_width"}
    assert [row["ties"] for row in document["models"]] == list(MODELS)
    for row in document["models"]:
        assert named <= set(row)
        assert (row["elpd_full"] is None) == (row["ties"] not in ("rao-kupper", "davidson"))
    assert len(document["rank_agreement"]) == 10
    for row in document["rank_agreement"]:
        assert {"first", "second", "kendall", "flips"} <= set(row)
        assert row["n_flips"] == len(row["flips"])
    first = document["rank_agreement"][0]
    assert (first["first"], first["second"], first["flips"]) == ("rao-kupper", "davidson", [["t1", "t8"]])
    assert [row["ties"] for row in document["tie_rate_check"]] == ["rao-kupper"] * 5 + ["davidson"] * 5
    assert {"delta_lower", "delta_upper", "observed", "predicted", "lower", "upper"} <= set(
        document["tie_rate_check"][0]
    )


def test_maximum_likelihood_has_no_predictive_accuracy_and_says_so() -> None:
    result = compare_ties(asymmetric_counts(), ["rao-kupper", "split"], engine="ml")
    document = result.summary()
    json.dumps(document, allow_nan=False)
    assert document["tie_rate_check"] == []
    assert all(row["elpd_decisive"] is row["stacking_weight"] is None for row in document["models"])
    assert result.loos == {}
    assert result.messages == (
        "No predictive accuracy for rao-kupper, split: the engine gives no posterior. "
        "Use numpyro, pymc or laplace.",
    )


def test_fits_read_from_folders_compare_alike(tmp_path: Path) -> None:
    made = compare_ties(asymmetric_counts(), engine="laplace", order="shared", draws=300, seed=1)
    again = load_ties(save_ties(made, tmp_path / "ties"))
    assert again.summary() == made.summary()


def test_items_left_out_are_said_to_be_beyond_importance_sampling_until_refitted() -> None:
    models = ["davidson", "split"]
    counts = simulated(0.4, each=2)
    result, refitted = (
        compare_ties(counts, models, engine="laplace", draws=300, unit="item", refit=asked, seed=1)
        for asked in (False, True)
    )
    assert (result.table["pareto_k_bad"] > 0).all()
    assert all("of the items left out" in message for message in result.messages)
    assert len(result.messages) == 2
    assert (refitted.table["pareto_k_bad"] == 0).all()
    assert refitted.messages == ()


def test_fits_of_different_judgments_do_not_compare() -> None:
    counts = asymmetric_counts()
    other = replace(counts, ties=counts.ties + 1)
    one, two = (fit(made, ties=name, engine="ml") for made, name in ((counts, "drop"), (other, "split")))
    with pytest.raises(InputError, match="'drop' and 'split' are of different judgments"):
        comparison_of({"drop": one, "split": two})
    # The order of the cells does not matter.
    turned = {name: getattr(counts, name)[::-1] for name in ("a", "b", "wins_a", "ties", "wins_b")}
    comparison_of({"drop": one, "split": fit(replace(counts, **turned), ties="split", engine="ml")})


def test_models_must_be_known_and_named_once() -> None:
    with pytest.raises(InputError, match="rao-kupper, davidson, split, split-half, drop"):
        compare_ties(asymmetric_counts(), ["bradley"])
    with pytest.raises(InputError, match="name each once"):
        compare_ties(asymmetric_counts(), ["drop", "drop"])
    with pytest.raises(InputError, match="--against 'split' is not among the models compared: drop"):
        compare_ties(asymmetric_counts(), ["drop"], against="split")
    with pytest.raises(InputError, match="--top 0: must be 1 or more"):
        compare_ties(asymmetric_counts(), ["drop"], k=0)
