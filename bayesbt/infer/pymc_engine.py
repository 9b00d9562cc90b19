"""The posterior by the No-U-Turn sampler of PyMC, or of nutpie: the whole model, written a second time.

With the NumPyro engine it shares the tie models' formulas, the cells and the records, and nothing else, so
that the agreement of the two is evidence.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.errors import MissingExtraError
from bayesbt.infer import container  # before PyMC, which imports ArviZ too: quiets its announcement
from bayesbt.infer.model import Cells
from bayesbt.infer.results import EngineResult, Options
from bayesbt.infer.samples import PUBLIC, Samples, results_of
from bayesbt.spec import ModelSpec, Prior
from bayesbt.ties import TieModel

import pymc as pm  # isort: skip
from pytensor.configdefaults import config  # isort: skip
import pytensor.tensor as pt  # isort: skip

Floats = NDArray[np.float64]


def _logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)); unlike with pytensor's own, neither value nor gradient overflows in any mode."""
    return y + pt.softplus(x - y)


_NAMESPACE = SimpleNamespace(exp=pt.exp, log=pt.log, logaddexp=_logaddexp)
"""What bayesbt/ties.py uses of an array namespace."""


def _product(left: Any, right: Any) -> Any:
    """Matrix product as a sum: a few dimensions need no BLAS, for which pytensor's and numba's would ask."""
    return (left[:, :, None] * right[None, :, :]).sum(axis=1)


_FAMILIES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "Normal": (pm.Normal, ("mu", "sigma")),
    "HalfNormal": (pm.HalfNormal, ("sigma",)),
    "LogNormal": (pm.LogNormal, ("mu", "sigma")),
    "Beta": (pm.Beta, ("alpha", "beta")),
}


def _variable(name: str, prior: Prior, shape: tuple[int, ...] = ()) -> Any:
    """Declare a parameter with its prior, or take the value at which the prior fixes it."""
    if prior.fixed is not None:
        return pt.constant(np.full(shape, prior.fixed))
    distribution, names = _FAMILIES[prior.family]
    arguments = np.array(prior.arguments)  # pytensor takes a Python float such as 0.5 in single precision
    return distribution(name, **dict(zip(names, arguments, strict=True)), shape=shape)


def _effects(name: str, sd_name: str, prior: Prior, size: int) -> Any:
    """(size,) Effects of judges around zero, as a standard deviation times standard normals."""
    sd = _variable(sd_name, prior)
    return pm.Deterministic(name, sd * pm.Normal(f"{name}_z", 0.0, 1.0, shape=size))


def _tie_logit(model: TieModel, prior: Prior, size: int) -> Any:
    """(size,) u = logit(t); a LogNormal prior is on nu (Davidson) or tau = log(theta) (Rao-Kupper)."""
    if prior.family != "LogNormal" or model.logit_of_native is None:
        t = _variable("tie", prior, (size,))
        return pt.log(t) - pt.log1p(-t)
    tie_logit = model.logit_of_native(pt, _variable("tie_native", prior, (size,)))
    pm.Deterministic("tie", pt.sigmoid(tie_logit))
    return tie_logit


def _correlation_factor(size: int, eta: float) -> Any:
    """(D, D) Lower Cholesky factor of an LKJ(eta) correlation matrix, from its partial correlations.

    The partial correlation of dimensions i > j, given all before j, is 2 Beta(b, b) - 1, independent of the
    others, with b = eta + (D - 2 - j) / 2 (Lewandowski, Kurowicka and Joe 2009, the C-vine).
    """
    row, column = np.tril_indices(size, -1)
    b = eta + (size - 2 - column) / 2
    share = pm.Beta("partial_correlation_share", b, b, shape=len(row))
    partial = pt.zeros((size, size))[row, column].set(2 * share - 1)
    left = pt.cumprod(pt.sqrt(1 - partial**2), axis=1)  # what the columns so far leave of a row's unit length
    return (partial + pt.eye(size)) * pt.concatenate([pt.ones((size, 1)), left[:, :-1]], axis=1)


def _strength(counts: Counts, spec: ModelSpec, centredness: Floats | float) -> Any:
    """(D, I) Strengths: covariates plus deviations, which are correlated over dimensions."""
    size, n_items, priors = len(counts.dimensions), counts.n_items, spec.priors
    sd = _variable("strength_sd", priors.strength_sd, (size,))[:, None]
    if size == 1:
        z = pm.Normal("z", 0.0, sd**centredness, shape=(size, n_items))
        strength = z * sd ** (1 - centredness)
    else:
        factor = _correlation_factor(size, *priors.correlation.arguments)
        pm.Deterministic("correlation", _product(factor, factor.T))
        strength = sd * _product(factor, pm.Normal("z", 0.0, 1.0, shape=(size, n_items)))
    if spec.covariates:
        coefficient = _variable("covariate", priors.covariate, (size, len(spec.covariates)))
        strength = strength + _product(coefficient, counts.covariates.T)
    return pm.Deterministic("strength", strength)


def build_model(counts: Counts, spec: ModelSpec, centredness: Floats | float = 1.0) -> pm.Model:
    """Return the PyMC model of the counts.

    Parameters
    ----------
    counts : Counts
    spec : ModelSpec
    centredness : float or (I,) array
        In [0, 1], for one dimension: the sampler moves ``z ~ Normal(0, sd^c)``, and the strength is
        ``z sd^(1 - c)``. Several dimensions are always non-centred. It changes the speed, not the posterior.

    Returns
    -------
    pymc.Model
        Its variables are those of :class:`bayesbt.infer.samples.Samples`, and ``z``, ``..._z`` (standard
        normal), ``tie_native`` and ``partial_correlation_share``, from which those are made.
    """
    tie_model, priors = spec.tie_model, spec.priors
    cells = Cells.of(counts, tie_model)
    size, judge, d, n_judges = len(counts.dimensions), cells.judge, cells.dimension, len(counts.judges)
    with pm.Model() as model:
        strength = _strength(counts, spec, centredness).ravel()
        # One flat index each: pytensor has compiled code for the gradient of that alone.
        delta = strength[d * cells.n_items + cells.a] - strength[d * cells.n_items + cells.b]
        if spec.judges == "adherence":
            log_alpha = _effects("log_adherence", "adherence_sd", priors.adherence_sd, n_judges)
            delta = pm.Deterministic("adherence", pt.exp(log_alpha - log_alpha.mean()))[judge] * delta
        if spec.has_order:
            delta = delta + _variable("order", priors.order, (size,))[d]
        if spec.order == "by-judge":
            by_judge = _effects("order_by_judge", "order_judge_sd", priors.order_judge_sd, n_judges)
            delta = delta + by_judge[judge]
        tie_logit: Any = 0.0
        if tie_model.has_tie_parameter:
            tie_logit = _tie_logit(tie_model, priors.tie, size)[d]
        if spec.tie_parameter == "by-judge":
            by_judge = _effects("tie_by_judge", "tie_judge_sd", priors.tie_judge_sd, n_judges)
            tie_logit = tie_logit + by_judge[judge]
        log_a, log_tie, log_b = tie_model.log_probabilities(_NAMESPACE, delta, tie_logit)
        terms = cells.wins_a * log_a + cells.ties * log_tie + cells.wins_b * log_b
        pm.Potential("judgments", terms.sum())
    return model


def _centredness(counts: Counts, spec: ModelSpec) -> Floats:
    """(I,) How centred each strength is: its share of information from its comparisons, from moments.

    An item's smoothed log-odds of winning is a crude estimate of its strength with a known error; the
    strengths' variance is what is left of the log-odds' variance, at the low end of what it can be, where a
    centred strength would be stuck.
    """
    cells = Cells.of(counts, spec.tie_model)
    won, lost = (
        np.bincount(cells.a, one, counts.n_items) + np.bincount(cells.b, other, counts.n_items) + 0.5
        for one, other in ((cells.wins_a, cells.wins_b), (cells.wins_b, cells.wins_a))
    )
    error = 1 / won + 1 / lost
    fixed = spec.priors.strength_sd.fixed
    if fixed is not None:
        variance = fixed**2
    else:
        low = 1 - np.sqrt(2 / max(counts.n_items - 1, 1))
        variance = max(np.var(np.log(won / lost)) * low - error.mean(), error.mean() / 10)
    return np.asarray(variance / (variance + error))


@contextmanager
def _compiling() -> Iterator[None]:
    """Compile by numba, which is as quick as C code and needs no compiler.

    Pytensor also looks for a BLAS library and warns where it finds none, which numba has no use for.
    """
    with config.change_flags(mode="NUMBA"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PyTensor could not link to a BLAS installation", UserWarning)
        yield


def _by_pymc(model: pm.Model, names: list[str], options: Options) -> Any:
    """Chains run one after another: JAX's threads forbid forking, and spawning would run the caller again."""
    shown = options.progress and sys.stderr.isatty()
    with redirect_stdout(sys.stderr):  # some releases draw their bar on standard output
        return pm.sample(
            draws=options.draws,
            tune=options.tune,
            chains=options.chains,
            cores=1,
            target_accept=options.target_accept,
            random_seed=options.seed,
            var_names=names,
            nuts_sampler="pymc",
            model=model,
            progressbar=shown,
            quiet=not shown,
            compute_convergence_checks=False,
        )


def _by_nutpie(model: pm.Model, names: list[str], options: Options) -> Any:
    """Chains run side by side in threads."""
    try:
        import nutpie
    except ModuleNotFoundError as error:
        raise MissingExtraError("--sampler nutpie", "nutpie") from error
    return nutpie.sample(
        nutpie.compile_pymc_model(model, var_names=names),
        draws=options.draws,
        tune=options.tune,
        chains=options.chains,
        seed=options.seed,
        target_accept=options.target_accept,
        progress_bar=options.progress and sys.stderr.isatty(),
        save_warmup=False,
    )


SAMPLERS: dict[str, Callable[[pm.Model, list[str], Options], Any]] = {
    "pymc": _by_pymc,
    "nutpie": _by_nutpie,
}

STATISTICS = {
    "diverging": ("diverging",),
    "energy": ("energy",),
    "n_steps": ("n_steps",),
    "acceptance_rate": ("acceptance_rate", "mean_tree_accept"),
}
"""ArviZ's names of the sampler's statistics, and what the samplers call them."""


def sample(counts: Counts, spec: ModelSpec, options: Options) -> Samples:
    """Draw from the posterior by NUTS with ``options.sampler``, pymc or nutpie."""
    model = build_model(counts, spec, _centredness(counts, spec))
    names = [variable.name for variable in model.unobserved_RVs if variable.name in PUBLIC]
    with _compiling():
        trace = SAMPLERS[options.sampler](model, names, options)
    posterior, statistics = _group(trace, "posterior"), _group(trace, "sample_stats")
    known = {
        public: next(name for name in names if name in statistics) for public, names in STATISTICS.items()
    }
    values = {public: statistics[name] for public, name in known.items()}
    values["n_steps"] = values["n_steps"].astype(np.int64)
    return Samples({name: posterior[name] for name in names}, values)


def _group(trace: Any, name: str) -> dict[str, NDArray[Any]]:
    group = container.group(trace, name)
    return {} if group is None else {str(name): values.to_numpy() for name, values in group.items()}


def fit_pymc(counts: Counts, spec: ModelSpec, options: Options) -> EngineResult:
    """Sample one dimension."""
    return results_of(sample(counts, spec, options), counts, spec)[0]
