"""Figures as text for a page and as bytes for a file."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from bayesbt.reporting import plots

#: Colours that the page sets, so that figures follow it into the dark.
PAGE_COLOURS = {
    plots.INK: "var(--ink)",
    plots.MUTED: "var(--muted)",
    plots.GRID: "var(--grid)",
    "#ffffff": "var(--page)",
    **{colour: f"var(--plot-{number})" for number, colour in enumerate(plots.COLOURS)},
}


def png(figure: Figure, dpi: int = 160) -> bytes:
    """Return a PNG of the figure on white."""
    return _save(figure, format="png", dpi=dpi, metadata={"Software": None})


def inline_svg(figure: Figure, prefix: str) -> str:
    """Return SVG to stand inside an HTML page.

    Parameters
    ----------
    figure : Figure
    prefix : str
        Put before every id, so that several figures can share a page.

    Returns
    -------
    str
        One ``<svg>`` element with a viewBox, without size, namespaces and metadata. Text is text, in the font
        of the page; names from the data are escaped.
    """
    nothing: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    text = _save(figure, format="svg", transparent=True, metadata=nothing).decode("utf-8")
    body = text[text.index("<svg") :]
    for waste in (r"<metadata>.*?</metadata>", r"<style[^>]*>.*?</style>", r"<!--.*?-->"):
        body = re.sub(waste, "", body, flags=re.DOTALL)
    body = re.sub(r"<[a-z][^>]*>", lambda tag: _page_tag(tag[0], prefix), body, flags=re.DOTALL)
    return re.sub(r">\s+<", "><", body).strip()


def _page_tag(tag: str, prefix: str) -> str:
    if tag.startswith("<svg"):
        box = re.search(r'viewBox="[^"]*"', tag)
        return f"<svg {box[0] if box else ''}>"
    tag = re.sub(r'^<g id="[A-Za-z0-9]+_\d+"', "<g", tag)
    tag = re.sub(r'\bid="', f'id="{prefix}-', tag)
    tag = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}-", tag)
    tag = re.sub(r"(font(?:-family)?:[^;\"]*?)\s*(?:'|&quot;|DejaVu)[^;\"]*", r"\1 var(--font)", tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda colour: PAGE_COLOURS.get(colour[0], colour[0]), tag)


def _save(figure: Figure, **options: Any) -> bytes:
    buffer = io.BytesIO()
    with mpl.rc_context(plots.STYLE), warnings.catch_warnings():
        # A browser finds another font for characters that ours lacks; a PNG shows boxes: no reason to stop.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from font", category=UserWarning)
        figure.savefig(buffer, **options)
    return buffer.getvalue()
