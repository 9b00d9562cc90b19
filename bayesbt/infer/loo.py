"""Leave-one-out predictive accuracy by Pareto-smoothed importance sampling, on two yardsticks.

A unit u, a judgment or all judgments of an item or of a topic, is left out by weighting each draw s of the
posterior with ``1 / exp(L_u(s))``, where ``L_u`` is exactly what the unit added to the log-likelihood of the
model **as fitted**: for a decisive judgment of weight v its ``v log P(outcome)``; for a tie ``v log P(tie)``
under rao-kupper and davidson, ``v (log P(a) + log P(b))`` under split, half of that under split-half, nothing
under drop. The weights are Pareto-smoothed and normalised to ``w_s``. Then, with the judgments **as they were
made** under every tie model,

* ``elpd_decisive = sum_u c_u log sum_s w_s prod_j P_s(winner of j | no tie)^v_j`` over the decisive j of u,
* ``elpd_full = sum_u c_u log sum_s w_s prod_j P_s(outcome of j)^v_j`` over all j of u, only for models that
  have a P(tie).

For a judgment the power ``v`` is left out and counts instead: ``c_u = v``. The probability is conditional
draw by draw: that a judgment left out was decisive is no evidence, so every tie model knows the same.

**Weights.** Counts say how many judgments a cell holds, not which rows they came from. n judgments of one
kind (cell and outcome) are floor(n) judgments of weight 1 and one of weight n - floor(n): runs that weigh 1/R
each are left out together as far as they make up one judgment, since repeats are no independent evidence.

**Items.** A judgment belongs to both of its items and is left out with each, so it is predicted twice;
``c_u = 1/2`` makes elpd that of one prediction a judgment. Standard errors are
``sqrt(sum_u c_u (e_u - e)^2)``, with e the mean of the terms. For items that allows for the most that the
judgments they share can do: it is twice the variance that half the sum of independent terms would have.

Leaving out whole items or topics moves the posterior far, and Pareto k says so. ``refit=True`` replaces the
terms that cannot be trusted by those of a fit without the unit, exact but for the engine's own error.

**ArviZ.** :meth:`Loo.arviz` gives ``az.compare`` the terms of any tie models on the same judgments. And
``az.loo`` works on ``fit.idata``: ``log_likelihood`` holds ``judgment``, one value for each kind of judgment
that the fitted likelihood counts, with the coordinate ``count``, how many of the kind there are. ``az.loo``
takes each kind once, so weigh its terms: the sum of ``az.loo(fit.idata, pointwise=True).elpd_i`` (``loo_i``
before ArviZ 1.0) times ``count`` is ``elpd_full``. ``az.compare`` on the containers themselves cannot weigh,
and under split, split-half and drop the counts are not the judgments as made: compare containers only between
rao-kupper and davidson, and only where every count is 1.

References
----------
Vehtari, Gelman and Gabry (2017), Statistics and Computing 27; Vehtari, Simpson, Gelman, Yao and Gabry (2024),
JMLR 25(72); Yao, Vehtari, Simpson and Gelman (2018), Bayesian Analysis 13 (stacking).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, minimize
from scipy.special import logsumexp

from bayesbt.errors import InputError
from bayesbt.infer import container
from bayesbt.infer.engines import run_engine
from bayesbt.infer.fitted import Fit
from bayesbt.infer.pointwise import counts_by_outcome, terms, thin
from bayesbt.infer.results import Draws
from bayesbt.infer.units import UNITS, Left, Unit, taken

Floats = NDArray[np.float64]
Yardstick = Literal["decisive", "full"]

MOST_VALUES = 2**24  # draws times cells; draws are thinned beyond it,
LEAST_DRAWS = 1000  # but not below this
GOOD_K = 0.7


class Elpd(NamedTuple):
    """A sum of log predictive probabilities, its standard error, and the number of units in it."""

    elpd: float
    se: float
    units: int


@dataclass(frozen=True)
class Loo:
    """Leave-one-out predictive accuracy of a fit.

    Attributes
    ----------
    unit : {"judgment", "item", "topic"}
    table : DataFrame
        One row a unit: its labels, ``weight`` (v), ``count`` (c), ``pareto_k`` (0 where refitted),
        ``elpd_decisive`` and ``elpd_full`` (log-probability of one such unit, NaN where not defined).
    draws : int
        Draws used.
    normalised : bool
        Whether the tie model has a P(tie), so that ``elpd_full`` is defined.
    """

    unit: Unit
    table: pd.DataFrame
    draws: int
    normalised: bool

    def elpd(self, yardstick: Yardstick = "decisive") -> Elpd | None:
        """Sum over the units; None where the model or the data do not define the yardstick."""
        values = self.scored(yardstick)
        if values.empty:
            return None
        return Elpd(*_sum(values[f"elpd_{yardstick}"], values["count"]), len(values))

    def scored(self, yardstick: Yardstick) -> pd.DataFrame:
        """Return the rows of the table that the yardstick scores."""
        return self.table[self.table[f"elpd_{yardstick}"].notna()]

    @property
    def good_k(self) -> float:
        """Largest Pareto k at which so many draws give reliable terms (Vehtari et al. 2024)."""
        return good_k(self.draws)

    @property
    def pareto_k_max(self) -> float:
        """Largest Pareto k."""
        return float(self.table["pareto_k"].max())

    @property
    def unreliable(self) -> float:
        """Share of the units, judgments by their count, whose Pareto k is above ``good_k``."""
        count = self.table["count"]
        return float(count[self.table["pareto_k"] > self.good_k].sum() / count.sum())

    def arviz(self, yardstick: Yardstick = "decisive") -> Any:
        """Return what ``az.compare`` takes, one point a unit, as often as the unit counts.

        ``az.compare({name: loo(fit).arviz() for name, fit in fits.items()})`` then compares any tie models on
        the same judgments. Items are one point each, at full weight.
        """
        rows = self.scored(yardstick)
        times = np.maximum(1, np.rint(rows["count"] / rows["weight"])).astype(int)
        weight = rows["weight"] if self.unit == "judgment" else 1.0
        values, pareto_k = (
            np.repeat(column.to_numpy(dtype=float), times)
            for column in (rows[f"elpd_{yardstick}"] * weight, rows["pareto_k"])
        )
        return container.elpd_data(values, pareto_k, self.draws, self.good_k)


def good_k(draws: int) -> float:
    """Largest Pareto k that so many draws can bear: min(1 - 1 / log10(S), 0.7)."""
    return float(min(1 - 1 / np.log10(max(draws, 2)), GOOD_K))


def loo(fit: Fit, *, unit: Unit = "judgment", refit: bool = False) -> Loo:
    """Score how well the rest of the data predicts each unit.

    Parameters
    ----------
    fit : Fit
        Of a Bayesian engine. The approximate posterior of laplace and map is taken as it is.
    unit : {"judgment", "item", "topic"}
        What is left out at a time.
    refit : bool
        Fit anew without each unit whose Pareto k is too high. Not for fits of several dimensions together,
        of which a fit of one alone is another model.

    Raises
    ------
    InputError
        No posterior, an unknown unit, or no topics.
    """
    if unit not in UNITS:
        raise InputError(f"--unit {unit!r} is not known. Allowed: {', '.join(get_args(Unit))}.")
    if fit.result.draws is None or not fit.result.bayesian:
        raise InputError(
            f"--engine {fit.engine} gives no posterior, which leaving out needs. Fit with --engine numpyro, "
            "pymc or laplace."
        )
    draws = thin(fit.result.draws, max(LEAST_DRAWS, MOST_VALUES // len(fit.counts.a)))
    ratio = relative_efficiency(draws)
    table = pd.concat([_score(left, ratio) for left in UNITS[unit](fit, draws)], ignore_index=True)
    by = "group" if "group" in table else ["cell", "kind", "weight"]
    table = table.sort_values(by, ascending=True, ignore_index=True)
    size = draws.strength.shape[0] * draws.strength.shape[1]
    if refit:
        table = _refitted(fit, unit, table, good_k(size))
    return Loo(unit, table, size, fit.spec.tie_model.has_tie_parameter)


def relative_efficiency(draws: Draws) -> float:
    """Effective over actual number of draws, averaged over all that was drawn."""
    scalars = [values[..., None] for values in draws.scalars.values()]
    return container.efficiency(np.concatenate([draws.strength, *scalars, *draws.vectors.values()], axis=-1))


def _score(left: Left, ratio: float) -> pd.DataFrame:
    log_weights, pareto_k = container.psis(left.fitted, ratio)
    full = np.nan if left.full is None else logsumexp(log_weights + left.full, axis=1)
    decisive = logsumexp(log_weights + left.decisive, axis=1)
    return left.table.assign(pareto_k=pareto_k, elpd_decisive=decisive, elpd_full=full)


def _refitted(fit: Fit, unit: Unit, table: pd.DataFrame, limit: float) -> pd.DataFrame:
    """Replace the terms whose Pareto k is above the limit by those of a fit without the unit."""
    table = table.copy()
    for at in table.index[table["pareto_k"] > limit]:
        row = table.loc[at]
        decisive, full = _exact(fit, taken(fit.counts, unit, row), float(row["weight"]))
        table.loc[at, "pareto_k"] = 0.0
        table.loc[at, "elpd_decisive"] = np.nan if np.isnan(row["elpd_decisive"]) else decisive
        table.loc[at, "elpd_full"] = full
    return table


def _exact(fit: Fit, out: Floats, power: float) -> tuple[float, float]:
    """Log predictive probabilities of the judgments ``out`` (3, C), by a fit to all others.

    Emptied cells stay among the counts, so that the components, and with them the centring, stay as they are.
    """
    wins_a, ties, wins_b = np.maximum(counts_by_outcome(fit.counts) - out, 0.0)
    counts = replace(fit.counts, wins_a=wins_a, ties=ties, wins_b=wins_b)
    result = run_engine(fit.engine, counts, fit.spec, replace(fit.options, progress=False))
    if result.draws is None:
        raise InputError(f"--engine {fit.engine} gave no draws without one unit; leave --refit out.")
    totals = np.zeros((2, result.draws.strength.shape[0] * result.draws.strength.shape[1]))
    for part in terms(fit, result.draws, np.flatnonzero(out.sum(axis=0))):
        n = out[:, None, part.cells] / power
        totals[0] += (n * part.decisive).sum(axis=(0, 2))
        totals[1] += np.nan if part.full is None else (n * part.full).sum(axis=(0, 2))
    decisive, full = logsumexp(totals, axis=1) - np.log(totals.shape[1])
    return float(decisive), float(full)


def _sum(values: pd.Series[float], count: pd.Series[float]) -> tuple[float, float]:
    """Sum and standard error of terms that count so often."""
    total = float((count * values).sum())
    return total, float(np.sqrt((count * (values - total / count.sum()) ** 2).sum()))


def difference(first: Loo, second: Loo, yardstick: Yardstick = "decisive") -> tuple[float, float] | None:
    """Elpd of the first less that of the second, and the standard error of the difference.

    None where either does not define the yardstick.

    Raises
    ------
    InputError
        The units are not the same: elpd values of different data do not compare.
    """
    values = _matrix((first, second), yardstick)
    if values is None:
        return None
    scores, count = values
    return _sum(scores.iloc[:, 0] - scores.iloc[:, 1], count)


def stacking_weights(loos: Sequence[Loo], yardstick: Yardstick = "decisive") -> Floats:
    """Weights of the models whose mixture predicts the units best (Yao et al. 2018); they sum to one.

    All NaN where a model does not define the yardstick.
    """
    values = _matrix(loos, yardstick)
    if values is None:
        return np.full(len(loos), np.nan)
    scores, count = values[0].to_numpy(), values[1].to_numpy() / values[1].sum()
    density = np.exp(scores - scores.max(axis=1, keepdims=True))

    def objective(weights: Floats) -> float:
        return -float(count @ np.log(density @ weights))

    def slope(weights: Floats) -> Floats:
        return np.asarray(-(count / (density @ weights)) @ density)

    size = len(loos)
    best = minimize(
        objective,
        np.full(size, 1 / size),
        jac=slope,
        method="SLSQP",
        bounds=Bounds(np.zeros(size), np.ones(size)),
        constraints=LinearConstraint(np.ones((1, size)), 1.0, 1.0),
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    weights = np.clip(best.x, 0.0, None)
    return np.asarray(weights / weights.sum())


def _matrix(loos: Sequence[Loo], yardstick: Yardstick) -> tuple[pd.DataFrame, pd.Series[float]] | None:
    """One row a unit, one column a model; and how often each unit counts."""
    tables = [one.scored(yardstick).reset_index(drop=True) for one in loos]
    if any(table.empty for table in tables):
        return None
    given = [table.drop(columns=["pareto_k", "elpd_decisive", "elpd_full"]) for table in tables]
    if len({one.unit for one in loos}) > 1 or not all(given[0].equals(other) for other in given[1:]):
        raise InputError("elpd values compare only on the same units of the same judgments; these differ.")
    scores = pd.concat([table[f"elpd_{yardstick}"] for table in tables], axis=1)
    return scores, tables[0]["count"]
