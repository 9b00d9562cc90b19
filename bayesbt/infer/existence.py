"""When the maximum of the likelihood is finite, and whom to name when it is not."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from scipy.sparse.linalg import lsqr

from bayesbt import graph
from bayesbt.counts import Counts
from bayesbt.errors import SeparationError
from bayesbt.infer.model import Cells
from bayesbt.spec import ModelSpec

REMEDY = (
    "Use a Bayesian engine (--engine numpyro or laplace: the prior keeps every strength finite and the item "
    "is named in the output), collect more judgments of these items, or leave them out."
)


def separation_messages(counts: Counts, cells: Cells, spec: ModelSpec) -> list[str]:
    """Return one sentence for every reason why the likelihood has no finite maximum; empty when it has."""
    found = graph.separation(counts.n_items, cells.a, cells.b, cells.wins_a, cells.ties, cells.wins_b)
    messages = [graph.describe(part, counts.items) for part in found]
    if spec.tie_model.has_tie_parameter and not found:
        if not cells.ties.any():
            messages.append(
                "There is no tie: the tie parameter goes to 0, where the model is that of --ties drop."
            )
        elif not (cells.wins_a.any() or cells.wins_b.any()):
            messages.append("Every judgment is a tie: the tie parameter goes to 1.")
    if spec.has_order and order_confounded(cells):
        messages.append(
            "The order effect cannot be told from the strengths: no pair was judged in both orders and the "
            "pairs form no cycle that would tell them apart."
        )
    elif spec.has_order and not found:
        messages += _order_separation(cells)
    return messages


def require_finite_maximum(counts: Counts, cells: Cells, spec: ModelSpec) -> None:
    """Raise a SeparationError that names the items at fault and the remedies."""
    messages = separation_messages(counts, cells, spec)
    if messages:
        raise SeparationError(f"Maximum likelihood has no finite answer. {' '.join(messages)} {REMEDY}")


def _order_separation(cells: Cells) -> list[str]:
    """Say whether raising the order effect (and moving the strengths along) never lowers the likelihood.

    A direction v = (strengths, beta) with x_c' v >= 0 in every cell that a has won, <= 0 where b has won and
    = 0 where there is a tie, and not all zero: Albert and Anderson (1984), found as a linear programme.
    """
    rows = np.arange(len(cells.a))
    ones = np.ones(len(rows))
    n = cells.n_items
    design = csr_array(
        (
            np.concatenate([ones, -ones, ones]),
            (np.tile(rows, 3), np.concatenate([cells.a, cells.b, 0 * rows + n])),
        ),
        shape=(len(rows), n + 1),
    )
    won, lost, tied = cells.wins_a > 0, cells.wins_b > 0, cells.ties > 0
    both = (won & lost) | tied
    one_way = vstack([-design[won & ~both], design[lost & ~both]])
    if one_way.shape[0] == 0:
        return []
    equal = design[both] if both.any() else None
    best = linprog(  # type: ignore[call-overload]  # (the stubs do not know sparse constraints)
        np.asarray(one_way.sum(axis=0)).ravel(),
        A_ub=one_way,
        b_ub=np.zeros(one_way.shape[0]),
        A_eq=equal,
        b_eq=None if equal is None else np.zeros(equal.shape[0]),
        bounds=(-1, 1),
        method="highs",
    )
    if best.fun > -1e-7:
        return []
    side = "first" if best.x[-1] > 0 else "second"
    return [
        f"The order effect has no finite estimate: wherever the order could decide, the item shown {side} "
        "won, so the likelihood grows with it for ever."
    ]


def order_confounded(cells: Cells) -> bool:
    """Say whether some strengths explain the data exactly as an order effect would.

    True where numbers v_i exist with v_a - v_b = 1 in every cell, for instance when each pair was shown in
    one order only and the pairs form a tree.
    """
    n, rows = cells.n_items, np.arange(len(cells.a))
    ones = np.ones(len(rows))
    entries = np.concatenate([ones, -ones]), (np.tile(rows, 2), np.concatenate([cells.a, cells.b]))
    solution = lsqr(csr_array(entries, shape=(len(rows), n)), ones, atol=1e-12, btol=1e-12)
    return bool(solution[3] < 1e-6)
