"""Labels drawn from label probabilities, each by a number of its own: the order of work is no matter."""

from __future__ import annotations

import hashlib
import json

from bayesbt.judges.protocol import Outcome, Verdict


def uniform(*key: str | int) -> float:
    """Give a number in [0, 1) that depends on the key alone, the same on every machine.

    >>> uniform("x", 1) == uniform("x", 1) != uniform("x", 2)
    True
    """
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return (int.from_bytes(digest[:8]) >> 11) * 2.0**-53


def seed_of(*key: str | int) -> int:
    """Give a seed, 0 to 2**63 - 1, that depends on the key alone, the same on every machine."""
    digest = hashlib.sha256(json.dumps(["seed", *key]).encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


def draw_outcome(verdict: Verdict, number: float) -> Outcome:
    """Draw a label at temperature 1 from the probabilities renormalised over the three labels.

    Parameters
    ----------
    verdict : Verdict
        A scored verdict: at least one label has some probability.
    number : float
        In [0, 1): below P(a) it is ``a``, below P(a) + P(tie) it is ``tie``, else ``b``.
    """
    position = number * (verdict.p_a + verdict.p_tie + verdict.p_b)
    if position < verdict.p_a:
        return "a"
    return "tie" if position < verdict.p_a + verdict.p_tie else "b"
