"""What is found in data, as one record that every stage and the report understand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """Something found in data: by reading, by ``check``, for the report.

    Attributes
    ----------
    level : {"error", "warning", "note"}
        ``error``: a fit would be refused.
    code : str
        In kebab case: ``self-comparison``, ``missing-id``, ``normalised``, ``never-wins``, ...
    message : str
        Whole sentences.
    rows : tuple of int
        Data rows of the source, counted from 1.
    items : tuple of str
        The items concerned.
    pairs : tuple of (str, str)
        (x, y) stands for the judgments between the two that x did not lose.
    """

    level: Literal["error", "warning", "note"]
    code: str
    message: str
    rows: tuple[int, ...] = ()
    items: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
