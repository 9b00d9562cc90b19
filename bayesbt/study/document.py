"""A study as a document: what study.toml may say, checked on entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from bayesbt import documents
from bayesbt.errors import DocumentError

ReportFormat = Literal["html", "md"]


@dataclass(frozen=True)
class Reference:
    """A numeric column of the items to hold the rankings against, and how it came about."""

    column: str
    title: str


@dataclass(frozen=True)
class DataSettings:
    """The files of a study; paths are relative to the document.

    Attributes
    ----------
    items : Path or None
        Items with texts, to be judged.
    judgments : Path or None
        Judgments that exist already, instead of a judge.
    reference : Reference or None
    """

    items: Path | None = None
    judgments: Path | None = None
    reference: Reference | None = None


@dataclass(frozen=True)
class PairSettings:
    """Which pairs are asked for: as `bayesbt pairs`."""

    design: Literal["all", "cyclic", "budget"] = "all"
    both_orders: bool = True
    degree: int | None = None
    budget: int | None = None


@dataclass(frozen=True)
class JudgeStage:
    """Every judge sees every prompt and every dimension: as `bayesbt judge`."""

    judges: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ("zero-shot",)
    dimensions: tuple[str, ...] = ("logic", "rhetoric", "dialectic")
    runs: int = 3
    batch_size: int | None = None


@dataclass(frozen=True)
class VoteSettings:
    """One label a pair over the runs: as `bayesbt vote`."""

    rule: Literal["majority", "sign"] = "majority"


@dataclass(frozen=True)
class FitSettings:
    """The model and the engine: as `bayesbt fit`; None leaves the default of the engine."""

    ties: str = "rao-kupper"
    order: Literal["none", "shared"] = "shared"
    engine: str = "numpyro"
    draws: int | None = None
    tune: int | None = None
    chains: int | None = None
    target_accept: float | None = None
    priors: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TieSettings:
    """Tie assumptions to lay side by side: as `bayesbt ties`; no models, no comparison."""

    models: tuple[str, ...] = ()
    engine: str = "laplace"


@dataclass(frozen=True)
class ReportSettings:
    """The files of the report."""

    formats: tuple[ReportFormat, ...] = ("html", "md")


@dataclass(frozen=True)
class Study:
    """A checked study document."""

    path: Path
    name: str
    title: str
    question: str
    seed: int
    data: DataSettings
    pairs: PairSettings
    judge: JudgeStage
    vote: VoteSettings
    fit: FitSettings
    ties: TieSettings
    report: ReportSettings


TABLES: dict[str, type] = {
    "pairs": PairSettings,
    "judge": JudgeStage,
    "vote": VoteSettings,
    "fit": FitSettings,
    "ties": TieSettings,
    "report": ReportSettings,
}


def read_study(path: str | Path) -> Study:
    """Read and check a study document.

    Raises
    ------
    DocumentError
        For an unknown or missing entry, a value of the wrong kind, or a file that is not there. The message
        names the file, the table and the entry.
    """
    path = Path(path)
    path = path / "study.toml" if path.is_dir() else path
    content = documents.read_toml(path)
    documents.check_keys(str(path), content, {"title", "data"}, {"name", "question", "seed", *TABLES})
    tables = {name: _table(path, name, content.get(name, {}), kind) for name, kind in TABLES.items()}
    seed = content.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise DocumentError(f"{path}: seed = {seed!r} is not possible. Allowed: a whole number from 0.")
    study = Study(
        path=path,
        name=str(content.get("name", path.resolve().parent.name if path.stem == "study" else path.stem)),
        title=str(content["title"]),
        question=str(content.get("question", "")),
        seed=seed,
        data=_data(path, content["data"]),
        **tables,
    )
    _check_sources(study)
    return study


def _data(path: Path, content: Any) -> DataSettings:
    place = f"{path} [data]"
    if not isinstance(content, dict):
        raise DocumentError(f"{place}: must be a table with items = or judgments =.")
    documents.check_keys(place, content, set(), {"items", "judgments", "reference"})
    files = {}
    for name in ("items", "judgments"):
        if name in content:
            files[name] = (path.parent / str(content[name])).resolve()
            if not files[name].exists():
                raise DocumentError(f"{place}: {name} = {content[name]!r}: no such file beside the study.")
    reference = None
    if "reference" in content:
        documents.check_keys(f"{path} [data.reference]", content["reference"], {"column"}, {"title"})
        column = str(content["reference"]["column"])
        reference = Reference(column, str(content["reference"].get("title", column)))
    return DataSettings(files.get("items"), files.get("judgments"), reference)


def _check_sources(study: Study) -> None:
    """Check that the entries fit together: something to judge or judgments, and a reference with items."""
    place, data = str(study.path), study.data
    if (data.judgments is None) == (not study.judge.judges):
        raise DocumentError(
            f'{place}: a study has either [judge] judges = [...] or [data] judgments = "FILE", '
            f"and this one has {'both' if study.judge.judges else 'neither'}."
        )
    if data.items is None and (study.judge.judges or data.reference):
        what = "[judge]" if study.judge.judges else "[data.reference]"
        raise DocumentError(f'{place}: {what} needs [data] items = "FILE".')


def _table(path: Path, name: str, content: Any, kind: type) -> Any:
    place = f"{path} [{name}]"
    if not isinstance(content, dict):
        raise DocumentError(f"{place}: must be a table, not {content!r}.")
    hints = get_type_hints(kind)
    documents.check_keys(place, content, set(), set(hints))
    return kind(**{key: _value(f"{place} {key}", value, hints[key]) for key, value in content.items()})


def _value(place: str, value: Any, hint: Any) -> Any:
    """Check one entry against the annotation of its field, the one place that says what is allowed."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return _value(place, value, arguments[0])
    if origin is tuple:
        if not isinstance(value, list) or not value:
            raise DocumentError(f"{place} = {value!r}: must be a list with at least one entry.")
        if len(set(map(str, value))) < len(value):
            raise DocumentError(f"{place} = {value!r}: names an entry twice.")
        return tuple(_value(place, entry, arguments[0]) for entry in value)
    if origin is Literal:
        if value not in arguments:
            raise DocumentError(f"{place} = {value!r} is not known. Allowed: {', '.join(arguments)}.")
        return value
    wanted, words = KINDS[origin or hint]
    if not isinstance(value, wanted) or (isinstance(value, bool) and hint is not bool):
        raise DocumentError(f"{place} = {value!r}: must be {words}.")
    if hint is int and value < 1:
        raise DocumentError(f"{place} = {value!r}: must be at least 1.")
    return value


KINDS: dict[Any, tuple[Any, str]] = {
    str: (str, "text"),
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    Mapping: (dict, "a table"),
}
