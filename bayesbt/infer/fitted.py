"""A fit: what was fitted, to which counts, with what result, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.infer.contraction import contraction
from bayesbt.infer.diagnostics import Diagnostics
from bayesbt.infer.results import SCALARS, EngineResult, Estimate, Options, finite_logit
from bayesbt.ranks import highest_density_interval, rank_draws, shared_ranks
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Fit:
    """The result of :func:`bayesbt.fit`. Strengths are in log-odds, centred within each component.

    Attributes
    ----------
    spec : ModelSpec
    counts : Counts
    engine : str
    options : Options
    result : EngineResult
    diagnostics : Diagnostics
    provenance : dict
        Versions, seed, device, wall time, hashes of the inputs.
    criticism : dict
        Predictive checks, pairs and triads that do not fit, sensitivity to prior and likelihood: as in
        fit.json, see :class:`bayesbt.infer.criticism.Criticism`. Empty where there is no posterior.
    """

    spec: ModelSpec
    counts: Counts
    engine: str
    options: Options
    result: EngineResult
    diagnostics: Diagnostics
    provenance: dict[str, Any] = field(default_factory=dict)
    criticism: dict[str, Any] = field(default_factory=dict)

    @property
    def items(self) -> tuple[str, ...]:
        """Item labels; every (I,) array follows them."""
        return self.counts.items

    @property
    def component(self) -> Ints:
        """(I,) Connected component of each item."""
        return self.counts.component

    @cached_property
    def strength_draws(self) -> Floats | None:
        """(S, I) draws, relative to the reference item if there is one; None for point engines."""
        if self.result.draws is None:
            return None
        flat = self.result.draws.strength.reshape(-1, self.counts.n_items)
        return flat - self._reference_shift(flat)

    @cached_property
    def parameter_draws(self) -> dict[str, Floats]:
        """Draws (S,) of ``tie`` (t, a probability), ``order`` (log-odds), ``strength_sd`` (log-odds)."""
        draws = self.result.draws
        return {} if draws is None else {name: values.ravel() for name, values in draws.scalars.items()}

    def _reference_shift(self, values: Floats) -> Floats:
        """Give what to subtract along the last axis so that the reference item is 0 in its component."""
        shift = np.zeros_like(values)
        if self.options.reference is not None:
            at = self._reference_index()
            members = self.component == self.component[at]
            shift[..., members] = values[..., [at]]
        return shift

    def _reference_index(self) -> int:
        if self.options.reference not in self.items:
            raise InputError(f"--reference {self.options.reference!r} is not an item. {_some(self.items)}")
        return self.items.index(self.options.reference)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """(I,) rows in the order of ``items``: strength, sd, lower, upper; NaN where there is none."""
        strength, covariance = self.result.strength, self.result.covariance
        if strength is not None and covariance is not None:
            return self._normal_estimates(strength, covariance)
        if strength is not None:
            columns = {"strength": strength - self._reference_shift(strength)}
            return pd.DataFrame(columns).assign(sd=np.nan, lower=np.nan, upper=np.nan)
        draws = self.strength_draws
        if draws is None:
            raise InputError("an engine returned neither estimates nor draws")
        lower, upper = highest_density_interval(draws, self.options.interval)
        frame = pd.DataFrame(
            {"strength": draws.mean(axis=0), "sd": draws.std(axis=0, ddof=1), "lower": lower, "upper": upper}
        )
        return self._with_priors(frame)

    def _with_priors(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Give items never compared the prior: centring them within their own component leaves nothing."""
        alone = self.counts.comparisons == 0
        if alone.any():
            fixed = self.spec.priors.strength_sd.fixed
            sd = self.parameters()["strength_sd"]["mean"] if fixed is None else fixed
            reach = norm.ppf(0.5 + self.options.interval / 2) * sd
            frame.loc[alone, ["strength", "sd", "lower", "upper"]] = (0.0, sd, -reach, reach)
        return frame

    def _normal_estimates(self, strength: Floats, covariance: Floats) -> pd.DataFrame:
        variance = np.diag(covariance).copy()
        if self.options.reference is not None:
            at = self._reference_index()
            members = self.component == self.component[at]
            variance[members] += covariance[at, at] - 2 * covariance[members, at]
        sd = np.sqrt(np.maximum(variance, 0.0))
        strength = strength - self._reference_shift(strength)
        reach = norm.ppf(0.5 + self.options.interval / 2) * sd
        return pd.DataFrame(
            {"strength": strength, "sd": sd, "lower": strength - reach, "upper": strength + reach}
        )

    def parameters(self) -> dict[str, dict[str, Any]]:
        """Mean, sd and interval of the scalar parameters, as in fit.json."""
        out: dict[str, dict[str, Any]] = {}
        for name in SCALARS:
            if name in self.result.scalars:
                out[name] = self._from_estimate(self.result.scalars[name])
            elif name in self.parameter_draws:
                out[name] = self._from_draws(self.parameter_draws[name])
            if name == "tie" and name in out:
                out[name]["native"] = self._native(out[name]["mean"])
        return out

    def judge_parameters(self) -> pd.DataFrame:
        """One row a judge: judgments, and mean and interval of what the model gives each judge.

        Columns ``judge``, ``judgments`` and, where modelled, ``order`` (beta, log-odds), ``tie`` (t, a
        probability) and ``adherence`` (alpha), each with ``_lower`` and ``_upper``.
        """
        if not self.spec.by_judge:
            return pd.DataFrame(columns=["judge", "judgments"])
        counts = self.counts
        weight = np.bincount(counts.judge, counts.wins_a + counts.ties + counts.wins_b, len(counts.judges))
        columns = {"order_by_judge": "order", "tie_by_judge": "tie", "adherence": "adherence"}
        table = self._vector_table(columns)
        return pd.concat([pd.DataFrame({"judge": counts.judges, "judgments": weight}), table], axis=1)

    def covariate_parameters(self) -> pd.DataFrame:
        """One row a covariate: mean and interval of gamma, in log-odds for one standard deviation."""
        table = self._vector_table({"covariate": "coefficient"})
        return pd.concat([pd.DataFrame({"covariate": list(self.spec.covariates)}), table], axis=1)

    def _vector_table(self, columns: Mapping[str, str]) -> pd.DataFrame:
        """Mean and interval, by column, of the vectors of draws that the fit has."""
        vectors = {} if self.result.draws is None else self.result.draws.vectors
        table: dict[str, Floats] = {}
        for name, public in columns.items():
            if name in vectors:
                draws = vectors[name].reshape(-1, vectors[name].shape[-1])
                lower, upper = highest_density_interval(draws, self.options.interval)
                table |= {public: draws.mean(axis=0), f"{public}_lower": lower, f"{public}_upper": upper}
        return pd.DataFrame(table)

    def _from_draws(self, draws: Floats) -> dict[str, Any]:
        lower, upper = highest_density_interval(draws, self.options.interval)
        return {
            "mean": float(draws.mean()),
            "sd": float(draws.std(ddof=1)),
            "lower": float(lower),
            "upper": float(upper),
        }

    def _from_estimate(self, estimate: Estimate) -> dict[str, Any]:
        """Interval on the scale on which the estimate is about normal; sd by the delta method."""
        value, reach = estimate.value, norm.ppf(0.5 + self.options.interval / 2) * estimate.error
        if estimate.scale == "logit":
            slope, ends = value * (1 - value), expit(logit(value) + np.array([-reach, reach]))
        elif estimate.scale == "log":
            slope, ends = value, value * np.exp(np.array([-reach, reach]))
        else:
            slope, ends = 1.0, value + np.array([-reach, reach])
        lower, upper = ends.tolist()
        return {"mean": value, "sd": slope * estimate.error, "lower": lower, "upper": upper}

    def _native(self, mean: float) -> dict[str, Any]:
        model = self.spec.tie_model
        if model.native is None:
            return {}
        values = finite_logit(self.parameter_draws["tie"] if self.result.bayesian else np.asarray(mean))
        return {"name": model.native_name, "mean": float(np.mean(model.native(np, values)))}

    def ranking(self) -> pd.DataFrame:
        """Return one row an item, strongest first within each component.

        Returns
        -------
        DataFrame
            ``item``, ``topic`` (where known), ``component``, ``strength`` (log-odds), ``sd``, ``lower``,
            ``upper``, ``rank`` (equal strengths share it; NaN for items never compared), ``rank_lower``,
            ``rank_upper`` (interval of the rank), ``p_best``, ``comparisons`` and, with a
            posterior, ``contraction`` (1 - Var(posterior) / Var(prior): near 0 where only the prior speaks).
        """
        return self._ranking.copy()

    @cached_property
    def _ranking(self) -> pd.DataFrame:
        counts = self.counts
        compared = counts.comparisons > 0
        frame = pd.DataFrame({"item": counts.items})
        if counts.topics is not None:
            frame["topic"] = counts.topics
        frame = pd.concat([frame.assign(component=self.component), self.estimates], axis=1)
        frame["rank"] = shared_ranks(np.where(compared, frame["strength"], np.nan), self.component)
        frame[["rank_lower", "rank_upper", "p_best"]] = np.nan
        if self.strength_draws is not None:
            ranks = rank_draws(self.strength_draws, self.component)
            tail = (1 - self.options.interval) / 2
            lower, upper = np.quantile(ranks, (tail, 1 - tail), axis=0, method="inverted_cdf")
            frame["rank_lower"], frame["rank_upper"] = lower.astype(float), upper.astype(float)
            frame["p_best"] = (ranks == 1).mean(axis=0)
            frame.loc[~compared, ["rank_lower", "rank_upper", "p_best"]] = np.nan
        frame["comparisons"] = counts.comparisons
        if self.result.bayesian:
            frame["contraction"] = contraction(self)
        return frame.sort_values(["component", "rank", "item"], kind="stable", ignore_index=True)

    def summary(self) -> dict[str, Any]:
        """Return the document of fit.json (CONTRACT, section 4)."""
        counts = self.counts
        priors = self.spec.priors_in_force() if self.result.bayesian else {}
        model: dict[str, Any] = {name: getattr(self.spec, name) for name in ("ties", "order", "judges")}
        extra: dict[str, Any] = {}
        if self.spec.by_judge:
            model["tie_parameter"] = self.spec.tie_parameter
            extra["judges"] = self.judge_parameters().to_dict(orient="records")
        if self.spec.covariates:
            extra["covariates"] = self.covariate_parameters().to_dict(orient="records")
        if self.criticism:
            extra["criticism"] = self.criticism
        document: dict[str, Any] = plain(
            {
                "model": model | {"engine": self.engine, "priors": priors},
                "data": {
                    "judgments": counts.judgments,
                    "ties": counts.ties.sum(),
                    "unscored": counts.unscored,
                    "items": counts.n_items,
                    "components": counts.n_components,
                },
                "loglik": self.result.loglik,
                "parameters": self.parameters(),
                "items": self.ranking().to_dict(orient="records"),
                "contrasts": {"covariance": "in posterior.nc / counts of the fit"},
                "diagnostics": self.diagnostics.as_dict(),
                "interval": self.options.interval,
                "reference": self.options.reference,
            }
            | extra
        )
        return document

    @cached_property
    def idata(self) -> Any:
        """ArviZ container: InferenceData, or DataTree with ArviZ 1.0 and later.

        ``log_likelihood`` holds ``judgment``, one value for each kind of judgment that the likelihood counts;
        the coordinate ``count`` says how many there are, and ``az.loo`` takes each once. To compare models,
        give ``az.compare`` the results of :meth:`bayesbt.infer.loo.Loo.arviz`.
        """
        from bayesbt.infer.groups import container_of

        return container_of(self)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the fit folder (CONTRACT, section 3); an existing one only with ``force``."""
        from bayesbt.infer.folder import save_fit

        return save_fit(self, Path(folder), force=force)


def plain(value: Any) -> Any:
    """Numbers and containers as JSON has them: NaN is null, whole floats are integers where they count."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if not np.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _some(items: tuple[str, ...], limit: int = 12) -> str:
    shown = ", ".join(items[:limit])
    return f"Allowed: {shown}{f', ... ({len(items):,} in all)' if len(items) > limit else ''}."
