"""The one place that knows which ArviZ is installed: containers, files, convergence diagnostics.

ArviZ before 1.0 keeps groups in an InferenceData, from 1.0 on in an xarray DataTree.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import logsumexp

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.23 announces 1.0 once a day
    import arviz as az

Floats = NDArray[np.float64]
HAS_DATATREE = int(az.__version__.split(".")[0]) >= 1
LEAST_DRAWS = 25  # fewer leave no tail to which a Pareto distribution could be fitted
ROUNDING = 1e-10  # log-likelihoods that differ by less are the same


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


def efficiency(draws: Floats) -> float:
    """Effective sample size of the means over the number of draws, averaged over K; draws (chains, draws, K).

    One chain counts as 1, as in ``az.loo``.
    """
    if draws.shape[0] == 1:
        return 1.0
    effective = az.ess(xr.Dataset({"x": (("chain", "draw", "k"), draws)}), method="mean")["x"]
    return float(np.asarray(effective, dtype=float).mean() / (draws.shape[0] * draws.shape[1]))


def psis(log_likelihood: Floats, relative_efficiency: float) -> tuple[Floats, Floats]:
    """Pareto-smoothed weights of the draws for leaving each of K units out (Vehtari et al. 2024).

    Parameters
    ----------
    log_likelihood : (K, S) array
        What each unit adds to the log-likelihood at each draw.
    relative_efficiency : float
        Effective over actual number of draws.

    Returns
    -------
    log_weights : (K, S) array
        Their exponentials sum to one over the draws.
    pareto_k : (K,) array
        Shape of the weights' tail. 0 where the unit adds the same at every draw; infinite, and the weights
        not smoothed, where no tail could be fitted.
    """
    log_weights = -log_likelihood - logsumexp(-log_likelihood, axis=1, keepdims=True)
    pareto_k = np.full(len(log_weights), np.inf)
    moving = np.ptp(log_likelihood, axis=1) > ROUNDING
    pareto_k[~moving] = 0.0
    if log_likelihood.shape[1] >= LEAST_DRAWS:
        for k in np.flatnonzero(moving):
            try:
                log_weights[k], pareto_k[k] = _smooth(log_likelihood[k], relative_efficiency)
            except ValueError:  # ArviZ 1.x: the largest weights are all the same
                continue
    return log_weights, pareto_k


def _smooth(log_likelihood: Floats, relative_efficiency: float) -> tuple[Floats, float]:
    if HAS_DATATREE:
        statistics = import_module("arviz_stats.base").array_stats
        log_weights, pareto_k = statistics.psislw(log_likelihood, r_eff=relative_efficiency)
    else:
        log_weights, pareto_k = az.psislw(-log_likelihood, reff=relative_efficiency)
    return log_weights, float(pareto_k)


def elpd_data(values: Floats, pareto_k: Floats, draws: int, good_k: float) -> Any:
    """Pointwise elpd (N,) and Pareto k (N,) as ``az.loo`` returns them and ``az.compare`` takes them."""
    size, total = len(values), float(values.sum())
    shared = {
        "se": float(np.sqrt(size * np.var(values))),
        "n_samples": draws,
        "n_data_points": size,
        "scale": "log",
        "warning": bool((pareto_k > good_k).any()),
        "good_k": good_k,
        "pareto_k": xr.DataArray(pareto_k, dims="judgment"),
    }
    pointwise = xr.DataArray(values, dims="judgment")
    if HAS_DATATREE:
        made = import_module("arviz_stats.utils").ELPDDataLOO
        return made(elpd=total, p=np.nan, elpd_i=pointwise, **shared)
    made = import_module("arviz.stats.stats_utils").ELPDData
    return made({"elpd_loo": total, "p_loo": np.nan, "loo_i": pointwise} | shared)
