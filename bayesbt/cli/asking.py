"""The command judge: language models judge pairs, or its cost is planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import one_line, plural, print_json, print_table, say

if TYPE_CHECKING:
    from bayesbt.judges.accounting import Judged
    from bayesbt.judges.examples import Examples
    from bayesbt.judges.plan import Plan
    from bayesbt.judges.settings import JudgeSettings
    from bayesbt.tables import Items

LISTED = 5
"""Failures that are told one by one; --json lists all of them."""

MODEL, SERVER, RAY = "How the model is run", "Served models", "Ray"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "judge",
        epilog="Example: bayesbt judge pairs.csv --items data/ladder/items.csv --runs 3 \\\n\n"
        "--judge smollm2-135m --dimension logic -o judgments.jsonl",
    )(judge)


def judge(
    pairs: Annotated[
        str,
        typer.Argument(metavar="PAIRS", help="item_a, item_b and perhaps dimension; - is standard input."),
    ],
    items: Annotated[Path, typer.Option(help="Items with their texts.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSON Lines; an interrupted run continues here."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="A document by name or path, a folder of weights, a hub id, or the name of a served model; "
            "repeat for several, which judge in turn into the same file (smollm2-135m).",
        ),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="A prompt document by name or path; repeat for several (zero-shot)."),
    ] = None,
    dimension: Annotated[
        list[str] | None,
        typer.Option(help="What to ask about; repeat for several (the column dimension of the pairs)."),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(min=1, help="Labels for each pair: drawn from its exact probabilities, or written."),
    ] = 1,
    both_orders: Annotated[
        bool, typer.Option("--both-orders", help="Show each pair in the other order too.")
    ] = False,
    examples: Annotated[
        Path | None,
        typer.Option(help="People's judgments, from which a few-shot prompt's examples are chosen."),
    ] = None,
    example_scores: Annotated[
        Path | None,
        typer.Option(help="item, score and perhaps dimension (the columns score_DIMENSION of --items)."),
    ] = None,
    exclude_examples: Annotated[
        bool, typer.Option("--exclude-examples", help="Leave out the pairs that serve as examples.")
    ] = False,
    decode: Annotated[
        Literal["auto", "labels", "generate"],
        typer.Option(help="labels: exact probabilities of the three labels; generate: the model writes."),
    ] = "auto",
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Longest text that the model writes.")] = 1024,
    over_long: Annotated[
        Literal["error", "truncate"],
        typer.Option(help="Texts that the model cannot take whole: no answer, or both cut, and said so."),
    ] = "error",
    unreadable: Annotated[
        Literal["error", "unscored"],
        typer.Option(help="Items without a readable text: refuse to begin, or leave their pairs unscored."),
    ] = "error",
    attempts: Annotated[
        int, typer.Option(min=1, help="How often, over all calls, a question is asked that failed.")
    ] = 3,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again where an answer held no verdict, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, and judge nothing.")
    ] = False,
    measure: Annotated[
        int, typer.Option(min=0, help="With --dry-run: judge so many questions to measure the rate.")
    ] = 0,
    backend: Annotated[
        Literal["auto", "transformers", "openai"],
        typer.Option(help="Load the model here, or ask a server for it.", rich_help_panel=MODEL),
    ] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 ...", rich_help_panel=MODEL)] = "auto",
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"],
        typer.Option(help="Number format of the weights.", rich_help_panel=MODEL),
    ] = "auto",
    batch_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most tokens in one pass; what suits the device where not given.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Of an OpenAI-compatible server: http://127.0.0.1:8000/v1", rich_help_panel=SERVER),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Most requests at a time.", rich_help_panel=SERVER)
    ] = 16,
    timeout: Annotated[
        float, typer.Option(help="Seconds that one request may take.", rich_help_panel=SERVER)
    ] = 120.0,
    retries: Annotated[
        int,
        typer.Option(
            min=0, help="How often a request is tried again after it failed.", rich_help_panel=SERVER
        ),
    ] = 6,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            help="Judge on this machine, or share the work out on a Ray cluster.", rich_help_panel=RAY
        ),
    ] = "local",
    ray_address: Annotated[
        str, typer.Option(help="host:port of the head node, or auto.", rich_help_panel=RAY)
    ] = "auto",
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Copies of the model (as many as there is room for).", rich_help_panel=RAY),
    ] = None,
    worker_cpus: Annotated[
        float, typer.Option(help="Processors for each worker.", rich_help_panel=RAY)
    ] = 1.0,
    worker_gpus: Annotated[
        float, typer.Option(help="Accelerators for each worker.", rich_help_panel=RAY)
    ] = 0.0,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Let language models judge pairs; continues where an interrupted run stopped."""
    from bayesbt.formats import read_items, read_pairs
    from bayesbt.judges.settings import BackendOptions, JudgeSettings, RayOptions, ServerOptions

    if measure and not dry_run:
        raise typer.BadParameter("goes with --dry-run.", param_hint="--measure")
    if output is None and not dry_run:
        raise typer.BadParameter("say where the judgments go, or give --dry-run.", param_hint="-o")
    options = BackendOptions(
        device=device,
        dtype=dtype,
        batch_tokens=batch_tokens,
        decode=decode,
        max_new_tokens=max_new_tokens,
        over_long=over_long,
        server=ServerOptions(base_url, concurrency, timeout, retries),
        backend=backend,
    )
    texts = read_items(items)
    common = JudgeSettings(
        "",
        dimensions=tuple(dimension or ()),
        runs=runs,
        both_orders=both_orders,
        seed=seed,
        options=options,
        ray=RayOptions(ray_address, workers, worker_cpus, worker_gpus) if engine == "ray" else None,
        examples=_examples(examples, example_scores, texts),
        exclude_examples=exclude_examples,
        attempts=attempts,
        retry_failed=retry_failed,
        unreadable=unreadable,
    )
    settings = _each(common, judge or ["smollm2-135m"], prompt or ["zero-shot"])
    if dry_run or output is None:
        from bayesbt.judges.plan import plan

        made = plan(
            read_pairs(pairs), texts, settings=settings, output=None if force else output, measure=measure
        )
        _print_plan(made, as_json)
        return
    from bayesbt.judges.run import judge_all

    judged = judge_all(read_pairs(pairs), texts, settings=settings, output=output, force=force)
    _print_judged(judged, output, as_json)


def _each(common: JudgeSettings, judges: Sequence[str], prompts: Sequence[str]) -> list[JudgeSettings]:
    """Every judge with every prompt, one judge after the other, so that each is loaded once."""
    return [replace(common, judge=judge, prompt=prompt) for judge in judges for prompt in prompts]


def _examples(judgments: Path | None, scores: Path | None, items: Items) -> Examples | None:
    """Choose the examples of a few-shot prompt."""
    if judgments is None:
        if scores is not None:
            raise typer.BadParameter("goes with --examples.", param_hint="--example-scores")
        return None
    from bayesbt.formats import read_judgments
    from bayesbt.formats.files import read_frame
    from bayesbt.judges.examples import choose_examples

    table = None if scores is None else read_frame(scores)
    return choose_examples(read_judgments(judgments), items, table)


def _print_judged(judged: Judged, output: Path, as_json: bool) -> None:
    from bayesbt.cli.data import summary

    if as_json:
        print_json({"written": [str(output)], "data": summary(judged.judgments), **judged.document()})
        return
    for failure in judged.failures[:LISTED]:
        pair = f"{failure.item_a}, {failure.item_b} ({failure.dimension}, run {failure.run})"
        say(f"no answer: {failure.judge}: {pair}: {one_line(failure.reason, 160)}")
    if len(judged.failures) > LISTED:
        say(f"... and {len(judged.failures) - LISTED:,} more; --json lists them all.")
    say(
        f"{output}: {plural(judged.asked, 'judgment')} asked = {judged.judged:,} judged "
        f"+ {judged.unscored:,} unscored."
    )


def _print_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        print_json(plan.document())
        return
    columns = ("judge", "prompt", "decode", "pairs", "presentations", "judgments", "present", "questions")
    tokens = ("tokens", "computed_tokens", "written_tokens")
    rows = [asdict(cost) for cost in plan.costs]
    print_table(rows, columns)
    print()
    print_table(rows, ("judge", "prompt", *tokens))
    for cost in plan.costs:
        if cost.seconds is not None and cost.tokens_per_second is not None:
            print(
                f"{cost.judge} with {cost.prompt}: {cost.questions_per_second:.3g} questions/s and "
                f"{cost.tokens_per_second:,.0f} computed tokens/s (measured on {cost.measured:,}), "
                f"so {_duration(cost.seconds)}."
            )
    if plan.seconds is None:
        print("No rate was measured; --measure N judges N questions and gives the time.")


def _duration(seconds: float) -> str:
    """Write a time for people.

    >>> _duration(75), _duration(12_600), _duration(0.4)
    ('1 min 15 s', '3 h 30 min', '0.4 s')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
