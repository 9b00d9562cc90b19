"""One fit a group of judgments: a dimension, a topic, a judge, or a combination of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from bayesbt.errors import InputError
from bayesbt.files import atomic_folder
from bayesbt.infer import Fit, fit, load_fit
from bayesbt.infer.joint import JointFit
from bayesbt.tables import Judgments
from bayesbt.tie_comparison import TieComparison, comparison_of

GroupColumn = Literal["dimension", "topic", "judge"]
Group = dict[str, str]
"""The value of each grouping column."""
INDEX = "index.json"


def fit_by(judgments: Judgments, by: Sequence[str], **options: Any) -> list[tuple[Group, Fit]]:
    """Fit each group apart; ``options`` as for :func:`bayesbt.fit`."""
    return [(group, fit(judgments, **{**options, **group})) for group in groups(judgments, by)]


def groups(judgments: Judgments, by: Sequence[str]) -> list[Group]:
    """List the combinations of values that occur in the grouping columns, sorted.

    Raises
    ------
    InputError
        For a column that cannot group, is not there, or is blank in some row.
    """
    frame = judgments.frame
    for name in by:
        if name not in get_args(GroupColumn):
            raise InputError(f"--by {name!r} is not known. Allowed: {', '.join(get_args(GroupColumn))}.")
        if name not in frame:
            raise InputError(f"{judgments.source}: no column {name!r}, so --by {name} is not possible.")
        if frame[name].isna().any():
            row = int(frame.loc[frame[name].isna(), "row"].iloc[0])
            raise InputError(
                f"{judgments.source}, row {row}, column {name!r}: blank, so --by {name} is not possible."
            )
    if not by:
        raise InputError(f"--by names no column. Allowed: {', '.join(get_args(GroupColumn))}.")
    found = frame[list(by)].astype(str).drop_duplicates().sort_values(list(by))
    return [dict(zip(by, values, strict=True)) for values in found.itertuples(index=False)]


def save_groups(fits: Sequence[tuple[Group, Fit]], folder: Path, *, force: bool = False) -> Path:
    """Write a fit folder for each group, and ``index.json``, which names them."""
    index: dict[str, Any] = {"by": list(fits[0][0]), "groups": []}
    with atomic_folder(folder, force) as temporary:
        for number, (group, fitted) in enumerate(fits, start=1):
            words = re.sub(r"[^\w]+", "-", "-".join(group.values())).strip("-").lower()
            name = f"{number:02d}-{words}"[:60].rstrip("-")
            fitted.save(temporary / name)
            index["groups"].append(group | {"folder": name})
        text = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
        (temporary / INDEX).write_text(text, encoding="utf-8")
    return folder


def save_joint(joint: JointFit, folder: Path, *, force: bool = False) -> Path:
    """Write a fit folder for each dimension, ``index.json``, and the correlations with their draws."""
    with atomic_folder(folder, force) as temporary:
        save_groups([({"dimension": name}, fitted) for name, fitted in joint.fits.items()], temporary)
        joint.correlations().to_csv(temporary / "correlations.csv", index=False)
        np.save(temporary / "correlation_draws.npy", joint.correlation)
    return folder


def save_ties(comparison: TieComparison, folder: Path, *, force: bool = False) -> Path:
    """Write a fit folder for each tie model, ``index.json``, ``ties.csv`` and ``rank_agreement.csv``."""
    fits = [({"ties": name}, fitted) for name, fitted in comparison.fits.items()]
    with atomic_folder(folder, force) as temporary:
        save_groups(fits, temporary)
        comparison.table.to_csv(temporary / "ties.csv", index=False)
        counted = comparison.rank_agreement.drop(columns=["flipped", "top_left", "top_entered"])
        counted.to_csv(temporary / "rank_agreement.csv", index=False)
        comparison.tie_rate.to_csv(temporary / "tie_rate.csv", index=False)
    return folder


def load_ties(folder: Path) -> TieComparison:
    """Read what :func:`save_ties` wrote."""
    return comparison_of(load_fits(folder))


def load_fits(folder: Path) -> dict[str, Fit]:
    """Read a fit folder, or all of a folder with ``index.json``, by label.

    Raises
    ------
    InputError
        Where it is neither.
    """
    if not (folder / INDEX).is_file():
        return {folder.resolve().name: load_fit(folder)}
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        groups = [
            (", ".join(group[name] for name in index["by"]), folder / group["folder"])
            for group in index["groups"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / INDEX}: not the index of a folder of fits: {error!r}.") from error
    return {label: load_fit(path) for label, path in groups}
