"""Simulated truths follow their priors, and outcomes follow their truths."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from bayesbt.counts import count_judgments
from bayesbt.errors import InputError
from bayesbt.infer.model import Cells, linear_predictor
from bayesbt.simulated_judgments import SimulationSettings, simulate_judgments
from bayesbt.simulation import (
    Design,
    Truth,
    lkj_cholesky,
    outcome_probabilities,
    prior_draw,
    simulate,
)
from bayesbt.spec import ModelSpec, Priors
from tests import agreement, reference

COVARIATES = np.array([[1.2, -0.3], [-0.8, 0.9], [0.4, 1.1], [-0.8, -1.7]])
WHOLE = ModelSpec("davidson", "by-judge", "adherence", "by-judge", ("words", "year"))
DESIGN = Design.crossed(4, judges=3, dimensions=2, comparisons=5, covariates=COVARIATES)


def draws(spec: ModelSpec, design: Design, name: str, size: int = 3000, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.array([prior_draw(spec, design, rng).values[name] for _ in range(size)])


def follows(values: NDArray[np.float64], distribution: Any) -> bool:
    return bool(stats.kstest(values, distribution.cdf).pvalue > 1e-3)


def test_crossed_design() -> None:
    assert len(DESIGN.a) == 4 * 3 * 3 * 2
    assert not (DESIGN.a == DESIGN.b).any()
    cells = set(zip(DESIGN.a, DESIGN.b, DESIGN.judge, DESIGN.dimension, strict=True))
    assert len(cells) == len(DESIGN.a)
    assert DESIGN.judges == ("judge1", "judge2", "judge3")
    assert Design.crossed(11).items[:2] == ("item01", "item02")


def test_shapes_are_those_of_the_samplers() -> None:
    truth = prior_draw(WHOLE, DESIGN, np.random.default_rng(1))
    shapes = {name: value.shape for name, value in truth.values.items()}
    assert shapes == {
        "strength": (2, 4),
        "strength_sd": (2,),
        "correlation": (2, 2),
        "covariate": (2, 2),
        "tie": (2,),
        "order": (2,),
        "order_by_judge": (3,),
        "order_judge_sd": (),
        "tie_by_judge": (3,),
        "tie_judge_sd": (),
        "adherence": (3,),
        "adherence_sd": (),
    }
    assert np.log(truth.values["adherence"]).mean() == pytest.approx(0, abs=1e-12)
    assert set(prior_draw(ModelSpec("split"), Design.crossed(3), np.random.default_rng(1)).values) == {
        "strength",
        "strength_sd",
    }


def test_priors_are_those_of_the_spec() -> None:
    priors = Priors().updated({"strength_sd": 0.7, "tie": "Beta(2, 5)", "order": "Normal(0.3, 1.5)"})
    spec, design = ModelSpec("rao-kupper", "shared", "adherence", priors=priors), Design.crossed(3, judges=5)
    assert follows(draws(spec, design, "strength")[:, 0, 1], stats.norm(0, 0.7))
    assert follows(draws(spec, design, "tie")[:, 0], stats.beta(2, 5))
    assert follows(draws(spec, design, "order")[:, 0], stats.norm(0.3, 1.5))
    log_alpha = np.log(draws(spec, design, "adherence")[:, 3])  # less the mean of five of them
    assert follows(log_alpha, stats.norm(0, 0.5 * np.sqrt(4 / 5)))


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
def test_prior_on_the_textbook_parameter(ties: str) -> None:
    spec = ModelSpec(ties, priors=Priors().updated({"tie": "LogNormal(0.1, 0.8)"}))
    t = draws(spec, Design.crossed(2), "tie")[:, 0]
    native = np.array([reference.native_of(ties, value) for value in t])
    q = np.log(native) if ties == "rao-kupper" else native
    assert follows(np.log(q), stats.norm(0.1, 0.8))


def test_strengths_follow_their_covariates() -> None:
    rng = np.random.default_rng(3)
    found = [prior_draw(WHOLE, DESIGN, rng).values for _ in range(3000)]
    rest = np.array(
        [(v["strength"] - v["covariate"] @ COVARIATES.T) / v["strength_sd"][:, None] for v in found]
    )
    assert follows(rest[:, 1, 2], stats.norm(0, 1))
    assert follows(rest[:, 0, 0], stats.norm(0, 1))
    correlation = np.array([v["correlation"][0, 1] for v in found])
    assert np.mean(rest[:, 0, 0] * rest[:, 1, 0] * correlation) == pytest.approx(
        np.mean(correlation**2), abs=0.05
    )


@pytest.mark.parametrize(("size", "eta"), [(2, 2.0), (3, 2.0), (4, 0.8)])
def test_every_correlation_under_lkj(size: int, eta: float) -> None:
    rng = np.random.default_rng(8)
    factors = np.array([lkj_cholesky(size, eta, rng) for _ in range(3000)])
    matrices = factors @ factors.transpose(0, 2, 1)
    assert np.abs(np.diagonal(matrices, axis1=1, axis2=2) - 1).max() < 1e-12
    shape = eta - 1 + size / 2
    for row, column in zip(*np.tril_indices(size, -1), strict=True):
        assert follows((matrices[:, row, column] + 1) / 2, stats.beta(shape, shape))


@pytest.mark.parametrize("dimensions", [1, 3])
def test_probabilities_are_the_models(dimensions: int) -> None:
    counts = agreement.data(dimensions)
    counts = replace(counts, wins_a=counts.wins_a + 1)  # no cell without a count under any rule
    for spec in agreement.specs():
        design = Design(
            *(counts.items, counts.judges, counts.dimensions, counts.a, counts.b, counts.judge),
            *(counts.dimension, np.ones(len(counts.a), dtype=np.int64)),
            counts.covariates if spec.covariates else np.zeros((5, 0)),
        )
        values = prior_draw(spec, design, np.random.default_rng(2)).values
        parameters = dict(values)
        if "tie" in values:
            parameters["tie_logit"] = np.log(values["tie"]) - np.log1p(-values["tie"])
        if "adherence" in values:
            parameters["log_adherence"] = np.log(values["adherence"])
        cells = Cells.of(counts, spec.tie_model)
        delta, tie_logit = linear_predictor(np, spec, parameters, cells)
        expected = np.exp(np.stack(spec.tie_model.log_probabilities(np, delta, tie_logit), axis=1))
        if not spec.tie_model.has_tie_parameter:
            expected[:, 1] = 0
        found = outcome_probabilities(spec, design, Truth(values))
        assert found == pytest.approx(expected, abs=1e-12), agreement.label(spec)
        assert found.sum(axis=1) == pytest.approx(np.ones(len(found)), abs=1e-12)


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
@pytest.mark.parametrize("judge", [-60.0, 0.0, 60.0])
def test_probabilities_of_extreme_truths(ties: str, judge: float) -> None:
    values = {"strength": np.array([[900.0, -900.0, 0.0]]), "tie": np.array([0.3])}
    truth = Truth({name: np.asarray(v) for name, v in (values | {"tie_by_judge": np.full(1, judge)}).items()})
    design = Design.crossed(3)
    found = outcome_probabilities(ModelSpec(ties, tie_parameter="by-judge"), design, truth)
    assert found.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-12)
    assert found[0] == pytest.approx([1, 0, 0], abs=1e-12)  # 1800 log-odds apart


def test_outcomes_are_as_frequent_as_they_are_probable() -> None:
    rng = np.random.default_rng(5)
    truth = prior_draw(WHOLE, DESIGN, rng)
    counts = simulate(WHOLE, replace(DESIGN, comparisons=np.full(72, 4000)), truth, rng)
    observed = np.stack([counts.wins_a, counts.ties, counts.wins_b], axis=1)
    assert observed.sum(axis=1).tolist() == [4000.0] * 72
    p = outcome_probabilities(WHOLE, DESIGN, truth)
    z = (observed - 4000 * p) / np.sqrt(4000 * p * (1 - p))
    assert np.abs(z).max() < 4.5
    for name in ("a", "b", "judge", "dimension", "covariates"):
        assert getattr(counts, name).tolist() == getattr(DESIGN, name).tolist()


def test_rules_for_ties_make_none() -> None:
    rng = np.random.default_rng(6)
    spec, design = ModelSpec("split-half", "shared"), Design.crossed(4, comparisons=30)
    assert simulate(spec, design, prior_draw(spec, design, rng), rng).ties.sum() == 0


def test_covariates_of_the_wrong_shape() -> None:
    with pytest.raises(InputError, match=r"the spec has 2 covariates and the design's are of shape \(3, 0\)"):
        prior_draw(WHOLE, Design.crossed(3), np.random.default_rng(0))


SETTINGS = SimulationSettings(
    items=7, judges=10, comparisons=5000, order=0.4, tie=0.3, random_judges=2, position_judges=1, seed=9
)


def test_simulated_judgments() -> None:
    judgments, known = simulate_judgments(SETTINGS)
    frame = judgments.frame
    assert len(frame) == 5000
    assert frame["judge"].value_counts().tolist() == [500] * 10
    appearances = frame["item_a"].value_counts() + frame["item_b"].value_counts()
    assert appearances.max() - appearances.min() <= 2
    assert count_judgments(judgments).n_components == 1
    assert known.items["strength"].mean() == pytest.approx(0, abs=1e-12)
    assert known.judges["kind"].value_counts().to_dict() == {"honest": 7, "random": 2, "position": 1}
    kind = frame["judge"].map(dict(zip(known.judges["judge"], known.judges["kind"], strict=True)))
    shares = frame["outcome"].groupby(kind.astype(str)).value_counts(normalize=True).unstack()
    assert shares.loc["position", ["a", "tie", "b"]].tolist() == [1, 0, 0]
    assert shares.loc["random", ["a", "tie", "b"]].to_numpy() == pytest.approx([1 / 3] * 3, abs=0.05)
    honest = frame[kind == "honest"]
    strength = known.items.set_index("item")["strength"]
    delta = 0.4 + honest["item_a"].map(strength).astype(float) - honest["item_b"].map(strength).astype(float)
    theta = reference.native_of("rao-kupper", 0.3)
    expected = np.array([reference.rao_kupper(np.exp(d), 1.0, theta) for d in delta]).mean(axis=0)
    found = honest["outcome"].value_counts(normalize=True)[["a", "tie", "b"]].to_numpy()
    assert found == pytest.approx(expected, abs=0.025)


def test_the_same_seed_gives_the_same_judgments() -> None:
    one, other = simulate_judgments(SETTINGS)[0], simulate_judgments(SETTINGS)[0]
    assert one.frame.equals(other.frame)
    assert not one.frame.equals(simulate_judgments(replace(SETTINGS, seed=10))[0].frame)


def test_items_are_connected_from_the_first_round_on() -> None:
    judgments, _ = simulate_judgments(SimulationSettings(items=40, comparisons=40, seed=1))
    assert count_judgments(judgments).n_components == 1


def test_known_answer_is_json() -> None:
    known = simulate_judgments(SETTINGS)[1].as_dict()
    read = json.loads(json.dumps(known, allow_nan=False))
    assert read["strengths"]["item3"] == known["strengths"]["item3"]
    assert {judge["order"] for judge in read["judge_truths"] if judge["kind"] == "position"} == {None}
    assert {judge["adherence"] for judge in read["judge_truths"] if judge["kind"] == "random"} == {0.0}


def test_rules_for_ties_say_that_they_make_none() -> None:
    judgments, _ = simulate_judgments(replace(SETTINGS, ties="drop"))
    assert (judgments.frame["outcome"] == "tie").sum() == 0
    assert [finding.code for finding in judgments.findings] == ["no-ties"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": 1}, "--items 1: must be 2 or more"),
        ({"tie": 1.0}, "--tie 1.0: must be between 0 and 1"),
        ({"strength_sd": 0.0}, "--strength-sd 0.0: must be above 0"),
        ({"order": float("nan")}, "--order nan"),
        ({"adherence_sd": -0.1}, "--adherence-sd -0.1: must be 0 or more"),
        ({"random_judges": 8, "position_judges": 3}, "more than the 10 judges"),
        ({"ties": "raokupper"}, "is not a tie model"),
    ],
)
def test_impossible_settings(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(SETTINGS, **change)
