"""From judgments to counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesbt.counts import Counts, count_judgments
from bayesbt.errors import EmptyInputError, InputError
from bayesbt.tables import Items, Judgments


def judgments(rows: list[tuple], columns: str = "item_a item_b outcome") -> Judgments:
    return Judgments.from_frame(pd.DataFrame(rows, columns=columns.split()))


def cells(counts: Counts) -> set[tuple]:
    return {tuple(row) for row in counts.to_frame().itertuples(index=False)}


def test_both_orders_are_cells_of_their_own() -> None:
    counts = count_judgments(
        judgments([("x", "y", "a"), ("y", "x", "a"), ("x", "y", "tie"), ("x", "y", "a")])
    )
    assert counts.items == ("x", "y")
    assert cells(counts) == {("x", "y", 2.0, 1.0, 0.0), ("y", "x", 1.0, 0.0, 0.0)}


def test_row_order_does_not_matter() -> None:
    rows = [("x", "y", "a"), ("z", "x", "b"), ("y", "z", "tie"), ("x", "y", "b")]
    one, other = count_judgments(judgments(rows)), count_judgments(judgments(rows[::-1]))
    assert one.items == other.items
    assert one.to_frame().equals(other.to_frame())


def test_rows_and_counts_are_the_same() -> None:
    rows = count_judgments(judgments([("x", "y", "a")] * 3 + [("x", "y", "tie")]))
    table = count_judgments(
        judgments([("x", "y", "a", 3), ("x", "y", "tie", 1)], "item_a item_b outcome count")
    )
    assert rows.to_frame().equals(table.to_frame())


def test_runs_of_one_judge_weigh_one_over_their_number() -> None:
    rows = [
        ("x", "y", "a", 1, "m"),
        ("x", "y", "a", 2, "m"),
        ("x", "y", "tie", 3, "m"),
        ("y", "z", "b", 1, "m"),
    ]
    counts = count_judgments(judgments(rows, "item_a item_b outcome run judge"))
    assert counts.to_frame()[["wins_a", "ties", "wins_b"]].to_numpy() == pytest.approx(
        np.array([[2 / 3, 1 / 3, 0], [0, 0, 1]])
    )
    assert "vote" in counts.messages[0]
    assert counts.judgments == pytest.approx(2)


def test_an_unscored_run_takes_no_weight() -> None:
    rows = [("x", "y", "a", 1, ""), ("x", "y", "b", 2, ""), ("x", "y", None, 3, "parse")]
    counts = count_judgments(judgments(rows, "item_a item_b outcome run reason"))
    assert cells(counts) == {("x", "y", 0.5, 0.0, 0.5)}
    assert counts.unscored == 1


def test_several_dimensions_are_an_error_that_names_them() -> None:
    table = judgments(
        [("x", "y", "a", "logic"), ("x", "y", "b", "rhetoric")], "item_a item_b outcome dimension"
    )
    with pytest.raises(InputError, match=r"logic, rhetoric.*--dimension.*--by dimension"):
        count_judgments(table)
    assert cells(count_judgments(table, dimension="logic")) == {("x", "y", 1.0, 0.0, 0.0)}
    with pytest.raises(InputError, match=r"'logik' is not in the file. Allowed: logic, rhetoric"):
        count_judgments(table, dimension="logik")


def test_pooling_of_judges_is_said_aloud() -> None:
    table = judgments([("x", "y", "a", "j1"), ("x", "y", "b", "j2")], "item_a item_b outcome judge")
    assert count_judgments(table).messages == ("The judgments of 2 judges are pooled (judges: ignore).",)
    assert cells(count_judgments(table, judge="j2")) == {("x", "y", 0.0, 0.0, 1.0)}


def test_declared_item_without_a_comparison_is_kept() -> None:
    items = Items.from_frame(pd.DataFrame({"item": ["x", "y", "never"]}))
    counts = count_judgments(judgments([("x", "y", "a")]), items=items)
    assert counts.items == ("never", "x", "y")
    assert counts.comparisons.tolist() == [0, 1, 1]
    assert counts.n_components == 1


def test_topics_come_along_where_each_item_has_one() -> None:
    rows = [("x", "y", "a", "t1"), ("z", "w", "b", "t2")]
    assert count_judgments(judgments(rows, "item_a item_b outcome topic")).topics == ("t2", "t1", "t1", "t2")
    rows.append(("x", "z", "a", "t3"))
    assert count_judgments(judgments(rows, "item_a item_b outcome topic")).topics is None


def test_nothing_scored() -> None:
    table = judgments([("x", "y", None, "refusal")], "item_a item_b outcome reason")
    with pytest.raises(EmptyInputError, match="no judgment with an outcome"):
        count_judgments(table)
