"""What a section is made of: HTML and Markdown are written from the same blocks, whose text is plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from matplotlib.figure import Figure

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Text:
    """A paragraph; ``lead`` is printed bold before it."""

    text: str
    lead: str = ""


@dataclass(frozen=True)
class Notice:
    """A paragraph that must not be overlooked."""

    level: Level
    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    entries: tuple[str, ...]


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True)
class Formula:
    """Formulas in plain characters, one a line."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes
    ----------
    columns : tuple of str
        Headings.
    rows : tuple of tuple of str
        Cells, already in words.
    caption : str
        What the table shows.
    words : int
        The first so many columns are words (left aligned, may wrap); the others are numbers.
    folded : bool
        Long: HTML shows it on request; Markdown shows its first rows.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    words: int = 1
    folded: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure, with a name for its file and what it shows in words for those who cannot see it."""

    name: str
    figure: Figure
    caption: str
    alternative: str


Block = Text | Notice | Bullets | Heading | Formula | Table | Picture


@dataclass(frozen=True)
class Section:
    """A part of the report under one heading; ``name`` is its anchor."""

    name: str
    title: str
    blocks: tuple[Block, ...]
