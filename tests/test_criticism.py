"""What a posterior says against its own model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayesbt.formats import read_judgments
from bayesbt.infer import fit, load_fit
from bayesbt.infer.criticism import criticise
from bayesbt.infer.loo import loo
from tests.cases import asymmetric_counts, counts_of, read_counts

CIRCLE = counts_of(
    {
        ("rock", "scissors"): (9, 0, 1),
        ("scissors", "rock"): (1, 0, 9),
        ("scissors", "paper"): (8, 0, 2),
        ("paper", "scissors"): (1, 0, 9),
        ("paper", "rock"): (10, 0, 1),
        ("rock", "paper"): (2, 0, 8),
        ("rock", "well"): (3, 0, 7),
        ("well", "paper"): (6, 0, 4),
    }
)


def test_rock_paper_scissors_is_flagged(tmp_path: Path) -> None:
    fitted = fit(CIRCLE, ties="drop", engine="laplace", seed=1)
    found = criticise(fitted)
    assert len(found.cycles) == 1
    triad = found.cycles.iloc[0]
    around = [triad["first"], triad["second"], triad["third"]]
    start = around.index("rock")
    assert around[start:] + around[:start] == ["rock", "scissors", "paper"]  # each beats the next
    checks = {check.name: check for check in found.checks}
    assert checks["pairs"].surprising
    assert not checks["first shown"].surprising
    text = " ".join(fitted.diagnostics.messages)
    assert "cyclic triads" in text
    assert "scatter more" in text
    saved = load_fit(fitted.save(tmp_path / "fit"))
    assert saved.criticism["cycles"][0]["z"] == pytest.approx(triad["z"])
    assert saved.summary() == fitted.summary()


def test_data_from_the_model_are_not_flagged() -> None:
    rng = np.random.default_rng(3)
    strength = np.array([1.0, 0.4, 0.1, -0.5, -1.0])
    table = {}
    for i in range(5):
        for j in range(5):
            if i != j:
                delta, tau = strength[i] - strength[j] + 0.3, 0.5
                p_a, p_b = 1 / (1 + np.exp(tau - delta)), 1 / (1 + np.exp(tau + delta))
                a, tie, b = rng.multinomial(30, [p_a, 1 - p_a - p_b, p_b])
                table["vwxyz"[i], "vwxyz"[j]] = (a, tie, b)
    found = criticise(fit(counts_of(table), engine="laplace", order="shared", seed=1))
    assert not any(check.surprising for check in found.checks)
    assert found.cycles.empty
    assert found.pairs.empty
    without = criticise(fit(counts_of(table), engine="laplace", seed=1))
    first = next(check for check in without.checks if check.name == "first shown")
    assert first.surprising
    share = sum(a for a, _, _ in table.values()) / sum(a + b for a, _, b in table.values())
    assert first.observed == pytest.approx(share)
    assert "fit an order effect" in " ".join(without.messages())


def test_position_judge(shared: Callable[..., Path]) -> None:
    judgments = read_judgments(shared("bugcases", "29_pure_position_judge.csv"))
    assert "fit an order effect" in " ".join(
        fit(judgments, ties="drop", engine="laplace").diagnostics.messages
    )


def test_contraction_tells_data_from_prior() -> None:
    table = {("a", "b"): (60, 0, 20), ("b", "c"): (50, 0, 30), ("c", "d"): (1, 0, 1)}
    ranking = fit(
        counts_of(table), ties="drop", engine="laplace", priors={"strength_sd": 1}, seed=1
    ).ranking()
    contraction = ranking.set_index("item")["contraction"]
    assert contraction["a"] > 0.8
    assert contraction["d"] < 0.5
    assert "contraction" not in fit(counts_of(table), ties="drop", engine="ml").ranking()


def test_a_prior_in_conflict_with_the_data_is_named(shared: Callable[..., Path]) -> None:
    springall = read_counts(shared("reference", "springall.csv"))
    calm = criticise(fit(springall, engine="laplace", priors={"strength_sd": "HalfNormal(3)"}, seed=1))
    assert calm.sensitivity.loc["strength_sd", "prior"] < 0.05
    tight = {"strength_sd": "LogNormal(-2.5, 0.3)"}
    conflict = criticise(fit(springall, engine="laplace", priors=tight, seed=1))
    assert conflict.sensitivity.loc["strength_sd", "prior"] > 0.2
    assert any("conflict in strength_sd" in text for text in conflict.messages())


def test_a_fixed_or_maximised_model_has_nothing_to_scale() -> None:
    assert criticise(fit(asymmetric_counts(), engine="ml")) is None
    fixed = {"strength_sd": 1, "tie": 0.2}
    assert criticise(fit(asymmetric_counts(), engine="laplace", priors=fixed)).sensitivity.empty


def test_a_single_judgment_on_which_much_hangs_is_named() -> None:
    table = {("best", "good"): (20, 0, 8), ("good", "fair"): (19, 0, 7), ("fair", "best"): (5, 0, 21)}
    table |= {("newcomer", "best"): (1, 0, 0)}
    fitted = fit(counts_of(table), ties="drop", engine="laplace", priors={"strength_sd": 20}, seed=1)
    found = fitted.criticism["influence"]
    worst = found["above"][0]
    assert (worst["item_a"], worst["item_b"], worst["outcome"]) == ("newcomer", "best", "a")
    assert len(found["above"]) == 1
    assert worst["pareto_k"] == found["pareto_k_max"] > found["limit"]
    (message,) = [m for m in fitted.diagnostics.messages if "Pareto k" in m]
    assert "newcomer against best, won by the first" in message
    calm = fit(asymmetric_counts(), engine="laplace", seed=1)
    assert calm.criticism["influence"]["above"] == []
    assert not any("Pareto k" in m for m in calm.diagnostics.messages)
    every = loo(calm).table.sort_values("pareto_k", ascending=False)
    assert calm.criticism["influence"]["pareto_k_max"] == pytest.approx(every["pareto_k"].iloc[0], abs=1e-12)
