"""Tie models: how a tie enters the likelihood of a judgment.

Each model is one record in :data:`TIE_MODELS`. Its log-probabilities are written once, against an array
namespace ``xp`` (numpy, jax.numpy or pytensor.tensor), and serve every engine.

``delta`` is the linear predictor on the log-odds scale, positive in favour of ``a``, the item shown first.
``u = logit(t)`` carries the common tie parameter ``t = P(tie | delta = 0)``, a probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayesbt.errors import InputError

Array = Any
LogProbabilities = tuple[Array, Array, Array]


@dataclass(frozen=True)
class TieModel:
    """One way to treat ties.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        For tables and reports.
    source : str
        Author and year.
    log_probabilities : callable
        ``(xp, delta, u) -> (log P(a), log P(tie), log P(b))``. Models without a P(tie) return log P(a) and
        log P(b) of plain Bradley-Terry and zero for the tie, which then never carries a count.
    tie_weight : float or None
        None where a tie is an outcome of its own. Else each tie enters as this many wins of both items.
    native_name : str
        The textbook parameter, empty where there is none.
    log_native : callable or None
        ``(xp, u) -> (log q, log |d log q / du|)``, where q is the positive parameter on which a LogNormal
        prior acts: tau = log(theta) for Rao-Kupper, nu for Davidson.
    logit_of_native : callable or None
        ``(xp, q) -> u``, the inverse of ``log_native``.
    native : callable or None
        ``(xp, u) ->`` the textbook parameter as printed.
    formula : tuple of str
        The likelihood in plain characters, a line each, for reports.
    """

    name: str
    title: str
    source: str
    log_probabilities: Callable[[Any, Array, Array], LogProbabilities]
    tie_weight: float | None = None
    native_name: str = ""
    log_native: Callable[[Any, Array], tuple[Array, Array]] | None = None
    logit_of_native: Callable[[Any, Array], Array] | None = None
    native: Callable[[Any, Array], Array] | None = None
    formula: tuple[str, ...] = ()

    @property
    def has_tie_parameter(self) -> bool:
        """Whether P(tie) is modelled, so that the three probabilities sum to one."""
        return self.tie_weight is None

    def outcome_counts(self, wins_a: Array, ties: Array, wins_b: Array) -> tuple[Array, Array, Array]:
        """Give the counts that the likelihood sees: as they are, or each tie as wins of both items."""
        if self.tie_weight is None:
            return wins_a, ties, wins_b
        shared = self.tie_weight * ties
        return wins_a + shared, 0.0 * ties, wins_b + shared


LOG_2 = 0.6931471805599453


def softplus(xp: Any, x: Array) -> Array:
    """log(1 + exp(x)), without overflow and smooth at 0."""
    return xp.logaddexp(x, 0.0)


def bradley_terry(xp: Any, delta: Array, u: Array) -> LogProbabilities:
    """Return log s(delta), 0 and log s(-delta)."""
    return -softplus(xp, -delta), 0.0 * delta, -softplus(xp, delta)


def rao_kupper_tau(xp: Any, u: Array) -> Array:
    """Return the threshold tau = log(theta), in log-odds: theta = (1 + t) / (1 - t) = 1 + 2 exp(u)."""
    return softplus(xp, u + LOG_2)


def rao_kupper(xp: Any, delta: Array, u: Array) -> LogProbabilities:
    """P(a) = s(delta - tau), P(tie) = (theta^2 - 1) P(a) P(b), P(b) = s(-delta - tau)."""
    tau = rao_kupper_tau(xp, u)
    log_a, log_b = -softplus(xp, tau - delta), -softplus(xp, tau + delta)
    log_theta_squared_minus_one = 2 * LOG_2 + u + softplus(xp, u)
    return log_a, log_theta_squared_minus_one + log_a + log_b, log_b


def davidson(xp: Any, delta: Array, u: Array) -> LogProbabilities:
    """P(a), P(tie), P(b) in proportion exp(delta/2) : nu : exp(-delta/2); nu = 2t / (1 - t) = 2 exp(u)."""
    log_nu = u + LOG_2
    log_z = xp.logaddexp(xp.logaddexp(delta / 2, -delta / 2), log_nu)
    return delta / 2 - log_z, log_nu - log_z, -delta / 2 - log_z


def _rao_kupper_log_native(xp: Any, u: Array) -> tuple[Array, Array]:
    log_tau = xp.log(rao_kupper_tau(xp, u))
    return log_tau, -softplus(xp, -u - LOG_2) - log_tau


def _davidson_log_native(xp: Any, u: Array) -> tuple[Array, Array]:
    return u + LOG_2, 0.0 * u


TIE_MODELS: dict[str, TieModel] = {
    model.name: model
    for model in (
        TieModel(
            "rao-kupper",
            "Rao-Kupper",
            "Rao and Kupper (1967)",
            rao_kupper,
            native_name="theta",
            log_native=_rao_kupper_log_native,
            logit_of_native=lambda xp, tau: tau + xp.log(-xp.expm1(-tau)) - LOG_2,
            native=lambda xp, u: 1 + 2 * xp.exp(u),
            formula=(
                "P(a) = s(δ - τ)",
                "P(b) = s(-δ - τ)",
                "P(tie) = (θ² - 1) · P(a) · P(b)",
                "θ = exp(τ) = (1 + t) / (1 - t)",
            ),
        ),
        TieModel(
            "davidson",
            "Davidson",
            "Davidson (1970)",
            davidson,
            native_name="nu",
            log_native=_davidson_log_native,
            logit_of_native=lambda xp, nu: xp.log(nu) - LOG_2,
            native=lambda xp, u: 2 * xp.exp(u),
            formula=(
                "P(a) = exp(δ/2) / Z",
                "P(b) = exp(-δ/2) / Z",
                "P(tie) = ν / Z",
                "Z = exp(δ/2) + ν + exp(-δ/2),   ν = 2t / (1 - t)",
            ),
        ),
        TieModel(
            "split",
            "Split (a tie is a win each way)",
            "the paper, section 3.2",
            bradley_terry,
            tie_weight=1.0,
            formula=("P(a) = s(δ);   each tie enters as one win for a and one win for b",),
        ),
        TieModel(
            "split-half",
            "Split-half (a tie is half a win each way)",
            "common practice; see the paper, section 3.2",
            bradley_terry,
            tie_weight=0.5,
            formula=("P(a) = s(δ);   each tie enters as half a win for a and half a win for b",),
        ),
        TieModel(
            "drop",
            "Drop (decisive judgments only)",
            "Bradley and Terry (1952)",
            bradley_terry,
            tie_weight=0.0,
            formula=("P(a) = s(δ);   ties are left out",),
        ),
    )
}


def tie_model(name: str) -> TieModel:
    """Look up the record of a tie model.

    >>> tie_model("davidson").native_name
    'nu'
    """
    if name not in TIE_MODELS:
        raise InputError(f"--ties {name!r} is not a tie model. Allowed: {', '.join(TIE_MODELS)}.")
    return TIE_MODELS[name]
