"""The fit: JSON of the contract, folder round trip, reference item, what poor data are told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesbt.errors import EmptyInputError, InputError, SeparationError
from bayesbt.infer import ENGINES, fit, load_fit
from bayesbt.infer.container import group
from bayesbt.infer.diagnostics import diagnose
from bayesbt.infer.groups import parameters_of_draw
from bayesbt.infer.model import Cells, linear_predictor
from bayesbt.infer.results import Draws, EngineResult
from bayesbt.infer.samples import Samples, results_of
from bayesbt.spec import ModelSpec, Priors
from bayesbt.tables import Items, Judgments
from tests import agreement
from tests.cases import asymmetric_counts, counts_of

CHAIN = counts_of(
    {("a", "b"): (6, 2, 1), ("b", "c"): (5, 1, 2), ("a", "c"): (4, 2, 1), ("y", "z"): (2, 1, 3)}
)


def test_json_is_the_contracts() -> None:
    summary = fit(asymmetric_counts(), ties="davidson", order="shared", engine="laplace", seed=4).summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["model"] == {
        "ties": "davidson",
        "order": "shared",
        "judges": "ignore",
        "engine": "laplace",
        "priors": {"strength_sd": "HalfNormal(1)", "tie": "Beta(1, 1)", "order": "Normal(0, 0.5)"},
    }
    assert summary["data"] == {"judgments": 76, "ties": 15, "unscored": 0, "items": 4, "components": 1}
    assert set(summary["parameters"]) == {"tie", "order", "strength_sd"}
    assert set(summary["parameters"]["tie"]) == {"mean", "sd", "lower", "upper", "native"}
    assert summary["parameters"]["tie"]["native"]["name"] == "nu"
    names = "item component strength sd lower upper rank rank_lower rank_upper p_best comparisons contraction"
    assert [list(item) for item in summary["items"]] == [names.split()] * 4
    assert [item["rank"] for item in summary["items"]] == [1, 2, 3, 4]
    assert sum(item["p_best"] for item in summary["items"]) == pytest.approx(1)
    assert summary["items"][0]["item"] == "w"
    assert set(summary["diagnostics"]) >= {
        "ok",
        "rhat_max",
        "ess_bulk_min",
        "ess_tail_min",
        "divergences",
        "messages",
    }


@pytest.mark.parametrize("engine", list(ENGINES))
def test_folder_round_trip(tmp_path: Path, engine: str) -> None:
    fitted = fit(CHAIN, engine=engine, draws=100, tune=100, seed=2)
    folder = fitted.save(tmp_path / "fit")
    assert {path.name for path in folder.iterdir()} == {
        "spec.toml",
        "counts.parquet",
        "posterior.nc",
        "ranking.csv",
        "fit.json",
        "provenance.json",
    }
    again = load_fit(folder)
    assert again.summary() == fitted.summary() == json.loads((folder / "fit.json").read_text())
    pd.testing.assert_frame_equal(again.ranking(), fitted.ranking())
    stored = pd.read_csv(folder / "ranking.csv")
    assert stored["strength"].to_numpy() == pytest.approx(fitted.ranking()["strength"].to_numpy())
    if fitted.strength_draws is not None:
        assert np.array_equal(again.strength_draws, fitted.strength_draws)


def test_groups_of_the_posterior_file() -> None:
    fitted = fit(CHAIN, engine="numpyro", draws=150, tune=150, chains=2, seed=2)
    posterior, likelihood = group(fitted.idata, "posterior"), group(fitted.idata, "log_likelihood")
    assert posterior["strength"].dims == ("chain", "draw", "item")
    assert posterior["strength"].shape == (2, 150, 5)
    for name in ("sample_stats", "prior", "posterior_predictive", "observed_data"):
        assert group(fitted.idata, name) is not None
    # The pointwise log-likelihood, times its multiplicity, is the log-likelihood of a draw.
    x, t = posterior["strength"][1, 7].to_numpy(), float(posterior["tie"][1, 7])
    from tests.reference import log_likelihood

    cells = [tuple(row) for row in zip(CHAIN.a, CHAIN.b, CHAIN.wins_a, CHAIN.ties, CHAIN.wins_b, strict=True)]
    total = float((likelihood["judgment"][1, 7] * likelihood["count"]).sum())
    assert total == pytest.approx(log_likelihood("rao-kupper", cells, x, 0.0, t), rel=1e-5)
    replicated = group(fitted.idata, "posterior_predictive")
    sums = sum(replicated[name] for name in ("wins_a", "ties", "wins_b"))
    assert (sums == CHAIN.wins_a + CHAIN.ties + CHAIN.wins_b).all()


def test_same_seed_same_numbers() -> None:
    one, two, other = (
        fit(CHAIN, engine="numpyro", draws=50, tune=50, seed=s).strength_draws for s in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("engine", ["ml", "laplace", "numpyro"])
def test_strengths_are_centred_within_each_component(engine: str) -> None:
    fitted = fit(CHAIN, engine=engine, draws=100, tune=100)
    strength = fitted.estimates["strength"].to_numpy()
    assert fitted.component.tolist() == [0, 0, 0, 1, 1]
    assert [strength[:3].sum(), strength[3:].sum()] == pytest.approx([0, 0], abs=1e-9)
    ranking = fitted.ranking()
    assert ranking["rank"].tolist() == [1, 2, 3, 1, 2]
    assert ranking.groupby("component")["p_best"].sum().tolist() == pytest.approx([1, 1])
    assert any("2 components" in message for message in fitted.diagnostics.messages)


def test_engines_agree_on_informative_data() -> None:
    big = replace(CHAIN, wins_a=CHAIN.wins_a * 40, ties=CHAIN.ties * 40, wins_b=CHAIN.wins_b * 40)
    flat = {"strength_sd": 5}
    ml = fit(big, engine="ml", ties="rao-kupper")
    for engine in ("map", "laplace", "numpyro"):
        other = fit(big, engine=engine, ties="rao-kupper", priors=flat, seed=1)
        for column in ("strength", "sd", "lower", "upper"):
            assert other.estimates[column].to_numpy() == pytest.approx(
                ml.estimates[column].to_numpy(), abs=0.02
            )
        for key in ("mean", "sd", "lower", "upper"):
            assert other.parameters()["tie"][key] == pytest.approx(ml.parameters()["tie"][key], abs=0.005)


def test_laplace_integrates_over_the_strengths_sd() -> None:
    sampled = fit(asymmetric_counts(), engine="numpyro", order="shared", draws=3000, seed=5)
    approximate = fit(asymmetric_counts(), engine="laplace", order="shared", draws=3000, seed=5)
    for name, tolerance in (("strength_sd", 0.05), ("order", 0.02), ("tie", 0.01)):
        one, other = sampled.parameters()[name], approximate.parameters()[name]
        assert other["mean"] == pytest.approx(one["mean"], abs=tolerance)
        assert other["sd"] == pytest.approx(one["sd"], abs=tolerance)
    assert approximate.estimates["sd"].to_numpy() == pytest.approx(
        sampled.estimates["sd"].to_numpy(), abs=0.03
    )


def test_reference_item_is_zero_with_no_error() -> None:
    for engine in ("ml", "numpyro"):
        fitted = fit(CHAIN, engine=engine, reference="b", draws=200, tune=200)
        row = fitted.ranking().set_index("item").loc["b"]
        assert (row["strength"], row["sd"]) == pytest.approx((0, 0), abs=1e-9)
    centred = fit(CHAIN, engine="ml").estimates["strength"]
    moved = fit(CHAIN, engine="ml", reference="b").estimates["strength"]
    assert moved[0] == pytest.approx(centred[0] - centred[1])
    assert moved[4] == pytest.approx(centred[4])  # another component keeps its own centre
    with pytest.raises(InputError, match="--reference 'q'"):
        fit(CHAIN, engine="ml", reference="q")


def test_errors_name_what_is_allowed() -> None:
    with pytest.raises(InputError, match="Allowed: auto, ml, map, laplace"):
        fit(CHAIN, engine="stan")
    with pytest.raises(InputError, match="no option named drwas"):
        fit(CHAIN, drwas=10)
    with pytest.raises(InputError, match="--interval 95"):
        fit(CHAIN, interval=95)
    with pytest.raises(InputError, match="gienapp is Rao-Kupper"):
        fit(CHAIN, engine="gienapp", ties="split")
    with pytest.raises(InputError, match="ilsr is plain Bradley-Terry"):
        fit(CHAIN, engine="ilsr", ties="davidson")
    with pytest.raises(InputError, match="--order 'home'"):
        fit(CHAIN, order="home")


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    fitted = fit(CHAIN, engine="ml")
    fitted.save(tmp_path / "fit")
    with pytest.raises(InputError, match="--force"):
        fitted.save(tmp_path / "fit")
    fitted.save(tmp_path / "fit", force=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("keep me")
    with pytest.raises(InputError, match="not a fit folder"):
        fitted.save(tmp_path / "mine", force=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "keep me"
    assert {path.name for path in tmp_path.iterdir()} == {"fit", "mine"}
    for place in ("mine/thesis.txt", "mine/thesis.txt/sub"):
        with pytest.raises(InputError, match=r"thesis\.txt.*[Gg]ive"):
            fitted.save(tmp_path / place, force=True)
    with pytest.raises(InputError, match=r"missing spec.toml.*fit.json"):
        load_fit(tmp_path / "mine")


def test_ml_names_the_item_without_a_finite_strength() -> None:
    never = counts_of({("a", "b"): (3, 0, 2), ("b", "c"): (4, 0, 0), ("a", "c"): (2, 0, 0)})
    with pytest.raises(SeparationError, match=r"c never won.*--engine numpyro"):
        fit(never, ties="drop", engine="ml")


def test_ml_sees_when_the_order_effect_is_not_finite() -> None:
    first_wins = counts_of(dict.fromkeys([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")], (2, 0, 0)))
    assert fit(first_wins, ties="drop", engine="ml").estimates["strength"].to_numpy() == pytest.approx(
        np.zeros(3)
    )
    with pytest.raises(SeparationError, match=r"order effect has no finite estimate.*shown first won"):
        fit(first_wins, ties="drop", engine="ml", order="shared")
    one_order = counts_of({("a", "b"): (3, 0, 2), ("b", "c"): (2, 0, 4)})
    with pytest.raises(SeparationError, match="cannot be told from the strengths"):
        fit(one_order, ties="drop", engine="ml", order="shared")


def test_ml_sees_that_a_tie_parameter_needs_ties_and_wins() -> None:
    no_ties = counts_of({("a", "b"): (3, 0, 2)})
    with pytest.raises(SeparationError, match="There is no tie"):
        fit(no_ties, ties="davidson", engine="ml")
    only_ties = counts_of({("a", "b"): (0, 5, 0)})
    with pytest.raises(SeparationError, match="Every judgment is a tie"):
        fit(only_ties, ties="rao-kupper", engine="ml")


def test_poor_chains_are_said_first() -> None:
    rng = np.random.default_rng(0)
    apart = rng.normal(size=(4, 200, 2)) + np.array([0, 0, 0, 5])[:, None, None]
    stats = {"diverging": np.zeros((4, 200), dtype=bool), "energy": rng.normal(size=(4, 200))}
    stats["diverging"][2, 5:8] = True
    found = diagnose(EngineResult(True, Draws(apart, {}, stats)), "numpyro", ["3 rows dropped"])
    assert not found.ok
    assert found.rhat_max > 1.5
    assert found.divergences == 3
    assert "R-hat" in found.messages[0]
    assert "divergent" in " ".join(found.messages)
    assert found.messages[-1] == "3 rows dropped"


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
def test_equal_wins_and_ties_give_a_difference_of_zero(ties: str) -> None:
    even = counts_of({("A", "B"): (20, 20, 20)})
    assert fit(even, ties=ties, engine="ml").estimates["strength"].to_numpy() == pytest.approx(
        [0, 0], abs=1e-12
    )
    assert fit(even, ties=ties, engine="ml").parameters()["tie"]["mean"] == pytest.approx(1 / 3)
    draws = fit(even, ties=ties, engine="numpyro", draws=2000, seed=8).strength_draws
    delta = draws[:, 0] - draws[:, 1]
    assert delta.mean() == pytest.approx(0, abs=4 * delta.std() / np.sqrt(2000))
    assert (delta > 0).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("tie", ["Beta(2, 5)", 0.3])
def test_judges_effects_stand_around_the_common_value(tie: object) -> None:
    spec = ModelSpec(
        "davidson", "by-judge", "adherence", "by-judge", (), Priors().updated({"tie": tie, "order": 0.4})
    )
    counts = agreement.data(1)
    rng = np.random.default_rng(0)
    values = {
        "strength": rng.normal(size=(2, 3, 1, 5)),
        "strength_sd": np.ones((2, 3, 1)),
        "order_by_judge": rng.normal(size=(2, 3, 3)),
        "tie_by_judge": rng.normal(size=(2, 3, 3)),
        "adherence": np.exp(rng.normal(size=(2, 3, 3))),
    }
    if isinstance(tie, str):
        values["tie"] = rng.uniform(0.1, 0.9, (2, 3, 1))
    draws = results_of(Samples(values, {}), counts, spec)[0].draws
    t = values["tie"][1, 2, 0] if "tie" in values else 0.3
    shifted = np.log(t / (1 - t)) + values["tie_by_judge"][1, 2]
    assert draws.vectors["order_by_judge"][1, 2] == pytest.approx(0.4 + values["order_by_judge"][1, 2])
    assert draws.vectors["tie_by_judge"][1, 2] == pytest.approx(1 / (1 + np.exp(-shifted)))
    cells = Cells.of(counts, spec.tie_model)
    delta, tie_logit = linear_predictor(np, spec, parameters_of_draw(spec, draws, 1, 2), cells)
    strength, j = draws.strength[1, 2], cells.judge
    alpha = values["adherence"][1, 2] / np.exp(np.log(values["adherence"][1, 2]).mean())
    expected = alpha[j] * (strength[cells.a] - strength[cells.b]) + draws.vectors["order_by_judge"][1, 2][j]
    assert delta == pytest.approx(expected)
    assert tie_logit == pytest.approx(shifted[j])


def test_chains_that_never_moved_are_not_trusted() -> None:
    stuck = Draws(
        np.zeros((2, 10, 3)),
        {"tie": np.full((2, 10), 0.3)},
        {"diverging": np.zeros((2, 10), dtype=bool), "energy": np.ones((2, 10))},
    )
    found = diagnose(EngineResult(True, stuck), "numpyro", [])
    assert not found.ok
    assert found.ess_bulk_min == 0
    assert "R-hat inf" in found.messages[0]


def test_a_hopelessly_short_run_says_so(tmp_path: Path) -> None:
    fitted = fit(CHAIN, engine="numpyro", draws=10, tune=1, chains=2)
    assert not fitted.diagnostics.ok
    assert "raise --tune" in fitted.diagnostics.messages[0]
    assert json.loads((fitted.save(tmp_path / "fit") / "fit.json").read_text())["diagnostics"]["ok"] is False


def test_ml_sees_ties_and_wins_that_grow_apart() -> None:
    wins_or_ties = counts_of({("a", "b"): (5, 5, 0)})
    chain = counts_of({("a", "b"): (3, 3, 0), ("b", "c"): (3, 3, 0), ("a", "c"): (3, 0, 0)})
    for ties in ("rao-kupper", "davidson"):
        for counts in (wins_or_ties, chain):
            with pytest.raises(
                SeparationError, match=r"tie parameter and the strengths of a, b.* grow together"
            ):
                fit(counts, ties=ties, engine="ml")
        assert any("grow together" in m for m in fit(chain, ties=ties, engine="laplace").diagnostics.messages)
    circle = counts_of({("a", "b"): (3, 1, 0), ("b", "c"): (3, 0, 0), ("c", "a"): (1, 2, 0)})
    assert fit(circle, ties="rao-kupper", engine="ml").result.loglik < 0
    ordered = counts_of(
        {
            ("a", "b"): (4, 0, 0),
            ("b", "a"): (0, 4, 0),
            ("b", "c"): (0, 4, 0),
            ("c", "b"): (4, 0, 0),
            ("a", "c"): (4, 0, 0),
            ("c", "a"): (0, 4, 0),
        }
    )
    with pytest.raises(SeparationError, match="grow together"):
        fit(ordered, ties="davidson", engine="ml", order="shared")


def test_drop_links_nothing_by_ties() -> None:
    pairs = {("a", "b"): (6, 0, 3), ("c", "d"): (5, 0, 4), ("b", "c"): (0, 3, 0)}
    for engine in ("ml", "laplace"):
        fitted = fit(counts_of(pairs), ties="drop", engine=engine)
        assert fitted.component.tolist() == [0, 0, 1, 1]
        assert fitted.ranking()["comparisons"].tolist() == [9, 9, 9, 9]
        assert fitted.summary()["data"]["ties"] == 3
        assert any("3 ties are left out" in message for message in fitted.diagnostics.messages)
    assert fit(counts_of(pairs), ties="drop", engine="ml").estimates["strength"][0] == pytest.approx(
        np.log(2) / 2
    )
    assert fit(counts_of(pairs), ties="split", engine="ml").counts.n_components == 1
    with pytest.raises(EmptyInputError, match="every judgment is a tie"):
        fit(counts_of({("a", "b"): (0, 4, 0)}), ties="drop", engine="laplace")


def test_an_item_never_compared_has_its_prior_not_a_zero_width() -> None:
    items = Items.from_frame(pd.DataFrame({"item": ["x", "y", "never"]}))
    table = Judgments.from_frame(pd.DataFrame({"item_a": ["x"], "item_b": ["y"], "outcome": ["a"]}))
    row = fit(table, items=items, engine="laplace", ties="drop", priors={"strength_sd": 2}).ranking()
    never = row.set_index("item").loc["never"]
    assert (never["strength"], never["sd"]) == (0, 2)
    assert (never["lower"], never["upper"]) == pytest.approx((-3.92, 3.92), abs=0.01)
    assert np.isnan(never["rank"])


def test_equal_evidence_gives_exactly_equal_laplace_means() -> None:
    even = counts_of({("A", "B"): (0, 1, 0), ("B", "C"): (4, 1, 4), ("A", "C"): (4, 1, 4)})
    ranking = fit(even, engine="laplace", seed=3).ranking()
    assert ranking["rank"].tolist() == [1, 1, 1]
