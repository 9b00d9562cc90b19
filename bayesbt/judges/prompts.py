"""Prompt documents: ``models/prompts/NAME.toml`` or a file of one's own.

A document gives ``title``, ``system``, ``user``, ``[labels]`` (a, tie, b) and one ``[dimensions.NAME]`` table
for each dimension. In the two templates ``{text_a}`` and ``{text_b}`` stand for the judged texts, ``{topic}``
for the topic, ``{dimension}`` for the name of the dimension, and any key of the dimension's table for its
value.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesbt.documents import check_keys, find, read_toml
from bayesbt.errors import DocumentError, InputError
from bayesbt.judges.defence import DEFENCE_VERSION, neutralise
from bayesbt.judges.protocol import Presentation

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_TEXTS = ("text_a", "text_b")


@dataclass(frozen=True)
class Messages:
    """A rendered prompt: the system turn (may be empty) and the user turn."""

    system: str
    user: str


@dataclass(frozen=True)
class Prompt:
    """A prompt document.

    Attributes
    ----------
    labels : dict
        The answer that stands for each outcome ``a``, ``tie``, ``b``.
    dimensions : dict
        For each dimension the values of its placeholders.
    delimiters : tuple of str
        What marks the parts of the user turn, and may therefore not occur in a judged text. Read from the
        template itself, see :func:`template_delimiters`.
    """

    name: str
    title: str
    system: str
    user: str
    labels: dict[str, str]
    dimensions: dict[str, dict[str, str]]
    delimiters: tuple[str, ...]

    @property
    def uses_topic(self) -> bool:
        """Whether the topic is shown to the judge."""
        return "topic" in _PLACEHOLDER.findall(self.system + self.user)

    def render(self, presentation: Presentation, specials: tuple[str, ...] = ()) -> Messages:
        """Fill the templates. Judged texts and topic are neutralised first.

        Parameters
        ----------
        presentation : Presentation
            What is to be judged.
        specials : tuple of str
            Special tokens of the judge's tokenizer; see :func:`~bayesbt.judges.defence.neutralise`.

        Raises
        ------
        InputError
            For a dimension that the document lacks, or a topic that is shown but not known.
        """
        values = dict(self._dimension(presentation.dimension), dimension=presentation.dimension)
        if self.uses_topic and presentation.topic is None:
            raise InputError(
                f"prompt {self.name!r} shows the topic, but the pair {presentation.item_a!r}, "
                f"{presentation.item_b!r} has none. Add a topic column to the pairs or the items."
            )
        foreign = {
            "text_a": presentation.text_a,
            "text_b": presentation.text_b,
            "topic": presentation.topic or "",
        }
        values |= {key: neutralise(text, self.delimiters, specials) for key, text in foreign.items()}
        return Messages(_fill(self.system, values), _fill(self.user, values))

    def fingerprint(self, dimension: str) -> str:
        """Sha256 over all that shapes the question on one dimension; other dimensions do not count."""
        shape = {
            "system": self.system,
            "user": self.user,
            "labels": self.labels,
            "dimension": [dimension, self._dimension(dimension)],
            "delimiters": self.delimiters,
            "defence": DEFENCE_VERSION,
        }
        return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()

    def _dimension(self, dimension: str) -> dict[str, str]:
        if dimension not in self.dimensions:
            raise InputError(
                f"--dimension {dimension!r}: prompt {self.name!r} does not ask for it. "
                f"Allowed: {', '.join(self.dimensions)}."
            )
        return self.dimensions[dimension]


def read_prompt(name_or_path: str | Path) -> Prompt:
    """Read and check a prompt document, by name or by path.

    Raises
    ------
    DocumentError
        Where an entry is missing, unknown or impossible; the message names the file and the entry.
    """
    path = find("prompts", name_or_path)
    entries = read_toml(path)
    check_keys(str(path), entries, {"title", "system", "user", "labels", "dimensions"}, {"delimiters"})
    labels = _texts(f"{path} [labels]", entries["labels"])
    check_keys(f"{path} [labels]", labels, {"a", "tie", "b"}, set())
    if len(set(labels.values())) < 3 or not all(label.strip() == label != "" for label in labels.values()):
        raise DocumentError(f"{path} [labels]: {labels} must be three different words without outer space.")
    if not isinstance(entries["dimensions"], dict) or not entries["dimensions"]:
        raise DocumentError(f"{path}: give a table [dimensions.NAME] for each dimension.")
    dimensions = {
        name: _texts(f"{path} [dimensions.{name}]", table) for name, table in entries["dimensions"].items()
    }
    templates = _texts(str(path), {key: entries[key] for key in ("title", "system", "user")})
    _check_placeholders(path, templates, dimensions)
    delimiters = template_delimiters(templates["user"]) + tuple(entries.get("delimiters", ()))
    return Prompt(
        name=path.stem,
        title=templates["title"],
        system=templates["system"].strip(),
        user=templates["user"].strip(),
        labels=labels,
        dimensions=dimensions,
        delimiters=delimiters,
    )


def template_delimiters(user: str) -> tuple[str, ...]:
    r"""Read from a user template what marks its parts.

    These are the fixed pieces of its lines that end in a colon, begin with a sign that is neither letter nor
    digit, or stand directly before or behind a judged text on the same line.

    >>> template_delimiters("Argument A: {text_a}\nArgument B:\n<b>\n{text_b}\n</b>\nAnswer well.")
    ('Argument A:', 'Argument B:', '<b>', '</b>')
    """
    found: list[str] = []
    for line in user.splitlines():
        pieces = _PLACEHOLDER.split(line)  # fixed, name, fixed, name, ..., fixed
        for place in range(0, len(pieces), 2):
            piece = pieces[place].strip()
            beside = pieces[max(place - 1, 0) : place] + pieces[place + 1 : place + 2]
            marks = piece.endswith(":") or (piece and not piece[0].isalnum()) or set(beside) & set(_TEXTS)
            if piece and marks:
                found.append(piece)
    return tuple(dict.fromkeys(found))


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Fill in one pass, so that a judged text which reads ``{text_b}`` stays just that."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _texts(place: str, table: Any) -> dict[str, str]:
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise DocumentError(f"{place}: must hold texts only, got {table!r}.")
    return dict(table)


def _check_placeholders(path: Path, templates: dict[str, str], dimensions: dict[str, dict[str, str]]) -> None:
    for key in _TEXTS:
        times = _PLACEHOLDER.findall(templates["user"]).count(key)
        if times != 1 or f"{{{key}}}" in templates["system"]:
            raise DocumentError(
                f"{path}: {{{key}}} must stand exactly once in `user` and not in `system` "
                f"(found {times} times in `user`)."
            )
    used = set(_PLACEHOLDER.findall(templates["system"] + templates["user"]))
    for name, table in dimensions.items():
        allowed = {*_TEXTS, "topic", "dimension"} | table.keys()
        if unknown := used - allowed:
            raise DocumentError(
                f"{path}: placeholder {{{sorted(unknown)[0]}}} has no value for the dimension {name!r}. "
                f"Allowed there: {', '.join(sorted(allowed))}."
            )
