"""A whole study from one document: every stage is done once, and again only when its inputs change."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from bayesbt.errors import InputError
from bayesbt.study.cache import Stage
from bayesbt.study.document import read_study
from bayesbt.study.outcome import SeriesFiles, rank_stage, report_stage
from bayesbt.study.stages import Series, Workspace, fit_stage, judge_stage, ties_stage, vote_stage

__all__ = ["StudyResult", "run_study"]


@dataclass(frozen=True)
class StudyResult:
    """What a run of a study did.

    Attributes
    ----------
    reports : tuple of Path
        The reports, one a format.
    workspace : Path
        The folder of the stages: ``judge``, ``vote``, ``fit``, ``rank``, ``ties``, ``report``.
    fits : dict of str to Path
        The fit folder of each series by its label.
    done, kept : tuple of str
        Names of the stages that were done, and of those that stood already.
    """

    reports: tuple[Path, ...]
    workspace: Path
    fits: dict[str, Path]
    done: tuple[str, ...]
    kept: tuple[str, ...]


def run_study(
    path: str | Path, *, output: str | Path | None = None, progress: bool = True, force: bool = False
) -> StudyResult:
    """Run the stages of a study: judge, vote, fit, rank, compare tie models, report.

    A stage whose inputs and files are unchanged is kept, so a second run does nothing, a changed setting
    redoes what depends on it, and an interrupted run continues.

    Parameters
    ----------
    path : path
        A study document, or a folder with ``study.toml``.
    output : path, optional
        Where reports go (``reports``); the stages lie below it in a folder with the name of the study.
    progress : bool
        Tell each stage, and show progress bars, on standard error.
    force : bool
        Do every stage again, and overwrite reports that were changed by hand.

    Raises
    ------
    DocumentError
        For an entry of the document that is unknown, missing or impossible.
    InputError
        Where another run is at work in the same folder, or a report was changed by hand.
    """
    study = read_study(path)
    reports = Path("reports" if output is None else output)
    space = Workspace(study, reports / study.name, progress, force)
    with _alone(space.folder):
        run = _Run(space)
        series = {one: _files(run, one) for one in space.series}
        stage = report_stage(space, series, reports)
        run.do(stage)
    targets = tuple(reports / f"{study.name}.{suffix}" for suffix in study.report.formats)
    fits = {one.label: files.fit for one, files in series.items()}
    return StudyResult(targets, space.folder, fits, tuple(run.done), tuple(run.kept))


def _files(run: _Run, series: Series) -> SeriesFiles:
    """Do the stages of one series up to the ranking."""
    space = run.space
    given = space.study.data.judgments
    judged = voted = run.do(judge_stage(space, series)) / "judgments.jsonl" if given is None else given
    if given is None:
        voted = run.do(vote_stage(space, series, judged)) / "votes.csv"
    fitted = run.do(fit_stage(space, series, voted))
    ranked = run.do(rank_stage(space, series, fitted))
    ties = run.do(ties_stage(space, series, voted)) if space.study.ties.models else None
    return SeriesFiles(judged, voted, fitted, ranked, ties)


@dataclass
class _Run:
    """One run over the stages, and what it did."""

    space: Workspace
    done: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def do(self, stage: Stage) -> Path:
        """Do a stage unless it stands, and give its folder."""
        if stage.is_done() and not self.space.force:
            self.kept.append(stage.name)
            self._say(f"kept  {stage.name}")
        else:
            self._say(f"doing {stage.name}")
            started = time.perf_counter()
            stage.run()
            self.done.append(stage.name)
            self._say(f"done  {stage.name} ({time.perf_counter() - started:.1f} s)")
        return stage.folder

    def _say(self, message: str) -> None:
        if self.space.progress:
            print(message, file=sys.stderr, flush=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        with lock.acquire(timeout=0):
            yield
    except Timeout:
        raise InputError(
            f"{folder}: another run of this study is at work here. Wait for it, or give another -o."
        ) from None
