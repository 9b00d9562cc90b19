"""What a journal already holds: what is judged, and whether it was made in the same way.

A journal may hold the lines of several judges and prompts. Lines of one judge and one prompt, by name, are
made in one way; a line that was asked again follows the line it replaces, and only the last one counts.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bayesbt.errors import InputError, MixedRunsError
from bayesbt.judges.examples import Examples
from bayesbt.judges.journal import Line
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation

Key = tuple[str, str, str, str]
"""item_a, item_b, dimension, topic; the topic is empty where there is none."""

Series = tuple[str, str]
"""The names of a judge and of a prompt."""

Numbered = list[tuple[int, Line]]
"""Lines with their numbers, from 1."""

_WHAT = {
    "judge": "another judge model (or number format)",
    "prompt": "another prompt",
    "texts": "other texts of the items",
    "seed": "another seed",
}


@dataclass(frozen=True)
class Making:
    """How judgments are made: all that must agree before lines of one judge and prompt may stand in one file.

    Attributes
    ----------
    judge, prompt : str
        Names, as in the columns.
    judge_hash : str
        The judge's fingerprint.
    prompt_hashes : dict
        The prompt's fingerprint for each dimension, and each topic of a few-shot prompt (else None).
    uses_topic : bool
        Whether the topic is part of what the judge reads.
    seed : int
        Of the drawing.
    examples : Examples or None
        Of a few-shot prompt.
    """

    judge: str
    prompt: str
    judge_hash: str
    prompt_hashes: Mapping[tuple[str, str | None], str]
    uses_topic: bool
    seed: int
    examples: Examples | None = None

    @classmethod
    def of(
        cls, judge: str, judge_hash: str, prompt: Prompt, presentations: Sequence[Presentation], seed: int
    ) -> Making:
        """Gather the fingerprints."""
        examples = None if prompt.example is None else prompt.examples
        shown = dict.fromkeys((each.dimension, each.topic if examples else None) for each in presentations)
        hashes = {(dimension, topic): prompt.fingerprint(dimension, topic) for dimension, topic in shown}
        return cls(judge, prompt.name, judge_hash, hashes, prompt.uses_topic, seed, examples)

    @property
    def series(self) -> Series:
        """The names of judge and prompt."""
        return self.judge, self.prompt

    def prompt_hash(self, dimension: str, topic: str | None) -> str:
        """Give the fingerprint of the question; empty where nothing like it is asked."""
        return self.prompt_hashes.get((dimension, topic if self.examples else None), "")

    def parts(self, presentation: Presentation) -> dict[str, str]:
        """Give the parts of ``made_with`` for one presentation."""
        read = [presentation.text_a, presentation.text_b, presentation.topic if self.uses_topic else None]
        return {
            "judge": self.judge_hash[:8],
            "prompt": self.prompt_hash(presentation.dimension, presentation.topic)[:8],
            "texts": hashlib.sha256(json.dumps(read).encode()).hexdigest()[:8],
            "seed": str(self.seed),
        }

    def made_with(self, presentation: Presentation) -> str:
        """As in the column: ``judge:1a2b3c4d prompt:... texts:... seed:0``."""
        return " ".join(f"{name}:{value}" for name, value in self.parts(presentation).items())


def key_of(presentation: Presentation) -> Key:
    """Give what tells presentations apart within one judge and prompt."""
    return (presentation.item_a, presentation.item_b, presentation.dimension, presentation.topic or "")


def attempt_of(line: Line) -> int:
    """Say how often the question of a line was asked, this line included."""
    attempt = line.get("attempt")
    return attempt if isinstance(attempt, int) else 1


def failed(line: Line) -> bool:
    """Whether a line holds an error in the place of an answer."""
    return line["outcome"] is None and str(line.get("reason") or "").startswith("error")


def standing_lines(lines: Sequence[Line], path: Path) -> dict[Series, Numbered]:
    """Check every line, leave out those that were asked again, and part the rest by judge and prompt.

    Raises
    ------
    InputError
        Where a line lacks a field or a judgment stands there twice; the line is named.
    """
    last: dict[tuple[Series, Key, int], tuple[int, Line]] = {}
    for number, line in enumerate(lines, start=1):
        key, run, _ = _fields(line, path, number)
        place = ((line["judge"], line["prompt"]), key, run)
        if place in last:
            before = last.pop(place)[1]
            if before["outcome"] is not None or attempt_of(line) <= attempt_of(before):
                raise InputError(
                    f"{path}, line {number}: this judgment ({', '.join(filter(None, key))}, run {run}) "
                    "stands in the file twice. Remove one of the lines."
                )
        last[place] = (number, line)
    found: dict[Series, Numbered] = defaultdict(list)
    for (series, _, _), numbered in last.items():
        found[series].append(numbered)
    return dict(found)


def judged_lines(
    own: Numbered, presentations: Sequence[Presentation], making: Making, path: Path
) -> tuple[dict[Key, dict[int, Line]], set[tuple[Key, int]]]:
    """Find what one judge has already judged with one prompt.

    Parameters
    ----------
    own : list of (int, dict)
        Its standing lines.

    Returns
    -------
    found : dict
        For each presentation its lines by run. Lines of pairs or dimensions that are not asked for now are
        left where they are.
    mended : set of (key, run)
        Lines that hold an error about texts that have changed since.

    Raises
    ------
    MixedRunsError
        Where a line was made with another judge, prompt, text or seed than would be used now.
    """
    asked = {key_of(presentation): presentation for presentation in presentations}
    found: dict[Key, dict[int, Line]] = defaultdict(dict)
    mended: set[tuple[Key, int]] = set()
    changed: Counter[str] = Counter()
    first: dict[str, int] = {}
    for number, line in own:
        key, run, parts = _fields(line, path, number)
        differs = _differences(line, parts, asked.get(key), making)
        if differs == ["texts"] and failed(line):
            differs = []
            mended.add((key, run))
        for what in differs:
            changed[what] += 1
            first.setdefault(what, number)
        found[key][run] = line
    if changed:
        raise MixedRunsError(_mixed(path, changed, first, len(own), making))
    return dict(found), mended


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
        prompt_hash = making.prompt_hash(line["dimension"], line.get("topic"))
        expected = {"judge": making.judge_hash[:8], "seed": str(making.seed)}
        expected |= {"prompt": prompt_hash[:8]} if prompt_hash else {}
    return [what for what, value in expected.items() if parts[what] != value]


def _mixed(path: Path, changed: Counter[str], first: Mapping[str, int], total: int, making: Making) -> str:
    found = "; ".join(
        f"{number:,} of {total:,} lines with {_WHAT[what]} (the first is line {first[what]})"
        for what, number in changed.items()
    )
    return (
        f"{path} holds lines of judge {making.judge!r} with prompt {making.prompt!r} that were made in "
        f"another way: {found}. The seed is now {making.seed}. Judgments of one judge and prompt that were "
        "made in different ways are not mixed in one file, and nothing was changed. Give another -o, or go "
        "back to what the file was made with, or drop its lines (--force)."
    )
