"""The latent correlation covers the truth where correlations of scores do not come near."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from bayesbt.agreement.latent import LatentCorrelation, latent_correlation
from bayesbt.errors import InputError
from bayesbt.infer.joint import fit_joint
from bayesbt.spec import ModelSpec, Priors
from bayesbt.tables import Judgments
from tests.calibration import Effort
from tests.latent_simulation import Coverage, coverages

RHO = {("human", "zoe"): 0.9, ("human", "ada"): 0.45, ("zoe", "ada"): 0.3}
ORDER = {"human": 0.0, "zoe": 0.7, "ada": -0.4}
TAU = {"human": 0.6, "zoe": 0.2, "ada": 0.4}


def label_sets(items: int = 40, each: int = 450, seed: int = 5) -> dict[str, Judgments]:
    rng = np.random.default_rng(seed)
    names = list(ORDER)
    correlation = np.eye(3)
    for (one, other), rho in RHO.items():
        i, j = names.index(one), names.index(other)
        correlation[i, j] = correlation[j, i] = rho
    raw = rng.standard_normal((3, items))
    raw -= raw.mean(axis=1, keepdims=True)
    white = np.linalg.solve(np.linalg.cholesky(np.cov(raw)), raw)  # of these items too, not only in the mean
    strength = np.linalg.cholesky(correlation) @ white
    sets = {}
    for k, name in enumerate(names):
        a, b = np.array([rng.choice(items, 2, replace=False) for _ in range(each)]).T
        delta = strength[k, a] - strength[k, b] + ORDER[name]
        p_a, p_b = (1 / (1 + np.exp(TAU[name] - sign * delta)) for sign in (1, -1))
        u = rng.random(each)
        outcome = np.where(u < p_a, "a", np.where(u < p_a + p_b, "b", "tie"))
        ids = np.array([f"i{number:02d}" for number in range(items)])
        table = pd.DataFrame({"item_a": ids[a], "item_b": ids[b], "outcome": outcome})
        sets[name] = Judgments.from_frame(table, source=name)
    return sets


@pytest.fixture(scope="module")
def sets() -> dict[str, Judgments]:
    return label_sets()


@pytest.fixture(scope="module")
def latent(sets: dict[str, Judgments]) -> LatentCorrelation:
    return latent_correlation(sets, draws=400, tune=400, chains=2, seed=2)


def test_three_sources_at_once_in_their_order_with_what_each_has_of_its_own(
    latent: LatentCorrelation,
) -> None:
    assert latent.names == ("human", "zoe", "ada")
    assert latent.draws.shape == (800, 3, 3)
    for (one, other), rho in RHO.items():
        assert latent.lower.loc[one, other] < rho < latent.upper.loc[one, other]
        assert latent.mean.loc[one, other] == latent.mean.loc[other, one]
    parameters = latent.parameters().set_index(["source", "parameter"])
    for name, beta in ORDER.items():
        row = parameters.loc[(name, "order")]
        assert row["lower"] < beta < row["upper"]
        assert parameters.loc[(name, "tie"), "mean"] == pytest.approx(np.tanh(TAU[name] / 2), abs=0.06)
    assert latent.closer("zoe", "ada", "human") > 0.97
    assert latent.closer("zoe", "ada", "human") == pytest.approx(1 - latent.closer("ada", "zoe", "human"))
    assert latent.diagnostics.divergences == 0
    assert latent.diagnostics.rhat_max is not None


def test_laplace_agrees_with_nuts(sets: dict[str, Judgments], latent: LatentCorrelation) -> None:
    found = latent_correlation(sets, engine="laplace", draws=1500, chains=1, seed=3)
    shift = (found.mean - latent.mean) / np.maximum(latent.draws.std(axis=0), 1e-9)
    assert np.abs(shift.to_numpy()).max() < 0.35
    off = ~np.eye(3, dtype=bool)
    ratio = found.draws.std(axis=0)[off] / latent.draws.std(axis=0)[off]
    np.testing.assert_allclose(ratio, 1, atol=0.25)
    assert found.diagnostics.ok
    assert found.diagnostics.rhat_max is None
    assert found.closer("zoe", "ada", "human") > 0.97


def test_it_is_the_joint_model_with_the_source_as_dimension(sets: dict[str, Judgments]) -> None:
    options = {"engine": "laplace", "draws": 200, "chains": 1, "seed": 2}
    latent = latent_correlation(sets, **options)
    table = pd.concat([each.frame.astype(object).assign(dimension=name) for name, each in sets.items()])
    model = ModelSpec(order="shared", priors=Priors().updated({"correlation": "LKJ(1)"}))
    joint = fit_joint(Judgments.from_frame(table), model=model, **options)
    found = joint.correlations().set_index(["first", "second"])["mean"]
    assert found["ada", "zoe"] == pytest.approx(latent.mean.loc["ada", "zoe"], abs=1e-12)
    assert found["human", "zoe"] == pytest.approx(latent.mean.loc["human", "zoe"], abs=1e-12)


def test_soft_labels_of_one_source_and_hard_labels_of_the_other() -> None:
    """A judge whose probabilities rank the items perfectly, but whose labels are all ties."""
    rng = np.random.default_rng(3)
    items = [f"i{number}" for number in range(8)]
    strength = np.linspace(-1.5, 1.5, 8)
    rows = [(i, j) for i in range(8) for j in range(8) if i != j]
    delta = np.array([strength[i] - strength[j] for i, j in rows])
    ids = pd.DataFrame([(items[i], items[j]) for i, j in rows], columns=["item_a", "item_b"])
    wins = np.where(rng.random(len(rows)) < 1 / (1 + np.exp(-2 * delta)), "a", "b")
    p_a = 0.5 / (1 + np.exp(-delta))
    probabilities = {"p_a": p_a, "p_tie": 0.5, "p_b": 0.5 - p_a}
    sets = {
        "people": Judgments.from_frame(ids.assign(outcome=wins)),
        "judge": Judgments.from_frame(ids.assign(outcome="tie", **probabilities)),
    }
    options = {"engine": "laplace", "draws": 400, "chains": 1, "seed": 1}
    soft = latent_correlation(sets, soft=True, **options)
    hard = latent_correlation(sets, **options)
    assert soft.fits["judge"].counts.wins_a.sum() == pytest.approx(p_a.sum())
    assert hard.fits["judge"].counts.wins_a.sum() == 0
    assert soft.fits["people"].counts.wins_a.sum() == (wins == "a").sum()
    assert soft.mean.loc["people", "judge"] > 0.5
    assert abs(hard.mean.loc["people", "judge"]) < 0.3


def test_what_cannot_be_correlated(sets: dict[str, Judgments]) -> None:
    human = sets["human"]
    with pytest.raises(InputError, match="two sources"):
        latent_correlation({"human": human})
    renamed = human.frame.astype(object).replace({"i00": "x", "i01": "y"})
    few = renamed[renamed["item_a"].isin(["x", "y"]) & renamed["item_b"].isin(["x", "y", "i02"])]
    with pytest.raises(InputError, match=r"human, other: \d items in common"):
        latent_correlation({"human": human, "other": Judgments.from_frame(few)})
    several = human.frame.astype(object).assign(dimension=["logic", "style"] * (len(human) // 2))
    with pytest.raises(InputError, match=r"several dimensions \(logic, style\)"):
        latent_correlation({"human": human, "other": Judgments.from_frame(several)})
    with pytest.raises(InputError, match="--engine map cannot take several"):
        latent_correlation(sets, engine="map")
    with pytest.raises(InputError, match="its own order effect"):
        latent_correlation(sets, order="by-judge")


def test_names_are_checked(latent: LatentCorrelation) -> None:
    with pytest.raises(InputError, match="'bob' is not a source"):
        latent.closer("zoe", "bob", "human")
    with pytest.raises(InputError, match="three different"):
        latent.closer("zoe", "zoe", "human")


SHARE = Effort(simulations=6, warmup=250, draws=100, thinning=2)
FULL = Effort(simulations=150, warmup=300, draws=200, thinning=2)
TRUE = [0.3, 0.7, 0.95]


@pytest.mark.slow
@pytest.mark.share
def test_a_share_covers_and_the_plain_correlation_does_not() -> None:
    found = coverages([0.95], SHARE.simulations, SHARE, seed=7)[0.95]
    assert found.covered(found.latent) >= 4  # fewer happens once in 60 times at 90 %
    assert found.covered(found.plain) == 0


@pytest.fixture(scope="module")
def full() -> dict[float, Coverage]:
    return coverages(TRUE, FULL.simulations // len(TRUE), FULL, seed=11)


@pytest.mark.slow
@pytest.mark.parametrize("rho", TRUE)
def test_the_interval_covers_in_about_90_percent(full: dict[float, Coverage], rho: float) -> None:
    found = full[rho]
    size = len(found.latent)
    low, high = binom.ppf([0.005, 0.995], size, 0.9)
    assert low <= found.covered(found.latent) <= high
    assert found.latent_mean.mean() == pytest.approx(rho, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "most"), [(0.7, 0.5), (0.95, 0.0)])
def test_the_plain_correlation_does_not_come_near(
    full: dict[float, Coverage], rho: float, most: float
) -> None:
    found = full[rho]
    assert found.covered(found.plain) <= most * len(found.plain)
    assert found.plain_mean.mean() < 0.85 * rho
