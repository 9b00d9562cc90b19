"""Published and computed posteriors by NUTS, within Monte Carlo error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayesbt.formats import import_source
from bayesbt.infer import Fit, fit
from bayesbt.infer.container import convergence
from bayesbt.infer.results import finite_logit
from bayesbt.ranking import rank
from tests.cases import counts_of, read_counts

CASES = {
    "A7_B3_T0": (7, 0, 3),
    "A20_B20_T20": (20, 20, 20),
    "A40_B10_T10": (40, 10, 10),
    "A3_B0_T0": (3, 0, 0),
    "A0_B0_T5": (0, 5, 0),
}
MODELS = {
    "davidson: lam~N(0,1), log nu~N(0,1)": "davidson",
    "raokupper: lam~N(0,1), log eta~N(0,1)": "rao-kupper",
    "bt(ties=half): lam~N(0,1)": "split-half",
}


def effective_size(values: np.ndarray, fitted: Fit) -> float:
    chains = values.reshape(fitted.options.chains, -1, 1)
    return float(convergence(chains)[1][0])


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("case", list(CASES))
def test_two_items(shared: Callable[..., Path], case: str, model: str) -> None:
    expected = json.loads(shared("reference", "twoitem.expected.json").read_text())["cases"][case][model]
    ties = MODELS[model]
    priors = {"strength_sd": 1} | ({} if ties == "split-half" else {"tie": "LogNormal(0, 1)"})
    fitted = fit(
        counts_of({("A", "B"): CASES[case]}), ties=ties, engine="numpyro", priors=priors, draws=4000, seed=11
    )
    delta = fitted.strength_draws[:, 0] - fitted.strength_draws[:, 1]
    size = effective_size(delta, fitted)
    assert fitted.diagnostics.ok
    assert size > 4000
    error = expected["sd[delta]"] / np.sqrt(size)
    assert delta.mean() == pytest.approx(expected["E[delta]"], abs=4 * error)
    assert delta.std() == pytest.approx(expected["sd[delta]"], abs=4 * error)
    if "P(delta>0)" in expected:
        assert (delta > 0).mean() == pytest.approx(
            expected["P(delta>0)"], abs=max(4 * 0.5 / np.sqrt(size), 0.002)
        )
    if ties != "split-half":
        t = fitted.parameter_draws["tie"]
        value, _ = fitted.spec.tie_model.log_native(np, finite_logit(t))
        error = expected["sd[tie_par]"] / np.sqrt(effective_size(value, fitted))
        assert value.mean() == pytest.approx(expected["E[tie_par]"], abs=4 * error)
        assert value.std() == pytest.approx(expected["sd[tie_par]"], abs=4 * error)


@pytest.mark.parametrize("engine", ["numpyro", "laplace"])
def test_tennis(shared: Callable[..., Path], engine: str) -> None:
    expected = json.loads(shared("reference", "tennis_agresti.expected.json").read_text())["computed"]
    counts = read_counts(shared("reference", "tennis_agresti.csv"))
    fitted = fit(counts, ties="drop", engine=engine, priors={"strength_sd": 3}, draws=4000, seed=3)
    result = rank(fitted, distribution=True, pairwise=True)
    table = result.table.set_index("item")
    # Laplace is an approximation: held to a wider band than Monte Carlo error.
    close, probable = (0.02, 0.015) if engine == "numpyro" else (0.12, 0.05)
    assert table["strength"].to_dict() == pytest.approx(expected["mean_centred"], abs=close)
    assert table["sd"].to_dict() == pytest.approx(expected["sd_centred"], abs=close)
    for item, probabilities in expected["rank_probabilities_1_to_5"].items():
        assert result.rank_distribution[0].loc[item].tolist() == pytest.approx(probabilities, abs=probable)
        assert table.loc[item, "p_best"] == pytest.approx(probabilities[0], abs=probable)
        assert table.loc[item, "p_top"] == pytest.approx(sum(probabilities[:3]), abs=probable)
    for pair, (_, p_stronger) in expected["pairs_[E(p_ij),P(lambda_i>lambda_j)]"].items():
        first, second = pair.split(" > ")
        assert result.p_stronger[0].loc[first, second] == pytest.approx(p_stronger, abs=probable)
        assert result.p_stronger[0].loc[second, first] == pytest.approx(1 - p_stronger, abs=probable)


@pytest.mark.slow
@pytest.mark.share
def test_webis_logic_by_nuts(shared: Callable[..., Path]) -> None:
    judgments = import_source(shared("data", "webis-argquality-20")).judgments
    sampled = fit(judgments, ties="rao-kupper", engine="numpyro", dimension="logic", seed=1)
    assert sampled.summary()["data"] == {
        "judgments": 13952,
        "ties": 2011,
        "unscored": 0,
        "items": 1269,
        "components": 20,
    }
    assert sampled.diagnostics.ok
    assert sampled.diagnostics.rhat_max < 1.01
    approximate = fit(judgments, ties="rao-kupper", engine="laplace", dimension="logic", seed=1)
    a, b = sampled.estimates["strength"], approximate.estimates["strength"]
    assert np.corrcoef(a, b)[0, 1] > 0.999
    assert sampled.parameters()["tie"]["mean"] == pytest.approx(
        approximate.parameters()["tie"]["mean"], abs=0.003
    )
