"""UKPConvArg1 (Habernal and Gurevych, 2016): a folder with rater-level judgments and the arguments."""

from __future__ import annotations

from pathlib import Path

from bayesbt.errors import InputError
from bayesbt.formats.files import read_frame
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.tables import Items, Judgments


def _file(folder: Path, name: str) -> Path | None:
    return next(
        (path for path in (folder / f"{name}.csv.gz", folder / f"{name}.csv") if path.is_file()), None
    )


def _sniff(source: Source) -> bool:
    return source.is_folder and None not in (_file(source.path, "judgments"), _file(source.path, "arguments"))


def _read(source: Source, options: ReadOptions) -> Imported:
    judgments, arguments = _file(source.path, "judgments"), _file(source.path, "arguments")
    if judgments is None or arguments is None:
        raise InputError(f"{source.name}: a folder with judgments.csv.gz and arguments.csv.gz is needed.")
    return Imported(
        Judgments.from_frame(read_frame(judgments), **options.for_table(str(judgments))),
        Items.from_frame(read_frame(arguments), source=str(arguments)),
    )


READER = Reader("ukpconvarg", "the folder of UKPConvArg1: judgments.csv.gz, arguments.csv.gz", _sniff, _read)
