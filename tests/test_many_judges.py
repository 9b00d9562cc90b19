"""Judges who do not look at the items are found among many who do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from bayesbt.counts import count_judgments
from bayesbt.infer.numpyro_engine import sample
from bayesbt.infer.results import Options
from bayesbt.simulated_judgments import SimulationSettings, simulate_judgments
from bayesbt.spec import ModelSpec, Priors


@pytest.mark.slow
def test_planted_spammers_are_found() -> None:
    settings = SimulationSettings(
        items=20,
        judges=100,
        comparisons=6000,
        order=0.2,
        order_judge_sd=0.3,
        adherence_sd=0.3,
        random_judges=10,
        position_judges=10,
        seed=3,
    )
    judgments, known = simulate_judgments(settings)
    priors = Priors().updated({"adherence_sd": "HalfNormal(1)", "order_judge_sd": "HalfNormal(1)"})
    spec = ModelSpec("rao-kupper", "by-judge", "adherence", priors=priors)
    options = Options(draws=300, tune=300, chains=2, seed=1)
    values = sample(count_judgments(judgments, by_judge=True), spec, options).values
    adherence = values["adherence"].mean(axis=(0, 1))
    kind = known.judges["kind"].to_numpy()
    honest, spam = kind == "honest", kind != "honest"
    ranks = rankdata(adherence)
    inversions = ranks[spam].sum() - 20 * 21 / 2
    assert 1 - inversions / (20 * 80) > 0.95  # P(a spammer's adherence is below an honest judge's)
    assert spam[np.argsort(adherence)[:20]].sum() >= 17
    upper = np.quantile(values["adherence"], 0.975, axis=(0, 1))
    assert (upper[kind == "random"] < 1).all()  # a typical judge is ruled out for each who answers at random
    assert np.corrcoef(np.log(adherence[honest]), np.log(known.judges["adherence"][honest]))[0, 1] > 0.7
    order = values["order_by_judge"].mean(axis=(0, 1))
    assert order[kind == "position"].min() > order[kind != "position"].max() + 1
    strength = values["strength"][:, :, 0].mean(axis=(0, 1))
    assert np.corrcoef(strength, known.items["strength"])[0, 1] > 0.97
