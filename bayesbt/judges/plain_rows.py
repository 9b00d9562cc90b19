"""Rows that are written on with whatever state a model keeps by itself, or with none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from bayesbt.judges.labels import Tokens
from bayesbt.judges.memory import out_of_memory
from bayesbt.judges.passes import Passes, agree, left_padded


class PlainRows:
    """Rows padded on the left, all of which grow by a token at a time.

    Parameters
    ----------
    passes : Passes
        Of the model.
    rows : sequence of token tuples
        What they begin with.
    keeps_state : bool
        Let the model read each token once, and keep its state; otherwise all is read anew for each token.
    """

    def __init__(self, passes: Passes, rows: Sequence[Tokens], keeps_state: bool) -> None:
        self._passes = passes
        self._tokens, self._mask = left_padded(rows)
        self._cache_name = passes.cache_name if keeps_state else None
        self._state: Any = None

    @torch.inference_mode()
    def read(self) -> torch.Tensor:
        """Read what is new; give the logits behind it, (rows, vocabulary)."""
        device = self._passes.device
        new = self._tokens if self._state is None else self._tokens[:, -1:]
        positions = (self._mask.cumsum(-1) - 1).clamp(min=0)[:, -new.shape[1] :]
        more = {} if self._state is None else {str(self._cache_name): self._state}
        output = self._passes.model(
            input_ids=new.to(device),
            attention_mask=self._mask.to(device),
            position_ids=positions.to(device),
            use_cache=self._cache_name is not None,
            **self._passes.last(1),
            **more,
        )
        if self._cache_name is not None:
            self._state = getattr(output, self._cache_name)
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    def append(self, tokens: Sequence[int]) -> None:
        """Append a token to each row."""
        self._tokens = torch.cat([self._tokens, torch.tensor(tokens).unsqueeze(1)], dim=1)
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)


def keeps_state(passes: Passes) -> bool:
    """Try out whether a model that reads one token at a time gives what it gives when it reads all anew."""
    if passes.cache_name is None:
        return False
    made = passes.probe_tokens(20)
    ways = [PlainRows(passes, [made[:12], made[12:]], kept) for kept in (True, False)]
    try:
        logits = [_three_steps(rows, made[2:8]) for rows in ways]
    except Exception as error:  # whatever it fails with, it does not do this
        if out_of_memory(error):
            raise
        return False
    return agree(*logits)


def _three_steps(rows: PlainRows, tokens: Tokens) -> torch.Tensor:
    found = []
    for first in (0, 2, 4):
        found.append(rows.read())
        rows.append(tokens[first : first + 2])
    return torch.cat([*found, rows.read()])
