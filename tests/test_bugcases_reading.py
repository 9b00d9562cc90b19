"""Hard inputs that reading and checking must get right; each stands for a kind of input met in the wild."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayesbt.checking import check
from bayesbt.errors import EmptyInputError, InputError
from bayesbt.formats import read_items, read_judgments
from bayesbt.tables import Finding, Judgments

Case = Callable[[str], Path]


@pytest.fixture
def case(shared: Callable[..., Path]) -> Case:
    return lambda name: shared("bugcases", name)


def counts(judgments: Judgments, item_a: str, item_b: str) -> tuple[float, float, float]:
    """Weighted counts of (item_a wins, tie, item_b wins) over both orders."""
    frame = judgments.frame
    total = dict.fromkeys(("a", "tie", "b"), 0.0)
    mirrored = {"a": "b", "tie": "tie", "b": "a"}
    for row in frame.itertuples():
        if (row.item_a, row.item_b) == (item_a, item_b):
            total[row.outcome] += row.count
        elif (row.item_a, row.item_b) == (item_b, item_a):
            total[mirrored[row.outcome]] += row.count
    return total["a"], total["tie"], total["b"]


def found(findings: list[Finding] | tuple[Finding, ...], code: str) -> Finding:
    (finding,) = [finding for finding in findings if finding.code == code]
    return finding


def test_01_the_item_that_never_wins_is_named(case: Case):
    judgments = read_judgments(case("01_never_wins.csv"))
    assert counts(judgments, "a", "b") == (4, 0, 3)
    assert counts(judgments, "a", "c") == (5, 0, 0)
    assert counts(judgments, "b", "c") == (5, 0, 0)
    finding = found(check(judgments), "never-wins")
    assert finding.level == "warning"
    assert finding.items == ("c",)
    assert finding.message.startswith("c never won: the likelihood has no finite maximum")
    assert "the value is set by the prior" in finding.message


def test_03_the_components_are_listed(case: Case):
    judgments = read_judgments(case("03_disconnected.csv"))
    assert counts(judgments, "a", "b") == (6, 0, 4)
    finding = found(check(judgments), "disconnected")
    assert finding.level == "warning"
    assert "(a, b); (x, y)" in finding.message
    assert "prior only" in finding.message


def test_05_all_ties_are_ties_and_said_to_be(case: Case):
    judgments = read_judgments(case("05_all_ties.csv"))
    assert [counts(judgments, *pair) for pair in (("a", "b"), ("b", "c"), ("a", "c"))] == [(0, 5, 0)] * 3
    findings = check(judgments)
    assert "15" in found(findings, "all-ties").message
    assert not any(finding.level == "error" for finding in findings)
    assert not any(finding.code in ("never-wins", "never-loses") for finding in findings)


def test_07_two_items(case: Case):
    judgments = read_judgments(case("07_two_items.csv"))
    assert counts(judgments, "Model1", "Model2") == (7, 0, 3)
    assert [finding.code for finding in check(judgments)] == ["one-sided", "order-confounded"]


def test_09_self_comparisons_are_dropped_with_a_count(case: Case):
    path = case("09_self_comparisons_mixed.csv")
    judgments = read_judgments(path)
    assert counts(judgments, "a", "b") == (3, 0, 2)
    assert len(judgments) == 5
    finding = found(check(judgments), "self-comparison")
    assert finding.rows == tuple(range(6, 15))
    assert finding.message.startswith("9 rows")
    with pytest.raises(InputError, match=r"strict reading refuses.*9 rows.*6, 7, 8, 9, 10, 11, 12, 13, 14"):
        read_judgments(path, strict=True)


def test_11_a_winner_that_is_a_name(case: Case):
    judgments = read_judgments(case("11_winner_is_a_name.csv"))
    assert counts(judgments, "GPT", "Claude") == (6, 0, 2)
    assert counts(judgments, "Claude", "Llama") == (5, 0, 1)
    assert counts(judgments, "GPT", "Llama") == (0, 0, 1)


def test_12_exactly_the_nine_bad_rows_are_named(case: Case):
    path = case("12_typo_label.csv")
    with pytest.raises(InputError) as caught:
        read_judgments(path)
    message = str(caught.value)
    assert f"{path}: 9 rows have an outcome that is not understood, in column 'winner': " in message
    assert "'modelb' (rows 7, 8, 9, 10, 11, 12), 'Model_B' (rows 13, 14), blank (row 15)." in message
    assert '--map "modelb=b,Model_B=b"' in message
    assert "\n" not in message
    assert caught.value.exit_code == 1


def test_12_with_the_map_only_the_blank_is_left(case: Case):
    mapping = {"modelb": "b", "Model_B": "b"}
    with pytest.raises(InputError, match=r"1 row has .*: blank \(row 15\)"):
        read_judgments(case("12_typo_label.csv"), mapping=mapping)


def test_13_rows_without_an_id_are_dropped_and_no_item_is_invented(case: Case):
    judgments = read_judgments(case("13_nan_and_blank_ids.csv"))
    assert judgments.items == ("a", "b")
    assert counts(judgments, "a", "b") == (5, 0, 4)
    finding = found(check(judgments), "missing-id")
    assert finding.rows == (10, 11, 12, 13)
    assert finding.message.startswith("4 rows")


def test_15_two_spellings_are_one_item(case: Case):
    judgments = read_judgments(case("15_unicode_nfc_nfd.csv"))
    assert judgments.items == ("T\u00fclu", 'a,"b"|c$_\\x', "\u30e2\u30c7\u30eb")
    assert counts(judgments, "T\u00fclu", "\u30e2\u30c7\u30eb") == (4, 0, 4)
    finding = found(check(judgments), "normalised")
    assert (finding.level, finding.items, finding.rows) == ("note", ("T\u00fclu",), (5, 6, 7, 8))


def test_18_huge_counts_stay_counts(case: Case):
    judgments = read_judgments(case("18_huge_counts.csv"))
    assert len(judgments) == 5
    assert counts(judgments, "a", "b") == (1.5e9, 0, 1.499e9)
    assert counts(judgments, "b", "c") == (2e9, 0, 1.99e9)
    assert counts(judgments, "a", "c") == (10, 0, 0)
    assert judgments.frame["count"].dtype == np.float64


def test_19_impossible_weights_are_named_with_their_rows(case: Case):
    path = case("19_zero_and_negative_weights.csv")
    with pytest.raises(
        InputError, match=r"column 'weight': '-1' \(row 5\), 'nan' \(row 7\), 'inf' \(row 8\)"
    ):
        read_judgments(path)


def test_19_a_zero_weight_is_ignored_and_its_items_are_kept(case: Case, tmp_path: Path):
    lines = case("19_zero_and_negative_weights.csv").read_text().splitlines()
    path = tmp_path / "possible.csv"
    path.write_text("\n".join([*lines[:5], "d,b,model_a,0"]))
    judgments = read_judgments(path)
    assert judgments.items == ("a", "b", "c", "d")
    assert counts(judgments, "b", "c") == (1.5, 0, 1)
    assert counts(judgments, "a", "b") == (0, 0, 0)
    assert found(check(judgments), "zero-count").rows == (1, 2, 5)
    assert found(check(judgments), "no-comparisons").items == ("a", "d")


def test_21_one_draw(case: Case):
    judgments = read_judgments(case("21_draw_symmetry.csv"))
    assert counts(judgments, "A", "B") == (0, 1, 0)
    assert not any(finding.level == "error" for finding in check(judgments))


def test_31_a_declared_item_without_comparisons_is_named(case: Case):
    judgments = read_judgments(case("31_unobserved_declared_item.csv"))
    items = read_items(case("31_unobserved_declared_item.items.txt"))
    assert items.frame["item"].tolist() == ["a", "b", "never_compared"]
    assert counts(judgments, "a", "b") == (3, 0, 2)
    assert found(check(judgments, items), "no-comparisons").items == ("never_compared",)


def test_36_ties_and_orders_are_kept(case: Case):
    judgments = read_judgments(case("36_exact_ties_in_rank.csv"))
    assert counts(judgments, "h", "n") == (0, 2, 0)
    assert counts(judgments, "h", "s") == (1, 0, 1)
    assert counts(judgments, "n", "s") == (0, 2, 0)
    assert [counts(judgments, "top", other) for other in "hns"] == [(3, 0, 1)] * 3


def test_37_a_header_alone_is_one_line_and_code_2(case: Case):
    path = case("37_empty_header_only.csv")
    with pytest.raises(EmptyInputError) as caught:
        read_judgments(path)
    assert str(caught.value) == f"{path}: no judgments: there is a header and nothing below it."
    assert caught.value.exit_code == 2


def test_40_a_million_rows(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "million.csv"
    monkeypatch.setattr(sys, "argv", ["generate", str(path)])
    runpy.run_path(str(case("40_generate_1m_rows.py")), run_name="__main__")
    judgments = read_judgments(path)
    assert len(judgments) == 1_000_000
    assert len(judgments.items) == 55
    assert judgments.frame["row"].iloc[-1] == 1_000_000
    assert (judgments.frame["outcome"] == "tie").mean() == pytest.approx(0.38, abs=0.002)
    assert judgments.frame.memory_usage(deep=True).sum() < 40e6
    assert check(judgments) == []
