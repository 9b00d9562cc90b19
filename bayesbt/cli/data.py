"""Commands on data: import, check, pairs, simulate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import plural, print_json, say, say_written, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayesbt.tables import Finding, Judgments


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("import", epilog="Example: bayesbt import data/tasting/judgments.csv -o tasting.jsonl")(
        import_
    )
    app.command("check", epilog="Example: bayesbt check data/tasting/judgments.csv")(check)
    app.command("pairs", epilog="Example: bayesbt pairs data/ladder/items.csv --both-orders -o pairs.csv")(
        pairs
    )
    app.command(
        "simulate",
        epilog="Example: bayesbt simulate --judges 30 --comparisons 900 --random-judges 3 \\\n\n"
        "--truth truth.json -o simulated.csv",
    )(simulate)


def import_(
    source: Annotated[str, typer.Argument(metavar="SRC", help="A file, a folder of a known format, or -.")],
    output: o.Output,
    format: Annotated[
        str,
        typer.Option(
            help="auto, csv, webis, ukpconvarg, arena, mtbench, alpaca-eval, llmbar, pandalm, matrix, counts."
        ),
    ] = "auto",
    items: Annotated[
        Path | None,
        typer.Option(
            "--items", help="Where items with texts go, for formats that have them [OUTPUT.items.csv]."
        ),
    ] = None,
    mapping: o.Mapping = "",
    outcomes: o.Outcomes = "auto",
    strict: o.Strict = False,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Turn judgments in any known format into our own, with the items where texts exist."""
    o.data_json_only(output, as_json)
    from bayesbt.formats import import_source, write_items, write_judgments

    read = import_source(
        source, format=format, mapping=o.parse_map(mapping), outcomes=outcomes, strict=strict
    )
    write_judgments(read.judgments, output, force=force)
    written = [output]
    if read.items is not None and (items is not None or output != "-"):
        target = items or _beside(Path(output), "items.csv")
        write_items(read.items, target, force=force)
        written.append(str(target))
    show_findings(read.judgments.findings)
    if as_json:
        facts = summary(read.judgments)
        print_json(
            {"written": written, "data": facts, "findings": findings_document(read.judgments.findings)}
        )
    else:
        say_written(written, plural(len(read.judgments), "judgment"))


def check(
    source: o.Source,
    mapping: o.Mapping = "",
    outcomes: o.Outcomes = "auto",
    strict: o.Strict = False,
    items: o.ItemsFile = None,
    dimension: o.Dimension = None,
    judge: o.JudgeName = None,
    topic: o.Topic = None,
    as_json: o.AsJson = False,
) -> None:
    """Say what is wrong or risky before a fit; exit code 1 when a fit would be refused.

    It names, with row numbers, bad rows, look-alike names, components, items that never win or lose,
    bridges and single votes on which all hangs, position effects, judges with one answer and duplicates.
    """
    from bayesbt.checking import check as find
    from bayesbt.formats import read_items

    judgments = o.load_judgments(source, mapping, outcomes, strict).select(dimension, judge, topic)
    findings = find(judgments, None if items is None else read_items(items))
    refused = any(finding.level == "error" for finding in findings)
    if as_json:
        print_json({"ok": not refused, "data": summary(judgments), "findings": findings_document(findings)})
    else:
        facts = summary(judgments)
        print(", ".join(f"{name} {value:,g}" for name, value in facts.items()))
        for finding in findings:
            print(f"{finding.level}: {finding.message}")
        if not findings:
            print("Nothing to remark.")
    raise typer.Exit(1 if refused else 0)


def pairs(
    items: Annotated[
        str,
        typer.Argument(metavar="ITEMS", help="A table with a column item, and topic where there are topics."),
    ],
    output: o.Output,
    design: Annotated[
        Literal["all", "cyclic", "budget"],
        typer.Option(help="all pairs, each item with its next neighbours in a circle, or a number of pairs."),
    ] = "all",
    degree: Annotated[int | None, typer.Option(min=1, help="cyclic: neighbours of each item.")] = None,
    group_size: Annotated[
        int | None,
        typer.Option(min=2, help="cyclic: all pairs within groups of so many neighbours, not --degree."),
    ] = None,
    group_step: Annotated[
        int | None,
        typer.Option(min=1, help="From the beginning of a group to that of the next (half of --group-size)."),
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="budget: how many pairs.")] = None,
    both_orders: Annotated[
        bool, typer.Option("--both-orders", help="Ask for each pair in both orders.")
    ] = False,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Say which pairs to ask for; only pairs inside a topic where the items have topics."""
    o.data_json_only(output, as_json)
    from bayesbt.formats import read_items, write_pairs
    from bayesbt.pairing import Groups, design_pairs

    if group_step is not None and group_size is None:
        raise typer.BadParameter("goes with --group-size.", param_hint="--group-step")
    made = design_pairs(
        read_items(items),
        design,
        budget=budget,
        degree=degree,
        groups=None if group_size is None else Groups(group_size, group_step or group_size // 2),
        both_orders=both_orders,
        seed=seed,
    )
    write_pairs(made, output, force=force)
    if as_json:
        print_json({"written": [output], "pairs": len(made)})
    else:
        say_written([output], plural(len(made), "pair"))


def simulate(
    output: o.Output,
    truth: Annotated[
        Path | None, typer.Option(help="Where the strengths and judges behind the judgments go, as JSON.")
    ] = None,
    items: Annotated[int, typer.Option(min=2, help="Number of items.")] = 20,
    comparisons: Annotated[int, typer.Option(min=1, help="Number of judgments in all.")] = 400,
    judges: Annotated[int, typer.Option(min=1, help="Number of judges.")] = 1,
    ties: Annotated[
        str, typer.Option(help="rao-kupper, davidson, split, split-half or drop.")
    ] = "rao-kupper",
    tie: Annotated[float, typer.Option(help="P(tie) of two equal items.")] = 0.2,
    order: Annotated[float, typer.Option(help="Advantage of being shown first, log-odds.")] = 0.0,
    order_judge_sd: Annotated[
        float, typer.Option(help="Standard deviation over judges of that advantage, log-odds.")
    ] = 0.0,
    adherence_sd: Annotated[
        float, typer.Option(help="Standard deviation over judges of log(adherence).")
    ] = 0.0,
    strength_sd: Annotated[float, typer.Option(help="Standard deviation of strengths, log-odds.")] = 1.0,
    random_judges: Annotated[int, typer.Option(min=0, help="Judges who answer at random.")] = 0,
    position_judges: Annotated[
        int, typer.Option(min=0, help="Judges who always choose the item shown first.")
    ] = 0,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Simulate judgments from known strengths and judges, to try a design or an analysis on."""
    o.data_json_only(output, as_json)
    from bayesbt.files import require_file_possible, write_text
    from bayesbt.formats import write_judgments
    from bayesbt.simulated_judgments import SimulationSettings, simulate_judgments

    settings = SimulationSettings(
        items=items,
        judges=judges,
        comparisons=comparisons,
        ties=ties,
        tie=tie,
        order=order,
        order_judge_sd=order_judge_sd,
        adherence_sd=adherence_sd,
        strength_sd=strength_sd,
        random_judges=random_judges,
        position_judges=position_judges,
        seed=seed,
    )
    if truth is not None:
        require_file_possible(truth, force)
    judgments, known = simulate_judgments(settings)
    write_judgments(judgments, output, force=force)
    written = [output]
    if truth is not None:
        write_text(truth, json.dumps(known.as_dict(), indent=1) + "\n", force=force)
        written.append(str(truth))
    show_findings(judgments.findings)
    if as_json:
        print_json({"written": written, "data": summary(judgments)})
    else:
        say_written(written, plural(len(judgments), "judgment"))


def summary(judgments: Judgments) -> dict[str, Any]:
    """Count rows, judgments (weighted), ties, unscored rows and items."""
    frame = judgments.frame
    count = frame["count"]
    return {
        "rows": len(frame),
        "judgments": whole(float(count[frame["outcome"].notna()].sum())),
        "ties": whole(float(count[frame["outcome"] == "tie"].sum())),
        "unscored": whole(float(count[frame["outcome"].isna()].sum())),
        "items": len(judgments.items),
    }


def findings_document(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Give findings as JSON has them."""
    return [
        {"level": f.level, "code": f.code, "message": f.message, "rows": list(f.rows), "items": list(f.items)}
        for f in findings
    ]


def show_findings(findings: Iterable[Finding]) -> None:
    """Tell what reading dropped or changed, on standard error."""
    for finding in findings:
        say(f"{finding.level}: {finding.message}")


def _beside(path: Path, ending: str) -> Path:
    """``a/judgments.csv.gz`` and ``items.csv`` give ``a/judgments.items.csv``."""
    return path.with_name(f"{path.name.partition('.')[0]}.{ending}")
