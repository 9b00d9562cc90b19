"""Commands on models: fit, rank, ties, report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import print_json, print_table, records, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayesbt.ranking import Ranking

SHOWN = (
    "topic",
    "item",
    "component",
    "strength",
    "sd",
    "lower",
    "upper",
    "rank",
    "rank_lower",
    "rank_upper",
    "p_best",
    "p_top",
    "tier",
    "comparisons",
)
Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A fit folder, or a folder of them with index.json.")
]
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
    app.command("rank", epilog="Example: bayesbt rank tasting --top 3")(rank)
    app.command("ties", epilog=f"Example: bayesbt ties {tasting} --engine laplace -o ties")(ties)
    app.command("report", epilog="Example: bayesbt report tasting -o reports/tasting.html")(report)


def fit(
    source: o.Source,
    output: FitFolder = None,
    ties: Annotated[str | None, typer.Option(help="rao-kupper, davidson, split, split-half or drop.")] = None,
    engine: o.Engine = "auto",
    order: o.Order = "none",
    judges: Annotated[Literal["ignore"], typer.Option(help="ignore: pool the judges.")] = "ignore",
    prior: o.Prior = None,
    dimension: o.Dimension = None,
    judge: o.JudgeName = None,
    topic: o.Topic = None,
    by: Annotated[
        str, typer.Option(help="One fit a group: dimension, topic, judge, or several with commas.")
    ] = "",
    items: o.ItemsFile = None,
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
    judgments = o.load_judgments(source, mapping, outcomes, strict)
    settings: dict[str, Any] = {
        "ties": ties,
        "engine": engine,
        "order": order,
        "priors": o.parse_priors(prior),
        "items": None if items is None else read_items(items),
        "dimension": dimension,
        "judge": judge,
        "topic": topic,
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
    if by:
        fits = grouped.fit_by(judgments, [name.strip() for name in by.split(",")], **settings)
        if output is not None:
            grouped.save_groups(fits, output, force=force)
        _show({", ".join(group.values()): rank_items(fitted) for group, fitted in fits}, as_json)
        return
    fitted = infer.fit(judgments, **settings)
    if output is not None:
        fitted.save(output, force=force)
    _show({"": rank_items(fitted)}, as_json)


def rank(
    folder: Folder,
    top: Annotated[
        int | None, typer.Option(min=1, help="Show the N strongest of each component, and P(among them).")
    ] = None,
    distribution: Annotated[bool, typer.Option("--distribution", help="Add P(rank) of each item.")] = False,
    pairwise: Annotated[bool, typer.Option("--pairwise", help="Add P(item is stronger than other).")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Show a ranking with intervals, the rank distribution, P(best), P(top k), P(i stronger than j)."""
    from bayesbt import grouped
    from bayesbt import ranking as rankings

    fits = grouped.load_fits(folder)
    made = {
        label if len(fits) > 1 else "": rankings.rank(
            fitted, top=top or 3, distribution=distribution, pairwise=pairwise
        )
        for label, fitted in fits.items()
    }
    _show(made, as_json, top)


def ties(
    source: o.Source,
    output: FitFolder = None,
    models: Annotated[
        str, typer.Option(help="Tie models, with commas.")
    ] = "split,split-half,rao-kupper,davidson,drop",
    engine: o.Engine = "auto",
    order: o.Order = "none",
    prior: o.Prior = None,
    dimension: o.Dimension = None,
    judge: o.JudgeName = None,
    topic: o.Topic = None,
    draws: o.Draws = 1000,
    tune: o.Tune = 1000,
    chains: o.Chains = 4,
    mapping: o.Mapping = "",
    outcomes: o.Outcomes = "auto",
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Lay tie assumptions side by side: tie parameters, intervals, and where the rankings differ."""
    from bayesbt import grouped
    from bayesbt.tie_comparison import compare_ties

    o.require_free(output, force)
    comparison = compare_ties(
        o.load_judgments(source, mapping, outcomes),
        [name.strip() for name in models.split(",")],
        engine=engine,
        order=order,
        priors=o.parse_priors(prior),
        selection={"dimension": dimension, "judge": judge, "topic": topic},
        draws=draws,
        tune=tune,
        chains=chains,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    if output is not None:
        grouped.save_ties(comparison, output, force=force)
    if as_json:
        agreement = comparison.rank_agreement.rename(columns={"flips": "n_flips", "flipped": "flips"})
        print_json({"models": records(comparison.table), "rank_agreement": records(agreement)})
        return
    for name in comparison.table.loc[~comparison.table["ok"], "ties"]:
        print(f"POOR DIAGNOSTICS with --ties {name}: do not trust its numbers.")
    notes = [note for fitted in comparison.fits.values() for note in fitted.diagnostics.messages]
    for note in dict.fromkeys(notes):
        print(f"note: {note}")
    print_table(records(comparison.table))
    print()
    print_table(records(comparison.rank_agreement.drop(columns="flipped")))


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Fit folders.")],
    output: Annotated[Path, typer.Option("--output", "-o", help=".html (one file) or .md.")],
    title: Annotated[str, typer.Option(help="The title of the report.")] = "Report",
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Write a report on fits."""
    from bayesbt import grouped
    from bayesbt.reporting.data import ReportData
    from bayesbt.reporting.report import report as write_report

    fits = {label: fitted for folder in folders for label, fitted in grouped.load_fits(folder).items()}
    written = write_report(ReportData.from_fits(fits, title=title), output, force=force)
    if as_json:
        print_json({"written": [str(written)], "fits": list(fits)})
    else:
        say(f"Wrote {written}.")


def _show(rankings: Mapping[str, Ranking], as_json: bool, top: int | None = None) -> None:
    """Print rankings: the documents of CONTRACT section 4, or tables for people."""
    documents = {label: ranking.summary(top) for label, ranking in rankings.items()}
    if as_json:
        print_json(documents.get("", {"fits": documents}))
        return
    for label, document in documents.items():
        if label:
            print(f"\n== {label}")
        _show_trouble(document)
        _show_fit(document)
        for name, heading in (
            ("rank_distribution", "P(rank)"),
            ("p_stronger", "P(item is stronger than other)"),
        ):
            for component, matrix in document.get(name, {}).items():
                print(f"\n{heading}, component {component}")
                print_table(_matrix_rows(matrix))


def _matrix_rows(matrix: Mapping[str, Any]) -> list[dict[str, Any]]:
    named = zip(matrix["index"], matrix["data"], strict=True)
    return [{"item": item} | dict(zip(map(str, matrix["columns"]), row, strict=True)) for item, row in named]


def _show_trouble(document: Mapping[str, Any]) -> None:
    """Say first of all where a fit cannot be trusted."""
    if not document["diagnostics"]["ok"]:
        print("POOR DIAGNOSTICS: do not trust these numbers.")
    for message in document["diagnostics"]["messages"]:
        print(f"note: {message}")


def _show_fit(document: Mapping[str, Any]) -> None:
    model, data = document["model"], document["data"]
    print(", ".join(f"{name} {model[name]}" for name in ("ties", "order", "engine")), end="; ")
    counted = ("judgments", "ties", "unscored", "items", "components")
    print(", ".join(f"{name} {data[name]:,g}" for name in counted))
    parameters = document["parameters"]
    if parameters:
        names = ("mean", "sd", "lower", "upper")
        print_table(
            [{"parameter": key, **{n: values[n] for n in names}} for key, values in parameters.items()]
        )
    print()
    columns = [name for name in SHOWN if name in document["items"][0]]
    if data["components"] == 1:
        columns.remove("component")
    print_table(document["items"], columns)
