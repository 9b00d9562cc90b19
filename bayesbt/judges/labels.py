"""Which tokens must be read, and where, so that one forward pass gives the exact probability of every label.

The probability of a label of several tokens is the product of the probabilities of its tokens, each given
those before it. All are read from rows that consist of the context and the beginning of a label: the logits
behind the context give every first token, those behind the context and ``T`` give the ``ie`` of ``Tie``. A
row that is the beginning of a longer one needs no pass of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayesbt.errors import DocumentError

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """The log-probability of ``token`` behind the first ``offset`` tokens of the suffix of row ``row``."""

    row: int
    offset: int
    token: int


@dataclass(frozen=True)
class LabelPlan:
    """What to append to a context, and what to read.

    Attributes
    ----------
    suffixes : tuple of token tuples
        One row of the batch for each: context + suffix. As few as will do.
    readings : dict
        For each label the log-probabilities whose sum is the label's.
    """

    suffixes: tuple[Tokens, ...]
    readings: dict[str, tuple[Reading, ...]]

    @property
    def longest(self) -> int:
        """Tokens of the longest suffix."""
        return max(len(suffix) for suffix in self.suffixes)


def plan_labels(labels: Mapping[str, Tokens]) -> LabelPlan:
    """Plan the rows and readings for labels given as token sequences.

    Raises
    ------
    DocumentError
        Where a label has no tokens, or is the beginning of another: its probability would then include the
        other's, and the three would not be exclusive.

    Examples
    --------
    >>> plan_labels({"a": (49,), "tie": (68, 519), "b": (50,)}).suffixes
    ((68,),)
    """
    for name, tokens in labels.items():
        if not tokens:
            raise DocumentError(f"label {name!r} has no tokens of its own in this tokenizer.")
        for other, longer in labels.items():
            if other != name and longer[: len(tokens)] == tokens:
                raise DocumentError(
                    f"label {name!r} (tokens {list(tokens)}) is the beginning of label {other!r} "
                    f"(tokens {list(longer)}). Choose labels of which none begins another."
                )
    beginnings = {tokens[:-1] for tokens in labels.values()}
    suffixes = tuple(
        sorted(
            beginning
            for beginning in beginnings
            if not any(other != beginning and other[: len(beginning)] == beginning for other in beginnings)
        )
    )
    readings = {
        name: tuple(_reading(suffixes, tokens[:offset], token) for offset, token in enumerate(tokens))
        for name, tokens in labels.items()
    }
    return LabelPlan(suffixes, readings)


def _reading(suffixes: tuple[Tokens, ...], before: Tokens, token: int) -> Reading:
    row = next(row for row, suffix in enumerate(suffixes) if suffix[: len(before)] == before)
    return Reading(row, len(before), token)
