"""Leave-one-out accuracy against leaving out for real, by quadrature and by refits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.infer import fit, pointwise
from bayesbt.infer.container import HAS_DATATREE, az, group, psis
from bayesbt.infer.diagnostics import diagnose
from bayesbt.infer.fitted import Fit
from bayesbt.infer.loo import Loo, difference, good_k, loo, stacking_weights
from bayesbt.infer.pointwise import rule, terms
from bayesbt.infer.results import Draws, EngineResult, Options
from bayesbt.spec import ModelSpec, Priors
from bayesbt.ties import TIE_MODELS, tie_model
from tests.cases import asymmetric_counts, counts_of, read_counts
from tests.reference import bradley_terry, davidson, log_likelihood, native_of, rao_kupper

Floats = NDArray[np.float64]
NORMALISED = ("rao-kupper", "davidson")

# Item p against q in both orders, with a fraction of a judgment: a run of three that says tie, say.
TWO = counts_of({("p", "q"): (5.0, 3.0, 2.0), ("q", "p"): (1.0, 1.0 + 1 / 3, 2.5)})
THREE = counts_of({("p", "q"): (1.0, 1.0, 1.0), ("q", "r"): (1.0, 0.0, 0.0), ("r", "p"): (1.0, 1.0, 1.0)})


class Grid:
    """An exact posterior: independent Normal(0, 1) strengths and a flat prior on t, or t fixed, on a grid."""

    def __init__(self, name: str, counts: Counts, t: Floats, span: Floats) -> None:
        self.name, self.counts = name, counts
        free = list(product(*[span] * (counts.n_items - 1), t))
        self.strength = np.array([(*point[:-1], 0.0) for point in free])
        self.t = np.array([point[-1] for point in free])
        # Differences to the last item: sum of squares of the centred strengths.
        self.log_prior = -0.5 * np.square(self.strength - self.strength.mean(axis=1, keepdims=True)).sum(
            axis=1
        )
        self.step = span[1] - span[0], (t[1] - t[0] if len(t) > 1 else 0.0)

    def log_posterior(self, out: Floats) -> Floats:
        """Normalised, without the judgments ``out`` (3, C)."""
        kept = np.stack([self.counts.wins_a, self.counts.ties, self.counts.wins_b]) - out
        cells = list(zip(self.counts.a, self.counts.b, *kept, strict=True))
        values = self.log_prior + [
            log_likelihood(self.name, cells, x, 0.0, t) for x, t in zip(self.strength, self.t, strict=True)
        ]
        return values - np.logaddexp.reduce(values)

    def expected(self, out: Floats, power: float = 1.0) -> tuple[float, float]:
        """Log predictive probability of ``out``: of its winners given no tie, and of all its outcomes."""
        posterior = self.log_posterior(out)
        decisive, full = np.zeros((2, len(posterior)))
        for kind, c in zip(*np.nonzero(out), strict=True):
            a, b, n = self.counts.a[c], self.counts.b[c], out[kind, c] / power
            p = np.array(
                [self.probabilities(x[a], x[b], t) for x, t in zip(self.strength, self.t, strict=True)]
            )
            full += n * np.log(p[:, kind])
            if kind != 1:
                decisive += n * np.log(p[:, kind] / (p[:, 0] + p[:, 2]))
        return tuple(float(np.logaddexp.reduce(posterior + terms_)) for terms_ in (decisive, full))

    def probabilities(self, x_a: float, x_b: float, t: float) -> tuple[float, float, float]:
        worths = math.exp(x_a), math.exp(x_b)
        if self.name in NORMALISED:
            return (rao_kupper if self.name == "rao-kupper" else davidson)(*worths, native_of(self.name, t))
        p_a, p_b = bradley_terry(*worths)
        return p_a, 1.0, p_b  # the tie is never scored

    def fit(self, draws: int, priors: dict[str, float]) -> Fit:
        """A fit whose draws are an evenly spread sample of the exact posterior."""
        rng = np.random.default_rng(3)
        cumulated = np.cumsum(np.exp(self.log_posterior(np.zeros((3, len(self.counts.a))))))
        at = np.searchsorted(cumulated / cumulated[-1], (rng.permutation(draws) + 0.5) / draws)
        strength = self.strength[at] + rng.uniform(-0.5, 0.5, (draws, self.counts.n_items)) * self.step[0]
        scalars = {"tie": (self.t[at] + rng.uniform(-0.5, 0.5, draws) * self.step[1])[None]}
        has_t = self.name in NORMALISED and len(np.unique(self.t)) > 1
        made = Draws((strength - strength.mean(axis=1, keepdims=True))[None], scalars if has_t else {})
        spec = ModelSpec(self.name, priors=Priors().updated(priors))
        result = EngineResult(bayesian=True, draws=made)
        return Fit(spec, self.counts, "laplace", Options(), result, diagnose(result, "laplace", ()))


@cache
def two_items(name: str) -> tuple[Grid, Fit]:
    t = (np.arange(60) + 0.5) / 60 if name in NORMALISED else np.zeros(1)
    grid = Grid(name, TWO, t, np.linspace(-5, 5, 101))
    return grid, grid.fit(8000, {"strength_sd": 1.0})


def test_what_a_judgment_adds_to_a_fit() -> None:
    rows = {name: rule(tie_model(name)).tolist() for name in TIE_MODELS}
    a, tie, b = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]
    assert rows == {
        "rao-kupper": [a, tie, b],
        "davidson": [a, tie, b],
        "split": [a, [1.0, 0.0, 1.0], b],
        "split-half": [a, [0.5, 0.0, 0.5], b],
        "drop": [a, [0.0, 0.0, 0.0], b],
    }


@pytest.mark.parametrize("name", list(TIE_MODELS))
def test_judgments_of_two_items_against_quadrature(name: str) -> None:
    grid, fitted = two_items(name)
    result = loo(fitted)
    assert result.pareto_k_max < 0.5
    kinds = {
        ("p", "q", "a"): (0, 0),
        ("p", "q", "b"): (2, 0),
        ("q", "p", "a"): (0, 1),
        ("q", "p", "b"): (2, 1),
    }
    if name in NORMALISED:
        kinds |= {("p", "q", "tie"): (1, 0), ("q", "p", "tie"): (1, 1)}
    assert {tuple(row) for row in result.table[["item_a", "item_b", "outcome"]].to_numpy()} == set(kinds)
    for row in result.table.itertuples():
        out = np.zeros((3, 2))
        out[kinds[row.item_a, row.item_b, row.outcome]] = row.weight
        decisive, full = grid.expected(out, power=row.weight)
        if row.outcome == "tie":
            assert np.isnan(row.elpd_decisive)
        else:
            assert row.elpd_decisive == pytest.approx(decisive, abs=0.003)
        if name in NORMALISED:
            assert row.elpd_full == pytest.approx(full, abs=0.003)
        else:
            assert np.isnan(row.elpd_full)


def test_counts_are_whole_judgments_and_a_rest() -> None:
    labels = ["item_a", "item_b", "outcome", "weight"]
    table = loo(two_items("davidson")[1]).table.set_index(labels)["count"].sort_index()
    assert table["p", "q", "a", 1.0] == 5
    assert table["q", "p", "b"].to_dict() == {0.5: 0.5, 1.0: 2.0}
    rest = table["q", "p", "tie"]
    assert rest.index.to_list() == rest.to_list() == pytest.approx([1 / 3, 1.0])
    assert table.sum() == pytest.approx(TWO.judgments)
    # Decisive judgments as they were made, whatever a fit does with ties.
    for name in ("split", "split-half", "drop"):
        assert loo(two_items(name)[1]).table["count"].sum() == 5 + 2 + 1 + 2.5


def test_sums_and_standard_errors() -> None:
    result = loo(two_items("rao-kupper")[1])
    rows = result.table[result.table["outcome"] != "tie"]
    values = np.repeat(
        rows["elpd_decisive"], (rows["count"] * 2).astype(int)
    )  # halves, to have whole numbers
    decisive = result.elpd()
    assert decisive.elpd == pytest.approx(values.sum() / 2)
    assert decisive.se == pytest.approx(np.sqrt(np.var(values) * len(values) / 2))
    assert decisive.units == 5
    assert result.elpd("full").units == 8
    assert result.unreliable == 0
    assert loo(two_items("split")[1]).elpd("full") is None


@pytest.fixture(scope="module", params=["rao-kupper", "split", "drop"])
def three_items(request: pytest.FixtureRequest) -> tuple[Grid, Fit]:
    grid = Grid(request.param, THREE, np.array([0.3]), np.linspace(-5, 5, 71))
    return grid, grid.fit(20_000, {"strength_sd": 1.0, "tie": 0.3})


def test_items_are_left_out_with_all_their_judgments(three_items: tuple[Grid, Fit]) -> None:
    grid, fitted = three_items
    result = loo(fitted, unit="item")
    assert result.table["item"].tolist() == ["p", "q", "r"]
    observed = np.stack([THREE.wins_a, THREE.ties, THREE.wins_b])
    for i, row in enumerate(result.table.itertuples()):
        out = observed * ((i == THREE.a) | (i == THREE.b))
        decisive, full = grid.expected(out)
        assert row.pareto_k < 0.7
        assert row.elpd_decisive == pytest.approx(decisive, abs=0.03)
        if grid.name == "rao-kupper":
            assert row.elpd_full == pytest.approx(full, abs=0.03)
    # Each judgment is predicted with both of its items and counts half each time.
    assert result.elpd().elpd == pytest.approx(result.table["elpd_decisive"].sum() / 2)
    deviations = result.table["elpd_decisive"] - result.table["elpd_decisive"].mean()
    assert result.elpd().se == pytest.approx(np.sqrt(np.square(deviations).sum() / 2))


def test_an_item_all_of_whose_judgments_are_ties_is_not_scored_on_winners() -> None:
    counts = counts_of({("p", "q"): (3.0, 1.0, 2.0), ("q", "r"): (0.0, 4.0, 0.0)})
    result = loo(fit(counts, ties="drop", engine="laplace"), unit="item")
    assert result.scored("decisive")["item"].tolist() == ["p", "q"]
    assert result.table.set_index("item").loc["r", "pareto_k"] == 0  # leaving it out changes nothing


def test_refitting_replaces_what_cannot_be_trusted() -> None:
    # r has lost all 12: nothing like its prior, so the weights fail.
    counts = counts_of(
        {("p", "q"): (4.0, 1.0, 2.0), ("q", "r"): (6.0, 0.0, 0.0), ("r", "p"): (0.0, 0.0, 6.0)}
    )
    priors = {"strength_sd": 1.0, "tie": 0.1}
    grid = Grid("rao-kupper", counts, np.array([0.1]), np.linspace(-7, 7, 71))
    fitted = fit(counts, ties="rao-kupper", engine="laplace", priors=priors, draws=5000, seed=2)
    plain, refitted = (loo(fitted, unit="item", refit=asked) for asked in (False, True))
    bad = (plain.table["pareto_k"] > plain.good_k).to_numpy()
    assert bad[2]
    assert plain.unreliable == bad.mean()
    assert refitted.unreliable == 0
    assert (refitted.table["pareto_k"][bad] == 0).all()
    assert refitted.table[~bad].equals(plain.table[~bad])
    observed = np.stack([counts.wins_a, counts.ties, counts.wins_b])
    decisive, full = grid.expected(observed * ((counts.a == 2) | (counts.b == 2)))
    row = refitted.table.iloc[2]
    assert (row["elpd_decisive"], row["elpd_full"]) == pytest.approx((decisive, full), abs=0.1)


def test_judges_effects_are_in_the_terms() -> None:
    counts = replace(asymmetric_counts(), judge=np.array([0, 1, 2, 0, 1, 2, 0]), judges=("j1", "j2", "j3"))
    spec = ModelSpec("davidson", "by-judge", "adherence", "by-judge")
    rng = np.random.default_rng(5)
    strength, order, tie = rng.normal(size=(2, 4, 4)), rng.normal(size=(2, 4)), rng.uniform(0.1, 0.5, (2, 4))
    log_alpha = rng.normal(size=(2, 4, 3))
    vectors = {
        "adherence": np.exp(log_alpha - log_alpha.mean(axis=-1, keepdims=True)),
        "order_by_judge": rng.normal(size=(2, 4, 3)),
        "tie_by_judge": rng.uniform(0.1, 0.5, (2, 4, 3)),
    }
    result = EngineResult(True, draws=Draws(strength, {"order": order, "tie": tie}, {}, vectors))
    fitted = Fit(spec, counts, "numpyro", Options(), result, diagnose(result, "numpyro", ()))
    (found,) = terms(fitted, result.draws)
    for s, c in product(range(8), range(7)):
        chain, draw, judge = s // 4, s % 4, counts.judge[c]
        alpha, beta, t = (vectors[name][chain, draw, judge] for name in vectors)
        lam = strength[chain, draw]
        delta = alpha * (lam[counts.a[c]] - lam[counts.b[c]]) + beta
        p_a, p_tie, p_b = davidson(math.exp(delta), 1.0, native_of("davidson", t))
        assert found.delta[s, c] == pytest.approx(delta)
        assert np.exp(found.full[:, s, c]) == pytest.approx([p_a, p_tie, p_b])
        assert np.exp(found.decisive[:, s, c]) == pytest.approx([p_a / (p_a + p_b), 1, p_b / (p_a + p_b)])
    assert set(loo(fitted).table["judge"]) == {"j1", "j2", "j3"}


def test_pieces_and_thinning_change_nothing_but_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = fit(asymmetric_counts(), ties="split", order="shared", engine="laplace", draws=500)
    whole = [loo(fitted, unit=unit).table for unit in ("judgment", "item")]
    monkeypatch.setattr(pointwise, "CHUNK_VALUES", 4000)  # two cells at a time
    for one, unit in zip(whole, ("judgment", "item"), strict=True):
        again = loo(fitted, unit=unit).table
        assert np.allclose(again["elpd_decisive"], one["elpd_decisive"], rtol=1e-12)
        assert again.drop(columns=["elpd_decisive", "pareto_k"]).equals(
            one.drop(columns=["elpd_decisive", "pareto_k"])
        )
    thinned = pointwise.thin(fitted.result.draws, 100)
    assert thinned.strength.shape == (1, 100, 4)
    assert thinned.scalars["order"][0, -1] == fitted.result.draws.scalars["order"][0, -1]


@pytest.mark.parametrize("engine", ["laplace", pytest.param("numpyro", marks=pytest.mark.slow)])
def test_az_loo_on_idata_agrees_term_by_term(engine: str) -> None:
    options = {"draws": 300, "tune": 300, "chains": 2} if engine == "numpyro" else {}
    fitted = fit(asymmetric_counts(), ties="rao-kupper", order="shared", engine=engine, seed=3, **options)
    theirs = az.loo(fitted.idata, pointwise=True, var_name="judgment")
    pointwise_ = np.asarray(theirs.elpd_i if HAS_DATATREE else theirs.loo_i)
    table = group(fitted.idata, "log_likelihood")["judgment"].to_dataframe().reset_index()
    kinds = table[(table["chain"] == 0) & (table["draw"] == 0)].set_index(["item_a", "item_b", "outcome"])
    ours = loo(fitted).table.set_index(["item_a", "item_b", "outcome"]).loc[kinds.index]
    assert ours["count"].to_numpy() == pytest.approx(kinds["count"].to_numpy())
    assert ours["elpd_full"].to_numpy() == pytest.approx(pointwise_, abs=1e-5)  # stored in single precision
    # az.loo counts each kind once; with the multiplicities its terms are those of the judgments.
    weighted = float((pointwise_ * kinds["count"]).sum())
    assert loo(fitted).elpd("full").elpd == pytest.approx(weighted, abs=1e-3)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ 0.23 under pandas 3.1
def test_az_compare_takes_ours_and_finds_the_same(shared: Callable[..., Path]) -> None:
    counts = read_counts(shared("reference", "springall.csv"))
    names = ["rao-kupper", "davidson", "drop"]
    loos = {name: loo(fit(counts, ties=name, engine="laplace", seed=1)) for name in names}
    options = {"round_to": "none"} if HAS_DATATREE else {}
    theirs = az.compare({name: one.arviz() for name, one in loos.items()}, method="stacking", **options)
    assert theirs.index[0] == "rao-kupper"
    elpd = theirs["elpd" if HAS_DATATREE else "elpd_loo"]
    for name, one in loos.items():
        assert elpd[name] == pytest.approx(one.elpd().elpd)
        assert theirs["se"][name] == pytest.approx(one.elpd().se)
        gap, se = difference(loos["rao-kupper"], one)
        assert abs(theirs["elpd_diff"][name]) == pytest.approx(gap, abs=1e-9)
        assert theirs["dse"][name] == pytest.approx(se, abs=1e-9)
    weights = dict(zip(names, stacking_weights(list(loos.values())), strict=True))
    assert theirs["weight"].to_dict() == pytest.approx(weights, abs=0.01)
    full = az.compare({name: loos[name].arviz("full") for name in names[:2]}, method="stacking", **options)
    assert full.index[0] == "rao-kupper"
    assert abs(full["elpd_diff"].iloc[1]) == pytest.approx(difference(*list(loos.values())[:2], "full")[0])


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_az_compare_takes_containers_where_every_count_is_one() -> None:
    once = replace(asymmetric_counts(), **dict.fromkeys(("wins_a", "wins_b"), np.ones(7)), ties=np.eye(7)[2])
    fits = {name: fit(once, ties=name, engine="laplace", seed=4) for name in NORMALISED}
    options = {"round_to": "none"} if HAS_DATATREE else {}
    theirs = az.compare({name: one.idata for name, one in fits.items()}, var_name="judgment", **options)
    elpd = theirs["elpd" if HAS_DATATREE else "elpd_loo"]
    for name, one in fits.items():
        assert elpd[name] == pytest.approx(loo(one).elpd("full").elpd, abs=1e-4)


def with_scores(*columns: Floats) -> list[Loo]:
    """Results with these terms, one column a model, that count once and twice in turn."""
    template = loo(two_items("rao-kupper")[1]).table.iloc[:1]
    base = template.loc[np.zeros(len(columns[0]), dtype=int)].reset_index(drop=True)
    base["cell"], base["count"] = np.arange(len(base)), 1.0 + np.arange(len(base)) % 2
    return [Loo("judgment", base.assign(elpd_decisive=column), 1000, True) for column in columns]


def test_stacking_weights_are_the_best_mixture() -> None:
    rng = np.random.default_rng(8)
    density = rng.uniform(0.2, 0.9, (40, 3)) * [1.0, 0.97, 0.7]
    loos = with_scores(*np.log(density).T)
    weights = stacking_weights(loos)
    assert weights.sum() == pytest.approx(1)
    count = loos[0].table["count"].to_numpy()
    # Karush-Kuhn-Tucker: the slope is the total count where a model has weight, and no more elsewhere.
    slope = (count[:, None] * density / (density @ weights)[:, None]).sum(axis=0)
    assert (weights > 0.05).sum() >= 2
    assert slope[weights > 1e-6] == pytest.approx(count.sum(), rel=1e-3)
    assert (slope < count.sum() * 1.001).all()
    better, worse = with_scores(np.full(6, -0.2), np.full(6, -0.9))
    assert stacking_weights([better, worse]) == pytest.approx([1, 0], abs=1e-6)


def test_elpd_of_different_data_or_yardsticks_is_not_compared() -> None:
    one = loo(two_items("rao-kupper")[1])
    assert difference(one, loo(two_items("drop")[1]), "full") is None
    assert np.isnan(stacking_weights([one, loo(two_items("drop")[1])], "full")).all()
    other = replace(TWO, wins_a=TWO.wins_a + 1)
    with pytest.raises(InputError, match="same units of the same judgments"):
        difference(one, loo(fit(other, engine="laplace", draws=100)))
    with pytest.raises(InputError, match="same units"):
        difference(one, loo(two_items("rao-kupper")[1], unit="item"))


def test_topics() -> None:
    counts = replace(
        counts_of({("p", "q"): (3.0, 1.0, 2.0), ("r", "s"): (1.0, 2.0, 2.0), ("r", "t"): (1.0, 0.0, 1.0)}),
        topics=("cats", "cats", "dogs", "dogs", "dogs"),
    )
    fitted = fit(counts, ties="davidson", engine="laplace", draws=500)
    result = loo(fitted, unit="topic")
    assert result.table["topic"].tolist() == ["cats", "dogs"]
    assert result.table["count"].tolist() == [1.0, 1.0]
    # A topic alone is a component: without its judgments, only the prior and t are left to predict it.
    exact = loo(fit(counts, ties="davidson", engine="laplace"), unit="topic", refit=True)
    assert result.elpd("full").elpd == pytest.approx(exact.elpd("full").elpd, abs=0.3)
    for topics, message in ((None, "name no topic"), (("cats", "dogs", "d", "d", "d"), "'p' and 'q'")):
        with pytest.raises(InputError, match=message):
            loo(replace(fitted, counts=replace(counts, topics=topics)), unit="topic")


def test_a_posterior_is_needed_and_units_have_names() -> None:
    for engine in ("ml", "gienapp"):
        with pytest.raises(InputError, match=f"--engine {engine} gives no posterior"):
            loo(fit(asymmetric_counts(), engine=engine))
    with pytest.raises(InputError, match="judgment, item, topic"):
        loo(two_items("drop")[1], unit="pair")


def test_psis_of_hard_rows() -> None:
    rng = np.random.default_rng(1)
    rows = np.stack([np.full(1000, -0.7), np.repeat([-1.0, -2.0], 500), rng.normal(-1, 0.2, 1000)])
    log_weights, pareto_k = psis(rows, 1.0)
    assert np.exp(log_weights).sum(axis=1) == pytest.approx([1, 1, 1])
    assert np.exp(log_weights[0]) == pytest.approx(1e-3)
    assert pareto_k[0] == 0
    assert pareto_k[1] == np.inf  # half of the draws share the largest weight: no tail
    assert pareto_k[2] < 0.3
    assert psis(rng.normal(size=(1, 10)), 1.0)[1] == np.inf
    assert good_k(4000) == 0.7
    assert good_k(100) == 0.5


@pytest.mark.slow
def test_sampled_posterior_against_leaving_out_for_real() -> None:
    """Every third kind of judgment of a small file is left out and the model sampled anew."""
    counts = counts_of(
        {("p", "q"): (3.0, 2.0, 1.0), ("q", "r"): (2.0, 0.0, 1.0), ("r", "p"): (1.0, 1.0, 2.0)}
    )
    for name in ("rao-kupper", "split"):
        fitted = fit(counts, ties=name, order="shared", engine="numpyro", draws=2000, seed=1)
        result = loo(fitted)
        assert result.pareto_k_max < 0.7
        for row in result.table.iloc[::3].itertuples():
            kept = {key: getattr(counts, key).copy() for key in ("wins_a", "ties", "wins_b")}
            kept[("wins_a", "ties", "wins_b")[row.kind]][row.cell] -= 1
            other = fit(
                replace(counts, **kept), ties=name, order="shared", engine="numpyro", draws=2000, seed=2
            )
            (found,) = terms(other, other.result.draws, np.array([row.cell]))
            if row.outcome != "tie":
                exact = np.log(np.exp(found.decisive[row.kind]).mean())
                assert row.elpd_decisive == pytest.approx(exact, abs=0.02)
            if name == "rao-kupper":
                exact = np.log(np.exp(found.full[row.kind]).mean())
                assert row.elpd_full == pytest.approx(exact, abs=0.03)
