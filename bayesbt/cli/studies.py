"""Commands on the whole: run, demo, doctor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesbt.cli import options as o
from bayesbt.cli.output import print_json, say

if TYPE_CHECKING:
    from bayesbt.study import StudyResult

Reports = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where the reports go; the stages lie below.")
]
Again = Annotated[
    bool, typer.Option("--force", help="Do every stage again, and overwrite reports changed by hand.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run", epilog="Example: bayesbt run data/ladder/study.toml")(run)
    app.command("demo", epilog="Example: bayesbt demo")(demo)
    app.command("doctor", epilog="Example: bayesbt doctor")(doctor)


def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="A study document, or its folder.")],
    output: Reports = Path("reports"),
    force: Again = False,
    as_json: o.AsJson = False,
) -> None:
    """Run a study: judge, vote, fit, rank, compare tie models, report. What is done already is kept."""
    from bayesbt.study import run_study

    _show(run_study(study, output=output, force=force), as_json)


def demo(
    output: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where the reports go.")] = Path("reports"),
    force: Again = False,
    as_json: o.AsJson = False,
) -> None:
    """Run the study of data/ladder: a very small language model judges arguments of known quality."""
    from bayesbt.documents import documents_root
    from bayesbt.study import run_study

    _show(run_study(documents_root() / "data" / "ladder", output=output, force=force), as_json)


def doctor(as_json: o.AsJson = False) -> None:
    """Show versions, devices, extras and folders, for a bug report."""
    from bayesbt.cli.doctor import examine

    found = examine()
    if as_json:
        print_json(found)
        return
    for heading, facts in found.items():
        print(f"{heading}:")
        for name, value in facts.items():
            print(f"  {name}: {value}")


def _show(result: StudyResult, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "reports": [str(path) for path in result.reports],
                "workspace": str(result.workspace),
                "fits": {label: str(path) for label, path in result.fits.items()},
                "done": result.done,
                "kept": result.kept,
            }
        )
        return
    say(f"{len(result.done)} stages done, {len(result.kept)} kept.")
    sys.stdout.write("".join(f"{path}\n" for path in result.reports))
