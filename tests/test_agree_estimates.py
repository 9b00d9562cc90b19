"""Quick strengths and refits: against the engines, one fit at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayesbt.agreement.estimates import ScoreModel, estimate_strengths
from bayesbt.agreement.refit import Chords, Refit
from bayesbt.counts import Counts
from bayesbt.infer import fit
from tests.cases import asymmetric_counts

MODELS = [
    (ties, order) for ties in ("rao-kupper", "davidson", "split", "drop") for order in ("none", "shared")
]


def two_components() -> Counts:
    """The asymmetric counts, and beside them another topic with three items."""
    one = asymmetric_counts()
    cells = [(4, 5, 5.0, 1.0, 2.0), (6, 5, 3.0, 2.0, 4.0), (4, 6, 2.0, 3.0, 1.0)]
    a, b, *outcomes = (np.array(column) for column in zip(*cells, strict=True))
    joined = (
        np.concatenate([first, second])
        for first, second in zip(
            (one.a, one.b, one.wins_a, one.ties, one.wins_b), (a, b, *outcomes), strict=True
        )
    )
    return Counts(("w", "x", "y", "z", "t1", "t2", "t3"), *joined)


@pytest.mark.parametrize(("ties", "order"), MODELS)
def test_strengths_are_those_of_the_engine_map(ties: str, order: str) -> None:
    counts = two_components()
    expected = fit(counts, engine="map", ties=ties, order=order)  # type: ignore[arg-type]
    got = estimate_strengths(counts, ScoreModel(ties=ties, order=order))
    assert got.strength == pytest.approx(expected.result.strength, abs=1e-6)
    assert got.held is not None
    parameters = expected.parameters()
    assert got.held.strength_sd == pytest.approx(parameters["strength_sd"]["mean"], rel=1e-6)
    if order == "shared":
        assert got.held.order == pytest.approx(parameters["order"]["mean"], abs=1e-6)
    if "tie" in parameters:
        t = 1 / (1 + np.exp(-got.held.tie_logit))
        assert t == pytest.approx(parameters["tie"]["mean"], abs=1e-6)


@pytest.mark.parametrize("engine", ["ml", "gienapp", "ilsr"])
def test_other_engines_give_their_own_strengths(engine: str) -> None:
    counts = two_components()
    expected = fit(counts, engine=engine).result.strength
    assert estimate_strengths(counts, ScoreModel(engine)).strength == pytest.approx(expected)


def test_a_posterior_is_summed_up_by_its_mean() -> None:
    counts = two_components()
    model = ScoreModel("laplace", options={"draws": 500, "seed": 3})
    expected = fit(counts, engine="laplace", draws=500, seed=3).estimates["strength"]
    assert estimate_strengths(counts, model).strength == pytest.approx(expected.to_numpy())


@pytest.mark.parametrize(("ties", "order"), MODELS)
def test_refits_are_fits_with_the_shared_parameters_held(ties: str, order: str) -> None:
    counts = two_components()
    model = ScoreModel(ties=ties, order=order)
    whole = estimate_strengths(counts, model)
    assert whole.held is not None
    weights = np.array([[3, 1, 2, 1, 2, 1, 1, 1, 4, 1], [1, 5, 1, 1, 1, 3, 1, 2, 1, 1]])
    got = Refit(whole, np.arange(10), model).strengths(weights)
    held = whole.held
    priors: dict[str, float] = {"strength_sd": held.strength_sd}
    priors |= {"order": held.order} if order == "shared" else {}
    if ties in ("rao-kupper", "davidson"):
        priors["tie"] = float(1 / (1 + np.exp(-held.tie_logit)))
    for weight, strength in zip(weights, got, strict=True):
        again = replace(
            counts, wins_a=counts.wins_a * weight, ties=counts.ties * weight, wins_b=counts.wins_b * weight
        )
        expected = fit(again, engine="map", ties=ties, order=order, priors=priors)  # type: ignore[arg-type]
        assert strength == pytest.approx(expected.result.strength, abs=1e-4)


def test_a_refit_without_change_is_the_fit() -> None:
    whole = estimate_strengths(two_components(), ScoreModel())
    got = Refit(whole, np.arange(10), ScoreModel()).strengths(np.ones((2, 10), dtype=int))
    assert got[1] == pytest.approx(whole.strength, abs=1e-5)


def test_newton_and_chords_reach_the_same_mode() -> None:
    whole = estimate_strengths(two_components(), ScoreModel(order="shared"))
    solver = Chords(whole)
    weight = np.array([6.0, 0, 0, 9, 1, 0, 1, 0, 8, 0])
    by_newton = solver._newton(whole.strength, weight)
    by_chords = solver.modes(weight[None])[0]
    for group in solver.groups:
        assert by_newton[group] - by_newton[group].mean() == pytest.approx(by_chords[group], abs=1e-4)


def test_a_resample_without_a_finite_maximum_is_no_number() -> None:
    counts = asymmetric_counts()
    model = ScoreModel("ml")
    weights = np.array([[1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 0, 0]])
    got = Refit(estimate_strengths(counts, model), np.arange(7), model).strengths(weights)
    assert got[0] == pytest.approx(fit(counts, engine="ml").result.strength, abs=1e-8)
    assert np.isnan(got[1]).any()
