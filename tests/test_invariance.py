"""What must not matter does not: sides, names, the order and grouping of rows, unrelated items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bayesbt.counts import Counts, count_judgments
from bayesbt.infer import fit
from bayesbt.infer.fitted import Fit
from bayesbt.infer.model import log_density
from bayesbt.spec import ModelSpec, Priors
from bayesbt.tables import Judgments
from bayesbt.ties import TIE_MODELS
from tests import agreement
from tests.cases import CELLS, asymmetric_counts, counts_of

NORMALISED = [name for name, model in TIE_MODELS.items() if model.has_tie_parameter]
RULES = [name for name in TIE_MODELS if name not in NORMALISED]
PAIRS = np.array([cell[:2] for cell in CELLS])
SYMMETRIC = [spec for spec in agreement.specs() if spec.priors.order == Priors().order]

few = settings(max_examples=6, deadline=None, derandomize=True)
many = settings(max_examples=40, deadline=None, derandomize=True)
every_fit = pytest.mark.parametrize(
    ("engine", "ties"), [(engine, ties) for engine in ("ml", "map") for ties in TIE_MODELS]
)
dimensions = st.sampled_from([1, 3])
seeds = st.integers(0, 2**32 - 1)


@st.composite
def counts(draw: st.DrawFn) -> Counts:
    """Seven ordered pairs of four items; each is won at least once by either, so that ml is finite."""
    won = st.lists(st.integers(1, 12), min_size=len(PAIRS), max_size=len(PAIRS))
    tied = st.lists(st.integers(0, 6), min_size=len(PAIRS), max_size=len(PAIRS)).filter(any)
    outcomes = [np.array(draw(each), dtype=float) for each in (won, tied, won)]
    return Counts(("w", "x", "y", "z"), *PAIRS.T, *outcomes)


def fitted(data: Counts | Judgments, engine: str, ties: str, order: str = "shared") -> Fit:
    return fit(data, engine=engine, ties=ties, order=order, draws=2, tune=1, chains=1)


def strengths(result: Fit) -> NDArray[np.float64]:
    return result.estimates["strength"].to_numpy()


def scalars(result: Fit) -> dict[str, float]:
    return {name: values["mean"] for name, values in result.parameters().items()}


def swapped(data: Counts, where: NDArray[np.bool_] | bool = True) -> Counts:
    def exchange(one: str, other: str) -> dict[str, NDArray]:
        values = getattr(data, one), getattr(data, other)
        return {one: np.where(where, values[1], values[0]), other: np.where(where, *values)}

    return replace(data, **exchange("a", "b"), **exchange("wins_a", "wins_b"))


def negated(point: dict[str, NDArray]) -> dict[str, NDArray]:
    signs = {"order": -1, "order_by_judge": -1}
    return {name: signs.get(name, 1) * value for name, value in point.items()}


@every_fit
@few
@given(data=counts())
def test_swapping_sides_turns_the_order_effect_only(engine: str, ties: str, data: Counts) -> None:
    here, there = fitted(data, engine, ties), fitted(swapped(data), engine, ties)
    assert strengths(there) == pytest.approx(strengths(here), abs=1e-7)
    turned = scalars(here) | {"order": -scalars(here)["order"]}
    assert scalars(there) == pytest.approx(turned, abs=1e-6)


@every_fit
@few
@given(data=counts(), where=st.lists(st.booleans(), min_size=7, max_size=7))
def test_without_an_order_effect_any_side_may_be_first(
    engine: str, ties: str, data: Counts, where: list[bool]
) -> None:
    here = fitted(data, engine, ties, "none")
    there = fitted(swapped(data, np.array(where)), engine, ties, "none")
    assert strengths(there) == pytest.approx(strengths(here), abs=1e-7)


@many
@given(spec=st.sampled_from(SYMMETRIC), size=dimensions, seed=seeds)
def test_density_under_swapped_sides(spec: ModelSpec, size: int, seed: int) -> None:
    data = agreement.data(size)
    point = agreement.random_point(spec, data, np.random.default_rng(seed))
    there = log_density(np, spec, swapped(data), negated(point))
    assert float(there) == pytest.approx(float(log_density(np, spec, data, point)), rel=1e-12)


@every_fit
@few
@given(data=counts(), to=st.permutations(range(4)))
def test_relabelling_moves_the_strengths_along(engine: str, ties: str, data: Counts, to: list[int]) -> None:
    new = np.array(to)
    here, there = (
        fitted(data, engine, ties),
        fitted(replace(data, a=new[data.a], b=new[data.b]), engine, ties),
    )
    assert strengths(there)[new] == pytest.approx(strengths(here), abs=1e-7)
    assert scalars(there) == pytest.approx(scalars(here), abs=1e-6)


@many
@given(
    spec=st.sampled_from(agreement.specs()),
    size=dimensions,
    seed=seeds,
    items=st.permutations(range(5)),
    judges=st.permutations(range(3)),
)
def test_density_under_relabelled_items_and_judges(
    spec: ModelSpec, size: int, seed: int, items: list[int], judges: list[int]
) -> None:
    data = agreement.data(size)
    point = agreement.random_point(spec, data, np.random.default_rng(seed))
    item, judge = np.array(items), np.array(judges)
    back = {"strength": np.argsort(item)} | dict.fromkeys(
        ("order_by_judge", "tie_by_judge", "log_adherence"), np.argsort(judge)
    )
    moved = {name: value[..., back[name]] if name in back else value for name, value in point.items()}
    relabelled = replace(
        data,
        a=item[data.a],
        b=item[data.b],
        judge=judge[data.judge],
        covariates=data.covariates[np.argsort(item)],
    )
    there = log_density(np, spec, relabelled, moved)
    assert float(there) == pytest.approx(float(log_density(np, spec, data, point)), rel=1e-12)


@many
@given(spec=st.sampled_from(agreement.specs()), size=dimensions, seed=seeds, share=st.floats(0.01, 0.99))
def test_density_under_cells_in_another_order_and_split(
    spec: ModelSpec, size: int, seed: int, share: float
) -> None:
    data, rng = agreement.data(size), np.random.default_rng(seed)
    point = agreement.random_point(spec, data, rng)
    n = len(data.a)
    rows = rng.permutation(np.concatenate([np.arange(n), np.arange(n)]))
    part = np.zeros(2 * n)
    part[np.unique(rows, return_index=True)[1]] = share
    part[part == 0] = 1 - share
    names = ("a", "b", "judge", "dimension", "wins_a", "ties", "wins_b")
    arrays = {name: getattr(data, name)[rows] * (part if name in names[4:] else 1) for name in names}
    there = log_density(np, spec, replace(data, **arrays), point)
    assert float(there) == pytest.approx(float(log_density(np, spec, data, point)), rel=1e-12)


@every_fit
@few
@given(data=counts(), cell=st.integers(0, 6), share=st.floats(0.1, 0.9))
def test_splitting_a_count_changes_no_estimate(
    engine: str, ties: str, data: Counts, cell: int, share: float
) -> None:
    part = np.ones(8)
    part[[cell, 7]] = share, 1 - share
    rows = np.append(np.arange(7), cell)
    outcomes = {name: getattr(data, name)[rows] * part for name in ("wins_a", "ties", "wins_b")}
    judge = np.zeros(8, dtype=np.int64)
    split = replace(data, a=data.a[rows], b=data.b[rows], judge=judge, dimension=judge, **outcomes)
    here, there = fitted(data, engine, ties), fitted(split, engine, ties)
    assert strengths(there) == pytest.approx(strengths(here), abs=1e-7)
    assert scalars(there) == pytest.approx(scalars(here), abs=1e-6)


@st.composite
def rows(draw: st.DrawFn) -> pd.DataFrame:
    """Judgments with whole counts, of two judges, in any order, with repeats."""
    pair = st.sampled_from([("k", "l"), ("l", "k"), ("l", "m"), ("m", "k")])
    row = st.tuples(pair, st.sampled_from(["a", "tie", "b"]), st.integers(1, 4), st.sampled_from("ij"))
    drawn = draw(st.lists(row, min_size=1, max_size=20))
    frame = [(*pair, outcome, count, judge) for pair, outcome, count, judge in drawn]
    return pd.DataFrame(frame, columns=["item_a", "item_b", "outcome", "count", "judge"])


def assert_same_counts(here: Counts, there: Counts) -> None:
    assert here.items == there.items
    assert here.judges == there.judges
    for name in ("a", "b", "judge", "wins_a", "ties", "wins_b"):
        assert getattr(here, name).tolist() == getattr(there, name).tolist()


@pytest.mark.parametrize("by_judge", [False, True])
@many
@given(frame=rows(), seed=seeds)
def test_order_and_grouping_of_rows(by_judge: bool, frame: pd.DataFrame, seed: int) -> None:
    def counted(table: pd.DataFrame) -> Counts:
        return count_judgments(Judgments.from_frame(table), by_judge=by_judge)

    here = counted(frame)
    assert_same_counts(here, counted(frame.sample(frac=1, random_state=seed)))
    single = frame.loc[frame.index.repeat(frame["count"])].drop(columns="count")
    assert_same_counts(here, counted(single))
    keys = ["item_a", "item_b", "outcome", "judge"]
    assert_same_counts(here, counted(frame.groupby(keys, as_index=False)["count"].sum()))


@pytest.mark.parametrize("engine", ["ml", "map"])
@pytest.mark.parametrize("ties", NORMALISED)
@few
@given(wins=st.integers(1, 500), tied=st.integers(1, 500))
def test_equal_wins_and_any_ties_are_no_difference(engine: str, ties: str, wins: int, tied: int) -> None:
    for one, other in (((wins, tied, wins), None), ((wins, tied, 0), (wins, 0, 0))):
        table = {("A", "B"): one} | ({} if other is None else {("B", "A"): other})
        assert np.abs(strengths(fitted(counts_of(table), engine, ties, "none"))).max() <= 1e-12


@pytest.mark.parametrize("engine", ["ml", "map"])
@pytest.mark.parametrize("ties", NORMALISED)
def test_twenty_each(engine: str, ties: str) -> None:
    result = fitted(counts_of({("A", "B"): (20, 20, 20)}), engine, ties, "none")
    assert np.abs(strengths(result)).max() < 1e-15
    if engine == "ml":
        assert scalars(result)["tie"] == pytest.approx(1 / 3, abs=1e-9)


@pytest.mark.parametrize("ties", NORMALISED)
@many
@given(difference=st.floats(0, 20), tie_logit=st.floats(-6, 6))
def test_twenty_each_has_a_symmetric_likelihood_with_its_top_at_zero(
    ties: str, difference: float, tie_logit: float
) -> None:
    data, spec = counts_of({("A", "B"): (20, 20, 20)}), ModelSpec(ties)

    def at(x: float) -> float:
        scalars = {"log_sd": np.array([8.0]), "tie_logit": np.array([tie_logit])}
        return float(log_density(np, spec, data, scalars | {"strength": np.array([[x / 2, -x / 2]])}))

    assert at(difference) == pytest.approx(at(-difference), rel=1e-13)
    assert at(difference) <= at(0.0)


def beside(data: Counts, other: Counts) -> Counts:
    """Both data sets in one, with no comparison between their items."""
    items = (*data.items, *(f"{item}'" for item in other.items))
    shift = data.n_items
    ends = [np.concatenate([getattr(data, side), getattr(other, side) + shift]) for side in "ab"]
    names = ("wins_a", "ties", "wins_b")
    outcomes = [np.concatenate([getattr(data, name), getattr(other, name)]) for name in names]
    return Counts(items, *ends, *outcomes)


@pytest.mark.parametrize("ties", RULES)
@few
@given(data=counts(), other=counts())
def test_an_unrelated_component_changes_no_contrast(ties: str, data: Counts, other: Counts) -> None:
    both = strengths(fitted(beside(data, other), "ml", ties, "none"))
    assert both[:4] == pytest.approx(strengths(fitted(data, "ml", ties, "none")), abs=1e-7)


@pytest.mark.parametrize("ties", list(TIE_MODELS))
@few
@given(data=counts())
def test_a_component_with_the_same_outcomes_changes_nothing(ties: str, data: Counts) -> None:
    # Tie parameter and order effect are common to all components, so only like data leave them alone.
    alone, both = fitted(data, "ml", ties), fitted(beside(data, data), "ml", ties)
    assert strengths(both)[:4] == pytest.approx(strengths(alone), abs=1e-7)
    assert strengths(both)[4:] == pytest.approx(strengths(alone), abs=1e-7)
    assert scalars(both) == pytest.approx(scalars(alone), abs=1e-6)


def test_the_helpers_change_something() -> None:
    data = asymmetric_counts()
    assert swapped(data).a.tolist() == data.b.tolist()
    assert swapped(data).wins_a.tolist() == data.wins_b.tolist()
    assert swapped(data, np.arange(7) == 1).wins_a.tolist() == [7, 3, 9, 5, 1, 6, 2]
    assert beside(data, data).n_components == 2
