"""Prompt documents: ``models/prompts/NAME.toml`` or a file of one's own.

A document gives ``title``, ``system``, ``user``, ``[labels]`` (a, tie, b) and one ``[dimensions.NAME]`` table
for each dimension. In the two templates ``{text_a}`` and ``{text_b}`` stand for the judged texts, ``{topic}``
for the topic, ``{dimension}`` for the name of the dimension, and any key of the dimension's table for its
value.

A few-shot prompt has a third template, ``example``, with ``{text_a}``, ``{text_b}`` and ``{label}``; where
``{examples}`` stands in ``system`` or ``user``, it is filled once for each example, with empty lines between.
A prompt that has the judge write its reasoning before its verdict says ``answer = "reasoning"``.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from bayesbt.documents import check_keys, find, read_toml
from bayesbt.errors import DocumentError, InputError
from bayesbt.judges.defence import DEFENCE_VERSION, neutralise
from bayesbt.judges.examples import Example, Examples
from bayesbt.judges.protocol import Presentation
from bayesbt.judges.templates import PLACEHOLDER, check_templates, fill, template_delimiters

Answer = Literal["label", "reasoning"]

_OPTIONAL = {"delimiters", "answer", "example"}


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
        What marks the parts of the prompt, and may therefore not occur in a judged text. Read from the
        templates themselves, see
        :func:`~bayesbt.judges.templates.template_delimiters`; a document can add some.
    answer : str
        ``label``: the judge answers with a label and nothing else. ``reasoning``: it writes its reasoning,
        and its last verdict counts.
    example : str or None
        The template of an example, of a few-shot prompt.
    examples : Examples
        What a few-shot prompt shows; see :meth:`with_examples`.
    """

    name: str
    title: str
    system: str
    user: str
    labels: dict[str, str]
    dimensions: dict[str, dict[str, str]]
    delimiters: tuple[str, ...]
    answer: Answer = "label"
    example: str | None = None
    examples: Examples = field(default_factory=Examples)

    def with_examples(self, examples: Examples | None) -> Prompt:
        """Give the prompt with examples to show.

        Raises
        ------
        InputError
            Where a few-shot prompt is given none, or another prompt is given some.
        """
        if self.example is not None and (examples is None or not examples.chosen):
            raise InputError(
                f"prompt {self.name!r} shows examples, and there are none to show. Give --examples, a file "
                "of people's judgments on the same items."
            )
        if examples is None:
            return self
        if self.example is None:
            raise InputError(f"--examples: prompt {self.name!r} shows no examples (it has no {{examples}}).")
        return replace(self, examples=examples)

    @property
    def uses_topic(self) -> bool:
        """Whether the topic is shown to the judge."""
        return "topic" in PLACEHOLDER.findall(self.system + self.user)

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
            For a dimension that the document lacks, a topic that is shown but not known, or a topic without
            examples in a few-shot prompt.
        """
        if self.uses_topic and presentation.topic is None:
            raise InputError(
                f"prompt {self.name!r} shows the topic, but the pair {presentation.item_a!r}, "
                f"{presentation.item_b!r} has none. Add a topic column to the pairs or the items."
            )
        return self._render(presentation, specials, self._shown(presentation))

    def render_harmless(self, presentation: Presentation, specials: tuple[str, ...] = ()) -> Messages:
        """Fill the templates for the same dimension and as many examples, with plain words as texts.

        What special tokens a rendered prompt holds beyond those of this one, a text has brought in.
        """
        plain = replace(presentation, text_a="one", text_b="two", topic="three")
        shown = tuple(replace(each, text_a="one", text_b="two") for each in self._shown(presentation))
        return self._render(plain, specials, shown)

    def fingerprint(self, dimension: str, topic: str | None = None) -> str:
        """Sha256 over all that shapes the question on one dimension; other dimensions do not count.

        The examples of a few-shot prompt are those of the topic.
        """
        shape: dict[str, Any] = {
            "system": self.system,
            "user": self.user,
            "labels": self.labels,
            "dimension": [dimension, self._dimension(dimension)],
            "delimiters": self.delimiters,
            "defence": DEFENCE_VERSION,
        }
        if self.answer != "label":
            shape["answer"] = self.answer
        if self.example is not None:
            shown = self.examples.of(dimension, topic)
            shape["examples"] = [self.example, [[e.text_a, e.text_b, e.outcome] for e in shown]]
        return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()

    def _render(
        self, presentation: Presentation, specials: tuple[str, ...], shown: tuple[Example, ...]
    ) -> Messages:
        values = dict(self._dimension(presentation.dimension), dimension=presentation.dimension)
        values |= self._treated(presentation.text_a, presentation.text_b, specials)
        values["topic"] = _neutralised(presentation.topic or "", self.delimiters, specials)
        if self.example is not None:
            values["examples"] = "\n\n".join(
                fill(
                    self.example,
                    values
                    | self._treated(each.text_a, each.text_b, specials)
                    | {"label": self.labels[each.outcome]},
                )
                for each in shown
            )
        return Messages(fill(self.system, values), fill(self.user, values))

    def _treated(self, text_a: str, text_b: str, specials: tuple[str, ...]) -> dict[str, str]:
        texts = {"text_a": text_a, "text_b": text_b}
        return {key: _neutralised(text, self.delimiters, specials) for key, text in texts.items()}

    def _shown(self, presentation: Presentation) -> tuple[Example, ...]:
        """Give the examples of a question; a few-shot prompt has some for every question."""
        if self.example is None:
            return ()
        shown = self.examples.of(presentation.dimension, presentation.topic)
        if not shown:
            raise InputError(
                f"prompt {self.name!r}: no example for the dimension {presentation.dimension!r}, topic "
                f"{presentation.topic!r}. Add judgments on that topic to --examples, or leave it out."
            )
        return shown

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
    check_keys(str(path), entries, {"title", "system", "user", "labels", "dimensions"}, _OPTIONAL)
    labels = _texts(f"{path} [labels]", entries["labels"])
    check_keys(f"{path} [labels]", labels, {"a", "tie", "b"}, set())
    if len(set(labels.values())) < 3 or not all(label.strip() == label != "" for label in labels.values()):
        raise DocumentError(f"{path} [labels]: {labels} must be three different words without outer space.")
    if not isinstance(entries["dimensions"], dict) or not entries["dimensions"]:
        raise DocumentError(f"{path}: give a table [dimensions.NAME] for each dimension.")
    dimensions = {
        name: _texts(f"{path} [dimensions.{name}]", table) for name, table in entries["dimensions"].items()
    }
    names = ("title", "system", "user", *(["example"] if "example" in entries else []))
    templates = _texts(str(path), {key: entries[key] for key in names})
    check_templates(path, templates, dimensions)
    if entries.get("answer", "label") not in get_args(Answer):
        raise DocumentError(
            f"{path}: answer = {entries['answer']!r}. Allowed: {', '.join(get_args(Answer))}."
        )
    example = templates["example"].strip() if "example" in templates else None
    own = entries.get("delimiters", [])
    if not isinstance(own, list) or not all(isinstance(mark, str) and mark.strip() for mark in own):
        raise DocumentError(f"{path}: delimiters = {own!r} must be a list of texts.")
    marks = (*template_delimiters(templates["user"]), *template_delimiters(example or ""), *own)
    return Prompt(
        name=path.stem,
        title=templates["title"],
        system=templates["system"].strip(),
        user=templates["user"].strip(),
        labels=labels,
        dimensions=dimensions,
        delimiters=tuple(dict.fromkeys(marks)),
        answer=entries.get("answer", "label"),
        example=example,
    )


@functools.lru_cache(maxsize=8192)
def _neutralised(text: str, delimiters: tuple[str, ...], specials: tuple[str, ...]) -> str:
    """Remember what became of a text: each is shown in many pairs."""
    return neutralise(text, delimiters, specials)


def _texts(place: str, table: Any) -> dict[str, str]:
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise DocumentError(f"{place}: must hold texts only, got {table!r}.")
    return dict(table)
