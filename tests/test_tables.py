"""Tables are checked when they are made; every message names values, rows and the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesbt.columns import parse_mapping
from bayesbt.errors import EmptyInputError, InputError
from bayesbt.tables import Items, Judgments, Pairs


def table(*rows: tuple[object, ...], columns: str = "item_a item_b outcome") -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=columns.split(), dtype=object)


def labels(judgments: Judgments) -> list[object]:
    return [None if pd.isna(label) else label for label in judgments.frame["outcome"].astype(object)]


def codes(judgments: Judgments) -> list[str]:
    return [finding.code for finding in judgments.findings]


def test_the_frame_has_the_promised_columns_and_types():
    frame = table(
        ("b", "a", "A", "logic", "j1", "2", "0.5", "0.2", "0.25", "0.05", "", "A", "7"),
        ("a", "c", "", "logic", "j2", "1", "", "", "", "1", "parse", "?", "8"),
        columns="item_a item_b outcome dimension judge run p_a p_tie p_b p_other reason raw length",
    )
    judgments = Judgments.from_frame(frame, source="x.csv")
    got = judgments.frame
    assert judgments.items == ("a", "b", "c")
    assert list(got["item_a"].cat.categories) == list(got["item_b"].cat.categories) == ["a", "b", "c"]
    assert list(got["outcome"].cat.categories) == ["a", "tie", "b"]
    assert labels(judgments) == ["a", None]
    assert got["reason"].tolist() == [None, "parse"]
    assert got["run"].tolist() == [2, 1]
    assert got["run"].dtype == np.int64
    assert got["row"].tolist() == [1, 2]
    assert got["row"].dtype == np.int64
    assert got["count"].tolist() == [1.0, 1.0]
    assert got["count"].dtype == np.float64
    assert got.loc[0, ["p_a", "p_tie", "p_b", "p_other"]].tolist() == [0.5, 0.2, 0.25, 0.05]
    assert np.isnan(got.loc[1, "p_a"])
    assert got["length"].tolist() == ["7", "8"]
    assert isinstance(got["judge"].dtype, pd.CategoricalDtype)
    assert isinstance(got.index, pd.RangeIndex)


def test_making_a_table_from_its_own_frame_changes_nothing():
    frame = table(("b", "a", "b", 3), ("a", "c", "tie", 2), columns="item_a item_b outcome count")
    once = Judgments.from_frame(frame)
    again = Judgments.from_frame(once.frame)
    pd.testing.assert_frame_equal(once.frame, again.frame)
    assert again.findings == ()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("a", "b", "tie"), ["a", "b", "tie"]),
        (("A", "B", "Tie"), ["a", "b", "tie"]),
        (("a", "B", "TIE"), ["a", "b", "tie"]),
        (("model_a", "model_b", "tie"), ["a", "b", "tie"]),
        (("left", "right", "Tie"), ["a", "b", "tie"]),
        (("first", "second", "tie"), ["a", "b", "tie"]),
        (("1", "2", "0"), ["a", "b", "tie"]),
        ((1, 2, 0), ["a", "b", "tie"]),
        ((1.0, 2.0, 0.0), ["a", "b", "tie"]),
        (("x", "y", "tie"), ["a", "b", "tie"]),
        (("x", "x", "y"), ["a", "a", "b"]),
    ],
)
def test_each_vocabulary_is_read(words: tuple[object, ...], expected: list[str]):
    judgments = Judgments.from_frame(
        table(*(("x", "y", word) for word in words), columns="left right winner")
    )
    assert labels(judgments) == expected


@pytest.mark.parametrize(
    "word", ["Model_A", "modela", "LEFT", "First", "draw", "3", "x ", "None", "both", "-1"]
)
def test_a_word_of_no_vocabulary_is_an_error_and_never_a_tie(word: str):
    frame = table(("x", "y", "model_a"), ("x", "y", "model_b"), ("x", "y", word), columns="left right winner")
    with pytest.raises(InputError, match=r"row 3\b") as caught:
        Judgments.from_frame(frame, source="votes.csv")
    assert "votes.csv" in str(caught.value)
    assert "'winner'" in str(caught.value)
    assert "tie (tie" not in str(caught.value).split("Allowed")[0]


def test_a_file_has_one_vocabulary():
    frame = table(("x", "y", "left"), ("x", "y", "right"), ("x", "y", "model_a"))
    with pytest.raises(InputError, match=r"1 row has an outcome.*'model_a' \(row 3\).*left / right / tie"):
        Judgments.from_frame(frame)


def test_the_map_to_type_is_in_the_message_and_works():
    frame = table(("x", "y", "model_a"), ("x", "y", "Model_B"), ("x", "y", "draw"))
    with pytest.raises(InputError) as caught:
        Judgments.from_frame(frame)
    assert '--map "Model_B=b,draw=tie"' in str(caught.value)
    judgments = Judgments.from_frame(frame, mapping=parse_mapping("Model_B=b,draw=tie"))
    assert labels(judgments) == ["a", "b", "tie"]


def test_map_names_columns_and_words():
    frame = table(("x", "y", "white"), ("y", "x", "draw"), columns="player1 opponent result")
    mapping = parse_mapping("opponent=item_b,result=outcome,white=a,black=b,draw=tie")
    judgments = Judgments.from_frame(frame, mapping=mapping)
    assert judgments.frame["item_a"].tolist() == ["x", "y"]
    assert judgments.frame["item_b"].tolist() == ["y", "x"]
    assert labels(judgments) == ["a", "tie"]


def test_map_overrules_a_column_of_the_same_name_and_says_so():
    frame = table(("x", "y", "a", "b"), columns="item_a item_b outcome final")
    judgments = Judgments.from_frame(frame, mapping={"final": "outcome"})
    assert labels(judgments) == ["b"]
    assert codes(judgments) == ["column-ignored"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("x", "LEFT=RIGHT"), ("=a", "LEFT=RIGHT"), ("x=", "LEFT=RIGHT")],
)
def test_a_map_that_is_no_map(text: str, message: str):
    with pytest.raises(InputError, match=message):
        parse_mapping(text)


def test_a_map_may_hold_commas_in_quotes_and_equal_signs():
    assert parse_mapping('"a, b"=a,p=q=tie') == {"a, b": "a", "p=q": "tie"}
    assert parse_mapping("") == {}
    assert parse_mapping(None) == {}


def test_a_map_to_something_unknown_or_from_a_missing_column():
    frame = table(("x", "y", "a"))
    with pytest.raises(InputError, match=r"'nobody' is neither an outcome .* nor a column"):
        Judgments.from_frame(frame, mapping={"item_a": "nobody"})
    with pytest.raises(InputError, match=r"no column 'gone'.*item_a, item_b, outcome"):
        Judgments.from_frame(frame, mapping={"gone": "topic"})


def test_items_called_like_sides_are_asked_about():
    frame = table(("1", "2", "1"), ("2", "1", "1"), columns="left right winner")
    with pytest.raises(InputError, match=r"two ways.*'1' \(row 2\).*--outcomes side or --outcomes name"):
        Judgments.from_frame(frame)
    assert labels(Judgments.from_frame(frame, outcomes="side")) == ["a", "a"]
    assert labels(Judgments.from_frame(frame, outcomes="name")) == ["a", "b"]
    assert labels(Judgments.from_frame(frame, mapping={"1": "a", "2": "b"})) == ["a", "a"]


def test_our_own_column_outcome_always_names_sides():
    frame = table(("b", "a", "a"), ("a", "b", "a"))
    assert labels(Judgments.from_frame(frame)) == ["a", "a"]
    assert labels(Judgments.from_frame(frame, outcomes="name")) == ["b", "a"]
    with pytest.raises(InputError, match="two ways"):
        Judgments.from_frame(frame.rename(columns={"outcome": "winner"}))


def test_an_item_called_tie_is_asked_about():
    with pytest.raises(InputError, match="two ways"):
        Judgments.from_frame(table(("tie", "x", "tie"), columns="left right winner"))


def test_names_and_sides_that_agree_everywhere_need_no_question():
    frame = table(("a", "b", "a"), ("a", "b", "b"), columns="left right winner")
    assert labels(Judgments.from_frame(frame)) == ["a", "b"]


def test_ids_are_text_exactly_as_written():
    frame = table(("01", "1", "a"), (" 1", "1 ", "b"), ("1.0", "1", "tie"))
    judgments = Judgments.from_frame(frame)
    assert judgments.items == (" 1", "01", "1", "1 ", "1.0")


def test_numbers_as_ids_become_text_without_a_point():
    frame = pd.DataFrame({"item_a": [1, 2], "item_b": [3.0, np.nan], "outcome": ["a", "b"]})
    judgments = Judgments.from_frame(frame)
    assert judgments.items == ("1", "3")
    assert codes(judgments) == ["missing-id"]


@pytest.mark.parametrize("absent", ["", "  ", None, np.nan, "NaN", "nan", "None", "null", "NA", pd.NA])
def test_an_absent_id_never_becomes_an_item(absent: object):
    judgments = Judgments.from_frame(table(("x", "y", "a"), (absent, "z", "b"), ("y", absent, "a")))
    assert judgments.items == ("x", "y")
    (finding,) = judgments.findings
    assert (finding.level, finding.code, finding.rows) == ("warning", "missing-id", (2, 3))
    assert finding.message == "2 rows without the id of an item were dropped: rows 2, 3."
    assert judgments.frame["row"].tolist() == [1]


def test_rows_keep_their_number_when_others_are_dropped():
    judgments = Judgments.from_frame(table(("x", "x", "a"), ("x", "y", "a"), ("", "y", "b"), ("y", "x", "b")))
    assert judgments.frame["row"].tolist() == [2, 4]
    assert codes(judgments) == ["missing-id", "self-comparison"]
    assert judgments.findings[1].items == ("x",)


def test_a_dropped_row_may_have_any_outcome():
    judgments = Judgments.from_frame(table(("x", "x", "whatever"), ("x", "y", "a")))
    assert labels(judgments) == ["a"]


def test_strict_reading_refuses_what_is_else_dropped():
    frame = table(("x", "x", "a"), ("x", "y", "a"), (None, "y", "b"))
    with pytest.raises(InputError, match=r"strict.*row 3.*row 1 \(x\)"):
        Judgments.from_frame(frame, strict=True, source="x.csv")
    assert len(Judgments.from_frame(table(("x", "y", "a")), strict=True)) == 1


def test_a_table_in_which_every_row_is_unusable_is_an_error():
    with pytest.raises(InputError, match=r"none of the 2 rows.*--map"):
        Judgments.from_frame(table(("x", "x", "a"), ("", "y", "a")))


def test_ids_are_brought_to_normal_form_c_with_a_note():
    composed, decomposed = "T\u00fclu", "Tu\u0308lu"
    judgments = Judgments.from_frame(table((composed, "y", composed), ("y", decomposed, decomposed)))
    assert judgments.items == (composed, "y")
    assert labels(judgments) == ["a", "b"]
    (finding,) = judgments.findings
    assert (finding.level, finding.code, finding.rows, finding.items) == (
        "note",
        "normalised",
        (2,),
        (composed,),
    )


def test_half_a_character_is_an_error():
    with pytest.raises(InputError, match="surrogate"):
        Judgments.from_frame(table(("x\ud800", "y", "a")))


def test_a_list_as_an_id_is_an_error():
    with pytest.raises(InputError, match=r"column 'item_a': a cell holds a list"):
        Judgments.from_frame(table((["x"], "y", "a")))


def test_a_blank_outcome_needs_a_reason():
    frame = table(
        ("x", "y", "a", ""),
        ("x", "y", "", "refusal"),
        ("x", "y", None, " "),
        columns="left right winner reason",
    )
    with pytest.raises(InputError, match=r"1 row has.*blank \(row 3\).*column 'reason'"):
        Judgments.from_frame(frame)
    judgments = Judgments.from_frame(frame[:2])
    assert labels(judgments) == ["a", None]
    assert judgments.frame["reason"].tolist() == [None, "refusal"]


@pytest.mark.parametrize("bad", ["-1", "-0.5", "nan", "inf", "-inf", "", "many", "1_000"])
def test_a_count_that_is_no_weight_is_an_error_with_its_row(bad: str):
    frame = table(("x", "y", "a", "2"), ("y", "x", "b", bad), columns="item_a item_b outcome weight")
    with pytest.raises(InputError, match=r"column 'weight': .*\(row 2\).*0 or more"):
        Judgments.from_frame(frame)


def test_a_count_of_zero_keeps_its_items():
    frame = table(("x", "y", "a", 1.5), ("x", "z", "b", 0), columns="item_a item_b outcome count")
    judgments = Judgments.from_frame(frame)
    assert judgments.items == ("x", "y", "z")
    assert judgments.frame["count"].tolist() == [1.5, 0.0]


def test_runs_are_whole_numbers():
    frame = table(("x", "y", "a", "1"), ("x", "y", "a", "1.5"), columns="item_a item_b outcome run")
    with pytest.raises(InputError, match=r"column 'run': '1.5' \(row 2\)"):
        Judgments.from_frame(frame)


@pytest.mark.parametrize("bad", ["1.2", "-0.1", "much"])
def test_probabilities_are_probabilities(bad: str):
    frame = table(("x", "y", "a", bad), columns="item_a item_b outcome p_tie")
    with pytest.raises(InputError, match=r"column 'p_tie'.*\(row 1\).*from 0 to 1"):
        Judgments.from_frame(frame)


def test_probabilities_of_more_than_one_in_all():
    frame = table(("x", "y", "a", 0.7, 0.7), columns="item_a item_b outcome p_a p_b")
    with pytest.raises(InputError, match=r"more than 1: '1.4' \(row 1\)"):
        Judgments.from_frame(frame)


def test_missing_and_ambiguous_columns_are_named_with_the_map_to_type():
    with pytest.raises(InputError, match=r'no column outcome.*x, y.*--map "YOUR_COLUMN=item_b,'):
        Judgments.from_frame(table(("1", "2"), columns="x y"), mapping={"x": "item_a"})
    with pytest.raises(InputError, match=r'winner and label could each be .outcome..*--map "winner=outcome"'):
        Judgments.from_frame(table(("x", "y", "a", "a"), columns="item_a item_b winner label"))


def test_a_column_name_that_occurs_twice_is_an_error():
    frame = pd.DataFrame([["x", "y", "a", "b"]], columns=["item_a", "item_b", "outcome", "outcome"])
    with pytest.raises(InputError, match="'outcome' occurs twice"):
        Judgments.from_frame(frame)


def test_column_names_in_other_spellings():
    frame = pd.DataFrame([["x", "y", "Left", "3"]], columns=["Model A", "MODEL-B", "Winner", "Weight"])
    frame["Winner"] = "model_b"
    judgments = Judgments.from_frame(frame)
    assert labels(judgments) == ["b"]
    assert judgments.frame["count"].tolist() == [3.0]


def test_an_empty_table_ends_with_code_2():
    for kind in (Judgments, Items, Pairs):
        with pytest.raises(EmptyInputError, match="header") as caught:
            kind.from_frame(table())
        assert caught.value.exit_code == 2
        assert "\n" not in str(caught.value)


def test_a_foreign_column_row_is_not_taken_for_ours():
    judgments = Judgments.from_frame(table(("x", "y", "a", "left"), columns="item_a item_b outcome row"))
    assert judgments.frame["row"].tolist() == [1]
    assert codes(judgments) == ["column-ignored"]


def test_items_have_texts_and_numbers():
    frame = table(("01", "T", "5", "x"), ("1", "", "", "y"), columns="id topic words kind")
    items = Items.from_frame(frame)
    assert items.frame["item"].tolist() == ["01", "1"]
    assert items.frame["topic"].tolist() == ["T", None]
    assert items.frame["words"].dtype == np.float64
    assert items.frame["words"].tolist()[0] == 5.0
    assert items.frame["kind"].tolist() == ["x", "y"]


def test_items_twice_or_without_id():
    with pytest.raises(InputError, match=r"more than once: 'x' \(rows 1, 3\)"):
        Items.from_frame(table(("x",), ("y",), ("x",), columns="item"))
    with pytest.raises(InputError, match=r"id is missing: 'NaN' \(row 2\)"):
        Items.from_frame(table(("x",), ("NaN",), columns="item"))


def test_pairs_of_an_item_with_itself():
    with pytest.raises(InputError, match=r"paired with itself: 'x' \(row 2\)"):
        Pairs.from_frame(table(("x", "y"), ("x", "x"), columns="item_a item_b"))


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(IDS, IDS, st.sampled_from(["a", "b", "tie"])), min_size=1, max_size=12))
def test_every_row_is_read_or_named(rows: list[tuple[str, str, str]]):
    rows = [*rows, ("left one", "right one", "a")]
    judgments = Judgments.from_frame(table(*rows))
    dropped = [row for f in judgments.findings if f.level == "warning" for row in f.rows]
    assert sorted([*judgments.frame["row"].tolist(), *dropped]) == list(range(1, len(rows) + 1))
    for row, label in zip(judgments.frame["row"], labels(judgments), strict=True):
        assert label == rows[row - 1][2]
    used = set(judgments.frame["item_a"]) | set(judgments.frame["item_b"])
    assert used == set(judgments.items)


def test_select_keeps_what_is_named_and_its_items():
    rows = [("x", "y", "a", "p", "j"), ("y", "z", "b", "q", "j"), ("z", "w", "tie", "p", "k")]
    judgments = Judgments.from_frame(table(*rows, columns="item_a item_b outcome dimension judge"))
    assert judgments.select() is judgments
    kept = judgments.select(dimension="p", judge="k")
    assert kept.items == ("w", "z")
    assert kept.frame["item_a"].dtype == kept.frame["item_b"].dtype
    assert (kept.frame["row"].tolist(), labels(kept)) == ([3], ["tie"])
    assert judgments.items == ("w", "x", "y", "z")
    with pytest.raises(InputError, match="no column 'topic', so --topic 't' cannot be kept"):
        judgments.select(topic="t")
    with pytest.raises(InputError, match=r"judge 'k' is not in the file\. Allowed: j"):
        judgments.select(dimension="q", judge="k")
