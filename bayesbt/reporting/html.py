"""A report as one HTML file: nothing is fetched, nothing from the data can run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bayesbt.reporting.blocks import Block, Section
from bayesbt.reporting.figures import inline_svg


def render_html(title: str, sections: Sequence[Section]) -> str:
    """Return the page; every text is escaped by the template."""
    environment = Environment(
        loader=PackageLoader("bayesbt.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    numbers: dict[int, int] = {}

    def svg(block: Block) -> Markup:
        """Figures are escaped where they are drawn, so they may stand as they are."""
        number = numbers.setdefault(id(block), len(numbers) + 1)
        return Markup(inline_svg(block.figure, f"f{number}"))  # type: ignore[union-attr]

    environment.filters["svg"] = svg
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["breakable"] = _breakable
    return environment.get_template("report.html.j2").render(title=title, sections=sections)


def _breakable(text: str) -> Markup:
    """Escape, and let long names break after punctuation."""
    escaped = re.split(r"(?<=[/_\-.])(?=\w)", text)
    return Markup("<wbr>").join(escaped)
