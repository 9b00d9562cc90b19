"""The one place that knows which ArviZ is installed: containers, files, convergence diagnostics.

ArviZ before 1.0 keeps groups in an InferenceData, from 1.0 on in an xarray DataTree.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces 1.0 once a day
    import arviz as az

Floats = NDArray[np.float64]
HAS_DATATREE = int(az.__version__.split(".")[0]) >= 1


def build(groups: dict[str, xr.Dataset]) -> Any:
    """Make an InferenceData or a DataTree of the groups."""
    if HAS_DATATREE:
        return xr.DataTree.from_dict(dict(groups))
    return az.InferenceData(**groups)  # type: ignore[arg-type]  # (groups come as keywords, one of many names)


def write(container: Any, path: Path) -> None:
    """Write as netCDF (HDF5)."""
    container.to_netcdf(str(path), engine="h5netcdf")


def read(path: Path) -> Any:
    """Read into memory what :func:`write` wrote."""
    if HAS_DATATREE:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            return tree.load()
    return az.from_netcdf(str(path), engine="h5netcdf")


def group(container: Any, name: str) -> xr.Dataset | None:
    """One group as a Dataset; None where it is not there."""
    if HAS_DATATREE:
        return container[name].to_dataset() if name in container.children else None
    return getattr(container, name, None) if name in container.groups() else None


def convergence(draws: Floats) -> tuple[Floats, Floats, Floats]:
    """(R-hat, bulk ESS, tail ESS), each (K,), of draws (chains, draws, K)."""
    data = xr.Dataset({"x": (("chain", "draw", "k"), draws)})
    tail = {"prob": (0.05, 0.95)} if HAS_DATATREE else {}
    parts = az.rhat(data), az.ess(data, method="bulk"), az.ess(data, method="tail", **tail)
    rhat, bulk, tail_ess = (np.atleast_1d(np.asarray(part["x"], dtype=float)) for part in parts)
    return rhat, bulk, tail_ess


def e_bfmi(energy: Floats) -> Floats:
    """Return (chains,) energy Bayesian fraction of missing information of energies (chains, draws)."""
    steps = np.square(np.diff(energy, axis=1)).mean(axis=1)
    return np.asarray(steps / energy.var(axis=1))
