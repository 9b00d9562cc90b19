"""Item covariates: the design matrix, and a coefficient that is found again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesbt.covariates import design_matrix
from bayesbt.errors import InputError
from bayesbt.infer import fit, load_fit
from bayesbt.tables import Items, Judgments

FRAME = pd.DataFrame(
    {
        "item": ["c", "a", "b"],
        "text": ["one two three four", "one", "one  two"],
        "year": ["1990", "2010", "2020"],
        "same": ["5", "5", "5"],
        "gap": ["1", "", "2"],
        "place": ["north", "south", "east"],
    }
)
ITEMS = Items.from_frame(FRAME)


def standardised(values: list[float]) -> list[float]:
    x = np.array(values, dtype=float)
    return ((x - x.mean()) / x.std()).tolist()


def test_columns_and_word_counts_in_the_order_of_the_labels() -> None:
    design = design_matrix(ITEMS, ["year", "words", "log_words"], ["a", "b", "c"])
    assert design[:, 0].tolist() == pytest.approx(standardised([2010, 2020, 1990]))
    assert design[:, 1].tolist() == pytest.approx(standardised([1, 2, 4]))
    assert design[:, 2].tolist() == pytest.approx(standardised(np.log([1, 2, 4]).tolist()))


def test_a_column_of_ones_own_goes_before_a_computed_one() -> None:
    items = Items.from_frame(FRAME.assign(words=["7", "8", "12"]))
    assert design_matrix(items, ["words"], ["c", "a", "b"])[:, 0].tolist() == pytest.approx(
        standardised([7, 8, 12])
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["place"], r"'place' is no numeric column. Allowed: .*year.*words, log_words"),
        (["size"], "'size' is no numeric column"),
        (["gap"], "no value for 1 items: a"),
        (["same"], "the same for every item"),
        (["year", "year"], "name each once"),
    ],
)
def test_what_is_no_covariate(names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        design_matrix(ITEMS, names, ["a", "b", "c"])


def test_items_are_needed_and_complete() -> None:
    with pytest.raises(InputError, match="--items FILE"):
        design_matrix(None, ["year"], ["a"])
    with pytest.raises(InputError, match="no row for the judged items q"):
        design_matrix(ITEMS, ["year"], ["a", "q"])
    with pytest.raises(InputError, match="no column 'text'"):
        design_matrix(Items.from_frame(FRAME.drop(columns="text")), ["words"], ["a"])


def test_a_coefficient_is_found_again(tmp_path) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=40)
    x = (x - x.mean()) / x.std()
    strength = 0.9 * x + rng.normal(0, 0.3, 40)
    a, b = rng.integers(0, 40, 3000), rng.integers(0, 40, 3000)
    a, b = a[a != b], b[a != b]
    wins = rng.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))
    names = np.array([f"i{k:02d}" for k in range(40)])
    table = pd.DataFrame({"item_a": names[a], "item_b": names[b], "outcome": np.where(wins, "a", "b")})
    items = Items.from_frame(pd.DataFrame({"item": names, "length": x.astype(str)}))
    fitted = fit(
        Judgments.from_frame(table), ties="drop", items=items, covariates=["length"], draws=400, seed=1
    )
    found = fitted.summary()["covariates"]
    assert [row["covariate"] for row in found] == ["length"]
    assert found[0]["coefficient"] == pytest.approx(0.9, abs=0.2)
    assert found[0]["coefficient_lower"] < 0.9 < found[0]["coefficient_upper"]
    assert load_fit(fitted.save(tmp_path / "fit")).summary() == fitted.summary()


def test_engines_that_take_no_covariate_say_so() -> None:
    table = Judgments.from_frame(pd.DataFrame({"item_a": ["a"], "item_b": ["b"], "outcome": ["a"]}))
    with pytest.raises(InputError, match=r"ml cannot take --covariates. Engines that can: numpyro, pymc"):
        fit(table, engine="ml", items=ITEMS, covariates=["year"])
