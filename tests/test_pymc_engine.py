"""The posterior by PyMC and by nutpie: as NumPyro's, as computed elsewhere, as published."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayesbt.counts import Counts
from bayesbt.errors import InputError, MissingExtraError
from bayesbt.infer import Fit, fit
from bayesbt.infer.container import convergence
from bayesbt.infer.engines import run_sampler
from bayesbt.infer.results import Options
from bayesbt.infer.samples import Samples
from bayesbt.ranking import rank
from bayesbt.spec import ModelSpec, Priors
from bayesbt.ties import tie_model
from tests.cases import asymmetric_counts, counts_of, read_counts
from tests.test_reference_bayes import CASES, effective_size
from tests.test_reference_bayes import MODELS as TWO_ITEM_MODELS
from tests.test_reference_ml import MODELS, ORDER_NAMES, TIES


def sampled_by(engine: str, **options: Any) -> dict[str, Any]:
    """Engine and sampler from one word; nutpie is optional."""
    if engine == "nutpie":
        pytest.importorskip("nutpie")
    return (
        {"engine": "pymc" if engine == "nutpie" else engine}
        | options
        | ({"sampler": "nutpie"} if engine == "nutpie" else {})
    )


def many_judges(dimensions: int) -> Counts:
    """Five items, four judges who differ in everything, drawn from the Rao-Kupper model."""
    rng = np.random.default_rng(23)
    strength = np.array([1.4, 0.5, 0.1, -0.6, -1.4])
    alpha, beta, u = (
        np.array([1.6, 1.1, 0.9, 0.5]),
        np.array([0.7, 0.1, 0.3, -0.4]),
        np.array([-1, -2, -0.5, -1.5]),
    )
    a, b, judge, dimension = (
        grid.ravel() for grid in np.meshgrid(range(5), range(5), range(4), range(dimensions), indexing="ij")
    )
    a, b, judge, dimension = (index[a != b] for index in (a, b, judge, dimension))
    delta = alpha[judge] * (strength[a] - strength[b]) * (1 - 0.6 * dimension) + beta[judge]
    p = np.exp(np.stack(tie_model("rao-kupper").log_probabilities(np, delta, u[judge])))
    wins_a, ties, wins_b = rng.multinomial(rng.integers(2, 6, len(a)), (p / p.sum(axis=0)).T).T.astype(float)
    covariates = np.array([[1.2], [0.4], [-1.5], [0.7], [-0.8]])
    return Counts(
        tuple("vwxyz"),
        a,
        b,
        wins_a,
        ties,
        wins_b,
        judge=judge,
        dimension=dimension,
        judges=("j1", "j2", "j3", "j4"),
        dimensions=tuple(f"d{d}" for d in range(dimensions)),
        covariates=covariates,
    )


WHOLE = ModelSpec("rao-kupper", "by-judge", "adherence", "by-judge")
JOINT = ModelSpec(
    "davidson",
    "shared",
    covariates=("length",),
    priors=Priors().updated({"tie": "LogNormal(0, 1)", "strength_sd": "LogNormal(-0.3, 0.5)"}),
)


def assert_same_posterior(one: Samples, other: Samples) -> None:
    """Means and standard deviations within 4.5 Monte Carlo errors, after both have mixed."""
    assert set(one.values) == set(other.values)
    assert set(one.statistics) == set(other.statistics)
    for name, first in one.values.items():
        moments = []
        for values in (first, other.values[name]):
            flat = values.reshape(*values.shape[:2], -1)
            moving = np.ptp(flat, axis=(0, 1)) > 1e-9  # the diagonal of a correlation stays 1
            rhat, bulk, _ = convergence(flat[..., moving])
            assert rhat.max() < 1.015, name
            assert bulk.min() > 400, name
            moments.append((flat.mean(axis=(0, 1))[moving], flat.std(axis=(0, 1))[moving], bulk))
        (mean_1, sd_1, size_1), (mean_2, sd_2, size_2) = moments
        error = np.sqrt(sd_1**2 / size_1 + sd_2**2 / size_2)
        assert (np.abs(mean_1 - mean_2) / error).max() < 4.5, name
        # The error of a standard deviation is at least sd / sqrt(2 n), and larger under heavy tails.
        assert (np.abs(np.log(sd_1 / sd_2)) / np.sqrt(1 / size_1 + 1 / size_2)).max() < 4.5, name


@cache
def by_numpyro(spec: ModelSpec, dimensions: int) -> Samples:
    return run_sampler("numpyro", many_judges(dimensions), spec, Options(seed=5, target_accept=0.95))


POSTERIORS = [
    pytest.param("pymc", WHOLE, 1, id="pymc-judges"),
    pytest.param("nutpie", WHOLE, 1, id="nutpie-judges"),
    pytest.param("pymc", JOINT, 2, id="pymc-dimensions", marks=pytest.mark.slow),
    pytest.param("nutpie", JOINT, 2, id="nutpie-dimensions", marks=pytest.mark.slow),
    pytest.param("pymc", replace(JOINT, ties="rao-kupper"), 1, id="pymc-native-tie", marks=pytest.mark.slow),
    pytest.param("nutpie", replace(WHOLE, covariates=("length",)), 2, id="all", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("engine", "spec", "dimensions"), POSTERIORS)
def test_same_posterior_as_numpyro(engine: str, spec: ModelSpec, dimensions: int) -> None:
    chosen = sampled_by(engine, seed=5, target_accept=0.95)
    one = run_sampler(chosen.pop("engine"), many_judges(dimensions), spec, Options(**chosen))
    assert_same_posterior(one, by_numpyro(spec, dimensions))
    assert one.statistics["diverging"].mean() < 0.003
    assert one.statistics["n_steps"].dtype.kind == "i"
    assert 0.85 < one.statistics["acceptance_rate"].mean() < 0.99


TWO_ITEM_SHARE = {
    ("A40_B10_T10", "davidson: lam~N(0,1), log nu~N(0,1)", "pymc"),
    ("A7_B3_T0", "raokupper: lam~N(0,1), log eta~N(0,1)", "nutpie"),
    ("A40_B10_T10", "bt(ties=half): lam~N(0,1)", "nutpie"),
}
TWO_ITEM = [
    pytest.param(*case, marks=[] if case in TWO_ITEM_SHARE else pytest.mark.slow)
    for case in (
        (name, model, by) for name in CASES for model in TWO_ITEM_MODELS for by in ("pymc", "nutpie")
    )
]


@pytest.mark.parametrize(("case", "model", "engine"), TWO_ITEM)
def test_two_items(shared: Callable[..., Path], case: str, model: str, engine: str) -> None:
    expected = json.loads(shared("reference", "twoitem.expected.json").read_text())["cases"][case][model]
    ties = TWO_ITEM_MODELS[model]
    priors = {"strength_sd": 1} | ({} if ties == "split-half" else {"tie": "LogNormal(0, 1)"})
    table = counts_of({("A", "B"): CASES[case]})
    fitted = fit(table, ties=ties, priors=priors, **sampled_by(engine, draws=2000, seed=12))
    assert fitted.diagnostics.ok
    compared = {"delta": fitted.strength_draws[:, 0] - fitted.strength_draws[:, 1]}
    if ties != "split-half":
        t = fitted.parameter_draws["tie"]
        compared["tie_par"], _ = fitted.spec.tie_model.log_native(np, np.log(t / (1 - t)))
    for name, draws in compared.items():
        error = expected[f"sd[{name}]"] / np.sqrt(effective_size(draws, fitted))
        assert draws.mean() == pytest.approx(expected[f"E[{name}]"], abs=4 * error)
        assert draws.std() == pytest.approx(expected[f"sd[{name}]"], abs=4 * error)


@pytest.mark.parametrize("engine", [pytest.param("pymc", marks=pytest.mark.slow), "nutpie"])
def test_tennis(shared: Callable[..., Path], engine: str) -> None:
    expected = json.loads(shared("reference", "tennis_agresti.expected.json").read_text())["computed"]
    counts = read_counts(shared("reference", "tennis_agresti.csv"))
    fitted = fit(counts, ties="drop", priors={"strength_sd": 3}, **sampled_by(engine, draws=4000, seed=3))
    result = rank(fitted, distribution=True)
    table = result.table.set_index("item")
    assert table["strength"].to_dict() == pytest.approx(expected["mean_centred"], abs=0.025)
    assert table["sd"].to_dict() == pytest.approx(expected["sd_centred"], abs=0.025)
    for item, probabilities in expected["rank_probabilities_1_to_5"].items():
        assert result.rank_distribution[0].loc[item].tolist() == pytest.approx(probabilities, abs=0.015)


FLAT = {"strength_sd": 3, "order": "Normal(0, 3)", "tie": "LogNormal(0, 3)"}
PUBLISHED_SHARE = {
    ("springall", "davidson", "numpyro"),
    ("springall", "davidson", "pymc"),
    ("baseball", "bt+order", "numpyro"),
    ("citations", "bt", "pymc"),
    ("heaviness", "bt+order", "nutpie"),
    ("pudding", "raokupper", "nutpie"),
}
PUBLISHED = [
    pytest.param(*case, marks=[] if case in PUBLISHED_SHARE else pytest.mark.slow)
    for case in ((*model, engine) for model in MODELS for engine in ("numpyro", "pymc", "nutpie"))
]


@pytest.mark.parametrize(("table", "model", "engine"), PUBLISHED)
def test_flat_prior_gives_the_published_estimates(
    shared: Callable[..., Path], table: str, model: str, engine: str
) -> None:
    # Every count times 25: the estimates stay, their errors are a fifth, and the posterior is so close to
    # normal that mean and mode are one. The citations are thousands as they are.
    expected = json.loads(shared("reference", f"{table}.expected.json").read_text())
    wanted = expected["models"][model]
    base, _, order = model.partition("+")
    counts = read_counts(shared("reference", f"{table}.csv"))
    times = 1 if table == "citations" else 25
    arrays = {name: getattr(counts, name) * times for name in ("wins_a", "ties", "wins_b")}
    fitted = fit(
        replace(counts, **arrays),
        ties=TIES[base],
        order="shared" if order else "none",
        reference=expected["reference_item"],
        priors=FLAT,
        **sampled_by(engine, seed=1),
    )
    assert fitted.diagnostics.rhat_max < 1.02
    for name, (mean, sd) in posterior_of(fitted).items():
        if wanted["se"].get(name):
            error = wanted["se"][name] / np.sqrt(times)
            assert (mean - wanted["estimate"][name]) / error == pytest.approx(0, abs=0.15), name
            assert sd / error == pytest.approx(1, abs=0.08), name


def posterior_of(fitted: Fit) -> dict[str, tuple[float, float]]:
    """Mean and sd of every item, of the order effect, and of log nu or log tau, as the papers have them."""
    ranking = fitted.ranking().set_index("item")
    found = {item: tuple(ranking.loc[item, ["strength", "sd"]]) for item in ranking.index}
    draws = fitted.parameter_draws
    if "order" in draws:
        found |= dict.fromkeys(ORDER_NAMES, (draws["order"].mean(), draws["order"].std()))
    if "tie" in draws:
        native, _ = fitted.spec.tie_model.log_native(np, np.log(draws["tie"] / (1 - draws["tie"])))
        found["tie"] = (native.mean(), native.std())
    return found


@pytest.mark.parametrize("engine", ["pymc", "nutpie"])
def test_same_seed_same_numbers(engine: str) -> None:
    counts, spec = asymmetric_counts(), ModelSpec("split-half", "shared")
    chosen = sampled_by(engine, draws=40, tune=60, chains=2)
    name = chosen.pop("engine")
    one, two, other = (run_sampler(name, counts, spec, Options(**chosen, seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.values["strength"], two.values["strength"])
    assert not np.array_equal(one.values["strength"], other.values["strength"])
    assert one.values["strength"].shape == (2, 40, 1, 4)
    assert not np.array_equal(one.values["strength"][0], one.values["strength"][1])


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_leaves_standard_output_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], terminal: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    options = Options(draws=20, tune=20, chains=1, progress=True)
    run_sampler("pymc", asymmetric_counts(), ModelSpec("split-half", "shared"), options)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert terminal or captured.err == ""


def test_nutpie_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(MissingExtraError, match=r"--sampler nutpie.*bayesbt\[nutpie\]"):
        fit(asymmetric_counts(), engine="pymc", sampler="nutpie")


def test_unknown_sampler() -> None:
    with pytest.raises(InputError, match=r"--sampler 'stan'.*pymc, nutpie"):
        fit(asymmetric_counts(), engine="pymc", sampler="stan")
