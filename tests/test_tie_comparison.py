"""Tie assumptions side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayesbt.errors import InputError
from bayesbt.tie_comparison import compare_ties
from tests.cases import asymmetric_counts, read_counts


def test_springall_t1_and_t8_change_places(shared: Callable[..., Path]) -> None:
    counts = read_counts(shared("reference", "springall.csv"))
    result = compare_ties(counts, ["rao-kupper", "davidson"], engine="ml")
    row = result.rank_agreement.iloc[0]
    assert (row["first"], row["second"], row["flips"]) == ("rao-kupper", "davidson", 1)
    assert row["flipped"] == [("t1", "t8")]  # the stronger under the first model comes first
    assert row["kendall"] == pytest.approx(1 - 2 / 36)


def test_table() -> None:
    counts = asymmetric_counts()
    table = compare_ties(counts, engine="laplace", order="shared", seed=1).table.set_index("ties")
    assert list(table.index) == ["rao-kupper", "davidson", "split-half", "split", "drop"]
    # 61 decisive judgments and 15 ties: what each likelihood counts.
    assert table["effective_comparisons"].to_dict() == {
        "rao-kupper": 76,
        "davidson": 76,
        "split-half": 76,
        "split": 91,
        "drop": 61,
    }
    assert table["native_name"].tolist() == ["theta", "nu", "", "", ""]
    assert table["tie_parameter"].isna().tolist() == [False, False, True, True, True]
    assert (table["tie_lower"] < table["tie_parameter"])[:2].all()
    assert table["order"].notna().all()


def test_split_has_narrower_intervals_than_split_half_with_many_ties() -> None:
    from dataclasses import replace

    counts = asymmetric_counts()
    tied = replace(counts, ties=counts.ties * 8)
    fits = compare_ties(tied, ["split", "split-half"], engine="ml").fits
    width = {name: (fit.estimates["upper"] - fit.estimates["lower"]).mean() for name, fit in fits.items()}
    assert width["split"] < 0.8 * width["split-half"]
    # Half a win each way, counted twice, is the same likelihood to the power of two only where all are ties.
    assert np.corrcoef(*(fit.estimates["strength"] for fit in fits.values()))[0, 1] > 0.99


def test_models_must_be_known_and_named_once() -> None:
    with pytest.raises(InputError, match="rao-kupper, davidson, split, split-half, drop"):
        compare_ties(asymmetric_counts(), ["bradley"])
    with pytest.raises(InputError, match="name each once"):
        compare_ties(asymmetric_counts(), ["drop", "drop"])
