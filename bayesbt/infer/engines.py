"""The inference engines: one row each, imported when called and not before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, get_args

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.infer.results import EngineResult, Options, Sampler
from bayesbt.infer.samples import Samples
from bayesbt.spec import ModelSpec


@dataclass(frozen=True)
class Engine:
    """One engine.

    Attributes
    ----------
    module, function : str
        Where ``(counts, spec, options) -> EngineResult`` lives.
    sampler : str
        The function ``(counts, spec, options) -> Samples`` of engines that take the whole model: judges,
        covariates, several dimensions. Empty for the others.
    default_ties : str
        The tie model it takes when none is named.
    """

    module: str
    function: str
    sampler: str = ""
    default_ties: str = "rao-kupper"


ENGINES: dict[str, Engine] = {
    "ml": Engine("bayesbt.infer.classical", "fit_ml"),
    "map": Engine("bayesbt.infer.laplace", "fit_map"),
    "laplace": Engine("bayesbt.infer.laplace", "fit_laplace"),
    "numpyro": Engine("bayesbt.infer.numpyro_engine", "fit_numpyro", sampler="sample"),
    "gibbs": Engine("bayesbt.infer.gibbs", "fit_gibbs"),
    "pymc": Engine("bayesbt.infer.pymc_engine", "fit_pymc", sampler="sample"),
    "gienapp": Engine("bayesbt.infer.classical", "fit_gienapp"),
    "ilsr": Engine("bayesbt.infer.classical", "fit_ilsr", default_ties="split"),
}
AUTO = "numpyro"
"""What ``auto`` means for several dimensions together."""
GIBBS_ITEMS = 5000
"""Most items of the Gibbs sampler, whose set-up takes a dense matrix of their size."""


def engine_name(engine: str) -> str:
    """Resolve ``auto``; an InputError lists the engines."""
    name = AUTO if engine == "auto" else engine
    if name not in ENGINES:
        raise InputError(f"--engine {engine!r} is not known. Allowed: auto, {', '.join(ENGINES)}.")
    return name


def candidates(engine: str, spec: ModelSpec, n_items: int) -> tuple[str, ...]:
    """Engines to run in turn until one passes its own checks: one, unless the user left the choice."""
    if engine != "auto":
        return (engine_name(engine),)
    if spec.by_judge or spec.covariates or n_items > GIBBS_ITEMS:
        return (AUTO,)
    return ("gibbs", AUTO)


def require_whole_model(name: str, spec: ModelSpec) -> None:
    """Refuse judges' parameters and covariates where the engine cannot take them."""
    asked = [
        f"--{flag.replace('_', '-')} by-judge"
        for flag in ("order", "tie_parameter")
        if getattr(spec, flag) == "by-judge"
    ]
    asked += ["--judges adherence"] if spec.judges == "adherence" else []
    asked += ["--covariates"] if spec.covariates else []
    if asked and not ENGINES[name].sampler:
        able = ", ".join(other for other, engine in ENGINES.items() if engine.sampler)
        raise InputError(f"--engine {name} cannot take {', '.join(asked)}. Engines that can: {able}.")


def run_engine(name: str, counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Fit one dimension."""
    row = ENGINES[name]
    result: EngineResult = getattr(import_module(row.module), row.function)(counts, spec, options)
    return result


def run_sampler(name: str, counts: Counts, spec: ModelSpec, options: Options) -> Samples:
    """Sample several dimensions together."""
    row = ENGINES[name]
    samples: Samples = getattr(import_module(row.module), row.sampler)(counts, spec, options)
    return samples


def read_options(options: Mapping[str, Any]) -> Options:
    """Check the names and ranges of the options of an engine."""
    allowed = [option.name for option in fields(Options)]
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise InputError(f"fit: no option named {', '.join(unknown)}. Allowed: {', '.join(allowed)}.")
    settings = Options(**options)
    for name, least in (("draws", 2), ("tune", 1), ("chains", 1)):
        if getattr(settings, name) < least:
            raise InputError(f"--{name} {getattr(settings, name)}: must be {least} or more.")
    for name, value in (("interval", settings.interval), ("target-accept", settings.target_accept)):
        if not 0 < value < 1:
            raise InputError(f"--{name} {value:g}: must be between 0 and 1.")
    if settings.sampler not in get_args(Sampler):
        known = ", ".join(get_args(Sampler))
        raise InputError(f"--sampler {settings.sampler!r} is not known. Allowed: {known}.")
    return settings
