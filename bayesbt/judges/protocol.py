"""What a judge is given, what it gives back, and what any judge must offer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from bayesbt.judges.prompts import Prompt
    from bayesbt.judges.settings import Decode

Outcome = Literal["a", "tie", "b"]


@dataclass(frozen=True)
class Presentation:
    """One question to a judge: two texts in the order in which they are shown, on one dimension.

    ``item_a`` is shown first. The same pair in the other order is another presentation.

    Attributes
    ----------
    run : int or None
        Which run is asked, of a judge that writes (``decode`` is ``generate``); None asks for probabilities.
    seed : int
        Of what the judge writes, 0 to 2**63 - 1: a function of the run's seed and of all that names the
        question.
    """

    item_a: str
    item_b: str
    text_a: str
    text_b: str
    dimension: str
    topic: str | None = None
    run: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Verdict:
    """The answer to one presentation: exact probabilities of the three labels, or the label that was written.

    Attributes
    ----------
    p_a, p_tie, p_b, p_other : float
        Probabilities that sum to one; ``p_other`` is what falls on no label. All NaN where ``reason`` is
        or ``outcome`` is given.
    outcome : str or None
        The label of what the judge wrote, ``a``, ``tie`` or ``b``; None where it gave probabilities or no
        verdict.
    raw : str
        What the judge wrote, where it wrote anything.
    reason : str
        Why there is no answer, beginning with ``parse``, ``refusal`` or ``error``. Empty where there is one.
    """

    p_a: float
    p_tie: float
    p_b: float
    p_other: float
    raw: str = ""
    reason: str = ""
    outcome: Outcome | None = None

    @classmethod
    def written(cls, outcome: Outcome, raw: str) -> Verdict:
        """Make the verdict of a judge that wrote its answer."""
        return cls(math.nan, math.nan, math.nan, math.nan, raw, "", outcome)

    @classmethod
    def from_label_masses(cls, p_a: float, p_tie: float, p_b: float, raw: str = "") -> Verdict:
        """Complete the masses of the three labels with what falls on none.

        Masses that are no probabilities (not finite, negative, more than one in all, or nothing at all)
        give an unscored verdict: such an answer is no tie.
        """
        masses = (p_a, p_tie, p_b)
        total = sum(masses)
        if not all(math.isfinite(mass) and mass >= 0.0 for mass in masses) or total > 1.0 + 1e-6:
            return cls.unscored(f"error: label probabilities {masses} are no probabilities", raw)
        if total == 0.0:
            return cls.unscored("error: no probability falls on any label", raw)
        short = [float(f"{mass:.9g}") for mass in (*masses, max(0.0, 1.0 - total))]  # the rest is noise
        return cls(short[0], short[1], short[2], short[3], raw)

    @classmethod
    def unscored(cls, reason: str, raw: str = "") -> Verdict:
        """Make the verdict of a presentation without an answer, and say why."""
        return cls(math.nan, math.nan, math.nan, math.nan, raw, reason)


VerdictBatch = list[tuple[int, Verdict]]


class Judge(Protocol):
    """Anything that answers presentations. One file and one row of the backends table add another kind."""

    @property
    def name(self) -> str:
        """As in the ``judge`` column of the judgments."""

    @property
    def fingerprint(self) -> str:
        """A sha256 over all that can change an answer: weights, number format, way of asking.

        It must not cost the loading of the weights.
        """

    @property
    def decode(self) -> Decode:
        """``labels``: verdicts hold probabilities. ``generate``: each holds one written label.

        Under ``generate`` every presentation has a ``run`` and a ``seed``.
        """

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        """Answer every presentation once, in any order.

        Each batch pairs positions in ``presentations`` with verdicts, and is given out as soon as it is
        known, since whatever was given out survives an interruption.
        """

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        """Give the exact text that the judge would read, for people to inspect."""

    def tokens(self, presentation: Presentation, prompt: Prompt) -> int:
        """Count the tokens of one question, read in full."""

    def computed_tokens(self, presentations: Sequence[Presentation], prompt: Prompt) -> int:
        """Count the tokens that are left to compute where what questions share is computed once."""
