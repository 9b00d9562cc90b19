"""Options that several commands share, each defined once, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bayesbt.files import require_folder_possible

if TYPE_CHECKING:
    from bayesbt.spec import Priors
    from bayesbt.tables import Judgments

AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on standard output.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", help="CSV, JSON Lines or Parquet by suffix (.gz too); - is standard output."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")]
Mapping = Annotated[
    str,
    typer.Option(
        "--map", metavar="MAP", help='Columns and outcomes: "player1=item_a,result=outcome,x=a,draw=tie".'
    ),
]
OutcomeKind = Literal["auto", "side", "name"]
Outcomes = Annotated[
    OutcomeKind, typer.Option(help="What outcomes name: a side (a, b) or the item's own name.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse missing ids and self comparisons; else they are dropped.")
]
Source = Annotated[
    str,
    typer.Argument(metavar="JUDGMENTS", help="CSV, JSON Lines or Parquet (.gz too); - is standard input."),
]
ItemsFile = Annotated[
    Path | None, typer.Option("--items", help="Items with their topics; those never compared are kept.")
]
Dimension = Annotated[str | None, typer.Option(help="Keep the judgments on this dimension.")]
JudgeName = Annotated[str | None, typer.Option("--judge", help="Keep the judgments of this judge.")]
Topic = Annotated[str | None, typer.Option(help="Keep the judgments of this topic.")]
Engine = Annotated[str, typer.Option(help="auto, ml, map, laplace, gibbs, numpyro, pymc, gienapp or ilsr.")]
Order = Annotated[
    Literal["none", "shared", "by-judge"],
    typer.Option(help="Effect of being shown first: none, the same for all, or one a judge."),
]
Judges = Annotated[
    Literal["ignore", "adherence"],
    typer.Option(help="ignore: pool the judges; adherence: each discriminates as well as it does."),
]
TieParameter = Annotated[
    Literal["shared", "by-judge"], typer.Option(help="One tie parameter, or one a judge.")
]
Covariates = Annotated[
    str,
    typer.Option(help="Item covariates, with commas: numeric columns of --items, words, log_words."),
]
Soft = Annotated[
    bool, typer.Option("--soft", help="Count label probabilities (p_a, p_tie, p_b) in the place of outcomes.")
]
Sampler = Annotated[Literal["pymc", "nutpie"], typer.Option(help="What --engine pymc samples with.")]
Draws = Annotated[int, typer.Option(min=2, help="Posterior draws a chain.")]
Tune = Annotated[int, typer.Option(min=1, help="Warm-up steps a chain.")]
Chains = Annotated[int, typer.Option(min=1, help="Chains.")]
Prior = Annotated[
    list[str] | None,
    typer.Option(
        help="A file or name of models/strength, or key=value (strength_sd, tie, order, ...). Repeatable."
    ),
]


def parse_map(text: str) -> dict[str, str]:
    """Read ``a=b,c=d``; wrong usage is exit code 2."""
    pairs = [entry.partition("=") for entry in text.split(",") if entry.strip()]
    if bad := [name for name, equals, value in pairs if not (equals and name.strip() and value.strip())]:
        raise typer.BadParameter(f"{bad[0]!r} is not NAME=MEANING.", param_hint="--map")
    return {name.strip(): value.strip() for name, _, value in pairs}


def load_judgments(
    source: str, mapping: str = "", outcomes: OutcomeKind = "auto", strict: bool = False
) -> Judgments:
    """Read judgments as the shared options say."""
    from bayesbt.formats import read_judgments

    return read_judgments(source, mapping=parse_map(mapping), outcomes=outcomes, strict=strict)


def parse_names(text: str) -> list[str]:
    """Read names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_priors(entries: list[str] | None) -> Priors:
    """Read the --prior options in turn: documents by name or path, and key=value."""
    from bayesbt.spec import Priors, read_priors

    priors = Priors()
    for entry in entries or []:
        key, equals, value = entry.partition("=")
        priors = priors.updated({key.strip(): value.strip()}) if equals else read_priors(entry)
    return priors


def data_json_only(output: str | None, as_json: bool) -> None:
    """Refuse data and JSON both on standard output."""
    if output == "-" and as_json:
        raise typer.BadParameter("- and --json cannot share standard output.", param_hint="-o")


def require_free(output: Path | None, force: bool) -> None:
    """Refuse what cannot be written or would be overwritten before the work, not after it."""
    if output is not None:
        require_folder_possible(output, force)
