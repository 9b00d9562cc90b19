"""Whether a fit can be trusted: computed once, carried into every output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesbt.infer.results import Draws, EngineResult

Floats = NDArray[np.float64]

RHAT_LIMIT = 1.01
ESS_LIMIT = 400
E_BFMI_LIMIT = 0.3


@dataclass(frozen=True)
class Diagnostics:
    """Convergence of a sampler (None where the engine does not sample) and messages for the reader."""

    ok: bool
    rhat_max: float | None
    ess_bulk_min: float | None
    ess_tail_min: float | None
    divergences: int | None
    e_bfmi_min: float | None
    messages: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """As in fit.json."""
        return asdict(self) | {"messages": list(self.messages)}


def diagnose(
    result: EngineResult, engine: str, messages: Sequence[str], extra: Floats | None = None
) -> Diagnostics:
    """Judge the draws of a sampler against the limits; other engines have nothing to converge.

    ``extra`` (chains, draws, n): further draws that must converge.
    """
    messages = (*messages, *result.messages)
    if result.draws is None or not result.draws.sample_stats:
        return Diagnostics(True, None, None, None, None, None, messages)
    from bayesbt.infer.container import convergence, e_bfmi

    moving = _moving(result.draws, extra)
    rhat, bulk, tail = convergence(moving) if moving.shape[-1] else (np.array([np.nan]),) * 3
    stats = result.draws.sample_stats
    divergences, bfmi = None, None  # of Hamiltonian samplers only
    if "energy" in stats:
        divergences = int(stats["diverging"].sum())
        with np.errstate(invalid="ignore"):
            bfmi = float(e_bfmi(stats["energy"].astype(float)).min())
    values = (  # what cannot be computed has not converged
        float(np.nan_to_num(rhat, nan=np.inf).max()),
        float(np.nan_to_num(bulk, nan=0.0).min()),
        float(np.nan_to_num(tail, nan=0.0).min()),
    )
    poor = _poor(values, divergences, bfmi, engine)
    return Diagnostics(not poor, *values, divergences, bfmi, (*poor, *messages))


def _moving(draws: Draws, extra: Floats | None) -> Floats:
    """(chains, draws, n) Every quantity that is not the same in all draws."""
    columns = [draws.strength, *(scalar[..., None] for scalar in draws.scalars.values())]
    columns += [*draws.vectors.values(), *([] if extra is None else [extra])]
    stacked = np.concatenate(columns, axis=-1)
    return stacked[..., np.ptp(stacked, axis=(0, 1)) > 0]  # an item alone in its component is always 0


def _poor(
    values: tuple[float, float, float], divergences: int | None, bfmi: float | None, engine: str
) -> list[str]:
    rhat, bulk, tail = values
    messages = []
    if not rhat < RHAT_LIMIT:
        messages.append(
            f"The chains disagree: largest R-hat {rhat:.3f} (limit {RHAT_LIMIT}). "
            "Do not use these numbers; raise --tune and --draws."
        )
    if not min(bulk, tail) >= ESS_LIMIT:
        messages.append(
            f"Too few effective draws: bulk {bulk:.0f}, tail {tail:.0f} at the worst "
            f"(limit {ESS_LIMIT}). Raise --draws."
        )
    if divergences:
        messages.append(
            f"{divergences} divergent transitions: the posterior may be explored badly. "
            "Raise --target-accept (0.95)."
        )
    if bfmi is not None and not bfmi > E_BFMI_LIMIT:
        messages.append(
            f"E-BFMI {bfmi:.2f} (limit {E_BFMI_LIMIT}): raise --tune, or fix strength_sd by --prior."
        )
    return messages
