"""AlpacaEval's annotations (Li et al. 2023): ``preference`` is 1 for the first output, 2 for the second.

1.5 (and the older 0) is a tie. Any other number from 1 to 2 is the probability of the second, plus 1: it is
kept as label probabilities, and the likelier side is the outcome. Items are the generators where they are
named, else the outputs themselves, under names made from their texts.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.columns import numbers, values_with_rows
from bayesbt.errors import InputError
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.formats.verdicts import REASON, stacked, unscored_finding, with_findings
from bayesbt.tables import Items

GENERATORS, OUTPUTS = ("generator_1", "generator_2"), ("output_1", "output_2")
JUDGES = ("annotator", "annotator_index")


def _sniff(source: Source) -> bool:
    columns = set(source.columns)
    return "preference" in columns and (columns >= set(GENERATORS) or columns >= set(OUTPUTS))


def _read(source: Source, options: ReadOptions) -> Imported:
    frame = source.frame.reset_index(drop=True)
    if not _sniff(source):
        raise InputError(
            f"{source.name}: the columns preference and generator_1, generator_2 (or output_1, output_2) are "
            f"needed. The columns are: {', '.join(map(str, frame.columns))}."
        )
    instruction = [_name(text) for text in frame["instruction"]] if "instruction" in frame else None
    named = set(GENERATORS) <= set(frame.columns) and frame[list(GENERATORS)].notna().all(axis=None)
    if named:
        items, sides = None, [frame[name] for name in GENERATORS]
    else:
        items, sides = _outputs(frame, instruction, source.name)
    data: dict[str, Any] = {"item_a": sides[0], "item_b": sides[1]}
    data |= _preferences(frame["preference"], f"{source.name}, column 'preference'")
    if instruction is not None:
        data |= {"topic": instruction, "pair_id": instruction}
    judge = next((name for name in JUDGES if name in frame), None)
    if judge is not None:
        data["judge"] = frame[judge]
    data |= {name: frame[name] for name in ("dataset", "datasplit") if name in frame}
    data["number"] = np.arange(1, len(frame) + 1)
    judgments = stacked([pd.DataFrame(data)], options, source.name)
    return Imported(with_findings(judgments, unscored_finding(judgments)), items)


def _preferences(column: pd.Series[Any], place: str) -> dict[str, Any]:
    """Read preferences; label probabilities only where some preference lies between the three labels."""
    value, unreadable = numbers(column, place)
    value = np.where(value == 0, 1.5, value)
    bad = unreadable | (np.isfinite(value) & ((value < 1) | (value > 2))) | np.isinf(value)
    if bad.any():
        found = values_with_rows(column[bad], np.flatnonzero(bad) + 1)
        raise InputError(f"{place}: {found}. Allowed: 1 (first) to 2 (second), 1.5 or 0 (tie), or blank.")
    absent = np.isnan(value)
    label = np.array(["a", "tie", "b"], dtype=object)[
        1 + np.sign(np.where(absent, 0, value - 1.5)).astype(int)
    ]
    data: dict[str, Any] = {
        "outcome": pd.Series(label).mask(absent, None),
        "reason": [REASON if missing else None for missing in absent],
        "raw": [None] * len(value),
    }
    if not np.isin(value[~absent], (1, 1.5, 2)).all():
        tie: NDArray[np.bool_] = value == 1.5
        data["p_a"] = np.where(tie, 0.0, 2 - value)
        data["p_tie"] = np.where(absent, np.nan, tie.astype(float))
        data["p_b"] = np.where(tie, 0.0, value - 1)
    return data


def _outputs(
    frame: pd.DataFrame, instruction: list[str] | None, source: str
) -> tuple[Items, list[pd.Series[Any]]]:
    """Make the outputs items; equal outputs for one instruction are one item."""
    prompt = [""] * len(frame) if instruction is None else instruction
    parts = []
    for name in OUTPUTS:
        ids = [f"{p}{'-' if p else ''}{_name(text)}" for p, text in zip(prompt, frame[name], strict=True)]
        part = pd.DataFrame({"item": ids, "text": frame[name]})
        parts.append(part if instruction is None else part.assign(topic=instruction))
    known = pd.concat(parts, ignore_index=True).drop_duplicates("item")
    return Items.from_frame(known, source=source), [part["item"] for part in parts]


def _name(text: Any) -> str:
    return hashlib.sha256(str(text).encode("utf-8", "surrogatepass")).hexdigest()[:10]


READER = Reader("alpaca-eval", "AlpacaEval's annotations: preference of output_1 or output_2", _sniff, _read)
