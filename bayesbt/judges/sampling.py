"""Drawing tokens at temperature 1, so that what a question gets depends on its seed and on nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass
class Answer:
    """An answer that is being written.

    Attributes
    ----------
    key : int
        Of the question.
    seed : int
        Of all its draws.
    most : int
        Tokens it may have.
    tokens : list of int
        What is written, without the token that ends it.
    ended : bool
        Whether it was ended, by the model or by its length.
    complete : bool
        Whether the model ended it.
    """

    key: int
    seed: int
    most: int
    tokens: list[int] = field(default_factory=list)
    ended: bool = False
    complete: bool = False

    def __post_init__(self) -> None:
        """Draw the uniform numbers, one a token."""
        generator = torch.Generator().manual_seed(self.seed)
        self._uniform = torch.rand(self.most, generator=generator, dtype=torch.float64).tolist()

    @property
    def uniform(self) -> float:
        """The number that decides on the next token."""
        number: float = self._uniform[len(self.tokens)]
        return number

    def write(self, token: int, ends: frozenset[int]) -> None:
        """Append a token, or end."""
        if token in ends:
            self.ended = self.complete = True
            return
        self.tokens.append(token)
        self.ended = len(self.tokens) == self.most


def draw_tokens(logits: torch.Tensor, uniforms: list[float]) -> list[int | None]:
    """Draw one token a row, by the inverse of the cumulated probabilities in float64.

    Parameters
    ----------
    logits : Tensor
        (rows, vocabulary).
    uniforms : list of float
        One a row, in [0, 1).

    Returns
    -------
    list
        None for a row whose logits are not finite.
    """
    cumulated = torch.softmax(logits.double(), dim=-1).cumsum(-1)
    numbers = torch.tensor(uniforms, dtype=torch.float64, device=logits.device).unsqueeze(1)
    whole = cumulated[:, -1:]
    tokens = torch.searchsorted(cumulated, numbers * whole, right=True).clamp(max=logits.shape[1] - 1)
    finite = torch.isfinite(whole[:, 0]).tolist()
    return [token if fine else None for token, fine in zip(tokens[:, 0].tolist(), finite, strict=True)]
