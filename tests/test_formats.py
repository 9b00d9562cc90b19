"""Reading and writing: what is written is read back, and each public format gives its known numbers."""

from __future__ import annotations

import errno
import gzip
import io
import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayesbt.errors import EmptyInputError, InputError
from bayesbt.files import atomic_folder, atomic_path, write_text
from bayesbt.formats import (
    READERS,
    import_source,
    read_items,
    read_judgments,
    read_pairs,
    write_items,
    write_judgments,
    write_pairs,
)
from bayesbt.formats.files import read_frame, write_frame
from bayesbt.tables import Items, Judgments, Pairs

Shared = Callable[..., Path]

SUFFIXES = [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".csv.gz", ".jsonl.gz", ".parquet.gz"]

HOSTILE = [
    "01",
    "1",
    " a",
    "a ",
    'a,"b"|c$_\\x',
    "line\nbreak",
    "carriage\rreturn",
    "both\r\n",
    "tab\there",
    "semi;colon",
    "👩‍🔬 emoji",
    "モデル",
    "T\u00fclu",
    "#comment",
    "=1+1",
    "'",
    '"',
    '""',
    "line\u2028separator",
    "\ufeffbom",
    "\x00nul",
    "tie",
    "nil",
]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def judgments_of(ids: list[str]) -> Judgments:
    outcomes = ["a", "tie", "b", ""]
    rows = [
        (
            x,
            y,
            outcomes[place % 4],
            "" if place % 4 < 3 else "no verdict,\nnone",
            place % 3,
            0.1 * (place % 4),
            x,
        )
        for place, (x, y) in enumerate(itertools.pairwise(ids))
        if x != y
    ]
    columns = ["item_a", "item_b", "outcome", "reason", "run", "p_a", "note"]
    return Judgments.from_frame(pd.DataFrame(rows, columns=columns))


def same(first: Judgments, second: Judgments) -> None:
    pd.testing.assert_frame_equal(first.frame.drop(columns="row"), second.frame.drop(columns="row"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_hostile_ids_come_back_as_they_were(tmp_path: Path, suffix: str):
    judgments = judgments_of([*HOSTILE, HOSTILE[0]])
    path = tmp_path / f"table{suffix}"
    write_judgments(judgments, path)
    back = read_judgments(path)
    assert set(back.items) == set(HOSTILE)
    assert back.findings == ()
    same(judgments, back)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=st.lists(TEXT, min_size=2, max_size=10, unique=True))
def test_any_table_comes_back_as_it_was(tmp_path: Path, suffix: str, ids: list[str]):
    judgments = judgments_of(["first id", "second id", *ids])
    path = tmp_path / f"table{suffix}"
    write_judgments(judgments, path, force=True)
    same(judgments, read_judgments(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_items_and_pairs_come_back_as_they_were(tmp_path: Path, suffix: str):
    items = Items.from_frame(
        pd.DataFrame(
            {"item": HOSTILE, "text": [f"{name}\n\nlong" for name in HOSTILE], "words": range(len(HOSTILE))}
        )
    )
    write_items(items, tmp_path / f"items{suffix}")
    back = read_items(tmp_path / f"items{suffix}")
    pd.testing.assert_frame_equal(items.frame, back.frame)
    assert back.frame["words"].dtype == np.float64
    pairs = Pairs.from_frame(pd.DataFrame({"item_a": HOSTILE[1:], "item_b": HOSTILE[:-1], "topic": "T, 1"}))
    write_pairs(pairs, tmp_path / f"pairs{suffix}")
    pd.testing.assert_frame_equal(pairs.frame, read_pairs(tmp_path / f"pairs{suffix}").frame)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_table_gives_the_same_bytes(tmp_path: Path, suffix: str):
    judgments = judgments_of(HOSTILE)
    paths = [tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"]
    for path in paths:
        write_judgments(judgments, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_counts_are_written_only_where_they_say_something(tmp_path: Path):
    frame = pd.DataFrame({"item_a": ["x", "y"], "item_b": ["y", "z"], "outcome": ["a", "b"]})
    write_judgments(Judgments.from_frame(frame), tmp_path / "plain.csv")
    assert (tmp_path / "plain.csv").read_text() == "item_a,item_b,outcome\nx,y,a\ny,z,b\n"
    write_judgments(Judgments.from_frame(frame.assign(count=[1.5e9, 2])), tmp_path / "counts.csv")
    assert read_judgments(tmp_path / "counts.csv").frame["count"].tolist() == [1.5e9, 2.0]


def test_nothing_is_overwritten_without_force(tmp_path: Path):
    judgments = judgments_of(HOSTILE)
    path = written(tmp_path / "x.csv", "precious")
    with pytest.raises(InputError, match=r"x\.csv: exists already.*--force"):
        write_judgments(judgments, path)
    assert path.read_text() == "precious"
    write_judgments(judgments, path, force=True)
    assert path.read_text().startswith("item_a,")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.csv"]


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path):
    def fail() -> None:
        with atomic_path(tmp_path / "new" / "x.csv") as temporary:
            temporary.write_text("half")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fail()
    assert list((tmp_path / "new").iterdir()) == []


def test_a_block_that_writes_nothing_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="nothing was written"), atomic_path(tmp_path / "x.csv"):
        pass


def test_a_temporary_name_keeps_the_suffix_and_a_link_stays_a_link(tmp_path: Path):
    target = written(tmp_path / "target.csv", "old")
    (tmp_path / "link.csv").symlink_to(target)
    with atomic_path(tmp_path / "link.csv", force=True) as temporary:
        assert temporary.name.endswith(".csv")
        temporary.write_text("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert target.read_text() == "new"


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path):
    with atomic_folder(tmp_path / "fit") as folder:
        write_text(folder / "a.txt", "one\n")
        assert not (tmp_path / "fit").exists()
    with pytest.raises(InputError, match=r"exists already.*--force"), atomic_folder(tmp_path / "fit"):
        pass

    def fail() -> None:
        with atomic_folder(tmp_path / "fit", force=True) as folder:
            write_text(folder / "b.txt", "two\n")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fail()
    assert [path.name for path in (tmp_path / "fit").iterdir()] == ["a.txt"]
    with atomic_folder(tmp_path / "fit", force=True) as folder:
        write_text(folder / "b.txt", "two\n")
    assert [path.name for path in (tmp_path / "fit").iterdir()] == ["b.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["fit"]


def test_a_folder_in_place_of_a_file_and_the_reverse(tmp_path: Path):
    written(tmp_path / "x.csv", "")
    with pytest.raises(InputError, match="is a file"), atomic_folder(tmp_path / "x.csv", force=True):
        pass
    with pytest.raises(InputError, match="is a folder"), atomic_path(tmp_path, force=True):
        pass


def test_a_torn_line_is_named_by_its_number(tmp_path: Path):
    line = json.dumps({"item_a": "x", "item_b": "y", "outcome": "a"})
    path = written(tmp_path / "log.jsonl", f'{line}\n\n{line}\n{{"item_a": "x", "item')
    with pytest.raises(InputError, match=r"log\.jsonl, line 4: not a JSON object.*remove the line"):
        read_judgments(path)
    with pytest.raises(InputError, match=r"line 2: '3' is no object"):
        read_judgments(written(path, f"{line}\n3\n"))
    with pytest.raises(InputError, match=r"line 1: broken JSON"):
        read_judgments(written(tmp_path / "x.json", "[{]"))
    with pytest.raises(InputError, match=r"row 2: 3 is no object"):
        read_judgments(written(tmp_path / "x.json", f"[{line}, 3]"))


def test_whole_numbers_in_json_stay_whole_where_others_are_missing(tmp_path: Path):
    path = written(
        tmp_path / "x.jsonl",
        '{"item_a": 12345678901234567, "item_b": 2, "outcome": 1, "run": 1}\n'
        '{"item_b": 3, "item_a": 2, "outcome": null, "reason": "parse", "run": 2}\n',
    )
    judgments = read_judgments(path)
    assert judgments.items == ("12345678901234567", "2", "3")
    assert judgments.frame["outcome"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffitem_a,item_b,outcome\r\nx,y,a\r\ny,x,tie\r\n",
        "item_a;item_b;outcome\nx;y;a\ny;x;tie",
        "item_a\titem_b\toutcome\nx\ty\ta\n\ny\tx\ttie\n",
        ' item_a , item_b,outcome\n"x","y",a\ny,x,"tie"\n',
        ",item_a,item_b,outcome\n0,x,y,a\n1,y,x,tie\n",
    ],
)
def test_csv_of_many_programs(tmp_path: Path, text: str):
    judgments = read_judgments(written(tmp_path / "x.csv", text))
    assert judgments.frame["item_a"].tolist() == ["x", "y"]
    assert judgments.frame["outcome"].tolist() == ["a", "tie"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_a,item_b,outcome\nx,y,a\nx,y\n", r"row 2: 2 cells, but the header names 3 columns"),
        ("item_a,item_b,outcome\nx,y,a,b\n", r"row 1: 4 cells"),
        ('item_a,item_b,outcome\nx,"y"z,a\n', r"line 2: broken CSV"),
        ('item_a,item_b,outcome\nx,"y,a\n', r"broken CSV"),
    ],
)
def test_a_broken_csv_is_named_by_row(tmp_path: Path, text: str, message: str):
    with pytest.raises(InputError, match=message):
        read_judgments(written(tmp_path / "x.csv", text))


def test_a_file_that_is_not_utf8(tmp_path: Path):
    (tmp_path / "x.csv").write_bytes("item_a,item_b,outcome\nT\u00fclu,y,a\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"x\.csv: not UTF-8 text \(byte 0xfc\)"):
        read_judgments(tmp_path / "x.csv")


@pytest.mark.parametrize(("name", "content"), [("x.csv.gz", b"item_a"), ("x.parquet", b"PAR0")])
def test_a_file_that_is_not_what_its_suffix_says(tmp_path: Path, name: str, content: bytes):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        read_judgments(tmp_path / name)


def test_a_truncated_gzip_file(tmp_path: Path):
    content = gzip.compress(b"item_a,item_b,outcome\n" + b"x,y,a\n" * 1000)
    (tmp_path / "x.csv.gz").write_bytes(content[:-20])
    with pytest.raises(InputError, match=r"x\.csv\.gz: cannot be read"):
        read_judgments(tmp_path / "x.csv.gz")


def test_files_that_are_missing_unknown_or_empty(tmp_path: Path):
    with pytest.raises(InputError, match=r"gone\.csv: no such file"):
        read_judgments(tmp_path / "gone.csv")
    with pytest.raises(InputError, match=r"suffix tells no format.*\.parquet"):
        read_judgments(written(tmp_path / "x.xlsx", "?"))
    with pytest.raises(InputError, match=r"folder in no known format.*webis"):
        read_judgments(tmp_path)
    with pytest.raises(InputError, match=r"--format 'excel'.*auto, webis"):
        read_judgments(tmp_path / "x.csv", format="excel")
    for name in ("x.csv", "x.jsonl", "x.json"):
        with pytest.raises(EmptyInputError, match="empty"):
            read_judgments(written(tmp_path / name, "\n"))


def test_a_text_longer_than_the_usual_limit_of_a_cell(tmp_path: Path):
    items = Items.from_frame(pd.DataFrame({"item": ["x"], "text": ["word " * 50_000]}))
    write_items(items, tmp_path / "x.csv")
    assert read_items(tmp_path / "x.csv").frame["text"][0] == "word " * 50_000


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    for text in ("item_a,item_b,outcome\nx,y,b\n", '{"item_a": "x", "item_b": "y", "outcome": "b"}\n'):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        judgments = read_judgments("-")
        write_judgments(judgments, "-")
        assert capsys.readouterr().out == "item_a,item_b,outcome\nx,y,b\n"


def test_items_as_one_id_a_line(tmp_path: Path):
    path = written(tmp_path / "items.txt", "a\n b\n\nnever\n")
    assert read_items(path).frame["item"].tolist() == ["a", " b", "never"]
    with pytest.raises(InputError, match="only read"):
        write_items(read_items(path), tmp_path / "other.txt")


def test_parquet_keeps_types(tmp_path: Path):
    frame = pd.DataFrame(
        {"item_a": ["x"], "item_b": ["y"], "outcome": ["a"], "length": [3.5], "seen": [True]}
    )
    write_frame(frame, tmp_path / "x.parquet")
    got = read_judgments(tmp_path / "x.parquet").frame
    assert got["length"].tolist() == [3.5]
    assert got["seen"].tolist() == [True]


# --- one format each ---


def test_every_reader_names_itself_and_auto_tries_the_table_last():
    known = "webis llmbar pandalm ukpconvarg counts mtbench alpaca-eval arena matrix csv"
    assert list(READERS) == known.split()
    assert all(name == reader.name and reader.what for name, reader in READERS.items())


def test_arena_reads_both_words_for_a_tie_and_leaves_conversations_out(tmp_path: Path):
    battles = [
        {
            "model_a": "m1",
            "model_b": "m2",
            "winner": "model_a",
            "conversation_a": [{"role": "user"}],
            "judge": "u1",
        },
        {"model_a": "m2", "model_b": "m3", "winner": "tie (bothbad)", "conversation_a": [], "judge": "u1"},
        {"model_a": "m3", "model_b": "m1", "winner": "tie", "conversation_a": [], "judge": "u2"},
    ]
    path = written(tmp_path / "battles.json", json.dumps(battles))
    judgments = read_judgments(path)
    assert judgments.frame["outcome"].tolist() == ["a", "tie", "tie"]
    assert "conversation_a" not in judgments.frame
    assert judgments.frame["judge"].tolist() == ["u1", "u1", "u2"]
    assert [finding.code for finding in judgments.findings] == ["tie-both-bad", "column-ignored"]
    lines = written(tmp_path / "battles.jsonl", "".join(f"{json.dumps(battle)}\n" for battle in battles))
    same(judgments, read_judgments(lines))


def test_counts_become_one_judgment_an_outcome(tmp_path: Path):
    path = written(
        tmp_path / "x.csv",
        "item_i,item_j,wins_i,wins_j,ties,topic\np,q,19,0,16,T\nq,r,2.5,3,0,T\nr,s,0,0,0,T\n",
    )
    judgments = read_judgments(path)
    got = judgments.frame[["item_a", "item_b", "outcome", "count", "row"]].astype(object).to_numpy().tolist()
    assert got == [
        ["p", "q", "a", 19.0, 1],
        ["p", "q", "tie", 16.0, 1],
        ["q", "r", "a", 2.5, 2],
        ["q", "r", "b", 3.0, 2],
        ["r", "s", "a", 0.0, 3],
    ]
    assert judgments.items == ("p", "q", "r", "s")
    assert set(judgments.frame["topic"]) == {"T"}


def test_counts_with_names_of_their_own(tmp_path: Path):
    path = written(tmp_path / "x.csv", "w,b,ww,bw\np,q,3,1\n")
    judgments = read_judgments(
        path, format="counts", mapping={"w": "item_a", "b": "item_b", "ww": "wins_a", "bw": "wins_b"}
    )
    assert judgments.frame["count"].tolist() == [3.0, 1.0]
    with pytest.raises(InputError, match=r'no column item_a.*w, b, ww, bw.*--map "YOUR_COLUMN=item_a'):
        read_judgments(path, format="counts")


@pytest.mark.parametrize("bad", ["-1", "nan", "inf", "x", ""])
def test_counts_that_are_no_counts(tmp_path: Path, bad: str):
    path = written(tmp_path / "x.csv", f"home,away,home_wins,away_wins\np,q,3,1\nq,p,{bad},1\n")
    with pytest.raises(InputError, match=r"column 'wins_a': .*\(row 2\)"):
        read_judgments(path)


def test_matrix_counts_how_often_the_row_beat_the_column(tmp_path: Path):
    path = written(tmp_path / "x.csv", ",p,q,r\nq,2,,0\np,0,7,1\nr,0,4,0\n")
    imported = import_source(path)
    got = (
        imported.judgments.frame[["item_a", "item_b", "outcome", "count"]].astype(object).to_numpy().tolist()
    )
    assert got == [["p", "q", "a", 7.0], ["p", "q", "b", 2.0], ["p", "r", "a", 1.0], ["q", "r", "b", 4.0]]
    assert imported.judgments.frame["row"].tolist() == [2, 2, 2, 1]
    assert imported.items is not None
    assert imported.items.frame["item"].tolist() == ["p", "q", "r"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",p,q\np,1,2\nq,3,0\n", r"'p' beats itself 1 times"),
        (",p,q\np,0,-2\nq,3,0\n", r"column 'q': '-2' \(row 1\)"),
        (",p,q\np,0,0\nq,0,0\n", r"nothing to rank"),
        (",p,q\np,0,2\n", r"not a square matrix"),
    ],
)
def test_a_matrix_that_is_none(tmp_path: Path, text: str, message: str):
    with pytest.raises(InputError, match=message):
        read_judgments(written(tmp_path / "x.csv", text), format="matrix")


@pytest.mark.parametrize(
    ("name", "judgments", "items", "total"),
    [
        ("baseball", 80, 7, 273.0),
        ("citations", 12, 4, 3727.0),
        ("heaviness", 40, 5, 1000.0),
        ("pudding", 45, 6, 745.0),
        ("springall", 102, 9, 885.0),
        ("tennis_agresti", 17, 5, 46.0),
        ("gienapp_example", 8, 4, 8.0),
    ],
)
def test_reference_tables_are_read_by_auto(
    shared: Shared, name: str, judgments: int, items: int, total: float
):
    path = shared("reference", f"{name}.csv")
    got = read_judgments(path)
    raw = pd.read_csv(path)
    numbers = raw.select_dtypes("number").to_numpy()
    assert got.frame["count"].sum() == (numbers.sum() if numbers.size else len(raw))
    assert (len(got), len(got.items), got.frame["count"].sum()) == (judgments, items, total)


def test_baseball_keeps_the_home_team_first(shared: Shared):
    frame = read_judgments(shared("reference", "baseball.csv")).frame
    first = frame[(frame["item_a"] == "Milwaukee") & (frame["item_b"] == "Detroit")]
    assert first[["outcome", "count"]].astype(object).to_numpy().tolist() == [["a", 4.0], ["b", 3.0]]


def test_webis_has_the_published_numbers(shared: Shared):
    imported = import_source(shared("data", "webis-argquality-20"))
    frame = imported.judgments.frame
    assert frame["dimension"].value_counts().to_dict() == {
        "logic": 13952,
        "rhetoric": 13952,
        "dialectic": 13952,
    }
    assert len(imported.judgments.items) == 1269
    assert frame["topic"].nunique() == 20
    shares = (
        frame.groupby("dimension", observed=True)["outcome"].value_counts(normalize=True).mul(100).round(1)
    )
    expected = {"logic": (44.6, 41.0, 14.4), "rhetoric": (41.8, 40.6, 17.6), "dialectic": (43.0, 41.3, 15.6)}
    for dimension, published in expected.items():
        assert tuple(shares[dimension][label] for label in ("a", "b", "tie")) == published
    items = imported.items
    assert items is not None
    assert len(items) == 1271
    assert set(imported.judgments.items) < set(items.frame["item"])
    topic_of = dict(zip(items.frame["item"], items.frame["topic"], strict=True))
    for side in ("item_a", "item_b"):
        assert (frame[side].astype(object).map(topic_of) == frame["topic"].astype(object)).all()
    first = items.frame.set_index("item").loc["15859-4-10"]
    assert first["score_logic"] == pytest.approx(0.952268, abs=1e-6)
    assert first["score_rhetoric"] == pytest.approx(1.535072, abs=1e-6)
    assert imported.judgments.findings == ()


def test_webis_in_a_folder_that_lacks_a_file(tmp_path: Path):
    with pytest.raises(InputError, match=r"webis-argquality20-arguments\.csv.*Webis-ArgQuality-20-Full"):
        read_judgments(tmp_path, format="webis")


def test_ukpconvarg_has_the_published_numbers(shared: Shared):
    imported = import_source(shared("data", "ukpconvarg1"))
    frame = imported.judgments.frame
    assert len(frame) == 84445
    assert frame["judge"].nunique() == 3815
    assert frame["topic"].nunique() == 32
    assert (frame["outcome"] == "tie").sum() == 19105
    assert frame.astype(object).groupby(["item_a", "item_b"]).ngroups == 16927
    assert imported.items is not None
    assert len(imported.items) == 1052
    assert set(imported.judgments.items) == set(imported.items.frame["item"])
    assert imported.items.frame["text"].notna().all()


def test_ukpconvarg_in_a_folder_that_lacks_a_file(tmp_path: Path):
    with pytest.raises(InputError, match=r"arguments\.csv\.gz is needed"):
        read_judgments(tmp_path, format="ukpconvarg")


def test_a_frame_of_ten_chunks_keeps_its_order(tmp_path: Path):
    rows = 120_001
    path = written(tmp_path / "x.csv", "number,parity\n" + "".join(f"{n},{n % 2}\n" for n in range(rows)))
    frame = read_frame(path)
    assert frame["number"].tolist() == [str(n) for n in range(rows)]
    assert frame["parity"].tolist() == [str(n % 2) for n in range(rows)]


def test_only_failures_of_writing_are_told_as_such(tmp_path: Path):
    with pytest.raises(FileNotFoundError), atomic_folder(tmp_path / "fit"):
        (tmp_path / "elsewhere").read_text()
    absent = pytest.raises(InputError, match=r"fit: cannot be written: No such file")
    with absent, atomic_folder(tmp_path / "fit") as folder:
        (folder / "absent" / "x").write_text("")
    full = pytest.raises(InputError, match=r"x\.csv: cannot be written: No space left.*Make room")
    with full, atomic_path(tmp_path / "x.csv"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(InputError, match=r"cannot be written: File name too long"):
        write_text(tmp_path / ("x" * 300), "")
    assert list(tmp_path.iterdir()) == []
