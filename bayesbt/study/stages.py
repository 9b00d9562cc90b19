"""The stages of a study: judge three times, vote, fit, rank, compare tie models (figure 1 of the paper).

Each function makes the :class:`~bayesbt.study.cache.Stage` of one arrow; ``inputs`` says what its outcome
depends on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import bayesbt
from bayesbt.errors import InputError
from bayesbt.formats import read_items, read_judgments, write_judgments
from bayesbt.grouped import save_ties
from bayesbt.infer import fit
from bayesbt.judges.backends import load_judge
from bayesbt.judges.prompts import Prompt, read_prompt
from bayesbt.judges.protocol import Judge
from bayesbt.judges.run import JudgeSettings, judge
from bayesbt.pairing import design_pairs
from bayesbt.study.cache import Stage, key_of
from bayesbt.study.document import Study
from bayesbt.tables import Items, Judgments
from bayesbt.tie_comparison import compare_ties
from bayesbt.voting import vote


@dataclass(frozen=True)
class Series:
    """What gets a ranking of its own: the judgments of one judge under one prompt on one dimension.

    ``judge`` and ``prompt`` are empty for judgments that came with the study.
    """

    judge: str
    prompt: str
    dimension: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Judge, prompt and dimension by their names, a file by its name alone."""
        named = (Path(text).stem if text.endswith(".toml") else text for text in (self.judge, self.prompt))
        return tuple(part for part in (*named, self.dimension) if part)

    @property
    def label(self) -> str:
        """For people: ``smollm2-135m, zero-shot, logic``."""
        return ", ".join(self.parts) or "all judgments"

    @property
    def slug(self) -> str:
        """For folders: ``smollm2-135m_zero-shot_logic``."""
        return "_".join(re.sub(r"[^\w.-]+", "-", part).strip("-.") for part in self.parts) or "all"


@dataclass(frozen=True)
class Workspace:
    """A study, the folder of its stages, and how it is run."""

    study: Study
    folder: Path
    progress: bool
    force: bool

    @cached_property
    def items(self) -> Items | None:
        """The items of the study."""
        return None if self.study.data.items is None else read_items(self.study.data.items)

    @cached_property
    def judges(self) -> dict[str, Judge]:
        """The judges by the name the study gives them; weights load when first needed, once."""
        return {name: load_judge(self.located(name)) for name in self.study.judge.judges}

    @cached_property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts by the name the study gives them."""
        return {name: read_prompt(self.located(name)) for name in self.study.judge.prompts}

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """What is ranked, in the order of the document."""
        asked, judgments = self.study.judge, self.study.data.judgments
        if judgments is None:
            return tuple(
                Series(j, p, d) for j in asked.judges for p in asked.prompts for d in asked.dimensions
            )
        frame = read_judgments(judgments).frame
        dimensions = sorted(map(str, frame["dimension"].dropna().unique())) if "dimension" in frame else [""]
        return tuple(Series("", "", dimension) for dimension in dimensions)

    def located(self, named: str) -> str:
        """Give the path of a document or folder beside the study; where there is none, the name itself."""
        beside = self.study.path.parent / named
        return str(beside) if beside.exists() else named


def judge_stage(space: Workspace, series: Series) -> Stage:
    """Judge every pair; makes ``judgments.jsonl``, and continues it where it was interrupted.

    Judgments may have cost hours, so other settings make another folder beside this one, and going back to
    the former settings finds the former judgments. Only ``runs`` share a folder, since further runs are drawn
    from the probabilities that are there.
    """
    study, items, judged_by = space.study, space.items, space.judges[series.judge]
    if items is None or "text" not in items.frame:
        raise InputError(f"{study.data.items}: judging needs items with a column text.")
    shown = items.frame[[name for name in ("item", "text", "topic") if name in items.frame]]
    inputs: dict[str, Any] = {
        "stage": "judge",
        "items": json.loads(shown.to_json(orient="values")),
        "pairs": asdict(study.pairs),
        "judge": judged_by.fingerprint,
        "prompt": space.prompts[series.prompt].fingerprint(series.dimension),
        "names": [series.judge, series.prompt, series.dimension],
        "seed": study.seed,
    }
    folder = space.folder / "judge" / series.slug / key_of(inputs)[:12]

    def work(folder: Path) -> Iterable[Path]:
        asked = study.pairs
        pairs = design_pairs(
            items,
            asked.design,
            budget=asked.budget,
            degree=asked.degree,
            both_orders=asked.both_orders,
            seed=study.seed,
        )
        settings = JudgeSettings(
            judged_by,
            prompt=space.located(series.prompt),
            dimensions=(series.dimension,),
            runs=study.judge.runs,
            seed=study.seed,
        )
        output = folder / "judgments.jsonl"
        judge(pairs, items, settings=settings, output=output, progress=space.progress, force=space.force)
        return ()

    return Stage(f"judge {series.label}", folder, inputs | {"runs": study.judge.runs}, work, in_place=True)


def vote_stage(space: Workspace, series: Series, judged: Path) -> Stage:
    """Give each pair one label over the runs; makes ``votes.csv``."""
    rule, runs = space.study.vote.rule, space.study.judge.runs
    inputs = {
        "stage": "vote",
        "judgments": judged,
        "rule": rule,
        "runs": runs,
        "version": bayesbt.__version__,
    }

    def work(folder: Path) -> Iterable[Path]:
        write_judgments(vote(asked_runs(space, judged), rule), folder / "votes.csv")
        return ()

    return Stage(f"vote {series.label}", space.folder / "vote" / series.slug, inputs, work)


def asked_runs(space: Workspace, judged: Path) -> Judgments:
    """Read the judgments of the runs that the study asks for; the file may hold more from before."""
    judgments = read_judgments(judged)
    frame = judgments.frame
    kept = frame["run"] <= space.study.judge.runs
    return replace(judgments, frame=frame[kept].reset_index(drop=True))


def fit_stage(space: Workspace, series: Series, voted: Path) -> Stage:
    """Fit the model of the study; makes a fit folder."""
    inputs = {"stage": "fit", "model": asdict(space.study.fit), **_fit_inputs(space, series, voted)}

    def work(folder: Path) -> Iterable[Path]:
        fit(read_judgments(voted), items=space.items, **fit_options(space, series)).save(folder, force=True)
        return ()

    return Stage(f"fit {series.label}", space.folder / "fit" / series.slug, inputs, work)


def ties_stage(space: Workspace, series: Series, voted: Path) -> Stage:
    """Fit the tie models side by side; makes what ``bayesbt ties -o`` makes."""
    asked = space.study.ties
    model = asdict(space.study.fit)
    del model["ties"], model["engine"]  # these two are said in [ties]
    inputs = {"stage": "ties", "model": model, **_fit_inputs(space, series, voted), "ties": asdict(asked)}

    def work(folder: Path) -> Iterable[Path]:
        options = fit_options(space, series) | {"engine": asked.engine}
        selection = {"items": space.items, "dimension": options.pop("dimension")}
        options.pop("ties")
        comparison = compare_ties(read_judgments(voted), asked.models, selection=selection, **options)
        save_ties(comparison, folder)
        return ()

    return Stage(f"ties {series.label}", space.folder / "ties" / series.slug, inputs, work)


def fit_options(space: Workspace, series: Series) -> dict[str, Any]:
    """Give the arguments of :func:`bayesbt.fit`; what the study leaves out keeps its default."""
    options = {name: value for name, value in asdict(space.study.fit).items() if value is not None}
    options |= {"dimension": series.dimension or None}
    return options | {"seed": space.study.seed, "progress": space.progress}


def _fit_inputs(space: Workspace, series: Series, voted: Path) -> dict[str, Any]:
    items = space.items
    named = (
        []
        if items is None
        else [items.frame[name].tolist() for name in ("item", "topic") if name in items.frame]
    )
    return {
        "judgments": voted,
        "dimension": series.dimension,
        "items": named,
        "seed": space.study.seed,
        "version": bayesbt.__version__,
    }
