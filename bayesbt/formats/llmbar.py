"""LLMBar (Zeng et al. 2024): pairs of outputs with a gold label, judged in both orders.

Every instance is one pair of items of its own, ``<subset>/<index>/1`` and ``.../2``; its topic is the subset.
A judge is a model with a prompting strategy, ``GPT-4/CoT``; the gold label is the judge ``gold``. Read are
the folder ``Dataset`` as LLMBar publishes it, or two tables made from it, instances.csv and judgments.csv.gz.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesbt.columns import values_with_rows
from bayesbt.errors import InputError
from bayesbt.findings import Finding
from bayesbt.formats.files import read_frame
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.formats.verdicts import Words, read_verdicts, stacked, unscored_finding, with_findings
from bayesbt.tables import Items

GOLD = "gold"
WORDS = Words({"1": "a", "2": "b"}, {"none": "parse"})
"""Of winners, numbered as the outputs are: a is output 1, whatever was shown first."""
TRUTH = {"true": True, "false": False}
KEY = ["subset", "idx"]
KEYS = [*KEY, "llm", "strategy", "swapped"]


def _tables(folder: Path) -> tuple[Path | None, Path | None]:
    """Find the two tables of a folder."""
    found: list[Path | None] = []
    for name in ("instances", "judgments"):
        paths = [folder / f"{name}{suffix}" for suffix in (".csv", ".csv.gz")]
        found.append(next((path for path in paths if path.is_file()), None))
    return found[0], found[1]


def _sniff(source: Source) -> bool:
    if not source.is_folder:
        return False
    if None not in _tables(source.path):
        return True
    return next(source.path.glob("**/evaluators/*/*/result.json"), None) is not None


def _read(source: Source, options: ReadOptions) -> Imported:
    instances, judgments = _from_tables(source) or _from_records(source)
    place = {tuple(key): number for number, key in enumerate(instances[KEY].astype(str).to_numpy())}
    gold = instances[KEY].assign(llm=GOLD, strategy="", swapped=False, winner=instances["label"])
    everything = pd.concat([gold, judgments], ignore_index=True)
    everything["number"] = [*range(1, len(gold) + 1), *range(1, len(judgments) + 1)]
    unknown = np.array([tuple(key) not in place for key in everything[KEY].astype(str).to_numpy()])
    if unknown.any():
        names = (
            everything.loc[unknown, "subset"].astype(str) + "/" + everything.loc[unknown, "idx"].astype(str)
        )
        bad = values_with_rows(names, everything.loc[unknown, "number"].to_numpy(dtype=np.int64))
        raise InputError(f"{source.name}: judgments on instances that are not there: {bad}.")
    table = _long(everything, options, source.name)
    read = stacked([table], options, source.name)
    found = [*unscored_finding(read), *_second_stage(table)]
    return Imported(with_findings(read, found), _items(instances, source.name))


def _from_tables(source: Source) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    first, second = _tables(source.path)
    if first is None or second is None:
        return None
    instances, judgments = read_frame(first), read_frame(second)
    for path, frame, names in ((first, instances, [*KEY, "label"]), (second, judgments, [*KEYS, "winner"])):
        missing = [name for name in names if name not in frame]
        if missing:
            raise InputError(f"{path}: no column {', no column '.join(missing)}.")
    swapped = judgments["swapped"].astype(str).str.lower().map(TRUTH)
    if swapped.isna().any():
        bad = judgments.loc[swapped.isna(), "swapped"]
        rows = np.flatnonzero(swapped.isna()) + 1
        raise InputError(f"{second}, column 'swapped': {values_with_rows(bad, rows)}. Allowed: True, False.")
    return instances, judgments.assign(swapped=swapped.astype(bool))


def _from_records(source: Source) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read dataset.json and evaluators/<model>/<strategy>/result.json of every subset."""
    instances, judgments = [], []
    for path in sorted(source.path.glob("**/dataset.json")):
        subset = path.parent.relative_to(source.path).as_posix()
        for number, record in enumerate(read_frame(path).to_dict("records")):
            texts = {name: record.get(name) for name in ("input", "output_1", "output_2", "label")}
            instances.append({"subset": subset, "idx": number, **texts})
        for result in sorted(path.parent.glob("evaluators/*/*/result.json")):
            llm, strategy = result.parts[-3:-1]
            judgments += _verdicts(result, {"subset": subset, "llm": llm, "strategy": strategy})
    if not instances or not judgments:
        raise InputError(
            f"{source.name}: a folder with instances.csv and judgments.csv.gz is needed, or the folder "
            "Dataset of LLMBar, with dataset.json and evaluators/*/*/result.json in it."
        )
    return pd.DataFrame(instances), pd.DataFrame(judgments)


def _verdicts(path: Path, names: dict[str, str]) -> list[dict[str, Any]]:
    rows = []
    for number, record in enumerate(read_frame(path).to_dict("records")):
        for stage in record.get("results") or []:
            for swapped in (False, True):
                verdict = stage.get(f"swap = {swapped}")
                if verdict is not None:
                    rows.append({**names, "idx": number, "swapped": swapped, "winner": verdict.get("winner")})
    return rows


def _long(everything: pd.DataFrame, options: ReadOptions, source: str) -> pd.DataFrame:
    """Turn winning outputs into winning sides as they were shown."""
    verdicts = read_verdicts(everything["winner"], WORDS.with_options(options), f"{source}, column 'winner'")
    pair = everything["subset"].astype(str) + "/" + everything["idx"].astype(str)
    swapped = everything["swapped"].to_numpy(dtype=bool)
    first, second = (pair + "/1").to_numpy(), (pair + "/2").to_numpy()
    turned = verdicts["outcome"].replace({"a": "b", "b": "a"})
    strategy = everything["strategy"].astype(str)
    return pd.DataFrame(
        {
            "item_a": np.where(swapped, second, first),
            "item_b": np.where(swapped, first, second),
            "outcome": verdicts["outcome"].where(~swapped, turned),
            "topic": everything["subset"],
            "judge": np.where(strategy == "", everything["llm"], everything["llm"] + "/" + strategy),
            "run": everything.groupby(KEYS, sort=False).cumcount() + 1,
            "reason": verdicts["reason"],
            "raw": verdicts["raw"],
            "pair_id": pair,
            "llm": everything["llm"],
            "strategy": strategy,
            "number": everything["number"],
        }
    )


def _second_stage(table: pd.DataFrame) -> list[Finding]:
    later = int((table["run"] > 1).sum())
    if not later:
        return []
    message = (
        f"{later:,} verdicts are a second look at a pair that the judge had decided by its order (strategies "
        "Swap and Swap_CoT); they are run 2 of that judge, not independent judgments."
    )
    return [Finding("note", "second-look", message)]


def _items(instances: pd.DataFrame, source: str) -> Items | None:
    if not {"output_1", "output_2"} <= set(instances.columns):
        return None
    pair = instances["subset"].astype(str) + "/" + instances["idx"].astype(str)
    sides = [
        pd.DataFrame({"item": pair + f"/{n}", "topic": instances["subset"], "text": instances[f"output_{n}"]})
        for n in (1, 2)
    ]
    return Items.from_frame(pd.concat(sides, ignore_index=True), source=source)


READER = Reader("llmbar", "LLMBar: its folder Dataset, or instances.csv and judgments.csv.gz", _sniff, _read)
