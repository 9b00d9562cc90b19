"""Published tables by maximum likelihood: estimates, standard errors, log-likelihood to 1e-4."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, spearmanr

from bayesbt.counts import Counts, count_judgments
from bayesbt.formats import import_source
from bayesbt.infer import Fit, fit
from tests.cases import counts_of, read_counts

TIES = {"bt": "drop", "bt(ties=half)": "split-half", "davidson": "davidson", "raokupper": "rao-kupper"}
MODELS = [
    ("pudding", "davidson"),
    ("pudding", "raokupper"),
    ("pudding", "bt(ties=half)"),
    ("pudding", "davidson+order"),
    ("pudding", "raokupper+order"),
    ("springall", "raokupper"),
    ("springall", "davidson"),
    ("springall", "bt(ties=half)"),
    ("baseball", "bt"),
    ("baseball", "bt+order"),
    ("citations", "bt"),
    ("heaviness", "bt+order"),
]
ORDER_NAMES = ("order", "home", "first_position")


def tie_on_paper_scale(fitted: Fit) -> tuple[float, float]:
    """(log nu, its error), or (log log theta, its error), from t and its error."""
    tie = fitted.parameters()["tie"]
    t, error_of_logit = tie["mean"], tie["sd"] / (tie["mean"] * (1 - tie["mean"]))
    value, log_slope = fitted.spec.tie_model.log_native(np, np.log(t / (1 - t)))
    return float(value), float(np.exp(log_slope)) * error_of_logit


@pytest.mark.parametrize(("table", "model"), MODELS)
def test_published_estimates(shared: Callable[..., Path], table: str, model: str) -> None:
    expected = json.loads(shared("reference", f"{table}.expected.json").read_text())
    wanted = expected["models"][model]
    base, _, order = model.partition("+")
    fitted = fit(
        read_counts(shared("reference", f"{table}.csv")),
        ties=TIES[base],
        order="shared" if order else "none",
        engine="ml",
        reference=expected["reference_item"],
    )
    ranking = fitted.ranking().set_index("item")
    got = {item: tuple(ranking.loc[item, ["strength", "sd"]]) for item in ranking.index}
    parameters = fitted.parameters()
    got |= {name: (parameters["order"]["mean"], parameters["order"]["sd"]) for name in ORDER_NAMES if order}
    if "tie" in wanted["estimate"]:
        got["tie"] = tie_on_paper_scale(fitted)
    assert {name: got[name][0] for name in wanted["estimate"]} == pytest.approx(wanted["estimate"], abs=1e-4)
    assert {name: got[name][1] for name in wanted["se"]} == pytest.approx(wanted["se"], abs=1e-4)
    assert fitted.result.loglik == pytest.approx(wanted["loglik"], abs=1e-4)
    if "theta" in wanted:
        assert parameters["tie"]["native"]["mean"] == pytest.approx(wanted["theta"], abs=1e-4)


# Davidson (1970), table of example 2: six brands of chocolate pudding, 745 comparisons.
PUDDING = {
    ("brand1", "brand2"): (19, 16, 22),
    ("brand1", "brand3"): (16, 12, 19),
    ("brand2", "brand3"): (19, 10, 19),
    ("brand1", "brand4"): (18, 13, 23),
    ("brand2", "brand4"): (23, 9, 19),
    ("brand3", "brand4"): (19, 15, 20),
    ("brand1", "brand5"): (13, 18, 19),
    ("brand2", "brand5"): (16, 12, 20),
    ("brand3", "brand5"): (16, 17, 15),
    ("brand4", "brand5"): (17, 16, 14),
    ("brand1", "brand6"): (18, 12, 21),
    ("brand2", "brand6"): (22, 12, 20),
    ("brand3", "brand6"): (13, 10, 18),
    ("brand4", "brand6"): (14, 18, 19),
    ("brand5", "brand6"): (11, 12, 21),
}  # (wins of the first, ties, wins of the second)


def test_pudding_worths_as_printed_by_davidson() -> None:
    fitted = fit(counts_of(PUDDING), ties="davidson", engine="ml")
    worth = np.exp(fitted.estimates["strength"].to_numpy())
    assert worth / worth.sum() == pytest.approx([0.1388, 0.1730, 0.1617, 0.1654, 0.1587, 0.2024], abs=5e-5)
    assert fitted.parameters()["tie"]["native"]["mean"] == pytest.approx(0.7468, abs=5e-5)


def test_swapping_the_columns_changes_nothing() -> None:
    swapped = {(b, a): (z, y, x) for (a, b), (x, y, z) in PUDDING.items()}
    for ties in TIES.values():
        one, other = (fit(counts_of(table), ties=ties, engine="ml").estimates for table in (PUDDING, swapped))
        assert one.to_numpy() == pytest.approx(other.to_numpy(), abs=1e-9)


def test_gienapp_example(shared: Callable[..., Path]) -> None:
    expected = json.loads(shared("reference", "gienapp_example.expected.json").read_text())["published"]
    fitted = fit(read_counts(shared("reference", "gienapp_example.csv")), engine="gienapp", tau=0.01, reg=0.3)
    merit = 1 + fitted.estimates["strength"].to_numpy()  # the dummy has merit 1, and the example's mean is 1
    assert dict(zip(fitted.items, merit, strict=True)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("dimension", "column"), [("logic", "Logical Quality"), ("rhetoric", "Rhetorical Quality")]
)
def test_published_webis_scores(shared: Callable[..., Path], dimension: str, column: str) -> None:
    folder = shared("data", "webis-argquality-20")
    fitted = fit(import_source(folder).judgments, engine="gienapp", tau=0.05, reg=0.1, dimension=dimension)
    arguments = pd.read_csv(
        folder / "Webis-ArgQuality-20-Full" / "webis-argquality20-arguments.csv", dtype=str
    )
    ids = arguments[["Discussion ID", "Argument ID", "Topic ID"]].agg("-".join, axis=1)
    published = pd.Series(arguments[column].astype(float).to_numpy(), index=ids)
    published = published[~published.index.duplicated()].loc[list(fitted.items)].to_numpy()
    strength = fitted.estimates["strength"].to_numpy()
    score = (strength - strength.mean()) / strength.std()
    published_z = (published - published.mean()) / published.std()
    assert len(fitted.items) == 1269
    assert np.corrcoef(score, published)[0, 1] > 0.99999
    assert np.abs(score - published_z).max() < 0.004


@pytest.mark.parametrize(
    ("dimension", "row"),
    [("logic", (0.125, 0.153, 0.103, 1.014, 1.323)), ("rhetoric", (0.071, 0.104, 0.069, 1.033, 1.363))],
)
def test_majority_baseline_of_the_papers_table_2(
    shared: Callable[..., Path], dimension: str, row: tuple[float, ...]
) -> None:
    imported = import_source(shared("data", "webis-argquality-20"))
    human = count_judgments(imported.judgments, dimension=dimension)
    total = human.wins_a + human.ties + human.wins_b
    constant = Counts(human.items, human.a, human.b, total, 0 * total, 0 * total)
    scores = fit(constant, engine="ilsr", ties="split", alpha=0.01).estimates["strength"].to_numpy()
    frame = imported.items.frame.set_index("item")
    published = frame[f"score_{dimension}"].astype(float).loc[list(human.items)].to_numpy()
    z, p = ((x - x.mean()) / x.std() for x in (scores, published))
    correlations = np.corrcoef(z, p)[0, 1], spearmanr(z, p)[0], kendalltau(z, p)[0]
    got = (*correlations, np.abs(z - p).mean(), np.sqrt(((z - p) ** 2).mean()))
    assert got == pytest.approx(row, abs=6e-4)
