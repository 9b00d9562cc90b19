"""The report: sections in order, written as one HTML file or as Markdown with PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bayesbt.errors import InputError
from bayesbt.files import atomic_folder, write_text
from bayesbt.infer.fitted import Fit
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.figures import png
from bayesbt.reporting.html import render_html
from bayesbt.reporting.markdown import pictures_folder, render_markdown
from bayesbt.reporting.sections import sections


def report(
    data: ReportData | Sequence[Fit] | Mapping[str, Fit], path: str | Path, *, force: bool = False
) -> Path:
    """Write a report.

    Parameters
    ----------
    data : ReportData, or fits
        Fits alone (a sequence, or a mapping of labels to fits) give a report of what they say.
    path : path
        ``.html``: one file that needs no network. ``.md``: Markdown, with its figures in the folder
        ``NAME_files`` beside it.
    force : bool
        Overwrite what is there.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        For another suffix, for nothing to report, or where the file exists and ``force`` is false.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".html", ".htm", ".md"):
        raise InputError(f"{path}: a report ends with .html or .md, not {suffix or 'nothing'!r}.")
    if path.exists() and not force:
        raise InputError(f"{path}: exists already. Give another name, or --force to overwrite it.")
    data = data if isinstance(data, ReportData) else ReportData.from_fits(data)
    parts = sections(data)
    if not parts:
        raise InputError(f"{path}: nothing to report: no fits, no findings, no facts about the data.")
    if suffix != ".md":
        return write_text(path, render_html(data.title, parts), force=force)
    folder = pictures_folder(path)
    text, pictures = render_markdown(data.title, parts, folder.name)
    if pictures:
        with atomic_folder(folder, force) as temporary:
            for name, picture in pictures.items():
                (temporary / name).write_bytes(png(picture.figure))
    return write_text(path, text, force=force)
