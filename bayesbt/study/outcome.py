"""The last stages of a study: the ranking tables, and the report on everything."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import bayesbt
from bayesbt.agreement.reference import compare_with_reference
from bayesbt.checking import check
from bayesbt.errors import InputError
from bayesbt.files import write_text
from bayesbt.formats import read_judgments
from bayesbt.formats.files import write_frame
from bayesbt.grouped import load_ties
from bayesbt.infer import load_fit
from bayesbt.judges.documents import resolve_judge
from bayesbt.provenance import provenance
from bayesbt.ranking import rank
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.report import report
from bayesbt.stability import position_summary, run_agreement
from bayesbt.study.cache import Stage, file_hash
from bayesbt.study.stages import Series, Workspace, asked_runs
from bayesbt.tables import Finding, Judgments


@dataclass(frozen=True)
class SeriesFiles:
    """Where the stages of one series left their results.

    ``judged`` and ``voted`` are files (the same where nothing was voted on), the others folders.
    """

    judged: Path
    voted: Path
    fit: Path
    rank: Path
    ties: Path | None

    def inputs(self) -> dict[str, Path | None]:
        """List what a report depends on; the wall times in a fit folder are not part of it."""
        fitted = {name: self.fit / name for name in ("fit.json", "ranking.csv")}
        return {"judged": self.judged, "voted": self.voted, "rank": self.rank, "ties": self.ties, **fitted}


def rank_stage(space: Workspace, series: Series, fitted: Path) -> Stage:
    """Turn a posterior into ``ranking.csv``, and ``ranking.json`` with the distribution of the ranks."""
    inputs = {
        "stage": "rank",
        "fit": fitted / "fit.json",
        "ranking": fitted / "ranking.csv",
        "version": bayesbt.__version__,
    }

    def work(folder: Path) -> Iterable[Path]:
        fit = load_fit(fitted)
        known = fit.strength_draws is not None
        ranking = rank(fit, distribution=known, pairwise=known)
        write_frame(ranking.table, folder / "ranking.csv")
        text = json.dumps(ranking.summary(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
        write_text(folder / "ranking.json", text)
        return ()

    return Stage(f"rank {series.label}", space.folder / "rank" / series.slug, inputs, work)


def report_stage(space: Workspace, series: Mapping[Series, SeriesFiles], reports: Path) -> Stage:
    """Write the reports beside the workspace; one that was changed by hand is not overwritten."""
    study = space.study
    targets = [reports / f"{study.name}.{suffix}" for suffix in study.report.formats]
    inputs = {
        "stage": "report",
        "study": [study.title, study.question, study.seed, asdict(study.report)],
        "reference": None if study.data.reference is None else asdict(study.data.reference),
        "items": study.data.items,
        "names": [file and file.name for file in (study.data.items, study.data.judgments)],
        "asked": {"pairs": asdict(study.pairs), "judge": asdict(study.judge), "vote": asdict(study.vote)},
        "judges": _judge_facts(space),
        "series": {one.label: files.inputs() for one, files in series.items()},
        "version": bayesbt.__version__,
    }

    def work(folder: Path) -> Iterable[Path]:
        for target in targets:
            if target.exists() and not space.force and not stage.made(target):
                raise InputError(
                    f"{target}: was changed by hand or is not of this study. Rename it, give another -o, "
                    "or --force to overwrite it."
                )
        data, made = report_data(space, series), []
        for target in targets:
            made.append(report(data, target, force=True))
            if target.suffix == ".md":
                made += sorted(target.with_name(f"{target.stem}_files").glob("*"))
        for path in stage.remove_others(made):
            print(f"{path}: is from former settings, left since it was changed by hand.", file=sys.stderr)
        return made

    stage = Stage(f"report {study.name}", space.folder / "report", inputs, work)
    return stage


def report_data(space: Workspace, series: Mapping[Series, SeriesFiles]) -> ReportData:
    """Gather everything that the report says."""
    study = space.study
    labels = _labels(list(series))
    judged = {one: _judged(space, one, files) for one, files in series.items()}
    fits = {labels[one]: load_fit(files.fit) for one, files in series.items()}
    levels = _reference(space)
    compared = {labels[one]: load_ties(files.ties) for one, files in series.items() if files.ties}
    return ReportData(
        title=study.title,
        question=study.question,
        findings=_findings(
            space, {labels[one]: read_judgments(files.voted) for one, files in series.items()}
        ),
        data_summary=_data_summary(space, list(judged.values())),
        fits=fits,
        tie_comparisons=compared,
        position=_stacked(position_summary(judgments) for judgments in judged.values()),
        run_agreement=_stacked(
            run_agreement(judgments) for judgments in judged.values() if "run" in judgments.frame
        ),
        references={label: compare_with_reference(fit, levels) for label, fit in fits.items()}
        if levels
        else {},
        reference_levels=levels,
        reference_title=study.data.reference.title if study.data.reference else "",
        judge_facts=_judge_facts(space),
        provenance=_provenance(space, series),
    )


def _judged(space: Workspace, one: Series, files: SeriesFiles) -> Judgments:
    """Read the judgments before the vote; the judge's name tells the prompt where there are several."""
    if not one.judge:
        return read_judgments(files.judged)
    judgments = asked_runs(space, files.judged)
    if len(space.study.judge.prompts) > 1:
        judgments.frame["judge"] = f"{one.judge}, {one.prompt}"
    return judgments


def _labels(series: list[Series]) -> dict[Series, str]:
    """Name each series by its dimension alone where that tells them apart."""
    alone = len({(one.judge, one.prompt) for one in series}) == 1
    return {one: one.dimension if alone and one.dimension else one.label for one in series}


def _reference(space: Workspace) -> dict[str, float]:
    reference, items = space.study.data.reference, space.items
    if reference is None or items is None:
        return {}
    column = items.frame.get(reference.column)
    if column is None or not pd.api.types.is_numeric_dtype(column):
        raise InputError(
            f"{items.source}: [data.reference] column {reference.column!r} is "
            f"{'not there' if column is None else 'not numeric'}. It must be a numeric column of the items."
        )
    known = column.notna()
    return dict(zip(items.frame.loc[known, "item"], column[known].astype(float), strict=True))


def _findings(space: Workspace, judgments: Mapping[str, Judgments]) -> list[Finding]:
    """Check what was fitted; a finding that several series share is said once."""
    found: dict[str, tuple[Finding, list[str]]] = {}
    for label, table in judgments.items():
        for finding in check(table, space.items):
            found.setdefault(finding.message, (finding, []))[1].append(label)
    several = len(judgments) > 1
    return [
        Finding(
            f.level, f.code, f"{', '.join(labels)}: {f.message}" if several else f.message, f.rows, f.items
        )
        for f, labels in found.values()
    ]


def _data_summary(space: Workspace, judged: list[Judgments]) -> dict[str, Any]:
    study, frames = space.study, [judgments.frame for judgments in judged]
    facts: dict[str, Any] = {
        "source": study.data.judgments.name if study.data.judgments else "judged for this study",
        "judgments": sum(int(frame["outcome"].notna().sum()) for frame in frames),
        "unscored": sum(int(frame["outcome"].isna().sum()) for frame in frames),
    }
    if space.items is not None:
        facts["items"] = len(space.items)
        if "topic" in space.items.frame:
            facts["topics"] = int(space.items.frame["topic"].nunique())
    if study.judge.judges:
        asked = study.pairs
        facts |= {"design": asked.design, "both orders": asked.both_orders, "runs": study.judge.runs}
        facts["vote"] = study.vote.rule
    return facts


def _judge_facts(space: Workspace) -> list[dict[str, Any]]:
    asked, facts = space.study.judge, []
    for name in asked.judges:
        document = resolve_judge(space.located(name))
        known = {
            "judge": document.name,
            "model": document.title,
            "licence": document.licence,
            "note": document.note,
        }
        prompts = ", ".join(space.prompts[prompt].title for prompt in asked.prompts)
        facts.append(
            {key: value for key, value in known.items() if value} | {"prompt": prompts, "runs": asked.runs}
        )
    return facts


def _provenance(space: Workspace, series: Mapping[Series, SeriesFiles]) -> dict[str, Any]:
    facts = provenance(seed=space.study.seed, wall_time=0.0, source=str(space.study.path.name))
    for name in ("wall_time", "command_line", "source"):
        facts.pop(name, None)
    hashes = {}
    if space.study.data.items is not None:
        hashes[space.study.data.items.name] = file_hash(space.study.data.items)
    hashes |= {f"judgments, {one.label}": file_hash(files.judged) for one, files in series.items()}
    return {"study": space.study.name, **facts, "sha256 of the inputs": hashes}


def _stacked(frames: Iterable[Any]) -> pd.DataFrame | None:
    """Lay the tables of the series under each other."""
    tables = [getattr(table, "frame", table) for table in frames]
    return pd.concat(tables, ignore_index=True) if tables else None
