"""Several judges as one, with simulated judges of known quality."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesbt.agreement.ensembles import (
    ENSEMBLE,
    VOTE,
    WEIGHTED,
    EnsembleComparison,
    adherence_weights,
    compare_ensemble,
    vote_of_judges,
)
from bayesbt.errors import InputError
from bayesbt.infer import Fit, fit
from bayesbt.simulated_judgments import KnownAnswer, SimulationSettings, simulate_judgments
from bayesbt.tables import Judgments

SETTINGS = SimulationSettings(
    items=24,
    judges=4,
    comparisons=1200,
    adherence_sd=0.6,
    order_judge_sd=0.8,
    random_judges=1,
    strength_sd=1.2,
    seed=6,
)
LIGHT = {"draws": 150, "tune": 200, "chains": 2}


@pytest.fixture(scope="module")
def simulated() -> tuple[Judgments, KnownAnswer]:
    return simulate_judgments(SETTINGS)


@pytest.fixture(scope="module")
def human(simulated: tuple[Judgments, KnownAnswer]) -> Fit:
    """People who see the same strengths, without an order effect."""
    strength = dict(simulated[1].items.to_numpy().tolist())
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(600):
        a, b = rng.choice(list(strength), 2, replace=False)
        wins = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
        rows.append((a, b, "a" if wins else "b"))
    table = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome"])
    return fit(Judgments.from_frame(table), ties="drop", engine="laplace", draws=300)


@pytest.fixture(scope="module")
def compared(simulated: tuple[Judgments, KnownAnswer], human: Fit) -> EnsembleComparison:
    return compare_ensemble(simulated[0], human, leave_one_out=False, seed=2, **LIGHT)


def test_the_ensemble_finds_its_judges(
    compared: EnsembleComparison, simulated: tuple[Judgments, KnownAnswer]
) -> None:
    known = simulated[1].judges.set_index("judge")
    found = compared.judges.set_index("judge")
    noise = known.index[known["kind"] == "random"][0]
    honest = [name for name in known.index if name != noise]
    assert found["adherence"].idxmin() == noise
    assert found.loc[noise, "adherence_upper"] < 0.6
    order = found.loc[honest, "order"] - known.loc[honest, "order"]
    assert np.abs(order).max() < 0.45
    best, worst = known.loc[honest, "adherence"].idxmax(), known.loc[honest, "adherence"].idxmin()
    assert found.loc[best, "adherence"] > found.loc[worst, "adherence"]
    weights = adherence_weights(compared.fits[ENSEMBLE])
    assert np.mean(list(weights.values())) == pytest.approx(1)
    assert weights[noise] == min(weights.values())


def test_the_ensemble_beats_votes_and_single_judges(
    compared: EnsembleComparison, simulated: tuple[Judgments, KnownAnswer]
) -> None:
    scores = compared.scores.set_index("method")
    known = simulated[1].judges.set_index("judge")
    noise = known.index[known["kind"] == "random"][0]
    assert set(scores.index) == {ENSEMBLE, VOTE, WEIGHTED, *known.index}
    assert scores.index[0] == ENSEMBLE
    assert scores.index[-1] == noise
    assert scores.loc[WEIGHTED, "mean"] > scores.loc[VOTE, "mean"]
    assert scores["mean"].is_monotonic_decreasing
    assert (scores["lower"] < scores["mean"]).all()
    assert (scores["mean"] < scores["upper"]).all()
    singles = scores[scores["kind"] == "judge"]["mean"]
    assert compared.best_judge == singles.idxmax() == known["adherence"].idxmax()
    assert compared.p_beats_best == scores.loc[ENSEMBLE, "p_beats_best"]
    assert 0.8 < compared.p_beats_best < 1
    assert scores.loc[noise, "p_beats_best"] < 0.01
    assert np.isnan(scores.loc[compared.best_judge, "p_beats_best"])
    assert compared.leave_one_out.empty


def test_the_ensemble_is_closer_to_the_truth_than_any_vote(
    compared: EnsembleComparison, simulated: tuple[Judgments, KnownAnswer]
) -> None:
    truth = simulated[1].items.set_index("item")["strength"]
    found = {
        name: np.corrcoef(fitted.estimates["strength"], truth[list(fitted.items)])[0, 1]
        for name, fitted in compared.fits.items()
    }
    assert max(found, key=found.__getitem__) == ENSEMBLE
    assert found[ENSEMBLE] > 0.9


@pytest.mark.slow
@pytest.mark.share
def test_leaving_out_the_best_judge_costs_and_leaving_out_the_random_one_does_not(
    simulated: tuple[Judgments, KnownAnswer], human: Fit
) -> None:
    known = simulated[1].judges.set_index("judge")
    noise = known.index[known["kind"] == "random"][0]
    best = known["adherence"].idxmax()
    found = compare_ensemble(simulated[0], human, metric="rmse", seed=2, **LIGHT)
    without = found.leave_one_out.set_index("judge")
    assert list(without.index) == list(known.index)
    assert without["gain"].idxmax() == best
    assert without["p_helps"].idxmax() == best
    assert without.loc[best, "p_helps"] > 0.65  # the two ensembles share most answers: a cautious number
    assert without.loc[noise, "lower"] < 0 < without.loc[noise, "upper"]
    assert abs(without.loc[noise, "gain"]) < without.loc[best, "gain"] / 2
    assert found.scores["mean"].is_monotonic_increasing  # of RMSE, less is better


def table(rows: list[tuple[str, str, str, str | None]]) -> Judgments:
    frame = pd.DataFrame(rows, columns=["judge", "item_a", "item_b", "outcome"])
    return Judgments.from_frame(frame.assign(reason=np.where(frame["outcome"].isna(), "parse", None)))


BALLOTS = table(
    [
        ("ann", "x", "y", "a"),
        ("bob", "y", "x", "b"),  # the other way round, and x wins again
        ("cid", "x", "y", "b"),
        ("ann", "z", "y", "b"),
        ("bob", "z", "y", "a"),
        ("cid", "z", "y", None),
        ("ann", "x", "z", "a"),
        ("bob", "x", "z", "tie"),
        ("cid", "x", "z", "tie"),
        ("cid", "w", "z", None),
    ]
)


def voted(judgments: Judgments, *arguments: object) -> dict[str, str | None]:
    frame = vote_of_judges(judgments, *arguments).frame.astype(object)
    pairs = frame["item_a"] + frame["item_b"]
    return dict(zip(pairs, frame["outcome"].where(frame["outcome"].notna(), None), strict=True))


def test_an_unweighted_vote() -> None:
    assert voted(BALLOTS) == {"xy": "a", "zy": "tie", "xz": "tie", "wz": None}
    assert voted(BALLOTS, None, "sign") == {"xy": "a", "zy": "tie", "xz": "a", "wz": None}
    frame = vote_of_judges(BALLOTS).frame
    assert frame.loc[0, ["votes_a", "votes_tie", "votes_b"]].tolist() == [2, 0, 1]
    assert frame.loc[3, "reason"] == "no judge's answer has a vote"
    assert set(frame["judge"]) == {VOTE}


def test_a_weighted_vote() -> None:
    weights = {"ann": 1.0, "bob": 0.5, "cid": 2.0}
    assert voted(BALLOTS, weights) == {"xy": "b", "zy": "b", "xz": "tie", "wz": None}
    assert voted(BALLOTS, {"ann": 1, "bob": 0, "cid": 0}) == {"xy": "a", "zy": "b", "xz": "a", "wz": None}
    # Thirds are no exact numbers: half of the votes must stay half.
    thirds = {"ann": 1 / 3, "bob": 1 / 3, "cid": 2 / 3}
    assert voted(BALLOTS, thirds)["xy"] == "tie"
    assert set(vote_of_judges(BALLOTS, weights).frame["judge"]) == {WEIGHTED}


def test_a_judge_has_one_vote_however_often_it_answers() -> None:
    often = [("ann", "x", "y", "a")] * 3 + [("ann", "y", "x", "a"), ("bob", "x", "y", "b")]
    frame = vote_of_judges(table(often)).frame
    assert frame.loc[0, ["votes_a", "votes_b"]].tolist() == [0.75, 1.25]
    assert voted(table(often)) == {"xy": "b"}


def test_topics_vote_apart() -> None:
    frame = BALLOTS.frame.astype(object).iloc[:3].assign(topic=["t1", "t1", "t2"])
    found = vote_of_judges(Judgments.from_frame(frame)).frame
    assert list(zip(found["topic"], found["outcome"], strict=True)) == [("t1", "a"), ("t2", "b")]


def test_what_cannot_be_an_ensemble(human: Fit) -> None:
    one = BALLOTS.select(judge="ann")
    with pytest.raises(InputError, match="two judges or more"):
        compare_ensemble(one, human)
    with pytest.raises(InputError, match="a column 'judge' without blanks"):
        vote_of_judges(Judgments.from_frame(BALLOTS.frame.astype(object).drop(columns="judge")))
    with pytest.raises(InputError, match="no weight for the judges cid"):
        vote_of_judges(BALLOTS, {"ann": 1, "bob": 1})
    with pytest.raises(InputError, match="finite and 0 or more, not bob: -1"):
        vote_of_judges(BALLOTS, {"ann": 1, "bob": -1, "cid": 1})
    with pytest.raises(InputError, match="no adherence"):
        adherence_weights(human)
    named = BALLOTS.frame.astype(object).replace({"judge": {"ann": "vote"}})
    with pytest.raises(InputError, match="a judge is called 'vote'"):
        compare_ensemble(Judgments.from_frame(named), human)
