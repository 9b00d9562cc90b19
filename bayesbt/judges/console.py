"""What a person at a terminal sees of long work; nothing of it is shown where stderr is no terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class _Rate(ProgressColumn):
    """Presentations a second, of those judged now."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.2f}/s")


@contextmanager
def judging_bar(name: str, total: int, done: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr with rate and time left; give a function that advances it.

    Parameters
    ----------
    name : str
        Of the judge.
    total, done : int
        Presentations in all, and those that the file held before.
    wanted : bool
        False: no bar at all.
    """
    columns = (
        TextColumn("judging with {task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    shown = wanted and sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task(name, total=total, completed=done)
        yield lambda number: bar.advance(task, number)


def say(message: str) -> None:
    """Write a line to stderr."""
    Console(stderr=True, soft_wrap=True).print(message, markup=False, highlight=False)


@contextmanager
def foreign_bars() -> Iterator[None]:
    """Let a library draw its own bars on a terminal, and keep them out of logs."""
    with nullcontext() if sys.stderr.isatty() else redirect_stderr(io.StringIO()):
        yield
