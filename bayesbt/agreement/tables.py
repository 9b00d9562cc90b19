"""Tables of judges against people, in HTML, LaTeX, Markdown and CSV, all from one description.

A row is a judge with a prompt; columns are metrics, grouped by dimension; the best of each column is bold,
the second underlined. Rows of null judges, and published rows for comparison, stand apart and are never the
best.
"""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Block = Literal["judges", "nulls", "published"]
BLOCKS: dict[Block, str] = {
    "judges": "",
    "nulls": "Null judges: they read nothing",
    "published": "Published, for comparison",
}
Mark = Literal["", "best", "second"]


@dataclass(frozen=True)
class Cell:
    """A number with its interval, or with its standard deviation over dimensions."""

    estimate: float | None
    lower: float | None = None
    upper: float | None = None
    sd: float | None = None


@dataclass(frozen=True)
class Column:
    """A metric of a group (a dimension, or ``mean``).

    ``higher`` says which end is best; None marks no best. ``percent`` shows a share as a percentage.
    """

    group: str
    metric: str
    title: str
    higher: bool | None = True
    percent: bool = False
    digits: int = 3

    @property
    def key(self) -> tuple[str, str]:
        """What cells are filed under."""
        return self.group, self.metric


@dataclass(frozen=True)
class Row:
    """A judge with a prompt and its cells."""

    judge: str
    prompt: str
    cells: Mapping[tuple[str, str], Cell]
    block: Block = "judges"


@dataclass(frozen=True)
class Table:
    """A table to be rendered.

    Attributes
    ----------
    name : str
        For files: ``labels``, ``scores``, ...
    title : str
    columns : tuple of Column
    rows : tuple of Row
    notes : tuple of str
        Sentences below the table.
    intervals : bool
        Whether cells show the intervals that they have.
    lead : two str
        What the first columns are called.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    intervals: bool = True
    lead: tuple[str, str] = ("judge", "prompt")

    @property
    def has_prompts(self) -> bool:
        """Whether any row names a prompt."""
        return any(row.prompt for row in self.rows)

    def marks(self) -> dict[tuple[int, tuple[str, str]], Mark]:
        """Best and second of each column among the judges, by row number and column; equal values share."""
        found: dict[tuple[int, tuple[str, str]], Mark] = {}
        for column in self.columns:
            values = {
                number: round(value, column.digits + (2 if column.percent else 0))
                for number, row in enumerate(self.rows)
                if row.block == "judges" and (value := _estimate(row, column)) is not None
            }
            if column.higher is None or len(values) < 2:
                continue
            levels = sorted(set(values.values()), reverse=column.higher)
            for number, value in values.items():
                if value in levels[:2]:
                    found[number, column.key] = "best" if value == levels[0] else "second"
        return found

    def groups(self) -> list[tuple[str, int]]:
        """List groups of adjacent columns, with how many columns each has."""
        out: list[tuple[str, int]] = []
        for column in self.columns:
            if out and out[-1][0] == column.group:
                out[-1] = (column.group, out[-1][1] + 1)
            else:
                out.append((column.group, 1))
        return out

    def blocks(self) -> list[tuple[Block, list[int]]]:
        """Row numbers by block, in the order of the blocks."""
        found = [(block, [n for n, row in enumerate(self.rows) if row.block == block]) for block in BLOCKS]
        return [(block, numbers) for block, numbers in found if numbers]


def number_text(value: float | None, column: Column) -> str:
    """Write a number as the column wants it; an en dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{100 * value:.{max(column.digits - 1, 0)}f}" if column.percent else f"{value:.{column.digits}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def _estimate(row: Row, column: Column) -> float | None:
    cell = row.cells.get(column.key)
    if cell is None or cell.estimate is None or not math.isfinite(cell.estimate):
        return None
    return cell.estimate


def to_html(table: Table) -> str:
    """Render a ``<table>`` with its caption and notes; every text is escaped."""
    marks = table.marks()
    lead = 2 if table.has_prompts else 1
    out = ['<table class="agreement">', f"<caption>{html.escape(table.title)}</caption>", "<thead>"]
    if any(name for name, _ in table.groups()):
        heads = "".join(f'<th colspan="{n}">{html.escape(name)}</th>' for name, n in table.groups())
        out.append(f'<tr><th colspan="{lead}"></th>{heads}</tr>')
    names = list(table.lead[:lead]) + [column.title for column in table.columns]
    out += ["<tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in names) + "</tr>", "</thead>"]
    for block, numbers in table.blocks():
        out.append(f'<tbody class="{block}">')
        if BLOCKS[block]:
            width = lead + len(table.columns)
            out.append(f'<tr class="block"><th colspan="{width}">{html.escape(BLOCKS[block])}</th></tr>')
        for number in numbers:
            row = table.rows[number]
            cells = [f"<th>{html.escape(name)}</th>" for name in (row.judge, row.prompt)[:lead]]
            for column in table.columns:
                cells.append(
                    f"<td>{_html_cell(row, column, marks.get((number, column.key), ''), table)}</td>"
                )
            out.append("<tr>" + "".join(cells) + "</tr>")
        out.append("</tbody>")
    out.append("</table>")
    out += [f'<p class="note">{html.escape(note)}</p>' for note in table.notes]
    return "\n".join(out) + "\n"


def _html_cell(row: Row, column: Column, mark: Mark, table: Table) -> str:
    cell = row.cells.get(column.key, Cell(None))
    text = number_text(cell.estimate, column)
    text = {"best": f"<b>{text}</b>", "second": f"<u>{text}</u>"}.get(mark, text)
    if cell.sd is not None:
        text += f" ± {number_text(cell.sd, column)}"
    if table.intervals and cell.lower is not None and cell.upper is not None:
        ends = f"{number_text(cell.lower, column)}, {number_text(cell.upper, column)}"
        text += f'<br><small class="interval">[{ends}]</small>'
    return text


def to_markdown(table: Table) -> str:
    """Render a pipe table; texts are escaped, so that no name breaks a row or becomes markup."""
    marks = table.marks()
    lead = list(table.lead if table.has_prompts else table.lead[:1])
    titles = [f"{column.group} {column.title}".strip() for column in table.columns]
    lines = [f"**{_markdown(table.title)}**", ""]
    lines.append("| " + " | ".join(map(_markdown, lead + titles)) + " |")
    lines.append("|" + "---|" * len(lead) + "---:|" * len(titles))
    for block, numbers in table.blocks():
        if BLOCKS[block]:
            lines.append(f"| *{BLOCKS[block]}* " + "| " * (len(lead) + len(titles) - 1) + "|")
        for number in numbers:
            row = table.rows[number]
            cells = [_markdown(name) for name in (row.judge, row.prompt)[: len(lead)]]
            for column in table.columns:
                cells.append(_markdown_cell(row, column, marks.get((number, column.key), ""), table))
            lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(_markdown(note) + "\n" for note in table.notes)]
    return "\n".join(lines)


def _markdown_cell(row: Row, column: Column, mark: Mark, table: Table) -> str:
    cell = row.cells.get(column.key, Cell(None))
    text = number_text(cell.estimate, column)
    text = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(mark, text)
    if cell.sd is not None:
        text += f" ± {number_text(cell.sd, column)}"
    if table.intervals and cell.lower is not None and cell.upper is not None:
        text += f" [{number_text(cell.lower, column)}, {number_text(cell.upper, column)}]"
    return text


def to_latex(table: Table) -> str:
    """Render a ``table*`` with booktabs rules; texts are escaped."""
    marks = table.marks()
    lead = 2 if table.has_prompts else 1
    out = [
        "% needs \\usepackage{booktabs} and \\usepackage{graphicx}",
        "\\begin{table*}",
        "\\centering",
        f"\\caption{{{_latex(table.title)}}}",
        f"\\label{{tab:{''.join(c for c in table.name if c.isalnum() or c == '-')}}}",
        "\\resizebox{\\textwidth}{!}{%",
        f"\\begin{{tabular}}{{{'l' * lead}{'r' * len(table.columns)}}}",
        "\\toprule",
    ]
    if any(name for name, _ in table.groups()):
        out.append(_latex_groups(table, lead))
    names = list(table.lead[:lead]) + [column.title for column in table.columns]
    out.append(" & ".join(map(_latex, names)) + r" \\")
    for block, numbers in table.blocks():
        out.append("\\midrule")
        if BLOCKS[block]:
            width = lead + len(table.columns)
            out.append(f"\\multicolumn{{{width}}}{{l}}{{\\emph{{{_latex(BLOCKS[block])}}}}} \\\\")
        for number in numbers:
            row = table.rows[number]
            cells = [_latex(name) for name in (row.judge, row.prompt)[:lead]]
            for column in table.columns:
                cells.append(_latex_cell(row, column, marks.get((number, column.key), ""), table))
            out.append(" & ".join(cells) + r" \\")
    out += ["\\bottomrule", "\\end{tabular}}"]
    out += [f"\\par\\footnotesize {_latex(note)}" for note in table.notes]
    return "\n".join([*out, "\\end{table*}", ""])


def _latex_groups(table: Table, lead: int) -> str:
    cells, rules, at = ["" for _ in range(lead)], [], lead
    for name, width in table.groups():
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{_latex(name)}}}")
        rules.append(f"\\cmidrule(lr){{{at + 1}-{at + width}}}")
        at += width
    return " & ".join(cells) + r" \\" + "\n" + "".join(rules)


def _latex_cell(row: Row, column: Column, mark: Mark, table: Table) -> str:
    cell = row.cells.get(column.key, Cell(None))
    text = _latex_number(number_text(cell.estimate, column))
    text = {"best": f"\\textbf{{{text}}}", "second": f"\\underline{{{text}}}"}.get(mark, text)
    if cell.sd is not None:
        text += f" $\\pm$ {_latex_number(number_text(cell.sd, column))}"
    if table.intervals and cell.lower is not None and cell.upper is not None:
        lower, upper = (_latex_number(number_text(end, column)) for end in (cell.lower, cell.upper))
        text += f" {{\\scriptsize [{lower}, {upper}]}}"
    return text


def to_csv(table: Table) -> str:
    """Render one line a cell, with every digit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["block", "judge", "prompt", "group", "metric", "estimate", "lower", "upper", "sd"])
    for _, numbers in table.blocks():
        for number in numbers:
            row = table.rows[number]
            for column in table.columns:
                cell = row.cells.get(column.key, Cell(None))
                values = [
                    "" if x is None or not math.isfinite(x) else repr(float(x))
                    for x in (cell.estimate, cell.lower, cell.upper, cell.sd)
                ]
                writer.writerow([row.block, row.judge, row.prompt, *column.key, *values])
    return out.getvalue()


RENDERERS: dict[str, Callable[[Table], str]] = {
    ".html": to_html,
    ".tex": to_latex,
    ".md": to_markdown,
    ".csv": to_csv,
}

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "*": "{*}",
    '"': r"\char34{}",
    "–": "--",
    "±": r"$\pm$",
    "α": r"$\alpha$",
    "κ": r"$\kappa$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
}
_MARKDOWN = "\\`*_{}[]#|<>~$"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


def _latex_number(text: str) -> str:
    if text == "–":
        return "--"
    return f"$-${text[1:]}" if text.startswith("-") else text


def _markdown(text: str) -> str:
    """Escape what has a meaning in Markdown; HTML entities too, since Markdown passes HTML through."""
    plain = " ".join(text.split()).replace("&", "&amp;")
    return "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in plain)


@dataclass(frozen=True)
class Page:
    """Tables and words that belong together in one file."""

    title: str
    tables: Sequence[Table]
    words: Sequence[str] = ()


STYLE = """body{font-family:system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1.5rem 0;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.4rem 0}
th,td{padding:.25rem .6rem;text-align:right;vertical-align:top}
thead th{border-bottom:1px solid currentColor}tbody th{text-align:left;font-weight:400}
tbody{border-bottom:1px solid #8888}.block th{font-style:italic;padding-top:.6rem}
small.interval{opacity:.75;white-space:nowrap}.note{margin:.2rem 0;font-size:.9rem}"""


def page_html(page: Page) -> str:
    """Render one self-contained HTML file."""
    words = "".join(f"<li>{html.escape(word)}</li>\n" for word in page.words)
    listed = f"<ul>\n{words}</ul>\n" if words else ""
    body = "\n".join(to_html(table) for table in page.tables)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(page.title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(page.title)}</h1>\n{listed}{body}</body>\n</html>\n"
    )


def page_markdown(page: Page) -> str:
    """Render one Markdown file."""
    words = "".join(f"- {_markdown(word)}\n" for word in page.words)
    body = "\n".join(to_markdown(table) for table in page.tables)
    return f"# {_markdown(page.title)}\n\n{words}\n{body}"


def page_latex(page: Page) -> str:
    """Render LaTeX to be included: the tables, and the words as comments above them."""
    words = "".join(f"% {_latex(word)}\n" for word in page.words)
    return words + "\n".join(to_latex(table) for table in page.tables)
