"""PandaLM's test set (Wang et al. 2024): pairs of answers, judged by three people and by language models.

The items are the models that wrote the answers; a row of the source is one instruction. Read are the folder
of JSON files as PandaLM publishes them, joined by ``idx``, or one table with everything in it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesbt.columns import values_with_rows
from bayesbt.errors import InputError
from bayesbt.formats.files import read_frame
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.formats.verdicts import Words, read_verdicts, stacked, unscored_finding, with_findings

TEST_SET, TABLE = "testset-v1.json", "labels.csv"
PEOPLE = Words({"1": "a", "2": "b", "0": "tie", "tie": "tie"}, {})
MODELS = Words(PEOPLE.outcomes, {}, others=True)
JUDGE = re.compile(r"(annotator\d+)|(.+)_result")
NEEDED = {"idx", "cmp_key"}


def _sniff(source: Source) -> bool:
    if source.is_folder:
        return (source.path / TEST_SET).is_file()
    return set(source.columns) >= NEEDED and any(map(JUDGE.fullmatch, source.columns))


def _read(source: Source, options: ReadOptions) -> Imported:
    frame = _joined(source.path, source.name) if source.is_folder else source.frame
    missing = NEEDED - set(map(str, frame.columns))
    if missing:
        raise InputError(
            f"{source.name}: no column {' and no column '.join(sorted(missing))}. The names of the two "
            f"models stand in cmp_key of {TEST_SET}: give the folder with all files of PandaLM, or {TABLE}."
        )
    pairs = _pairs(frame, source.name)
    parts = []
    for name in map(str, frame.columns):
        judge = JUDGE.fullmatch(name)
        if judge is None:
            continue
        words = (PEOPLE if judge[1] else MODELS).with_options(options)
        verdicts = read_verdicts(frame[name], words, f"{source.name}, column {name!r}")
        parts.append(pd.concat([pairs.assign(judge=judge[1] or judge[2]), verdicts], axis=1))
    if not parts:
        raise InputError(f"{source.name}: no column of verdicts, such as annotator1 or gpt_result.")
    judgments = stacked(parts, options, source.name)
    return Imported(with_findings(judgments, unscored_finding(judgments)))


def _joined(folder: Path, name: str) -> pd.DataFrame:
    """Join the test set with the verdicts in the other JSON files of the folder."""
    base = folder / TEST_SET
    if not base.is_file():
        raise InputError(f"{name}: a folder with {TEST_SET} is needed, or one table such as {TABLE}.")
    frame = read_frame(base)
    for path in sorted(folder.glob("*.json")):
        if path == base:
            continue
        other = read_frame(path)
        found = [str(column) for column in other.columns if JUDGE.fullmatch(str(column))]
        if "idx" not in other or not found:
            continue
        again = other["idx"].duplicated()
        if again.any():
            bad = values_with_rows(other["idx"][again], np.flatnonzero(again) + 1)
            raise InputError(f"{path}: an idx occurs twice: {bad}. Keep one answer each.")
        frame = frame.merge(other[["idx", *found]], on="idx", how="left", validate="many_to_one")
    return frame


def _pairs(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Give the two models of each row, shown in the order in which ``cmp_key`` names them."""
    key: pd.Series[Any] = frame["cmp_key"].astype(str)
    names = key.str.split("_")
    wrong = np.array([len(parts) != 2 for parts in names])
    if wrong.any():
        bad = values_with_rows(key[wrong], np.flatnonzero(wrong) + 1)
        raise InputError(f"{source}, column 'cmp_key': not two names with one _ between them: {bad}.")
    data: dict[str, Any] = {"item_a": names.str[0], "item_b": names.str[1], "topic": frame["idx"]}
    data |= {"pair_id": frame["idx"], "number": np.arange(1, len(frame) + 1)}
    if "motivation_app" in frame:
        data["application"] = frame["motivation_app"]
    return pd.DataFrame(data)


READER = Reader(
    "pandalm", f"PandaLM's test set: a folder with {TEST_SET}, or one table {TABLE}", _sniff, _read
)
