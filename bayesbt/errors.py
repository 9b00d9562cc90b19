"""Errors and warnings. Every message says what is wrong, where, what is allowed and what to do."""

from __future__ import annotations

from collections.abc import Sequence


class BayesBTError(Exception):
    """Anything the user can mend. The command line prints it without a traceback.

    ``exit_code`` is what the command line ends with.
    """

    exit_code = 1


class InputError(BayesBTError, ValueError):
    """A value, a table or a file that cannot be used as it is."""


class EmptyInputError(InputError):
    """A file that holds no rows: there is nothing to do (exit code 2, like a wrong usage)."""

    exit_code = 2


class DocumentError(InputError):
    """A TOML document (judge, prompt, prior, study) with an unknown, missing or impossible entry."""


class SeparationError(InputError):
    """The likelihood has no finite maximum; the message names the items at fault."""


class NotConvergedError(BayesBTError):
    """An iteration stopped before its tolerance was met."""


class MixedRunsError(InputError):
    """A judgment file made with another prompt, model, text or seed than the present ones."""


class MissingExtraError(BayesBTError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs packages that are not installed: pip install 'bayesbt[{extra}]'")


class StatisticalWarning(UserWarning):
    """Statistical trouble that does not stop the work. It reaches every output made from the fit."""


def rows_phrase(rows: Sequence[int], limit: int = 12) -> str:
    """Row numbers for a message: ``rows 7, 8, 9`` or ``rows 7, 8, ... (1,204 in all)``.

    Data rows are counted from 1; the header is not counted.

    >>> rows_phrase([3])
    'row 3'
    >>> rows_phrase(range(1, 101), limit=3)
    'rows 1, 2, 3, ... (100 in all)'
    """
    shown = ", ".join(str(row) for row in list(rows)[:limit])
    if len(rows) > limit:
        return f"rows {shown}, ... ({len(rows):,} in all)"
    return f"row {shown}" if len(rows) == 1 else f"rows {shown}"
