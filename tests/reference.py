"""The tie models again, from the papers on the worth scale: independent of bayesbt/ties.py.

Worths pi > 0 are exp(strength); a plain loop over judgments, so that nothing is shared with the package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def rao_kupper(pi_a: float, pi_b: float, theta: float) -> tuple[float, float, float]:
    """Rao and Kupper (1967), equations 2.2 to 2.4: P(a), P(tie), P(b)."""
    a = pi_a / (pi_a + theta * pi_b)
    b = pi_b / (pi_b + theta * pi_a)
    tie = (theta**2 - 1) * pi_a * pi_b / ((pi_a + theta * pi_b) * (pi_b + theta * pi_a))
    return a, tie, b


def davidson(pi_a: float, pi_b: float, nu: float) -> tuple[float, float, float]:
    """Davidson (1970), equation 2.5: P(a), P(tie), P(b)."""
    middle = nu * math.sqrt(pi_a * pi_b)
    total = pi_a + pi_b + middle
    return pi_a / total, middle / total, pi_b / total


def bradley_terry(pi_a: float, pi_b: float) -> tuple[float, float]:
    """Bradley and Terry (1952): P(a), P(b)."""
    return pi_a / (pi_a + pi_b), pi_b / (pi_a + pi_b)


def native_of(name: str, t: float) -> float:
    """The textbook parameter at P(tie | equal worth) = t."""
    return (1 + t) / (1 - t) if name == "rao-kupper" else 2 * t / (1 - t)


def log_likelihood(
    name: str,
    cells: Sequence[tuple[int, int, float, float, float]],
    strength: Sequence[float],
    order: float,
    t: float,
) -> float:
    """Sum over (a, b, wins of a, ties, wins of b); the order effect multiplies a's worth."""
    total = 0.0
    for a, b, wins_a, ties, wins_b in cells:
        pi_a, pi_b = math.exp(strength[a] + order), math.exp(strength[b])
        if name in ("rao-kupper", "davidson"):
            formula = rao_kupper if name == "rao-kupper" else davidson
            p_a, p_tie, p_b = formula(pi_a, pi_b, native_of(name, t))
            total += wins_a * math.log(p_a) + ties * math.log(p_tie) + wins_b * math.log(p_b)
        else:
            p_a, p_b = bradley_terry(pi_a, pi_b)
            each = {"split": 1.0, "split-half": 0.5, "drop": 0.0}[name] * ties
            total += (wins_a + each) * math.log(p_a) + (wins_b + each) * math.log(p_b)
    return total
