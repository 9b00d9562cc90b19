"""What a reader is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from bayesbt.formats.files import STANDARD_STREAM, read_frame
from bayesbt.outcomes import OutcomeKind
from bayesbt.tables import Items, Judgments


@dataclass(frozen=True)
class ReadOptions:
    """The user's choices: ``--map``, what outcomes name, and whether flawed rows are refused."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    outcomes: OutcomeKind = "auto"
    strict: bool = False

    def for_table(self, source: str) -> dict[str, Any]:
        """Return the arguments of ``Judgments.from_frame``."""
        return {
            "mapping": self.mapping,
            "outcomes": self.outcomes,
            "strict": self.strict,
            "source": source,
        }


class Source:
    """A file, a folder or standard input; a file is read once, when first looked into."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = "standard input" if str(path) == STANDARD_STREAM else str(path)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of several files."""
        return str(self.path) != STANDARD_STREAM and self.path.is_dir()

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The table in the file."""
        return read_frame(self.path)

    @property
    def columns(self) -> list[str]:
        """The column names in the file; none for a folder."""
        return [] if self.is_folder else [str(name) for name in self.frame.columns]


@dataclass(frozen=True)
class Imported:
    """What was read: judgments, and items where the format brings them."""

    judgments: Judgments
    items: Items | None = None


@dataclass(frozen=True)
class Reader:
    """One format.

    Attributes
    ----------
    name : str
        As in ``--format``.
    what : str
        One line for the help and for messages.
    sniff : callable
        Whether a source looks like this format.
    read : callable
        The reading itself.
    """

    name: str
    what: str
    sniff: Callable[[Source], bool]
    read: Callable[[Source, ReadOptions], Imported]
