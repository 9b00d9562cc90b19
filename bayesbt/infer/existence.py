"""When the maximum of the likelihood is finite, and whom to name when it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from bayesbt import graph
from bayesbt.counts import Counts
from bayesbt.errors import SeparationError
from bayesbt.infer.model import Cells
from bayesbt.infer.results import centre
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]

ITEMS_REMEDY = (
    "Use a Bayesian engine (--engine numpyro or laplace: the prior keeps every strength finite and the item "
    "is named in the output), collect more judgments of these items, or leave them out."
)
TIE_REMEDY = (
    "Use --ties drop, which is the same model here, or a Bayesian engine (--engine numpyro or laplace)."
)
ORDER_REMEDY = (
    "Leave the order effect out (--order none), judge pairs in both orders, or use a Bayesian engine."
)
CONFOUNDED = 1e-10  # an order effect of which a smaller share is its own cannot be estimated


@dataclass(frozen=True)
class Obstacle:
    """One reason why the likelihood has no finite maximum, and what to do for maximum likelihood."""

    message: str
    remedy: str


def obstacles(counts: Counts, cells: Cells, spec: ModelSpec) -> list[Obstacle]:
    """Find every reason why the likelihood has no finite maximum; none when it has."""
    found = graph.separation(counts.n_items, cells.a, cells.b, cells.wins_a, cells.ties, cells.wins_b)
    reasons = [Obstacle(graph.describe(part, counts.items), ITEMS_REMEDY) for part in found]
    if spec.has_order and order_confounded(cells):
        message = (
            "The order effect cannot be told from the strengths: no pair was judged in both orders and the "
            "pairs form no cycle that would tell them apart."
        )
        reasons.append(Obstacle(message, ORDER_REMEDY))
    if found or reasons:
        return reasons
    if spec.tie_model.has_tie_parameter:
        reasons += _tie_obstacles(counts, cells, spec)
    if spec.has_order and not reasons:
        reasons += _order_obstacles(cells)
    return reasons


def require_finite_maximum(counts: Counts, cells: Cells, spec: ModelSpec) -> None:
    """Raise a SeparationError that names the items at fault and the remedies."""
    found = obstacles(counts, cells, spec)
    if found:
        reasons = " ".join(obstacle.message for obstacle in found)
        remedies = " ".join(dict.fromkeys(obstacle.remedy for obstacle in found))
        raise SeparationError(f"Maximum likelihood has no finite answer. {reasons} {remedies}")


def _tie_obstacles(counts: Counts, cells: Cells, spec: ModelSpec) -> list[Obstacle]:
    if not cells.ties.any():
        message = "There is no tie: the tie parameter goes to 0, where the model is that of --ties drop."
        return [Obstacle(message, TIE_REMEDY)]
    if not (cells.wins_a.any() or cells.wins_b.any()):
        message = "Every judgment is a tie: the tie parameter goes to 1."
        return [Obstacle(message, "Use a Bayesian engine (--engine numpyro or laplace).")]
    if not spec.has_order and _wins_go_in_a_circle(cells):
        return []  # around the circle the differences sum to zero, so no threshold above 0 is below them all
    direction = _recession(cells, has_order=spec.has_order, has_threshold=True)
    if direction is None:
        return []
    strength = direction[: cells.n_items]
    moved = np.abs(centre(strength[None], counts.component)[0]) > 1e-6
    apart = np.isin(counts.component, counts.component[moved])
    names = [item for item, moves in zip(counts.items, apart, strict=True) if moves] or list(counts.items)
    shown = ", ".join(names[:8]) + (f", ... ({len(names):,} items)" if len(names) > 8 else "")
    message = (
        f"The tie parameter and the strengths of {shown} can grow together for ever: no win contradicts a "
        "threshold, however large, below which everything is a tie."
    )
    return [Obstacle(message, ITEMS_REMEDY)]


def _wins_go_in_a_circle(cells: Cells) -> bool:
    """Say whether some items beat each other in a circle (or one pair both ways), ties left out."""
    winner = np.concatenate([cells.a[cells.wins_a > 0], cells.b[cells.wins_b > 0]])
    loser = np.concatenate([cells.b[cells.wins_a > 0], cells.a[cells.wins_b > 0]])
    groups = graph.win_graph_groups(cells.n_items, winner, loser)
    return bool((np.bincount(groups) > 1).any())


def _order_obstacles(cells: Cells) -> list[Obstacle]:
    direction = _recession(cells, has_order=True, has_threshold=False)
    if direction is None:
        return []
    side = "first" if direction[-1] > 0 else "second"
    message = (
        f"The order effect has no finite estimate: wherever the order could decide, the item shown {side} "
        "won, so the likelihood grows with it for ever."
    )
    return [Obstacle(message, ORDER_REMEDY)]


def _recession(cells: Cells, *, has_order: bool, has_threshold: bool) -> Floats | None:
    """Find a direction along which the likelihood never falls; None where there is none.

    A direction (strengths v, threshold t >= 0, order effect beta) with d = v_a - v_b + beta in each cell
    never lowers the likelihood if d >= t where a has won, -d >= t where b has won, and |d| <= t where there
    is a tie: Albert and Anderson (1984), for ties too. Found as a linear programme that pushes t, or without
    a threshold the sum of |d| over the won cells, as far as it goes.

    Returns
    -------
    (I + 2,) array or None
        v, t, beta.
    """
    n, rows = cells.n_items, np.arange(len(cells.a))
    ones = np.ones(len(rows))
    entries = np.concatenate([ones, -ones, ones])
    columns = np.concatenate([cells.a, cells.b, np.full(len(rows), n + 1)])
    difference = csr_array((entries, (np.tile(rows, 3), columns)), shape=(len(rows), n + 2))
    threshold = csr_array((ones, (rows, np.full(len(rows), n))), shape=(len(rows), n + 2))
    won, lost, tied = cells.wins_a > 0, cells.wins_b > 0, cells.ties > 0
    below = vstack(  # each row times (v, t, beta) must not exceed 0
        [
            (threshold - difference)[won],
            (threshold + difference)[lost],
            (difference - threshold)[tied],
            (-difference - threshold)[tied],
        ]
    )
    goal = np.zeros(n + 2)
    if has_threshold:
        goal[n] = -1.0
    else:
        goal = np.asarray(difference[lost].sum(axis=0) - difference[won].sum(axis=0)).ravel()
    bounds = [(-1.0, 1.0)] * n + [(0.0, float(has_threshold)), (-float(has_order), float(has_order))]
    best = linprog(goal, A_ub=below, b_ub=np.zeros(below.shape[0]), bounds=bounds, method="highs")
    return np.asarray(best.x) if best.fun is not None and best.fun < -1e-7 else None


def order_confounded(cells: Cells) -> bool:
    """Say whether some strengths explain the data exactly as an order effect would."""
    weight = np.ones(len(cells.a))
    return graph.order_share(cells.n_items, cells.a, cells.b, weight) > 1 - CONFOUNDED
