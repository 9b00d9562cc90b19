"""Check names what a fit refuses and what makes it doubtful, with rows and items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from bayesbt.checking import check
from bayesbt.formats import import_source, read_judgments
from bayesbt.tables import Finding, Items, Judgments


def judgments(*rows: tuple[object, ...], columns: str = "item_a item_b outcome") -> Judgments:
    return Judgments.from_frame(pd.DataFrame(list(rows), columns=columns.split(), dtype=object))


CIRCLE = [
    ("x", "y", "a"),
    ("y", "z", "a"),
    ("z", "x", "a"),
    ("y", "x", "tie"),
    ("z", "y", "b"),
    ("x", "z", "b"),
]


def by_code(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.code: finding for finding in findings}


def test_a_sound_table_gives_nothing():
    assert check(judgments(*CIRCLE)) == []


def test_levels_come_in_order():
    rows = [
        (*row, dimension) for row in [*CIRCLE, ("x", "x", "a"), ("w", "x", "b")] for dimension in ("p", "q")
    ]
    levels = [finding.level for finding in check(judgments(*rows, columns="item_a item_b outcome dimension"))]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)
    assert set(levels) == {"error", "warning", "note"}


def test_several_dimensions_are_an_error_and_each_is_looked_at():
    rows = [(*row, "p") for row in CIRCLE] + [("x", "y", "a", "q"), ("y", "x", "b", "q")]
    findings = check(judgments(*rows, columns="item_a item_b outcome dimension"))
    errors = [finding for finding in findings if finding.level == "error"]
    assert [finding.code for finding in errors] == ["several-dimensions"]
    assert "(p, q)" in errors[0].message
    assert "--dimension" in errors[0].message
    never_won = by_code(findings)["never-wins"]
    assert never_won.message.startswith("q: y never won")
    assert by_code(findings)["never-loses"].items == ("x",)


def test_nothing_scored_is_an_error():
    table = judgments(
        ("x", "y", "", "parse"), ("y", "x", "", "refusal"), columns="item_a item_b outcome reason"
    )
    findings = by_code(check(table))
    assert findings["nothing-scored"].level == "error"
    assert findings["unscored"].rows == (1, 2)
    assert "parse: 1" in findings["unscored"].message


def test_unscored_judgments_are_counted_by_reason():
    rows = [(*row, "") for row in CIRCLE] + [("x", "y", "", "parse"), ("x", "z", "", "parse")]
    (finding,) = check(judgments(*rows, columns="item_a item_b outcome reason"))
    assert (finding.code, finding.level, finding.rows) == ("unscored", "warning", (7, 8))
    assert "2 judgments have no outcome (parse: 2)" in finding.message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gpt-4", "GPT 4"),
        ("gpt-4", "gpt_4"),
        ("x", "x "),
        ("x", " x"),
        ("01", "1"),
        ("a\u200bb", "ab"),
        ("\uff21", "A"),
    ],
)
def test_names_that_look_alike(one: str, other: str):
    findings = by_code(check(judgments((one, other, "a"), (other, one, "a"))))
    assert set(findings["look-alike"].items) == {one, other}
    assert repr(other) in findings["look-alike"].message


@pytest.mark.parametrize(
    ("one", "other"), [("1-11-2", "11-1-2"), ("m1.0", "m10"), ("1", "10"), ("\u00fc", "u")]
)
def test_names_that_do_not_look_alike(one: str, other: str):
    assert "look-alike" not in by_code(check(judgments((one, other, "a"), (other, one, "a"))))


def test_components_of_one_topic_each_are_a_note_only():
    rows = [(a + t, b + t, label, t) for a, b, label in CIRCLE for t in ("S", "T")]
    (finding,) = check(judgments(*rows, columns="item_a item_b outcome topic"))
    assert (finding.level, finding.code) == ("note", "disconnected")
    assert "2 components, one for each topic" in finding.message


def test_a_topic_in_two_components_is_a_warning():
    rows = [(a + t, b + t, label, "T") for a, b, label in CIRCLE for t in ("1", "2")]
    (finding,) = check(judgments(*rows, columns="item_a item_b outcome topic"))
    assert (finding.level, finding.code) == ("warning", "disconnected")
    assert "(x1, y1, z1); (x2, y2, z2)" in finding.message


def test_groups_separated_one_way_are_named():
    rows = [
        *CIRCLE,
        *((a.upper(), b.upper(), label) for a, b, label in CIRCLE),
        ("X", "x", "a"),
        ("Y", "z", "a"),
    ]
    findings = by_code(check(judgments(*rows)))
    assert "x, y, z never won against the others" in findings["separated"].message
    assert "--engine ml refuses" in findings["separated"].message
    assert "never-wins" not in findings


def test_an_item_held_by_ties_only_is_a_note():
    rows = [*CIRCLE, ("w", "x", "b"), ("y", "w", "a"), ("w", "y", "tie")]
    finding = by_code(check(judgments(*rows)))["separated-without-ties"]
    assert finding.level == "note"
    assert "--ties drop): w never won" in finding.message


def test_a_bridge_and_a_single_opponent_are_named():
    rows = [
        *CIRCLE,
        *((a.upper(), b.upper(), label) for a, b, label in CIRCLE),
        ("X", "x", "a"),
        ("x", "X", "a"),
    ]
    rows += [("w", "z", "a"), ("z", "w", "a")]
    findings = by_code(check(judgments(*rows)))
    assert findings["bridge"].items == ("X", "x")
    assert findings["bridge"].rows == (13, 14)
    assert "X - x" in findings["bridge"].message
    assert findings["single-opponent"].items == ("w",)


def test_a_first_side_that_always_wins_is_named():
    rows = [(a, b, "a") for a in "wxyz" for b in "wxyz" if a != b] + [("w", "x", "tie")]
    findings = by_code(check(judgments(*rows)))
    assert findings["position"].message.startswith("The item shown first won each of the 12 decided")
    assert "constant-judge" not in findings


def test_the_one_vote_on_which_a_finite_maximum_hangs_is_named():
    rows = [*CIRCLE, ("w", "x", "b"), ("w", "y", "b"), ("z", "w", "a"), ("x", "w", "b")]
    finding = by_code(check(judgments(*rows)))["one-vote"]
    assert (finding.level, finding.rows, finding.pairs) == ("note", (10,), (("w", "x"),))
    assert "One judgment alone keeps the maximum of the likelihood finite: w - x." in finding.message
    without = by_code(check(judgments(*rows[:-1])))
    assert without["never-wins"].items == ("w",)
    assert without["never-wins"].rows == (7, 8, 9)
    assert "one-vote" not in without
    assert "one-vote" not in by_code(check(judgments(*rows, ("w", "x", "a"))))  # two votes


def test_an_order_effect_that_strengths_imitate_is_said():
    confounded = [("x", "y", "a"), ("y", "z", "b"), ("x", "y", "b"), ("y", "z", "a")]
    finding = by_code(check(judgments(*confounded)))["order-confounded"]
    assert "could not be told from the strengths at all" in finding.message  # v = 2, 1, 0
    one_back = by_code(check(judgments(*confounded * 30, ("z", "x", "a"))))["order-confounded"]
    # v_x - v_y = v_y - v_z = p leaves 120 (1 - p)^2 + (1 + 2 p)^2 of 121, least at p = 236 / 248: 8.71
    assert "imitate 93% of an order effect" in one_back.message
    assert "3.7 times less precisely" in one_back.message
    assert "order-confounded" not in by_code(check(judgments(*CIRCLE)))


def test_items_shown_on_one_side_only():
    rows = [*CIRCLE, ("w", "x", "a"), ("w", "y", "b"), ("x", "v", "a"), ("y", "v", "b")]
    assert by_code(check(judgments(*rows)))["one-sided"].items == ("v", "w")


def test_a_constant_judge_is_named_and_a_new_one_is_not():
    rows = [(*row, "fair") for row in CIRCLE]
    rows += [(a, b, "b", "spam") for a in "xyzw" for b in "xyzw" if a != b]
    rows += [("x", "y", "a", "new")]
    findings = check(judgments(*rows, columns="item_a item_b outcome judge"))
    constant = [finding for finding in findings if finding.code == "constant-judge"]
    assert [finding.message for finding in constant] == [
        "Judge 'spam' says 'b' in all of 12 judgments: rows 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18."
    ]
    assert constant[0].rows == tuple(range(7, 19))
    assert "3 judges" in by_code(findings)["several-judges"].message


def test_runs_are_said_and_repeats_without_a_run_are_warned_about():
    columns = "item_a item_b outcome judge run"
    rows = [(*row, "j", run) for row in CIRCLE for run in (1, 2, 3)]
    (finding,) = check(judgments(*rows, columns=columns))
    assert finding.code == "runs"
    assert finding.message.startswith("Up to 3 runs")
    again = check(judgments(*rows, rows[4], columns=columns))
    assert by_code(again)["duplicate"].rows == (19,)
    assert [f.code for f in check(judgments(*CIRCLE, *CIRCLE))] == []  # votes of people unknown


def test_declared_items_and_judged_ones():
    items = Items.from_frame(pd.DataFrame({"item": ["x", "y", "unmet"]}))
    findings = by_code(check(judgments(*CIRCLE), items))
    assert findings["no-comparisons"].items == ("unmet",)
    assert findings["undeclared"].items == ("z",)


def test_the_conflict_of_judges_is_visible(shared: Callable[..., Path]):
    table = read_judgments(shared("bugcases", "34_multi_judge_conflict.csv"))
    findings = check(table)
    constant = {f.message.partition(":")[0]: f.rows for f in findings if f.code == "constant-judge"}
    assert constant["Judge 'spammer' says 'b' in all of 120 judgments"] == tuple(
        table.frame.loc[table.frame["judge"] == "spammer", "row"]
    )


def test_a_pure_position_judge_is_named(shared: Callable[..., Path]):
    findings = by_code(check(read_judgments(shared("bugcases", "29_pure_position_judge.csv"))))
    assert "won each of the 36 decided" in findings["position"].message


def test_webis_needs_a_dimension_and_is_else_sound(shared: Callable[..., Path]):
    imported = import_source(shared("data", "webis-argquality-20"))
    findings = check(imported.judgments, imported.items)
    assert [finding.code for finding in findings if finding.level == "error"] == ["several-dimensions"]
    warnings = [finding for finding in findings if finding.level == "warning"]
    assert [(finding.code, finding.items) for finding in warnings] == [
        ("no-comparisons", ("34949-126-11", "34949-126-2"))
    ]
    topics = [finding.message for finding in findings if finding.code == "disconnected"]
    assert len(topics) == 3
    assert all("20 components, one for each topic" in message for message in topics)


@pytest.mark.parametrize("column", ["dimension", "judge", "topic"])
def test_a_label_that_is_blank_in_some_rows_is_warned_about(column: str):
    rows = [(*row, "" if number in (1, 4) else "p") for number, row in enumerate(CIRCLE, start=1)]
    found = by_code(check(judgments(*rows, columns=f"item_a item_b outcome {column}")))[f"blank-{column}"]
    assert (found.level, found.rows) == ("error" if column == "dimension" else "warning", (1, 4))
    assert f"--{column}" in found.message
    blank = [(*row, "") for row in CIRCLE]
    assert check(judgments(*blank, columns=f"item_a item_b outcome {column}")) == []


def test_ones_and_zeros_may_be_wins_and_losses():
    rows = [(a, b, {"a": "1", "b": "0", "tie": "0"}[outcome]) for a, b, outcome in CIRCLE]
    found = by_code(check(judgments(*rows)))["ones-and-zeros"]
    assert (found.level, found.rows) == ("warning", (4, 5, 6))
    assert '--map "1=a,0=b"' in found.message
    for settled in ({"1": "a", "0": "b"}, {"1": "a", "0": "tie"}):
        frame = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome"])
        assert "ones-and-zeros" not in by_code(check(Judgments.from_frame(frame, mapping=settled)))
    assert "ones-and-zeros" not in by_code(check(judgments(*rows, ("x", "y", "2"))))
