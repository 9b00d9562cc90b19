"""A report as Markdown, with its figures as PNG files in a folder beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from bayesbt.reporting.blocks import Block, Bullets, Formula, Heading, Notice, Picture, Section, Table, Text
from bayesbt.reporting.wording import plural

FOLDED_ROWS = 20


def escaped(text: str) -> str:
    r"""One line of text in which nothing is read as Markdown, HTML or mathematics.

    >>> print(escaped("a|b_c $x$ <script>"))
    a\|b\_c \$x\$ &lt;script&gt;
    """
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([\\`*_{}\[\]|$~^])", r"\\\1", line)
    line = re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", line)
    return re.sub(r"^([#+=-])", r"\\\1", line)


def render_markdown(title: str, sections: Sequence[Section], folder: str) -> tuple[str, dict[str, Picture]]:
    """Return the text and the pictures by file name; links point into ``folder``."""
    pictures: dict[str, Picture] = {}
    parts = [f"# {escaped(title)}"]
    for section in sections:
        parts.append(f"## {escaped(section.title)}")
        for block in section.blocks:
            parts += _block(block, folder, pictures)
    return "\n\n".join(parts) + "\n", pictures


def _block(block: Block, folder: str, pictures: dict[str, Picture]) -> Iterator[str]:
    match block:
        case Text(text, lead):
            yield f"**{escaped(lead)}** {escaped(text)}" if lead else escaped(text)
        case Notice(level, text):
            yield f"> **{level.capitalize()}.** {escaped(text)}"
        case Bullets(entries):
            yield "\n".join(f"* {escaped(entry)}" for entry in entries)
        case Heading(text):
            yield f"### {escaped(text)}"
        case Formula(lines):
            yield "```text\n" + "\n".join(line.replace("`", "'") for line in lines) + "\n```"
        case Table():
            yield from _table(block)
        case Picture(name, _, caption, alternative):
            file = _file_name(name, pictures)
            pictures[file] = block
            yield f"![{escaped(alternative)}]({quote(folder)}/{file})"
            yield f"*{escaped(caption)}*"


def _table(table: Table) -> Iterator[str]:
    rows = table.rows[:FOLDED_ROWS] if table.folded else table.rows
    marks = ["---" if number < table.words else "--:" for number in range(len(table.columns))]
    text = [f"| {' | '.join(escaped(cell) for cell in table.columns)} |", f"| {' | '.join(marks)} |"]
    text += [f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows]
    left_out = len(table.rows) - len(rows)
    if table.caption:
        more = f", of which the first {len(rows)} are shown" if left_out else ""
        yield f"{escaped(table.caption)}{more}:"
    yield "\n".join(text)
    if left_out:
        yield f"{plural(left_out, 'row')} more: see the HTML report, or the ranking.csv of the fit."


def _file_name(name: str, taken: dict[str, Picture]) -> str:
    """Return a file name made of plain characters, different from those taken."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "figure"
    file, number = f"{stem}.png", 2
    while file in taken:
        file, number = f"{stem}-{number}.png", number + 1
    return file


def pictures_folder(path: Path) -> Path:
    """Return the folder beside a Markdown report that holds its figures."""
    return path.with_name(f"{path.stem}_files")
