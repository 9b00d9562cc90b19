"""What an engine returns, whatever it is: estimates, and draws where it quantifies uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The scalar parameters in outputs: t (probability), beta (log-odds), sd of the strengths (log-odds).
SCALARS = ("tie", "order", "strength_sd", "order_judge_sd", "tie_judge_sd", "adherence_sd")

VECTORS = ("order_by_judge", "tie_by_judge", "adherence", "covariate")

Sampler = Literal["pymc", "nutpie"]


@dataclass(frozen=True)
class Options:
    """How to run an engine.

    Attributes
    ----------
    draws, tune, chains : int
        Per chain for the samplers; ``draws * chains`` is the number of draws of the other engines.
    target_accept : float
        Of NUTS, a probability.
    seed : int
        The same seed gives the same numbers.
    interval : float
        Probability of every interval.
    tau, reg : float
        gienapp: the fixed threshold (log-odds) and the virtual wins and losses of each item.
    alpha : float
        ilsr: regularisation, as in choix.
    reference : str or None
        Give strengths and errors relative to this item, not centred.
    sampler : {"pymc", "nutpie"}
        Whose NUTS draws from the PyMC model.
    progress : bool
        A progress bar on standard error, where that is a terminal.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    target_accept: float = 0.9
    seed: int = 0
    interval: float = 0.95
    tau: float = 0.05
    reg: float = 0.1
    alpha: float = 0.01
    reference: str | None = None
    sampler: Sampler = "pymc"
    progress: bool = False


@dataclass(frozen=True)
class Draws:
    """Draws: strengths (chains, draws, I) in log-odds, scalars (chains, draws) by their output name.

    ``vectors`` (chains, draws, n): ``order_by_judge`` (beta in log-odds), ``tie_by_judge`` (t, a probability)
    and ``adherence`` (alpha) with n = J; ``covariate`` (gamma in log-odds) with n = K.
    """

    strength: Floats
    scalars: dict[str, Floats]
    sample_stats: dict[str, NDArray[np.generic]] = field(default_factory=dict)
    vectors: dict[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """A scalar estimate with its standard error on the scale on which it is approximately normal.

    ``scale`` names that scale: ``logit`` for t, ``log`` for the strengths' sd, ``identity`` for beta.
    """

    value: float
    error: float
    scale: str


@dataclass(frozen=True)
class EngineResult:
    """One engine's answer.

    ``strength`` (I,) and ``covariance`` (I, I) are set by engines that maximise; ``draws`` by all that
    quantify uncertainty. ``bayesian`` says whether draws are a posterior or a sampling distribution.
    """

    bayesian: bool
    draws: Draws | None = None
    strength: Floats | None = None
    covariance: Floats | None = None
    scalars: dict[str, Estimate] = field(default_factory=dict)
    loglik: float | None = None
    messages: tuple[str, ...] = ()


def finite_logit(t: Floats) -> Floats:
    """Return logit(t), finite too where rounding has made a probability 0 or 1.

    >>> bool(np.isfinite(finite_logit(np.array([0.0, 0.3, 1.0]))).all())
    True
    """
    inside = np.clip(t, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def centre(strength: Floats, component: Ints) -> Floats:
    """Subtract the mean of each component along the last axis (I)."""
    n_components = int(component.max(initial=-1)) + 1
    flat = strength.reshape(-1, strength.shape[-1])
    out = np.empty_like(flat)
    for c in range(n_components):
        members = np.flatnonzero(component == c)
        block = flat[:, members]
        out[:, members] = block - block.mean(axis=1, keepdims=True)
    return out.reshape(strength.shape)
