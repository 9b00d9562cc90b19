"""Commands that rank and compare, and how a ranking is shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import print_json, print_table, records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayesbt.infer.fitted import Fit
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
OutputFolder = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Where the fit folders go; without it nothing is kept."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("rank", epilog="Example: bayesbt rank tasting --top 3")(rank)
    app.command("ties", epilog="Example: bayesbt ties data/tasting/judgments.csv --engine laplace -o ties")(
        ties
    )


def rank(
    folder: Folder,
    top: Annotated[
        int | None, typer.Option(min=1, help="Show the N strongest of each component, and P(among them).")
    ] = None,
    tier_level: Annotated[
        float, typer.Option(help="Tiers part where their order holds with this probability.")
    ] = 0.95,
    contrast: Annotated[
        str | None, typer.Option(metavar="ITEM,ITEM", help="Compare two items: difference and P(stronger).")
    ] = None,
    distribution: Annotated[bool, typer.Option("--distribution", help="Add P(rank) of each item.")] = False,
    pairwise: Annotated[bool, typer.Option("--pairwise", help="Add P(item is stronger than other).")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Show a ranking with intervals, the rank distribution, P(best), P(top k), P(i stronger than j)."""
    from bayesbt import grouped
    from bayesbt import ranking as rankings

    fits = grouped.load_fits(folder)
    if contrast is not None:
        _contrast(fits, contrast, as_json)
        return
    made = {
        label if len(fits) > 1 else "": rankings.rank(
            fitted, top=top or 3, tier_level=tier_level, distribution=distribution, pairwise=pairwise
        )
        for label, fitted in fits.items()
    }
    show(made, as_json, top)


def _contrast(fits: Mapping[str, Fit], pair: str, as_json: bool) -> None:
    """Compare two items in every fit."""
    from dataclasses import asdict

    from bayesbt.ranking import contrast

    names = [name.strip() for name in pair.split(",")]
    if len(names) != 2:
        raise typer.BadParameter(f"{pair!r} is not two items with a comma between.", param_hint="--contrast")
    rows = {label: asdict(contrast(fitted, *names)) for label, fitted in fits.items()}
    if as_json:
        print_json(next(iter(rows.values())) if len(rows) == 1 else {"fits": rows})
        return
    if any(row["prior_only"] for row in rows.values()):
        print("PRIOR ONLY: no chain of comparisons links the two; these numbers are the prior's.")
    print_table([{"fit": label} | row for label, row in rows.items()])


def ties(
    source: o.Source,
    output: OutputFolder = None,
    models: Annotated[
        str, typer.Option(help="Tie models, with commas.")
    ] = "split,split-half,rao-kupper,davidson,drop",
    engine: o.Engine = "auto",
    order: o.Order = "none",
    prior: o.Prior = None,
    dimension: o.Dimension = None,
    judge: o.JudgeName = None,
    topic: o.Topic = None,
    unit: Annotated[
        Literal["judgment", "item", "topic"], typer.Option(help="What leave-one-out leaves out.")
    ] = "judgment",
    top: Annotated[int, typer.Option(min=1, help="Compare who is among the K strongest.")] = 3,
    against: Annotated[
        str | None, typer.Option(help="The tie model that interval widths are compared with.")
    ] = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit again without a unit where importance sampling fails.")
    ] = False,
    draws: o.Draws = 1000,
    tune: o.Tune = 1000,
    chains: o.Chains = 4,
    mapping: o.Mapping = "",
    outcomes: o.Outcomes = "auto",
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Lay tie assumptions side by side: predictions, tie parameters, intervals, where rankings differ."""
    from bayesbt import grouped
    from bayesbt.tie_comparison import compare_ties

    o.require_free(output, force)
    comparison = compare_ties(
        o.load_judgments(source, mapping, outcomes),
        o.parse_names(models),
        engine=engine,
        order=order,
        priors=o.parse_priors(prior),
        selection={"dimension": dimension, "judge": judge, "topic": topic},
        unit=unit,
        k=top,
        against=against,
        refit=refit,
        draws=draws,
        tune=tune,
        chains=chains,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    if output is not None:
        grouped.save_ties(comparison, output, force=force)
    if as_json:
        print_json(comparison.summary())
        return
    for name in comparison.table.loc[~comparison.table["ok"], "ties"]:
        print(f"POOR DIAGNOSTICS with --ties {name}: do not trust its numbers.")
    notes = [note for fitted in comparison.fits.values() for note in fitted.diagnostics.messages]
    for note in dict.fromkeys([*comparison.messages, *notes]):
        print(f"note: {note}")
    print_table(records(comparison.table.drop(columns="ok")))
    print()
    lists = ["flipped", "top_left", "top_entered"]
    print_table(records(comparison.rank_agreement.drop(columns=lists)))
    if len(comparison.tie_rate):
        print("\nTie rate against |delta|: observed, and what the model expects")
        print_table(records(comparison.tie_rate))


def show(rankings: Mapping[str, Ranking], as_json: bool, top: int | None = None) -> None:
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


def _show_convergence(found: Mapping[str, Any]) -> None:
    """Print the numbers by which a sampler is judged; other engines have none."""
    if found["divergences"] is not None:
        rhat = "not finite" if found["rhat_max"] is None else f"{found['rhat_max']:.4f}"
        print(
            f"largest R-hat {rhat}; smallest ESS {found['ess_bulk_min']:,.0f} (bulk), "
            f"{found['ess_tail_min']:,.0f} (tail); divergences {found['divergences']}"
        )


def _show_fit(document: Mapping[str, Any]) -> None:
    model, data = document["model"], document["data"]
    print(", ".join(f"{name} {model[name]}" for name in ("ties", "order", "engine")), end="; ")
    counted = ("judgments", "ties", "unscored", "items", "components")
    print(", ".join(f"{name} {data[name]:,g}" for name in counted))
    _show_convergence(document["diagnostics"])
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
    named = {name: f"p_top{document['top']}" if name == "p_top" else name for name in columns}
    rows = [{named[name]: row.get(name) for name in columns} for row in document["items"]]
    print_table(rows, list(named.values()))
