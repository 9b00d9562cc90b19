"""Commands that fit and report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import print_json, print_table, records, say
from bayesbt.cli.rankings import show

if TYPE_CHECKING:
    from bayesbt.infer.joint import JointFit
    from bayesbt.tables import Judgments

FitFolder = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Where the fit folder goes; without it nothing is kept."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    tasting = "data/tasting/judgments.csv"
    app.command("fit", epilog=f"Example: bayesbt fit {tasting} --order shared -o tasting")(fit)
    app.command("report", epilog="Example: bayesbt report tasting -o reports/tasting.html")(report)


def fit(
    source: o.Source,
    output: FitFolder = None,
    ties: Annotated[str | None, typer.Option(help="rao-kupper, davidson, split, split-half or drop.")] = None,
    engine: o.Engine = "auto",
    order: o.Order = "none",
    judges: o.Judges = "ignore",
    tie_parameter: o.TieParameter = "shared",
    covariates: o.Covariates = "",
    prior: o.Prior = None,
    dimension: o.Dimension = None,
    judge: o.JudgeName = None,
    topic: o.Topic = None,
    by: Annotated[
        str, typer.Option(help="One fit a group: dimension, topic, judge, or several with commas.")
    ] = "",
    joint: Annotated[
        Literal["dimension"] | None, typer.Option(help="Fit all dimensions together, with their correlation.")
    ] = None,
    items: o.ItemsFile = None,
    soft: o.Soft = False,
    sampler: o.Sampler = "pymc",
    draws: o.Draws = 1000,
    tune: o.Tune = 1000,
    chains: o.Chains = 4,
    target_accept: Annotated[float, typer.Option(help="Of NUTS, a probability.")] = 0.9,
    interval: Annotated[float, typer.Option(help="Probability of every interval.")] = 0.95,
    reference: Annotated[
        str | None, typer.Option(metavar="ITEM", help="Give strengths relative to it.")
    ] = None,
    tau: Annotated[float, typer.Option(help="gienapp: the fixed threshold, in log-odds.")] = 0.05,
    reg: Annotated[float, typer.Option(help="gienapp: virtual wins and losses of each item.")] = 0.1,
    alpha: Annotated[float, typer.Option(help="ilsr: regularisation, as in choix.")] = 0.01,
    mapping: o.Mapping = "",
    outcomes: o.Outcomes = "auto",
    strict: o.Strict = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Fit strengths to judgments; prints the ranking, and keeps a fit folder with -o."""
    from bayesbt import grouped, infer
    from bayesbt.formats import read_items
    from bayesbt.ranking import rank as rank_items

    o.require_free(output, force)
    if by and joint:
        raise typer.BadParameter(
            "--by fits groups apart and --joint together; choose one.", param_hint="--by"
        )
    judgments = o.load_judgments(source, mapping, outcomes, strict)
    model = {
        "ties": ties,
        "order": order,
        "judges": judges,
        "tie_parameter": tie_parameter,
        "covariates": o.parse_names(covariates),
        "priors": o.parse_priors(prior),
    }
    settings: dict[str, Any] = {
        "engine": engine,
        "items": None if items is None else read_items(items),
        "judge": judge,
        "topic": topic,
        "soft": soft,
        "sampler": sampler,
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "target_accept": target_accept,
        "interval": interval,
        "reference": reference,
        "tau": tau,
        "reg": reg,
        "alpha": alpha,
        "seed": seed,
        "progress": sys.stderr.isatty(),
    }
    if joint:
        _joint(judgments, model, settings, output, force, as_json)
        return
    settings |= model | {"dimension": dimension}
    if by:
        fits = grouped.fit_by(judgments, o.parse_names(by), **settings)
        if output is not None:
            grouped.save_groups(fits, output, force=force)
        show({", ".join(group.values()): rank_items(fitted) for group, fitted in fits}, as_json)
        return
    fitted = infer.fit(judgments, **settings)
    if output is not None:
        fitted.save(output, force=force)
    show({"": rank_items(fitted)}, as_json)


def _joint(
    judgments: Judgments,
    model: dict[str, Any],
    settings: dict[str, Any],
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    from bayesbt import grouped
    from bayesbt.infer.joint import fit_joint
    from bayesbt.ranking import rank as rank_items
    from bayesbt.spec import ModelSpec

    spec = ModelSpec(**model | {"ties": model["ties"] or "rao-kupper"})
    made: JointFit = fit_joint(judgments, model=spec, **settings)
    if output is not None:
        grouped.save_joint(made, output, force=force)
    rankings = {dimension: rank_items(fitted) for dimension, fitted in made.fits.items()}
    correlations = records(made.correlations())
    if as_json:
        documents = {dimension: ranking.summary() for dimension, ranking in rankings.items()}
        print_json({"fits": documents, "correlations": correlations})
        return
    show(rankings, as_json)
    print("\nCorrelation of the strengths between dimensions")
    print_table(correlations)


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Fit folders.")],
    output: Annotated[Path, typer.Option("--output", "-o", help=".html (one file) or .md.")],
    title: Annotated[str, typer.Option(help="The title of the report.")] = "Report",
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Write a report on fits."""
    from bayesbt import grouped
    from bayesbt.files import require_file_possible
    from bayesbt.reporting.data import ReportData
    from bayesbt.reporting.report import report as write_report

    require_file_possible(output, force)
    fits = {label: fitted for folder in folders for label, fitted in grouped.load_fits(folder).items()}
    written = write_report(ReportData.from_fits(fits, title=title), output, force=force)
    if as_json:
        print_json({"written": [str(written)], "fits": list(fits)})
    else:
        say(f"Wrote {written}.")
