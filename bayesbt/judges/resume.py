"""What a journal already holds: what is judged, and whether it was made in the same way."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bayesbt.errors import InputError, MixedRunsError
from bayesbt.judges.journal import Line
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation

Key = tuple[str, str, str, str]
"""item_a, item_b, dimension, topic; the topic is empty where there is none."""

_WHAT = {
    "judge": "another judge model (or number format)",
    "prompt": "another prompt",
    "texts": "other texts of the items",
    "seed": "another seed",
}


@dataclass(frozen=True)
class Making:
    """How judgments are made: all that must agree before lines may stand in one file.

    Attributes
    ----------
    judge, prompt : str
        Names, as in the columns.
    judge_hash : str
        The judge's fingerprint.
    prompt_hashes : dict
        The prompt's fingerprint for each dimension.
    uses_topic : bool
        Whether the topic is part of what the judge reads.
    seed : int
        Of the drawing.
    """

    judge: str
    prompt: str
    judge_hash: str
    prompt_hashes: Mapping[str, str]
    uses_topic: bool
    seed: int

    @classmethod
    def of(cls, judge: str, judge_hash: str, prompt: Prompt, dimensions: Sequence[str], seed: int) -> Making:
        """Gather the fingerprints."""
        hashes = {dimension: prompt.fingerprint(dimension) for dimension in dimensions}
        return cls(judge, prompt.name, judge_hash, hashes, prompt.uses_topic, seed)

    def parts(self, presentation: Presentation) -> dict[str, str]:
        """Give the parts of ``made_with`` for one presentation."""
        read = [presentation.text_a, presentation.text_b, presentation.topic if self.uses_topic else None]
        return {
            "judge": self.judge_hash[:8],
            "prompt": self.prompt_hashes[presentation.dimension][:8],
            "texts": hashlib.sha256(json.dumps(read).encode()).hexdigest()[:8],
            "seed": str(self.seed),
        }

    def made_with(self, presentation: Presentation) -> str:
        """As in the column: ``judge:1a2b3c4d prompt:... texts:... seed:0``."""
        return " ".join(f"{name}:{value}" for name, value in self.parts(presentation).items())


def key_of(presentation: Presentation) -> Key:
    """Give what tells presentations apart within one file."""
    return (presentation.item_a, presentation.item_b, presentation.dimension, presentation.topic or "")


def judged_lines(
    lines: Sequence[Line], presentations: Sequence[Presentation], making: Making, path: Path
) -> dict[Key, dict[int, Line]]:
    """Find what is already judged.

    Returns
    -------
    dict
        For each presentation its lines by run. Lines of pairs or dimensions that are not asked for now are
        left where they are.

    Raises
    ------
    MixedRunsError
        Where a line was made with another judge, prompt, text or seed than would be used now.
    InputError
        Where a line lacks a field or a judgment stands there twice; the line is named.
    """
    asked = {key_of(presentation): presentation for presentation in presentations}
    found: dict[Key, dict[int, Line]] = defaultdict(dict)
    changed: Counter[str] = Counter()
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        key, run, parts = _fields(line, path, number)
        differs = _differences(line, parts, asked.get(key), making)
        for what in differs:
            changed[what] += 1
            first.setdefault(what, number)
        if not differs and run in found[key]:
            raise InputError(
                f"{path}, line {number}: this judgment ({', '.join(filter(None, key))}, run {run}) stands in "
                "the file twice. Remove one of the lines."
            )
        found[key][run] = line
    if changed:
        raise MixedRunsError(_mixed(path, changed, first, len(lines), making))
    return dict(found)


def _fields(line: Line, path: Path, number: int) -> tuple[Key, int, dict[str, str]]:
    try:
        key = (line["item_a"], line["item_b"], line["dimension"], line.get("topic") or "")
        parts = dict(part.split(":", 1) for part in line["made_with"].split())
        run = line["run"]
        complete = {"judge", "prompt", "outcome", "p_a", "p_tie", "p_b", "p_other"} <= line.keys()
        if not complete or not isinstance(run, int) or not set(_WHAT) <= parts.keys():
            raise KeyError
    except (KeyError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}, line {number}: not a line that `bayesbt judge` wrote (a field is missing), so nothing "
            "can be added to this file. Give another -o."
        ) from error
    return key, run, parts


def _differences(
    line: Line, parts: Mapping[str, str], presentation: Presentation | None, making: Making
) -> list[str]:
    """Which parts differ; texts can only be compared where the pair is asked for now."""
    if presentation is not None:
        expected = making.parts(presentation)
    else:
        prompt_hash = making.prompt_hashes.get(line["dimension"])
        expected = {"judge": making.judge_hash[:8], "seed": str(making.seed)}
        expected |= {"prompt": prompt_hash[:8]} if prompt_hash else {}
    differs = [what for what, value in expected.items() if parts[what] != value]
    if line["judge"] != making.judge and "judge" not in differs:
        differs.append("judge")
    if line["prompt"] != making.prompt and "prompt" not in differs:
        differs.append("prompt")
    return differs


def _mixed(path: Path, changed: Counter[str], first: Mapping[str, int], total: int, making: Making) -> str:
    found = "; ".join(
        f"{number:,} of {total:,} lines with {_WHAT[what]} (the first is line {first[what]})"
        for what, number in changed.items()
    )
    return (
        f"{path} was made in another way: {found}. Now: judge {making.judge!r}, prompt {making.prompt!r}, "
        f"seed {making.seed}. Judgments made in different ways are not mixed in one file, and nothing was "
        "changed. Give another -o, or go back to what the file was made with, or drop its lines (--force)."
    )
