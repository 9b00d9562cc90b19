"""The groups of posterior.nc."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit

from bayesbt.infer import container
from bayesbt.infer.model import Cells, fixed_values, linear_predictor
from bayesbt.infer.results import Draws, centre, finite_logit
from bayesbt.spec import ModelSpec, Prior

if TYPE_CHECKING:
    from bayesbt.infer.fitted import Fit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OUTCOME_COUNTS = ("wins_a", "ties", "wins_b")

JUDGMENT_VALUES = 2**23  # at most this many numbers; draws are thinned to fit, and their indices kept
PRIOR_DRAWS = 1000


def container_of(fit: Fit) -> Any:
    """Every group that the fit can give; engines without draws give observed and constant data only."""
    groups = {"observed_data": _observed(fit), "constant_data": _constant(fit)}
    draws = fit.result.draws
    if draws is not None:
        groups["posterior"] = _draws_dataset(fit, draws)
        groups["log_likelihood"], groups["posterior_predictive"] = _judgments(fit, draws)
        if draws.sample_stats:
            stats = {name: (("chain", "draw"), values) for name, values in draws.sample_stats.items()}
            groups["sample_stats"] = xr.Dataset(stats, coords=_indices(draws))
        if fit.result.bayesian:
            groups["prior"], groups["log_prior"] = _prior(fit), _log_prior(fit, draws)
    return container.build(groups)


def _indices(draws: Draws) -> dict[str, Ints]:
    chains, size = draws.strength.shape[:2]
    return {"chain": np.arange(chains), "draw": np.arange(size)}


def _items(fit: Fit) -> NDArray[np.str_]:
    return np.asarray(fit.items, dtype=str)


def _draws_dataset(fit: Fit, draws: Draws) -> xr.Dataset:
    variables: dict[str, Any] = {"strength": (("chain", "draw", "item"), draws.strength)}
    variables |= {name: (("chain", "draw"), values) for name, values in draws.scalars.items()}
    variables |= {name: (("chain", "draw", _axis(name)), values) for name, values in draws.vectors.items()}
    coords = _indices(draws) | {"item": _items(fit)} | _vector_coordinates(fit, draws)
    attributes = {
        "strength": "log-odds, centred to sum to zero within each component",
        "draws_are": "posterior"
        if fit.result.bayesian
        else "asymptotic normal distribution of the estimator",
    }
    return xr.Dataset(variables, coords=coords, attrs=attributes)


def _axis(name: str) -> str:
    return "covariate_name" if name == "covariate" else "judge"


def _vector_coordinates(fit: Fit, draws: Draws) -> dict[str, Any]:
    known = {"covariate_name": list(fit.spec.covariates), "judge": list(fit.counts.judges)}
    return {axis: known[axis] for axis in sorted({_axis(name) for name in draws.vectors})}


def _observed(fit: Fit) -> xr.Dataset:
    counts, labels = fit.counts, _items(fit)
    variables = {name: ("cell", _whole(getattr(counts, name))) for name in OUTCOME_COUNTS}
    coords: dict[str, Any] = {
        "item_a": ("cell", labels[counts.a]),
        "item_b": ("cell", labels[counts.b]),
        "cell": np.arange(len(counts.a)),
    }
    kind, _ = _kinds(Cells.of(counts, fit.spec.tie_model))
    variables["judgment"] = ("observation", 1 - kind)
    return xr.Dataset(variables, coords=coords | {"observation": np.arange(len(kind))})


def _whole(counts: Floats) -> Floats | Ints:
    """Give counts as integers, where they are: plots of discrete data ask for them."""
    rounded = np.rint(counts).astype(np.int64)
    return rounded if (rounded == counts).all() else counts


def _constant(fit: Fit) -> xr.Dataset:
    result = fit.result
    variables: dict[str, Any] = {"component": ("item", fit.component)}
    if fit.spec.covariates:
        variables["covariates"] = (("item", "covariate_name"), fit.counts.covariates)
    if result.strength is not None:
        variables["strength_estimate"] = ("item", result.strength)
    if result.covariance is not None:
        variables["strength_covariance"] = (("item", "other_item"), result.covariance)
    return xr.Dataset(variables, coords={"item": _items(fit), "other_item": _items(fit)})


def parameters_of_draw(spec: ModelSpec, draws: Draws, chain: int, draw: int) -> dict[str, Any]:
    """One draw as the model in pure arrays takes it (D = 1)."""
    scalars = {name: values[chain, draw] for name, values in draws.scalars.items()}
    vectors = {name: values[chain, draw] for name, values in draws.vectors.items()}
    fixed_tie, fixed_order = fixed_values(spec)
    tie_logit = finite_logit(scalars["tie"]) if "tie" in scalars else fixed_tie
    order = scalars.get("order", fixed_order)
    parameters = {
        "strength": draws.strength[chain, draw][None],
        "tie_logit": np.atleast_1d(tie_logit),
        "order": np.atleast_1d(order),
    }
    if "order_by_judge" in vectors:
        parameters["order_by_judge"] = vectors["order_by_judge"] - order
    if "tie_by_judge" in vectors:
        parameters["tie_by_judge"] = finite_logit(vectors["tie_by_judge"]) - tie_logit
    if "adherence" in vectors:
        parameters["log_adherence"] = np.log(vectors["adherence"])
    return parameters


def log_probabilities(fit: Fit, draws: Draws, cells: Cells, kept: Ints) -> Iterator[tuple[int, int, Floats]]:
    """Yield (chain, position in ``kept``, (3, C) log-probabilities of a, tie, b) of the kept draws."""
    for chain in range(draws.strength.shape[0]):
        for k, draw in enumerate(kept):
            delta, tie_logit = linear_predictor(
                np, fit.spec, parameters_of_draw(fit.spec, draws, chain, draw), cells
            )
            parts = fit.spec.tie_model.log_probabilities(np, delta, tie_logit)
            yield chain, k, np.stack([np.broadcast_to(part, delta.shape) for part in parts])


def _judgments(fit: Fit, draws: Draws) -> tuple[xr.Dataset, xr.Dataset]:
    """Log-likelihood and posterior predictive group, at the same draws.

    Log-probability of one judgment of each observed kind (cell and outcome), with its multiplicity; its
    outcome replicated (1 the first wins, 0 a tie, -1 the second wins); and the counts of each cell
    replicated. Models without a P(tie) replicate wins only.
    """
    model = fit.spec.tie_model
    cells = Cells.of(fit.counts, model)
    kind, cell = _kinds(cells)
    chains, size = draws.strength.shape[:2]
    kept = thin(size, JUDGMENT_VALUES // max(1, chains * len(kind)))
    total = np.rint(cells.wins_a + cells.ties + cells.wins_b).astype(np.int64)
    possible = np.array([[1.0], [float(model.has_tie_parameter)], [1.0]])
    values = np.empty((chains, len(kept), len(kind)), dtype=np.float32)
    judgment = np.empty(values.shape, dtype=np.int8)
    counts = np.zeros(
        (3, chains, len(kept), len(total)), dtype=np.min_scalar_type(-int(total.max(initial=1)))
    )
    rng = np.random.default_rng(fit.options.seed)
    for chain, k, log_p in log_probabilities(fit, draws, cells, kept):
        values[chain, k] = log_p[kind, cell]
        p = np.exp(log_p) * possible
        p /= p.sum(axis=0)
        u, up = rng.random(len(kind)), p[:, cell]
        judgment[chain, k] = np.where(u < up[0], 1, np.where(u < up[0] + up[1], 0, -1))
        counts[:, chain, k] = rng.multinomial(total, p.T).T
    dimensions = ("chain", "draw", "observation")
    coords: dict[str, Any] = {"chain": np.arange(chains), "draw": kept, "observation": np.arange(len(kind))}
    likelihood = xr.Dataset({"judgment": (dimensions, values)}, coords | _kind_labels(fit, cells))
    replicated = {name: (("chain", "draw", "cell"), counts[k]) for k, name in enumerate(OUTCOME_COUNTS)}
    labels = _items(fit)
    coords |= {"item_a": ("cell", labels[cells.a]), "item_b": ("cell", labels[cells.b])}
    return likelihood, xr.Dataset(replicated | {"judgment": (dimensions, judgment)}, coords)


def _kinds(cells: Cells) -> tuple[Ints, Ints]:
    """Outcome (0 a, 1 tie, 2 b) and cell of every kind of judgment that occurred."""
    kind, cell = np.nonzero(np.stack([cells.wins_a, cells.ties, cells.wins_b]))
    return kind, cell


def _kind_labels(fit: Fit, cells: Cells) -> dict[str, Any]:
    kind, cell = _kinds(cells)
    observed, labels = np.stack([cells.wins_a, cells.ties, cells.wins_b]), _items(fit)
    return {
        "item_a": ("observation", labels[cells.a[cell]]),
        "item_b": ("observation", labels[cells.b[cell]]),
        "outcome": ("observation", np.array(["a", "tie", "b"])[kind]),
        "count": ("observation", observed[kind, cell]),
    }


def _log_prior(fit: Fit, draws: Draws) -> xr.Dataset:
    """Log-density of the priors of the scalar parameters, on their own scales."""
    values = {name: log_prior(fit, name, drawn) for name, drawn in draws.scalars.items()}
    return xr.Dataset({name: (("chain", "draw"), value) for name, value in values.items()}, _indices(draws))


def log_prior(fit: Fit, name: str, values: Floats) -> Floats:
    """Log-density of a scalar parameter's prior at values of the parameter."""
    prior: Prior = getattr(fit.spec.priors, name)
    log_native = fit.spec.tie_model.log_native
    if name == "tie" and prior.family == "LogNormal" and log_native is not None:
        values = np.exp(log_native(np, finite_logit(values))[0])
    return np.asarray(prior.log_density(np, values))


def thin(size: int, most: int) -> Ints:
    """At most ``most`` (and at least one) of the indices 0 to size - 1, evenly spaced."""
    most = max(1, min(size, most))
    return np.unique(np.linspace(0, size - 1, most).astype(np.int64))


def _prior(fit: Fit) -> xr.Dataset:
    """Draws from the priors; strengths are centred within their component like the posterior's."""
    rng = np.random.default_rng(fit.options.seed)
    priors, spec = fit.spec.priors, fit.spec
    sd = priors.strength_sd.sample(rng, PRIOR_DRAWS)
    strength = rng.standard_normal((PRIOR_DRAWS, fit.counts.n_items)) * sd[:, None]
    variables: dict[str, Any] = {
        "strength": (("chain", "draw", "item"), centre(strength, fit.component)[None]),
        "strength_sd": (("chain", "draw"), sd[None]),
    }
    if spec.has_order:
        variables["order"] = (("chain", "draw"), priors.order.sample(rng, PRIOR_DRAWS)[None])
    if spec.tie_model.has_tie_parameter:
        variables["tie"] = (("chain", "draw"), _prior_tie(fit, rng)[None])
    coords = {"chain": [0], "draw": np.arange(PRIOR_DRAWS), "item": _items(fit)}
    return xr.Dataset(variables, coords=coords)


def _prior_tie(fit: Fit, rng: np.random.Generator) -> Floats:
    """Draws of t; a LogNormal prior is on the textbook parameter, from which t follows."""
    prior, to_logit = fit.spec.priors.tie, fit.spec.tie_model.logit_of_native
    values = prior.sample(rng, PRIOR_DRAWS)
    if prior.family != "LogNormal" or to_logit is None:
        return values
    return np.asarray(expit(to_logit(np, values)))
