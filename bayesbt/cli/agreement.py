"""The command that lays judges beside people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import plural, print_json, print_table, records, say

if TYPE_CHECKING:
    from bayesbt.agreement.configurations import Source
    from bayesbt.agreement.result import Agreement
    from bayesbt.tables import Items

OutputFolder = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Where tables and JSON go; without it nothing is kept."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    tasting = "data/tasting/judgments.csv"
    app.command(
        "agree",
        epilog=f"Example: bayesbt agree {tasting} \\\n\n{tasting} --human ana --bootstrap 1000 -o agreement",
    )(agree)


def agree(
    llm: Annotated[str, typer.Argument(metavar="LLM", help="Judgments of judges, or a folder of fits.")],
    human: Annotated[
        str,
        typer.Argument(
            metavar="HUMAN", help="Judgments of people, a folder of fits, or items with published scores."
        ),
    ],
    more: Annotated[list[str] | None, typer.Argument(metavar="[LLM2 ...]", help="Further judges.")] = None,
    output: OutputFolder = None,
    metrics: Annotated[str, typer.Option(help="With commas: agreement, kappa, alpha, pearson, ...")] = "",
    bootstrap: Annotated[int, typer.Option(min=1, help="Resamples.")] = 10_000,
    unit: Annotated[
        Literal["items", "judgments", "topics"],
        typer.Option(help="What is drawn: items, judgments (every score fitted again), whole topics."),
    ] = "items",
    label_identity: Annotated[
        Literal["outcome", "argument-number"],
        typer.Option(help="What a label is; argument-number is that of the paper's code, and misleads."),
    ] = "outcome",
    argument_number: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of --items; else ids are discussion-argument-topic."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(help="Scores of both sides: map (quick), laplace, numpyro, pymc, ml, gienapp or ilsr."),
    ] = "map",
    ties: Annotated[str | None, typer.Option(help="rao-kupper, davidson, split, split-half or drop.")] = None,
    order: Annotated[
        Literal["none", "shared"], typer.Option(help="Effect of being shown first, on both sides.")
    ] = "none",
    alpha: Annotated[float, typer.Option(help="ilsr: regularisation, as in choix.")] = 0.01,
    tau: Annotated[float, typer.Option(help="gienapp: the fixed threshold, in log-odds.")] = 0.05,
    reg: Annotated[float, typer.Option(help="gienapp: virtual wins and losses of each item.")] = 0.1,
    rule: Annotated[
        Literal["majority", "sign"], typer.Option(help="How runs vote; sign is the paper's code.")
    ] = "majority",
    human_judge: Annotated[
        str | None,
        typer.Option("--human", metavar="NAME", help="Keep this judge of HUMAN, and leave it out of LLM."),
    ] = None,
    dimension: o.Dimension = None,
    items: Annotated[
        Path | None, typer.Option("--items", help="Items with texts (for length) and topics.")
    ] = None,
    human_scores: Annotated[
        Path | None, typer.Option(help="Items with published scores in the place of a fit to HUMAN.")
    ] = None,
    beside: Annotated[
        Path | None, typer.Option(help="A published table of judges, to be shown beside these.")
    ] = None,
    best: Annotated[
        str | None, typer.Option(metavar="NAME", help="The configuration to test, chosen beforehand.")
    ] = None,
    null_seeds: Annotated[int, typer.Option(min=1, help="Seeds of the random null judges.")] = 20,
    interval: Annotated[float, typer.Option(help="Probability of every interval.")] = 0.95,
    ceiling: Annotated[
        bool, typer.Option(help="The noise ceiling, by split halves of people's judgments.")
    ] = True,
    posterior: Annotated[bool, typer.Option("--posterior", help="Posteriors of the score metrics.")] = False,
    latent: Annotated[
        bool,
        typer.Option(
            "--latent", help="Latent correlations, freed of the noise of both sides, by the joint model."
        ),
    ] = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Say how well judges agree with people: labels, scores, null judges, tests (tables 1 to 3)."""
    from bayesbt.agreement.agree import agree as measure
    from bayesbt.agreement.presentation import save_agreement
    from bayesbt.agreement.published import read_published
    from bayesbt.formats import read_items

    o.require_free(output, force)
    published = None if beside is None else read_published(beside)
    options: dict[str, Any] = {"alpha": alpha} if engine == "ilsr" else {}
    options |= {"tau": tau, "reg": reg} if engine == "gienapp" else {}
    found = measure(
        [_source(path, dimension, human_judge, keep=False) for path in (llm, *(more or []))],
        _human(human, dimension, human_judge),
        bootstrap=bootstrap,
        unit=unit,
        label_identity=label_identity,
        seed=seed,
        metrics=o.parse_names(metrics),
        engine=engine,
        ties=ties,
        order=order,
        rule=rule,
        items=None if items is None else read_items(items),
        human_scores=None if human_scores is None else read_items(human_scores),
        argument_number=argument_number,
        best=best,
        null_seeds=null_seeds,
        interval=interval,
        ceiling=ceiling,
        posterior=posterior,
        latent=latent,
        progress=sys.stderr.isatty(),
        **options,
    )
    if output is not None:
        from bayesbt.reporting.agreement_figures import save_agreement_figures

        files = save_agreement(found, output, published, force=force)
        files += save_agreement_figures(found, output)
        say(f"Wrote {output}: {plural(len(files), 'file')}; begin with agreement.html.")
    if as_json:
        print_json(found.summary())
    else:
        _show(found)


def _human(path: str, dimension: str | None, judge: str | None) -> Source | Items:
    """Judgments, fits, or items with scores: a file is of items where it has a column ``item``."""
    from bayesbt.formats import read_items
    from bayesbt.formats.files import read_frame

    if path != "-" and Path(path).is_file() and "item" in read_frame(Path(path)).columns:
        return read_items(Path(path))
    return _source(path, dimension, judge, keep=True)


def _source(path: str, dimension: str | None, judge: str | None, *, keep: bool) -> Source:
    """Judgments, or the fits of a folder; ``judge`` is the one to keep, or to leave out."""
    from bayesbt import grouped
    from bayesbt.agreement.configurations import without_judge

    if (Path(path) / grouped.INDEX).is_file() or (Path(path) / "fit.json").is_file():
        return grouped.load_fits(Path(path))
    judgments = o.load_judgments(path).select(dimension=dimension)
    if judge is None:
        return judgments
    if keep:
        return judgments.select(judge=judge)
    return without_judge(judgments, judge)


def _show(found: Agreement) -> None:
    """Print the metrics of every judge and null judge, and what must be said of them."""
    from bayesbt.agreement.result import MEAN

    for line in found.verdicts:
        print(line)
    for line in found.messages:
        print(f"note: {line}")
    table = found.metrics
    shown = [*found.dimensions, MEAN] if len(found.dimensions) > 1 else list(found.dimensions)
    for dimension in shown:
        print(f"\n== {dimension}")
        for kind in ("labels", "scores", *(["within_topic"] if found.several_topics else [])):
            own = table[(table["dimension"] == dimension) & (table["kind"] == kind)]
            if own.empty:
                continue
            rows = []
            for name, part in own.groupby("name", sort=False):
                row: dict[str, Any] = {f"{kind}": name}
                for cell in records(part):
                    row[cell["metric"]] = _text(cell)
                rows.append(row)
            print_table(rows)
            print()
        if dimension in found.ceilings:
            known = found.ceilings[dimension]
            print(
                f"ceiling of correlations {known['ceiling']:.3f}; reliability of people's scores "
                f"{known['estimate']:.3f} [{known['lower']:.3f}, {known['upper']:.3f}]"
            )
    if len(found.tests):
        print("\nIs the best better than each other? One-tailed paired bootstrap")
        columns = ["dimension", "kind", "metric", "better", "worse", "difference", "lower", "upper", "p_holm"]
        print_table(records(found.tests[columns]))


def _text(cell: dict[str, Any]) -> str:
    numbers = [cell[name] for name in ("estimate", "lower", "upper")]
    if numbers[0] is None:
        return ""
    if None in numbers:
        return f"{numbers[0]:.3f}"
    return f"{numbers[0]:.3f} [{numbers[1]:.3f}, {numbers[2]:.3f}]"
