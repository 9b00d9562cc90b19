"""Item covariates as columns of a design matrix: numeric columns of Items, and word counts of their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.errors import InputError
from bayesbt.tables import Items

Floats = NDArray[np.float64]


def _words(texts: pd.Series[str]) -> Floats:
    return np.array([len(text.split()) for text in texts], dtype=float)


def _log_words(texts: pd.Series[str]) -> Floats:
    return np.asarray(np.log(np.maximum(_words(texts), 1.0)))


COMPUTED: dict[str, Callable[[pd.Series[str]], Floats]] = {"words": _words, "log_words": _log_words}
"""Covariates that are computed from the column ``text`` where Items has no column of that name."""


def design_matrix(items: Items | None, names: Sequence[str], labels: Sequence[str]) -> Floats:
    """(I, K) Covariates of the items in the order of ``labels``, each with mean 0 and standard deviation 1.

    Parameters
    ----------
    items : Items or None
    names : sequence of str
        Numeric columns of Items, or ``words`` and ``log_words``, counted in the texts.
    labels : sequence of str

    Raises
    ------
    InputError
        Where there is no table of items, a column is missing or not numeric, an item has no value, or all
        items have the same.
    """
    if not names:
        return np.zeros((0, 0))
    given = ", ".join(names)
    if items is None:
        raise InputError(
            f"--covariates {given}: covariates are columns of the items; give them with --items FILE."
        )
    if len(set(names)) < len(names):
        raise InputError(f"--covariates {given}: name each once.")
    frame = items.frame.set_index("item")
    unknown = [label for label in labels if label not in frame.index]
    if unknown:
        raise InputError(f"{items.source}: no row for the judged items {', '.join(unknown[:12])}.")
    frame = frame.loc[list(labels)]
    return np.column_stack(
        [_standardised(_column(frame, name, items.source), name, labels) for name in names]
    )


def _column(frame: pd.DataFrame, name: str, source: str) -> Floats:
    if name in frame and pd.api.types.is_numeric_dtype(frame[name]):
        return frame[name].to_numpy(dtype=float)
    if name in COMPUTED and name not in frame:
        if "text" not in frame:
            raise InputError(f"{source}: no column 'text', so the covariate {name} cannot be counted.")
        return COMPUTED[name](frame["text"].astype("string"))
    numeric = [column for column in frame if pd.api.types.is_numeric_dtype(frame[column])]
    allowed = ", ".join([*map(str, numeric), *(name for name in COMPUTED if "text" in frame)])
    raise InputError(f"{source}: {name!r} is no numeric column. Allowed: {allowed or 'none'}.")


def _standardised(values: Floats, name: str, labels: Sequence[str]) -> Floats:
    missing = [label for label, value in zip(labels, values, strict=True) if not np.isfinite(value)]
    if missing:
        raise InputError(
            f"covariate {name!r} has no value for {len(missing):,} items: {', '.join(missing[:12])}. "
            "Fill them in, or leave the covariate out."
        )
    spread = values.std()
    if not spread > 0:
        raise InputError(f"covariate {name!r} is the same for every item: it cannot explain any difference.")
    return np.asarray((values - values.mean()) / spread)
