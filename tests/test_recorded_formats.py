"""Readers of recorded judges: MT-Bench, AlpacaEval, LLMBar, PandaLM; small files in the published shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesbt.counts import count_judgments
from bayesbt.errors import InputError
from bayesbt.formats import READERS, Imported, import_source
from bayesbt.formats.source import Source
from bayesbt.stability import position_summary
from bayesbt.tables import Judgments

Shared = Callable[..., Path]


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def array(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def rows(read: Imported, *names: str) -> list[tuple[Any, ...]]:
    frame = read.judgments.frame[list(names)].astype(object)
    return list(frame.where(frame.notna(), None).itertuples(index=False, name=None))


def format_found(path: Path) -> str:
    return next(name for name, reader in READERS.items() if reader.sniff(Source(path)))


def codes(read: Imported) -> set[str]:
    return {finding.code for finding in read.judgments.findings}


HUMAN = {"model_a": "alpaca", "model_b": "vicuna", "judge": "expert_0", "turn": 1}


def test_mtbench_published_table(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "?"}]
    records = [
        {"question_id": 81, **HUMAN, "winner": "model_b", "conversation_a": talk},
        {"question_id": 81, **HUMAN, "turn": 2, "winner": "model_a", "conversation_a": talk},
        {"question_id": 82, **HUMAN, "judge": ["gpt-4", "pair-v2"], "winner": "tie (inconsistent)"},
        {"question_id": 83, **HUMAN, "winner": "tie"},
        {"question_id": 84, **HUMAN, "winner": "error"},
    ]
    path = lines(tmp_path / "human.jsonl", records)
    assert format_found(path) == "mtbench"
    read = import_source(path)
    assert rows(read, "item_a", "item_b", "outcome", "topic", "judge", "dimension", "reason") == [
        ("alpaca", "vicuna", "b", "81", "expert_0", "turn 1", None),
        ("alpaca", "vicuna", "a", "81", "expert_0", "turn 2", None),
        ("alpaca", "vicuna", "tie", "82", "gpt-4/pair-v2", "turn 1", None),
        ("alpaca", "vicuna", "tie", "83", "expert_0", "turn 1", None),
        ("alpaca", "vicuna", None, "84", "expert_0", "turn 1", "error"),
    ]
    found = {finding.code: finding for finding in read.judgments.findings}
    assert found["tie-inconsistent"].rows == (3,)
    assert found["unscored"].rows == (5,)
    assert "conversation_a" in found["column-ignored"].message


def test_mtbench_output_of_fastchat_has_both_orders(tmp_path: Path) -> None:
    game = {
        "question_id": 90,
        "model_1": "llama",
        "model_2": "claude",
        "judge": ["gpt-4", "pair-v2"],
        "turn": 1,
    }
    records = [
        game | {"g1_winner": "model_1", "g2_winner": "model_2"},  # the item shown first, both times
        game | {"question_id": 91, "g1_winner": "model_2", "g2_winner": "model_2"},
        game | {"question_id": 92, "g1_winner": "tie", "g2_winner": "error"},
    ]
    path = lines(tmp_path / "gpt-4_pair.jsonl", records)
    assert format_found(path) == "mtbench"
    read = import_source(path)
    assert rows(read, "topic", "item_a", "outcome", "row") == [
        ("90", "llama", "a", 1),
        ("91", "llama", "b", 2),
        ("92", "llama", "tie", 3),
        ("90", "claude", "a", 1),
        ("91", "claude", "a", 2),
        ("92", "claude", None, 3),
    ]
    position = position_summary(read.judgments).iloc[0]
    assert (position["both_orders"], position["first_both"], position["same_winner"]) == (2, 0.5, 0.5)


def test_mtbench_unknown_words_are_errors_that_the_map_settles(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "x.jsonl", [{"question_id": 1, **HUMAN, "winner": word} for word in ("model_a", "A")]
    )
    with pytest.raises(InputError, match=r"column 'winner'.*'A' \(row 2\).*'model_a', 'model_b', 'tie'"):
        import_source(path, format="mtbench")
    read = import_source(path, format="mtbench", mapping={"A": "a"})
    assert rows(read, "outcome") == [("a",), ("a",)]
    with pytest.raises(InputError, match="question_id and model_a, model_b, winner are needed"):
        import_source(lines(tmp_path / "y.jsonl", [{"model_a": "x"}]), format="mtbench")


def test_arena_battles_are_no_mtbench(tmp_path: Path) -> None:
    path = lines(tmp_path / "arena.jsonl", [{"question_id": 1, **HUMAN, "winner": "tie", "anony": True}])
    assert format_found(path) == "arena"


GENERATED = {"instruction": "Name a river.", "output_1": "The Rhine.", "output_2": "Rhine"}


def test_alpaca_eval_labels(tmp_path: Path) -> None:
    named = {**GENERATED, "generator_1": "davinci", "generator_2": "mine", "annotator": "claude"}
    preferences: list[float | None] = [1, 2.0, 1.5, 0, None]
    path = array(tmp_path / "annotations.json", [named | {"preference": value} for value in preferences])
    assert format_found(path) == "alpaca-eval"
    read = import_source(path)
    expected = [("a", None), ("b", None), ("tie", None), ("tie", None), (None, "parse")]
    assert rows(read, "outcome", "reason") == expected
    assert set(rows(read, "item_a", "item_b", "judge")) == {("davinci", "mine", "claude")}
    assert "p_a" not in read.judgments.frame
    assert read.items is None


def test_alpaca_eval_continuous_preferences_are_probabilities(tmp_path: Path) -> None:
    named = {**GENERATED, "generator_1": "davinci", "generator_2": "mine"}
    values = [1.9, 1.0000024, 1.5, None, 1.25]
    path = array(tmp_path / "weighted.json", [named | {"preference": value} for value in values])
    frame = import_source(path).judgments.frame
    assert frame["outcome"].astype(object).where(frame["outcome"].notna(), None).tolist() == [
        "b",
        "a",
        "tie",
        None,
        "a",
    ]
    np.testing.assert_allclose(frame["p_b"], [0.9, 2.4e-6, 0, np.nan, 0.25], atol=1e-12)
    np.testing.assert_allclose(frame["p_a"], [0.1, 1 - 2.4e-6, 0, np.nan, 0.75], atol=1e-12)
    np.testing.assert_allclose(frame["p_tie"], [0, 0, 1, np.nan, 0])
    counts = count_judgments(Judgments(frame), soft=True)
    assert counts.wins_b.sum() == pytest.approx(0.9 + 2.4e-6 + 0.25)
    assert counts.ties.sum() == 1


def test_alpaca_eval_outputs_are_items_where_no_generator_is_named(tmp_path: Path) -> None:
    other = {"instruction": "Name a river.", "output_1": "Rhine", "output_2": "Main"}
    elsewhere = {"instruction": "Name a city.", "output_1": "Rhine", "output_2": "Bonn"}
    records = [GENERATED | {"preference": 2}, other | {"preference": 1}, elsewhere | {"preference": 2}]
    read = import_source(array(tmp_path / "human.json", records))
    a, b = (read.judgments.frame[name].astype(str).tolist() for name in ("item_a", "item_b"))
    assert b[0] == a[1]  # the same output for the same instruction
    assert a[2] != a[1]  # the same words for another one
    assert read.items is not None
    texts = read.items.frame.set_index("item")["text"]
    assert texts[a[0]] == "The Rhine."
    assert texts[b[2]] == "Bonn"
    assert len(texts) == 5
    topics = read.items.frame.set_index("item")["topic"]
    assert topics[a[0]] == topics[b[1]] != topics[a[2]]


@pytest.mark.parametrize("value", [3, 0.5, "first", float("inf")])
def test_alpaca_eval_impossible_preferences(tmp_path: Path, value: Any) -> None:
    records = [GENERATED | {"preference": 1}, GENERATED | {"preference": value}]
    with pytest.raises(InputError, match=r"'preference'.*\(row 2\)\. Allowed: 1 \(first\) to 2"):
        import_source(array(tmp_path / "x.json", records))


def llmbar(folder: Path) -> Path:
    """Write two instances of one subset, judged by two judges in both orders, as LLMBar publishes them."""
    subset = folder / "Dataset" / "LLMBar" / "Natural"
    texts = [("a poem", "good poem", "bad poem", 1), ("a sum", "4", "5", 2)]
    names = ("input", "output_1", "output_2", "label")
    data = [dict(zip(names, text, strict=True)) for text in texts]
    array(subset / "dataset.json", data)

    def result(*stages: tuple[Any, Any]) -> dict[str, Any]:
        return {"results": [{f"swap = {s}": {"winner": w[s]} for s in (False, True)} for w in stages]}

    vanilla = [data[0] | result(("1", "2")), data[1] | result((None, "2"))]
    swap = [data[0] | result(("1", "2"), ("1", "1")), data[1] | result(("2", "2"))]
    array(subset / "evaluators" / "Falcon" / "Vanilla" / "result.json", vanilla)
    array(subset / "evaluators" / "Falcon" / "Swap" / "result.json", swap)
    return folder / "Dataset"


def test_llmbar_as_published(tmp_path: Path) -> None:
    path = llmbar(tmp_path)
    assert format_found(path) == "llmbar"
    read = import_source(path)
    one, two = "LLMBar/Natural/0", "LLMBar/Natural/1"
    assert rows(read, "judge", "item_a", "outcome", "run", "reason") == [
        ("gold", f"{one}/1", "a", 1, None),
        ("gold", f"{two}/1", "b", 1, None),
        ("Falcon/Swap", f"{one}/1", "a", 1, None),
        ("Falcon/Swap", f"{one}/2", "a", 1, None),  # output 2 was shown first and won
        ("Falcon/Swap", f"{one}/1", "a", 2, None),
        ("Falcon/Swap", f"{one}/2", "b", 2, None),
        ("Falcon/Swap", f"{two}/1", "b", 1, None),
        ("Falcon/Swap", f"{two}/2", "a", 1, None),
        ("Falcon/Vanilla", f"{one}/1", "a", 1, None),
        ("Falcon/Vanilla", f"{one}/2", "a", 1, None),
        ("Falcon/Vanilla", f"{two}/1", None, 1, "parse"),
        ("Falcon/Vanilla", f"{two}/2", "a", 1, None),
    ]
    assert {"unscored", "second-look"} <= codes(read)
    assert read.items is not None
    assert read.items.frame.set_index("item").loc[f"{two}/2", "text"] == "5"
    position = position_summary(read.judgments.select(judge="Falcon/Vanilla")).iloc[0]
    assert (position["first_wins"], position["both_orders"], position["flip"]) == (3, 1, 1)


def test_llmbar_tables_with_an_instance_that_is_not_there(tmp_path: Path) -> None:
    head = {"subset": ["s"], "idx": ["0"]}
    pd.DataFrame({**head, "label": ["1"]}).to_csv(tmp_path / "instances.csv", index=False)
    row = {"llm": ["m"], "strategy": ["CoT"], "swapped": ["True"], "winner": ["2"]}
    pd.DataFrame({**head, **row}).to_csv(tmp_path / "judgments.csv.gz", index=False)
    read = import_source(tmp_path)
    assert rows(read, "judge", "item_a", "outcome") == [("gold", "s/0/1", "a"), ("m/CoT", "s/0/2", "a")]
    assert read.items is None
    pd.DataFrame({**head, **row, "idx": ["7"]}).to_csv(tmp_path / "judgments.csv.gz", index=False)
    with pytest.raises(InputError, match=r"instances that are not there: 's/7' \(row 1\)"):
        import_source(tmp_path)
    pd.DataFrame({**head, **row, "swapped": ["maybe"]}).to_csv(tmp_path / "judgments.csv.gz", index=False)
    with pytest.raises(InputError, match=r"column 'swapped': 'maybe' \(row 1\)\. Allowed: True, False"):
        import_source(tmp_path)


PANDA = {"motivation_app": "Grammarly", "cmp_key": "bloom-7b_llama-7b", "instruction": "i", "response1": "x"}


def pandalm(folder: Path, **changes: Any) -> Path:
    people = [(2, 2, 1), (0, 1, 0), (1, 1, 1)]
    base = [
        {"idx": 10 + k, **PANDA} | {f"annotator{n}": answer for n, answer in enumerate(answers, start=1)}
        for k, answers in enumerate(people)
    ]
    base[0] |= changes
    array(folder / "testset-v1.json", base)
    verdicts = [(12, "Tie"), (10, "1"), (11, "Both are good, I think")]
    array(
        folder / "gpt.json", [{"idx": idx, "gpt_result": word, "gpt_reason": "."} for idx, word in verdicts]
    )
    array(folder / "pandalm.json", [{"idx": 10 + k, "pandalm_result": k} for k in range(3)])
    return folder


def test_pandalm_joins_its_files_and_keeps_what_cannot_be_parsed(tmp_path: Path) -> None:
    folder = pandalm(tmp_path)
    assert format_found(folder) == "pandalm"
    read = import_source(folder)
    answers = read.judgments.frame.pivot(index="judge", columns="topic", values="outcome").astype(object)
    assert answers.where(answers.notna(), None).loc[:, ["10", "11", "12"]].to_numpy().tolist() == [
        ["b", "tie", "a"],
        ["b", "a", "a"],
        ["a", "tie", "a"],
        ["a", None, "tie"],
        ["tie", "a", "b"],
    ]
    lost = read.judgments.frame[read.judgments.frame["outcome"].isna()].iloc[0]
    assert (lost["judge"], lost["reason"], lost["raw"]) == ("gpt", "parse", "Both are good, I think")
    assert lost["row"] == 2
    assert set(rows(read, "item_a", "item_b", "application")) == {("bloom-7b", "llama-7b", "Grammarly")}


def test_pandalm_one_file_alone_and_flawed_files(tmp_path: Path) -> None:
    alone = pandalm(tmp_path / "a") / "testset-v1.json"
    assert format_found(alone) == "pandalm"
    assert len(import_source(alone).judgments) == 9
    with pytest.raises(InputError, match=r"no column cmp_key"):
        import_source(tmp_path / "a" / "gpt.json", format="pandalm")
    with pytest.raises(InputError, match=r"'cmp_key': not two names.*'bloom_llama_opt' \(row 1\)"):
        import_source(pandalm(tmp_path / "b", cmp_key="bloom_llama_opt"))
    with pytest.raises(InputError, match=r"column 'annotator2'.*'3' \(row 1\)"):
        import_source(pandalm(tmp_path / "c", annotator2=3))
    array(tmp_path / "a" / "twice.json", [{"idx": 10, "x_result": 1}, {"idx": 10, "x_result": 2}])
    with pytest.raises(InputError, match="an idx occurs twice"):
        import_source(tmp_path / "a")
    with pytest.raises(InputError, match=r"a folder with testset-v1\.json is needed"):
        import_source(tmp_path, format="pandalm")
