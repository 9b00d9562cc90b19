"""Real recorded judges: three people and two models of PandaLM, and LLMBar's judges in both orders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayesbt.agreement.ensembles import vote_of_judges
from bayesbt.formats import Imported, import_source
from bayesbt.infer import fit
from bayesbt.reliability import split_half
from bayesbt.stability import position_summary
from bayesbt.tables import Judgments

Shared = Callable[..., Path]
PEOPLE = ("annotator1", "annotator2", "annotator3")


@pytest.fixture(scope="module")
def pandalm(shared: Shared) -> Judgments:
    return import_source(shared("data", "pandalm")).judgments


def test_pandalm_has_its_numbers(shared: Shared, pandalm: Judgments) -> None:
    frame = pandalm.frame
    assert len(frame) == 5 * 999
    assert len(pandalm.items) == 5
    ties = frame[frame["outcome"] == "tie"].groupby("judge", observed=True).size()
    assert [ties[name] for name in (*PEOPLE, "gpt", "pandalm")] == [97, 116, 113, 38, 107]
    lost = frame[frame["outcome"].isna()]
    assert (len(lost), set(lost["judge"]), set(lost["reason"])) == (25, {"gpt"}, {"parse"})
    table = import_source(shared("data", "pandalm", "labels.csv")).judgments.frame
    keys = ["judge", "topic", "item_a", "item_b", "outcome"]
    same = [each[keys].astype(str).sort_values(keys[:2], ignore_index=True) for each in (frame, table)]
    assert same[0].equals(same[1])


def test_pandalm_people_and_models_agree_on_the_best_and_the_worst_model(pandalm: Judgments) -> None:
    for judge in (*PEOPLE, "gpt", "pandalm"):
        fitted = fit(pandalm, judge=judge, engine="ml")
        ranking = fitted.ranking()
        assert ranking["item"].iloc[0] == "llama-7b"
        assert ranking["item"].iloc[-1] == "cerebras-gpt-6.7B"
        assert fitted.counts.unscored == (25 if judge == "gpt" else 0)
    share = {
        judge: fit(pandalm, judge=judge, engine="ml").parameters()["tie"] for judge in ("gpt", "annotator2")
    }
    assert share["gpt"]["upper"] < share["annotator2"]["lower"]  # the model shuns ties


def test_pandalm_vote_of_people(pandalm: Judgments) -> None:
    people = Judgments(pandalm.frame[pandalm.frame["judge"].isin(PEOPLE)].reset_index(drop=True))
    voted = vote_of_judges(people).frame
    assert len(voted) == 999
    wide = people.frame.pivot(index="topic", columns="judge", values="outcome").astype(str)
    first = (wide == "a").sum(axis=1)
    assert (voted["outcome"] == "a").sum() == (first >= 2).sum()
    three_ways = wide.nunique(axis=1) == 3
    assert (voted["outcome"] == "tie").sum() == three_ways.sum() + ((wide == "tie").sum(axis=1) >= 2).sum()


def test_pandalm_league_of_five_is_reliable(pandalm: Judgments) -> None:
    found = split_half(pandalm, judge="annotator1", halves=40, seed=2)
    assert found.n_items == 5
    assert 0.9 < found.estimate < 1


@pytest.fixture(scope="module")
def llmbar(shared: Shared) -> Imported:
    return import_source(shared("data", "llmbar"))


def test_llmbar_verdicts_agree_between_the_orders_in_61_5_percent(llmbar: Imported) -> None:
    frame = llmbar.judgments.frame
    models = frame["judge"] != "gold"
    assert models.sum() == 88_912
    assert (frame.loc[models, "outcome"].isna().sum(), (~models).sum()) == (348, 1200)
    assert llmbar.items is not None
    assert len(llmbar.items) == 2400
    first_look = Judgments(frame[models & (frame["run"] == 1)].reset_index(drop=True))
    position = position_summary(first_look)
    assert len(position) == 65
    cells = position["both_orders"].sum()
    assert cells == 40_192
    agree = 1 - (position["flip"] * position["both_orders"]).sum() / cells
    assert agree == pytest.approx(0.615, abs=0.0005)
    assert (position["first_wins"].sum() / position[["first_wins", "second_wins"]].to_numpy().sum()) > 0.6


NATURAL = {"Falcon/CoT": (1.5, 2.6), "ChatGPT/CoT": (0.4, 1.3), "ChatGPT/Vanilla": (0.15, 1.0)}


def test_llmbar_the_position_model_finds_the_order_effects(llmbar: Imported) -> None:
    """Where the first output wins more often, beta is above 0; of the steadiest judge it is near 0."""
    frame = llmbar.judgments.frame
    natural = frame[(frame["topic"] == "LLMBar/Natural") & (frame["run"] == 1)]
    judgments = Judgments(natural.reset_index(drop=True))
    flips = position_summary(judgments).set_index("judge")["flip"]
    for judge, (low, high) in NATURAL.items():
        order = fit(judgments, judge=judge, ties="drop", order="shared", engine="map").parameters()["order"]
        assert low < order["lower"] < order["mean"] < order["upper"] < high
    steady = fit(judgments, judge="GPT-4/Vanilla", ties="drop", order="shared", engine="map")
    order = steady.parameters()["order"]
    assert flips["GPT-4/Vanilla"] < 0.1
    assert order["lower"] < 0 < order["upper"]
    # Rating gives both scores without an order; equal ones are broken against the item shown first.
    rating = fit(judgments, judge="GPT-4/Rating", ties="drop", order="shared", engine="map")
    assert rating.parameters()["order"]["upper"] < 0


def test_llmbar_accuracy_of_each_model(llmbar: Imported) -> None:
    """The figures that the tables were published with; an answer that cannot be read is not right."""
    frame = llmbar.judgments.frame
    winner = np.where(frame["outcome"] == "a", frame["item_a"].astype(str), frame["item_b"].astype(str))
    known = frame.assign(winner=winner)
    gold = known[known["judge"] == "gold"].set_index("pair_id")["winner"]
    right = (known["winner"] == known["pair_id"].map(gold)) & known["outcome"].notna()
    accuracy = right.groupby(known["llm"].astype(str)).mean().round(3)
    found = accuracy[["GPT-4", "PaLM2", "Falcon", "ChatGPT"]].tolist()
    assert found == [0.797, 0.623, 0.523, 0.480]
