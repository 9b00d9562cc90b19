"""The fit folder: spec.toml, counts.parquet, posterior.nc, ranking.csv, fit.json, provenance.json."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.files import atomic_folder
from bayesbt.infer import container
from bayesbt.infer.diagnostics import Diagnostics
from bayesbt.infer.fitted import Fit
from bayesbt.infer.results import SCALARS, VECTORS, Draws, EngineResult, Estimate, Options
from bayesbt.spec import ModelSpec

FILES = ("spec.toml", "counts.parquet", "posterior.nc", "ranking.csv", "fit.json", "provenance.json")


def save_fit(fit: Fit, folder: Path, *, force: bool = False) -> Path:
    """Write the folder whole or not at all; ``force`` replaces only an empty folder or a fit folder."""
    with atomic_folder(folder, force) as temporary:
        if folder.is_dir() and not is_fit_folder(folder) and any(folder.iterdir()):
            raise InputError(
                f"{folder} is not a fit folder (no fit.json); --force replaces only fit folders."
            )
        _write(fit, temporary)
    return folder


def is_fit_folder(folder: Path) -> bool:
    """Whether a folder was written by :func:`save_fit`."""
    return (folder / "fit.json").is_file()


def _write(fit: Fit, folder: Path) -> None:
    (folder / "spec.toml").write_text(fit.spec.to_toml(), encoding="utf-8")
    fit.counts.to_frame().to_parquet(folder / "counts.parquet", index=False)
    container.write(fit.idata, folder / "posterior.nc")
    fit.ranking().to_csv(folder / "ranking.csv", index=False)
    _dump(folder / "fit.json", fit.summary())
    _dump(
        folder / "provenance.json",
        fit.provenance | {"engine": fit.engine, "options": asdict(fit.options)} | _state(fit),
    )


def _dump(path: Path, document: dict[str, Any]) -> None:
    path.write_text(
        json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )


def _state(fit: Fit) -> dict[str, Any]:
    """Collect what :func:`load` needs beyond the public files."""
    counts = fit.counts
    estimates = {
        name: [e.value, None if np.isnan(e.error) else e.error, e.scale]
        for name, e in fit.result.scalars.items()
    }
    return {
        "state": {
            "items": list(counts.items),
            "topics": None if counts.topics is None else list(counts.topics),
            "messages": list(counts.messages),
            "judges": list(counts.judges),
            "ties_link": counts.ties_link,
            "dimensions": list(counts.dimensions),
            "unscored": counts.unscored,
            "scalars": estimates,
            "bayesian": fit.result.bayesian,
            "loglik": fit.result.loglik,
        }
    }


def load(folder: str | Path) -> Fit:
    """Read a fit folder back; the numbers are those that were saved."""
    folder = Path(folder)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder}: not a fit folder (missing {', '.join(missing)}). Make one with `bayesbt fit ... -o`."
        )
    facts = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    summary = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
    state = facts.pop("state")
    stored = container.read(folder / "posterior.nc")
    covariates = _values(container.group(stored, "constant_data"), "covariates")
    counts = _counts(pd.read_parquet(folder / "counts.parquet"), state, covariates)
    diagnostics = summary["diagnostics"] | {"messages": tuple(summary["diagnostics"]["messages"])}
    options = Options(**facts.pop("options"))
    return Fit(
        ModelSpec.read(folder / "spec.toml"),
        counts,
        facts.pop("engine"),
        options,
        _result(stored, state),
        Diagnostics(**diagnostics),
        facts,
        summary.get("criticism", {}),
    )


def _counts(frame: pd.DataFrame, state: dict[str, Any], covariates: Any) -> Counts:
    items = pd.Index(state["items"], dtype=object)
    a, b = (_positions(items, frame[side]) for side in ("item_a", "item_b"))
    wins_a, ties, wins_b = (frame[name].to_numpy(dtype=float) for name in ("wins_a", "ties", "wins_b"))
    counts = Counts(
        tuple(items),
        a,
        b,
        wins_a,
        ties,
        wins_b,
        topics=None if state["topics"] is None else tuple(state["topics"]),
        unscored=state["unscored"],
        messages=tuple(state["messages"]),
        judges=tuple(state["judges"]),
        dimensions=tuple(state["dimensions"]),
    )
    counts = replace(counts, ties_link=state["ties_link"])
    if "judge" in frame:
        counts = replace(counts, judge=_positions(pd.Index(state["judges"], dtype=object), frame["judge"]))
    return counts if covariates is None else replace(counts, covariates=covariates)


def _positions(labels: pd.Index[str], column: pd.Series[str]) -> NDArray[np.int64]:
    return np.asarray(labels.get_indexer(pd.Index(column.astype(object))), dtype=np.int64)


def _result(stored: Any, state: dict[str, Any]) -> EngineResult:
    constant = container.group(stored, "constant_data")
    posterior, stats = container.group(stored, "posterior"), container.group(stored, "sample_stats")
    estimates = {
        name: Estimate(v, np.nan if e is None else e, scale)
        for name, (v, e, scale) in state["scalars"].items()
    }
    return EngineResult(
        bayesian=state["bayesian"],
        draws=None if posterior is None else _draws(posterior, stats),
        strength=_values(constant, "strength_estimate"),
        covariance=_values(constant, "strength_covariance"),
        scalars=estimates,
        loglik=state["loglik"],
    )


def _values(data: xr.Dataset | None, name: str) -> Any:
    return None if data is None or name not in data else data[name].to_numpy()


def _draws(posterior: xr.Dataset, stats: xr.Dataset | None) -> Draws:
    scalars = {name: posterior[name].to_numpy() for name in SCALARS if name in posterior}
    sample_stats = {} if stats is None else {str(name): values.to_numpy() for name, values in stats.items()}
    vectors = {name: posterior[name].to_numpy() for name in VECTORS if name in posterior}
    return Draws(posterior["strength"].to_numpy(), scalars, sample_stats, vectors)
