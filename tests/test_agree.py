"""Judges against people, end to end: planted judges, null judges, units, JSON, files, the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesbt.agreement.agree import agree
from bayesbt.agreement.nulls import null_judges, relabelled
from bayesbt.agreement.parting import logistic, verbosity_bias
from bayesbt.agreement.presentation import save_agreement, tables_of
from bayesbt.agreement.published import read_published
from bayesbt.agreement.result import Agreement
from bayesbt.agreement.scores import score_metrics, within_topic_metrics
from bayesbt.errors import InputError
from bayesbt.formats import read_judgments
from bayesbt.infer import fit
from bayesbt.tables import Items, Judgments

ITEMS = [f"{topic}{number:02d}" for topic in "pqr" for number in range(9)]
STRENGTH = dict(zip(ITEMS, np.random.default_rng(1).normal(0, 1.3, len(ITEMS)), strict=True))
WORDS = {item: 20 + 7 * (number * 11 % 13) for number, item in enumerate(ITEMS)}


def table(
    judge: str, noise: float, seed: int, *, length: float = 0.0, dimension: str = "logic"
) -> pd.DataFrame:
    """Two judgments of every pair of a topic, one an order; people's strengths seen through noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for a in ITEMS:
        for b in ITEMS:
            if a != b and a[0] == b[0]:
                delta = STRENGTH[a] - STRENGTH[b] + length * np.log(WORDS[a] / WORDS[b])
                drawn = delta / noise + rng.logistic()
                outcome = "tie" if abs(drawn) < 0.4 else "a" if drawn > 0 else "b"
                rows.append((a, b, outcome, dimension, f"topic {a[0]}", judge))
    return pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "dimension", "topic", "judge"])


def judgments(*frames: pd.DataFrame) -> Judgments:
    return Judgments.from_frame(pd.concat(frames, ignore_index=True))


TEXTS = Items.from_frame(
    pd.DataFrame({"item": ITEMS, "text": [" ".join(["word"] * WORDS[item]) for item in ITEMS]})
)


def both_dimensions(judge: str, noise: float, seed: int) -> list[pd.DataFrame]:
    return [
        table(judge, noise, seed + number, dimension=name) for number, name in enumerate(["logic", "style"])
    ]


HUMAN = judgments(*both_dimensions("people", 0.7, 10))
JUDGES = judgments(*both_dimensions("good", 0.8, 20), *both_dimensions("poor", 5.0, 30))


@pytest.fixture(scope="module")
def found() -> Agreement:
    return agree(JUDGES, HUMAN, bootstrap=400, null_seeds=6, items=TEXTS, seed=3, ceiling=False)


def test_scores_are_those_of_two_fits_compared(found: Agreement) -> None:
    good = judgments(table("good", 0.8, 20))
    fits = [fit(each, engine="map", dimension="logic") for each in (good, HUMAN)]
    x, y = (one.result.strength for one in fits)
    topics = [item[0] for item in fits[0].items]
    for name, value in score_metrics(x, y).items():
        assert found.value("good", "logic", name)["estimate"] == pytest.approx(float(value), abs=1e-6)
    for name, value in within_topic_metrics(x, y, topics).items():
        row = found.value("good", "logic", name, "within_topic")
        assert row["estimate"] == pytest.approx(float(value), abs=1e-6)


def test_labels_are_those_of_the_same_pairs(found: Agreement) -> None:
    mine, theirs = (frame["outcome"].to_numpy() for frame in (table("x", 0.8, 20), table("y", 0.7, 10)))
    # The judge saw every pair in both orders; each of its labels meets each of people's.
    mirror = {"a": "b", "b": "a", "tie": "tie"}
    pairs = [(r.item_a, r.item_b) for r in table("x", 0.8, 20).itertuples()]
    place = {pair: number for number, pair in enumerate(pairs)}
    met = [
        answer == theirs[number]
        for number, (a, b) in enumerate(pairs)
        for answer in (mine[number], mirror[mine[place[b, a]]])
    ]
    assert found.value("good", "logic", "agreement")["estimate"] == pytest.approx(np.mean(met))
    sizes = found.sizes[(found.sizes["name"] == "good") & (found.sizes["dimension"] == "logic")].iloc[0]
    assert (sizes["n_items"], sizes["n_pairs"], sizes["missing"]) == (27, len(met), 0)


def test_every_estimate_has_an_interval_around_its_kind_of_value(found: Agreement) -> None:
    judged = found.metrics[~found.metrics["null"]]
    assert judged[["estimate", "lower", "upper"]].notna().all().all()
    assert (judged["lower"] <= judged["upper"]).all()
    inside = (judged["lower"] <= judged["estimate"]) & (judged["estimate"] <= judged["upper"])
    assert inside.mean() > 0.95


def test_mean_and_sd_over_dimensions(found: Agreement) -> None:
    values = [found.value("poor", dimension, "kendall")["estimate"] for dimension in ("logic", "style")]
    row = found.value("poor", "mean", "kendall")
    assert row["estimate"] == pytest.approx(np.mean(values))
    assert row["sd"] == pytest.approx(np.std(values, ddof=1))


def test_the_better_judge_is_found_and_tested(found: Agreement) -> None:
    assert found.best == "good"
    tests = found.tests
    assert set(tests["better"]) == {"good"}
    assert set(tests["dimension"]) == {"logic", "style"}
    assert tests.groupby(["kind", "metric"]).size().unique().tolist() == [2]
    assert (tests["p_holm"] >= tests["p"]).all()
    assert (tests.loc[tests["metric"] == "kappa", "p_holm"] == 2 / 401).all()
    assert (tests["lower"] <= tests["difference"]).all()
    assert (tests["difference"] > 0).all()


def test_null_judges_stand_in_every_table(found: Agreement) -> None:
    nulls = set(found.metrics.loc[found.metrics["null"], "name"])
    assert {"always a", "random, uniform", "random at human rates", "longer text wins"} <= nulls
    for name in nulls - {"longer text wins"}:
        assert abs(found.value(name, "logic", "kappa")["estimate"]) < 0.1
    assert found.value("always a", "logic", "kappa")["estimate"] == pytest.approx(0, abs=1e-12)
    uniform = found.value("random, uniform", "logic", "agreement")
    assert uniform["lower"] < 1 / 3 < uniform["upper"]
    for each in tables_of(found)[:3]:
        assert {row.judge for row in each.rows if row.block == "nulls"} == nulls


def test_a_judge_that_reads_nothing_is_called_so() -> None:
    rng = np.random.default_rng(4)
    blind = table("blind", 1.0, 5).assign(outcome=lambda frame: rng.choice(["a", "tie", "b"], len(frame)))
    human = HUMAN.select(dimension="logic")
    result = agree(judgments(blind, table("good", 0.8, 6)), human, bootstrap=50, ceiling=False)
    words = [line for line in result.verdicts if line.startswith("blind")]
    assert len(words) == 1
    assert "inside the range of the null judges: kappa" in words[0]
    assert not [line for line in result.verdicts if line.startswith("good")]


def test_the_best_in_the_place_of_people(found: Agreement) -> None:
    assert set(found.cross["name"]) == {"poor"}
    x, y = (
        fit(judgments(*both_dimensions(*args)), engine="map", dimension="logic").result.strength
        for args in (("poor", 5.0, 30), ("good", 0.8, 20))
    )
    row = found.cross[(found.cross["dimension"] == "logic") & (found.cross["kind"] == "scores")]
    got = row.set_index("metric").loc["pearson", "estimate"]
    assert got == pytest.approx(float(score_metrics(x, y)["pearson"]), abs=1e-6)


def test_json_is_that_of_the_contract(found: Agreement) -> None:
    document = json.loads(json.dumps(found.summary(), allow_nan=False))
    logic = document["dimensions"]["logic"]
    assert logic["labels"]["kappa"].keys() == {"estimate", "lower", "upper"}
    assert logic["scores"].keys() == {"pearson", "spearman", "kendall", "mae", "rmse"}
    assert logic["within_topic"].keys() == logic["scores"].keys()
    assert (logic["n_items"], logic["n_pairs"]) == (27, 432)
    assert document["mean"]["scores"]["mae"]["estimate"] == found.value("good", "mean", "mae")["estimate"]
    assert document["sd"]["labels"]["alpha"] == found.value("good", "mean", "alpha")["sd"]
    assert document["configurations"]["good"]["dimensions"]["logic"] == logic
    assert "always a" in document["baselines"]
    wanted = {"metric", "better", "worse", "difference", "lower", "upper", "p", "p_holm", "bca_lower"}
    assert document["tests"][0].keys() >= wanted
    assert document["cross"]["reference"] == "good"
    assert document["settings"]["bootstrap"] == 400
    assert sum(logic["confusion"]["a"].values()) > 0


def test_the_same_seed_gives_the_same_numbers() -> None:
    human = HUMAN.select(dimension="logic")
    one, again, other = (
        agree(JUDGES, human, bootstrap=60, null_seeds=3, seed=seed, ceiling=False).summary()
        for seed in (5, 5, 6)
    )
    assert one == again
    assert one["tests"] != other["tests"]


@pytest.mark.parametrize("unit", ["judgments", "topics"])
def test_other_units(unit: str) -> None:
    human = HUMAN.select(dimension="logic")
    result = agree(JUDGES, human, unit=unit, bootstrap=80, null_seeds=2, ceiling=False)  # type: ignore[arg-type]
    row = result.tests[(result.tests["metric"] == "kendall") & (result.tests["kind"] == "scores")].iloc[0]
    assert row["better"] == "good"
    assert row["p"] < 0.1
    assert row["lower"] < row["difference"] + 0.1
    assert row["n_failed"] == 0
    if unit == "topics":
        assert any("3 topics" in message for message in result.messages)


@pytest.mark.parametrize("unit", ["items", "judgments"])
def test_a_league_draws_its_questions_not_its_few_pairs(unit: str) -> None:
    """Four models on 300 questions: 6 pairs of items, but 300 independent labels."""
    rng = np.random.default_rng(11)
    strength = {"m1": 0.9, "m2": 0.2, "m3": -0.3, "m4": -0.8}
    rows = []
    for question in range(300):
        a, b = rng.permutation(list(strength))[:2]
        delta = strength[a] - strength[b]
        for judge, noise in (("people", 0.8), ("judge", 1.2)):
            drawn = delta / noise + rng.logistic()
            rows.append((a, b, "a" if drawn > 0 else "b", f"q{question}", judge))
    frame = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "topic", "judge"])
    people, judge = (Judgments.from_frame(frame[frame["judge"] == name]) for name in ("people", "judge"))
    result = agree(judge, people, unit=unit, bootstrap=500, null_seeds=1, ceiling=False)  # type: ignore[arg-type]
    row = result.value("judge", "overall", "agreement")
    share = row["estimate"]
    expected = 2 * 1.96 * np.sqrt(share * (1 - share) / 300)
    assert row["upper"] - row["lower"] == pytest.approx(expected, rel=0.2)
    assert result.sizes["n_pairs"].max() == 300
    whole = fit(judge, engine="map").result.strength
    human = fit(people, engine="map").result.strength
    expected_r = float(score_metrics(whole, human)["pearson"])
    assert result.value("judge", "overall", "pearson")["estimate"] == pytest.approx(expected_r, abs=1e-6)
    if unit == "items":
        assert any(message.startswith("4 items") for message in result.messages)


def test_topics_need_topics() -> None:
    frame = table("good", 0.8, 20)
    frame = frame[frame["topic"] == "topic p"].drop(columns="topic")
    with pytest.raises(InputError, match="fewer than two"):
        agree(judgments(frame), judgments(frame), unit="topics", bootstrap=10, ceiling=False)


def test_a_configuration_named_beforehand() -> None:
    human = HUMAN.select(dimension="logic")
    result = agree(JUDGES, human, best="poor", bootstrap=200, null_seeds=2, ceiling=False)
    assert result.best == "poor"
    assert (result.tests["difference"] < 0).all()
    assert (result.tests.loc[result.tests["metric"] == "kappa", "p"] == 1).all()
    with pytest.raises(InputError, match=r"--best 'none' is not a configuration\. Allowed: good, poor"):
        agree(JUDGES, human, best="none")


def test_fits_and_published_scores_in_the_place_of_judgments() -> None:
    human = HUMAN.select(dimension="logic")
    people, judge = fit(human, engine="map"), fit(judgments(table("good", 0.8, 20)), engine="map")
    scores = Items.from_frame(
        pd.DataFrame(
            {
                "item": people.items,
                "score_logic": people.result.strength,
                "topic": [i[0] for i in people.items],
            }
        )
    )
    whole = agree(judgments(table("good", 0.8, 20)), human, bootstrap=20, ceiling=False)
    expected = whole.value("good", "logic", "kendall")["estimate"]
    by_fits = agree(judge, people, bootstrap=20)
    assert by_fits.value("fit", "logic", "kendall")["estimate"] == pytest.approx(expected)
    by_scores = agree(judgments(table("good", 0.8, 20)), scores, bootstrap=20)
    assert by_scores.value("good", "logic", "kendall")["estimate"] == pytest.approx(expected)
    assert np.isnan(by_scores.value("good", "logic", "kappa")["estimate"])
    assert np.isnan(by_fits.value("fit", "logic", "kappa")["estimate"])


def test_prompts_are_configurations_and_runs_vote() -> None:
    runs = [table("good", 0.8, 40 + run).assign(prompt="zero", run=run) for run in range(3)] + [
        table("good", 0.8, 50).assign(prompt="few", run=0)
    ]
    frame = pd.concat(runs, ignore_index=True)
    result = agree(Judgments.from_frame(frame), HUMAN.select(dimension="logic"), bootstrap=20, ceiling=False)
    assert sorted(result.configurations) == ["good, few", "good, zero"]
    assert (result.sizes["n_pairs"] == 432).all()
    votes = [
        frame.loc[frame["run"].eq(run) & frame["prompt"].eq("zero"), "outcome"].to_numpy() for run in range(3)
    ]
    majority = [
        "tie" if len(set(v)) == 3 else max(set(v), key=v.count) for v in map(list, zip(*votes, strict=True))
    ]
    confusion = result.confusion["good, zero", "logic"]
    assert confusion["tie"].sum() == 2 * majority.count("tie")


def test_several_people_vote_on_a_label() -> None:
    people = judgments(*(table(f"p{number}", 0.7, 60 + number) for number in range(3)))
    result = agree(judgments(table("good", 0.8, 20)), people, bootstrap=20, ceiling=False)
    assert any("3 humans" in message for message in result.messages)
    assert result.sizes["n_pairs"].max() == 432


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["kapa"]}, "--metrics kapa: not known. Allowed: agreement, kappa"),
        ({"unit": "pairs"}, "--unit 'pairs' is not known"),
        ({"label_identity": "side"}, "--label-identity 'side'"),
        ({"interval": 1.0}, "--interval 1: must be between"),
        ({"argument_number": "number"}, "a column of --items, and there are none"),
        ({"engine": "elo"}, "--engine 'elo' is not known"),
    ],
)
def test_wrong_options_are_explained(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        agree(JUDGES, HUMAN, bootstrap=5, ceiling=False, **options)  # type: ignore[arg-type]


def test_unlike_names_are_explained() -> None:
    other = table("good", 0.8, 20).replace({item: f"x{item}" for item in ITEMS})
    with pytest.raises(InputError, match="good, logic: 0 items in common with the humans"):
        agree(judgments(other), HUMAN.select(dimension="logic"), bootstrap=5, ceiling=False)
    with pytest.raises(InputError, match="share no dimension: style against logic"):
        agree(judgments(table("g", 1, 1, dimension="style")), HUMAN.select(dimension="logic"), ceiling=False)
    with pytest.raises(InputError, match="several tables hold a judge and prompt 'good'"):
        agree([judgments(table("good", 1, 1))] * 2, HUMAN.select(dimension="logic"), ceiling=False)
    with pytest.raises(InputError, match="called like a null judge: always a"):
        agree(judgments(table("always a", 1, 1)), HUMAN.select(dimension="logic"), ceiling=False)


def test_few_resamples_and_many_tests_are_said() -> None:
    result = agree(JUDGES, HUMAN, bootstrap=9, null_seeds=1, metrics=["kappa"], ceiling=False)
    assert any("raise --bootstrap" in message for message in result.messages)
    assert set(result.metrics["metric"]) == {"kappa"}


def test_nulls_label_as_they_say() -> None:
    pairs = {"logic": HUMAN.select(dimension="logic")}
    named = {null.name: null for null in null_judges(pairs, TEXTS)}
    codes = {name: null.label(pairs, 2)["logic"].frame["outcome"].cat.codes for name, null in named.items()}
    frame = pairs["logic"].frame
    rates = frame["outcome"].value_counts(normalize=True)
    assert (codes["always a"] == 0).all()
    assert codes["random, uniform"].value_counts(normalize=True).to_numpy() == pytest.approx(1 / 3, abs=0.09)
    drawn = codes["random at human rates"].value_counts(normalize=True)
    assert drawn[1] == pytest.approx(rates["tie"], abs=0.08)
    a, b = (frame[side].astype(object).map(WORDS).to_numpy() for side in ("item_a", "item_b"))
    assert (codes["longer text wins"].to_numpy() == np.where(a > b, 0, np.where(a < b, 2, 1))).all()
    ties = {"logic": relabelled(pairs["logic"], np.where(np.arange(len(frame)) % 5 == 0, 0, 1), "people")}
    majority = {null.name: null for null in null_judges(ties)}["majority label"]
    assert (majority.label(ties)["logic"].frame["outcome"] == "tie").all()
    assert "longer text wins" not in {null.name for null in null_judges(pairs)}


def test_where_they_part(found: Agreement) -> None:
    parting = found.parting[0]
    assert parting.dimension == "logic"
    differences = parting.items["difference"]
    assert (differences.abs().diff().dropna() <= 1e-12).all()
    assert parting.items["text"].str.startswith("word").all()
    assert parting.by_margin["pairs"].sum() == 432
    shares = parting.by_margin["agreement"].to_numpy()
    assert shares[-1] > shares[0] + 0.15  # clear pairs agree more than close ones
    assert parting.by_topic["pairs"].sum() == 432
    assert parting.confusion.to_numpy().sum() == 432


def test_verbosity_bias_is_the_planted_one() -> None:
    human = HUMAN.select(dimension="logic")
    biased = [table(f"long{number}", 1.0, 70 + number, length=1.5) for number in range(4)]
    fair = [table(f"fair{number}", 1.0, 80 + number) for number in range(4)]
    intervals = {}
    for name, frames in (("biased", biased), ("fair", fair)):
        merged = pd.concat(frames, ignore_index=True).assign(judge=name)
        merged["run"] = np.repeat(np.arange(4), len(frames[0]))
        one = Judgments.from_frame(merged[merged["run"] == 0])
        row = (
            agree(one, human, items=TEXTS, bootstrap=10, null_seeds=1, ceiling=False)
            .parting[0]
            .verbosity.iloc[0]
        )
        assert (row["who"], row["controlled"]) == ("judge", True)
        intervals[name] = (row["lower"], row["upper"])
    assert 0.5 < intervals["biased"][0] < 1.5  # planted: 1.5
    assert 1.0 < intervals["biased"][1] < 2.5
    assert intervals["fair"][0] < 0 < intervals["fair"][1]


def test_logistic_regression_and_its_clusters() -> None:
    """Against the closed form for one binary covariate; rows doubled in clusters change nothing."""
    x = np.repeat([0.0, 1.0], [40, 60])
    y = np.concatenate([np.repeat([0.0, 1.0], [30, 10]), np.repeat([0.0, 1.0], [20, 40])])
    design = np.column_stack([np.ones(100), x])
    found = logistic(design, y, np.arange(100))
    assert found is not None
    coefficient, error = found
    assert coefficient == pytest.approx([np.log(10 / 30), np.log(40 / 20) - np.log(10 / 30)])
    assert error[1] == pytest.approx(np.sqrt(1 / 30 + 1 / 10 + 1 / 20 + 1 / 40))
    doubled = logistic(np.repeat(design, 2, axis=0), np.repeat(y, 2), np.repeat(np.arange(100), 2))
    assert doubled is not None
    assert doubled[1] == pytest.approx(error)
    assert logistic(design, x, np.arange(100)) is None


def test_a_judge_that_follows_length_alone_has_no_finite_coefficient() -> None:
    rows = pd.DataFrame(
        {
            "judge": [1.0, 0.0, 1.0, 0.0, 1.0],
            "human": [1.0, 0.0, 0.0, 1.0, 1.0],
            "length": [0.4, -0.3, 0.8, -1.0, 0.2],
            "margin": [0.2, -0.1, -0.5, 0.7, 0.3],
            "pair": [0, 1, 2, 3, 4],
        }
    )
    found = verbosity_bias(rows)
    assert found.loc[found["who"] == "judge", "coefficient"].isna().all()
    assert np.isfinite(found.loc[found["who"] == "human", "coefficient"]).all()


def test_files(found: Agreement, tmp_path: Path) -> None:
    published = tmp_path / "published.csv"
    published.write_text("Model,Prompt,Dim,pearson\nold,zero,logic,0.4\nold,zero,style,0.5\n")
    files = save_agreement(found, tmp_path / "out", read_published(published))
    assert set(files) >= {
        "agreement.json",
        "agreement.html",
        "agreement.md",
        "agreement.tex",
        "agreement.csv",
        "tests.csv",
        "labels.tex",
        "scores.csv",
        "within-topic.tex",
        "cross.tex",
        "by-length-logic.csv",
        "verbosity-style.tex",
    }
    page = (tmp_path / "out" / "agreement.html").read_text()
    assert "Published, for comparison" in page
    assert page.count("<table") == len(tables_of(found, read_published(published)))
    assert "0.450" in (tmp_path / "out" / "scores.tex").read_text()
    with pytest.raises(InputError, match="exists already"):
        save_agreement(found, tmp_path / "out")


def test_the_ceiling_is_in_the_document() -> None:
    human = HUMAN.select(dimension="logic")
    result = agree(JUDGES, human, bootstrap=20, null_seeds=1, metrics=["pearson"])
    ceiling = result.summary()["dimensions"]["logic"]["ceiling"]
    assert 0.8 < ceiling["estimate"] < ceiling["ceiling"] < 1
    assert result.value("good", "logic", "pearson")["estimate"] < ceiling["ceiling"] + 0.05


def test_posteriors_are_in_the_document() -> None:
    human = HUMAN.select(dimension="logic")
    result = agree(
        JUDGES,
        human,
        bootstrap=20,
        null_seeds=1,
        posterior=True,
        ceiling=False,
        draws=200,
        metrics=["pearson"],
    )
    document = result.summary()
    pearson = document["dimensions"]["logic"]["posterior"]["scores"]["pearson"]
    assert pearson["lower"] < pearson["mean"] < pearson["upper"] < 1
    assert document["closer"][0]["first"] == "good"
    assert document["closer"][0]["p"] > 0.99


@pytest.mark.slow
def test_latent_correlations_are_in_the_document() -> None:
    human = HUMAN.select(dimension="logic")
    result = agree(
        judgments(table("good", 0.8, 20)),
        human,
        bootstrap=20,
        null_seeds=1,
        latent=True,
        ceiling=False,
        draws=150,
        tune=200,
        chains=2,
    )
    latent = result.summary()["dimensions"]["logic"]["latent_correlation"]
    plain = result.value("good", "logic", "pearson")["estimate"]
    assert latent["lower"] < latent["mean"] <= latent["upper"] <= 1
    assert latent["mean"] > plain - 0.05


@pytest.mark.slow
def test_refits_hold_the_error_of_the_first_kind() -> None:
    """Two equal judges, named beforehand, whole judgments drawn and every score fitted again."""
    rejected = []
    for number in range(60):
        human = judgments(table("people", 1.5, 1000 + number))
        both = judgments(table("one", 2.0, 2000 + number), table("two", 2.0, 3000 + number))
        result = agree(both, human, unit="judgments", bootstrap=150, null_seeds=1, best="one", ceiling=False)
        tests = result.tests[result.tests["kind"] == "scores"].set_index("metric")["p"]
        rejected.append([tests["pearson"] < 0.05, tests["kendall"] < 0.05])
    assert (np.mean(rejected, axis=0) < 0.14).all()


def opposed(judgments: Judgments) -> Judgments:
    swapped = judgments.frame["outcome"].map({"a": "b", "b": "a", "tie": "tie"})
    return Judgments.from_frame(judgments.frame.assign(outcome=swapped.astype(object)).drop(columns="row"))


def test_a_judge_whose_labels_are_swapped_is_called_so_and_self_agreement_too() -> None:
    tasting = read_judgments(Path(__file__).parent.parent / "data" / "tasting" / "judgments.csv")
    people = tasting.select(judge="ana")
    found = agree(opposed(people), people, bootstrap=100, seed=1)
    (verdict,) = [text for text in found.verdicts if "below every null judge" in text]
    assert "its labels a and b are swapped" in verdict
    assert not any("no better than a judge that reads nothing" in text for text in found.verdicts)
    themselves = agree(tasting, tasting, bootstrap=100, seed=1)
    assert any("ana, ben, chen: among the people" in text for text in themselves.messages)
    assert not any("among the people" in text for text in found.messages if "ben" in text)


def test_judges_without_a_common_pair_are_told() -> None:
    columns = ["item_a", "item_b", "outcome", "judge"]
    one = [
        ("x", "y", "a"),
        ("y", "z", "a"),
        ("z", "w", "b"),
        ("x", "y", "b"),
        ("y", "z", "b"),
        ("z", "w", "a"),
    ]
    two = [
        ("x", "z", "a"),
        ("y", "w", "b"),
        ("x", "w", "a"),
        ("x", "z", "b"),
        ("y", "w", "a"),
        ("x", "w", "b"),
    ]
    llm, human = (
        Judgments.from_frame(pd.DataFrame([(*row, name) for row in rows], columns=columns))
        for rows, name in ((one, "llm"), (two, "person"))
    )
    found = agree(llm, human, bootstrap=100, seed=1)
    assert any("no pair that people labelled too" in text for text in found.messages)
