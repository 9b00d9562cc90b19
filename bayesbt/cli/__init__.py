"""The command line: one command an arrow, files in and files out, no logic of its own.

Nothing heavy is imported here or in the command modules' tops: each command imports what it calls.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

import bayesbt
from bayesbt.cli import agreement, asking, data, fitting, judging, rankings, studies
from bayesbt.errors import BayesBTError, StatisticalWarning

app = typer.Typer(
    name="bayesbt",
    help="Rankings with honest uncertainty from pairwise judgments, by people or by language models.",
    epilog="Example: bayesbt fit data/tasting/judgments.csv --engine laplace",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (data, asking, judging, fitting, rankings, agreement, studies):
    module.register(app)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(bayesbt.__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Rankings with honest uncertainty from pairwise judgments, by people or by language models."""


def main() -> None:
    """Run the command line: exit code 0 done, 1 our error (one paragraph, no traceback), 2 wrong usage."""
    _quiet_foreign_warnings()
    try:
        app()
    except BayesBTError as error:
        print(f"bayesbt: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        reason = error.strerror or str(error) or type(error).__name__
        print(
            f"bayesbt: {place}{reason}. Check the path, its permissions and the room left.", file=sys.stderr
        )
        sys.exit(1)


def _quiet_foreign_warnings() -> None:
    """Show our warnings as one line each; those of other packages only where Python was asked for them."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", StatisticalWarning)

    def show(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
        name = "Warning" if category is StatisticalWarning else category.__name__
        print(f"{name}: {message}", file=sys.stderr)

    warnings.showwarning = show
