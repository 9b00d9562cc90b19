"""Keys and values of answers that are being written, one row each, all ending in the same column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache

from bayesbt.judges.passes import KeysValues, Passes, Prefix
from bayesbt.judges.prefix_tree import Placed

_ROOM = 64


class DecodeState(DynamicCache):
    """What the rows of a batch have read and written so far.

    Rows are aligned at the right, so that each step writes one column; what a row does not hold is masked.

    Parameters
    ----------
    layers : list
        Keys and values of each layer, (rows, heads, columns, head size).
    holds : Tensor
        Bool, (rows, columns): which columns a row holds.
    lengths : Tensor
        Tokens that each row holds, (rows,): the position of its next one.
    """

    def __init__(self, layers: KeysValues, holds: torch.Tensor, lengths: torch.Tensor) -> None:
        super().__init__()
        self._states = layers
        self.holds = holds
        self.lengths = lengths
        self._used = holds.shape[1]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.holds.shape[0]

    @property
    def tokens(self) -> int:
        """What the batch takes: rows times columns."""
        return self.rows * self._used

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the next column of a layer, and give all of it. Writing it again changes nothing."""
        keys, values = self._states[layer_idx]
        if keys.shape[2] == self._used:
            keys, values = _with_room(keys), _with_room(values)
            self._states[layer_idx] = (keys, values)
        end = self._used + 1
        keys[:, :, self._used : end], values[:, :, self._used : end] = key_states, value_states
        return keys[:, :, :end], values[:, :, :end]

    def get_seq_length(self, layer_idx: int = 0, *args: Any) -> int:
        """Count the columns."""
        return self._used

    @torch.inference_mode()
    def step(self, passes: Passes, tokens: Sequence[int]) -> torch.Tensor:
        """Let every row read the token it has written, and give its logits, (rows, vocabulary)."""
        own = torch.ones((self.rows, 1), dtype=torch.bool, device=self.holds.device)
        sees = torch.cat([self.holds, own], dim=1)
        logits = passes.run(
            torch.tensor(tokens).unsqueeze(1),
            self.lengths.unsqueeze(1),
            passes.additive(sees.unsqueeze(1), 0),
            self,
            [(row, 0) for row in range(self.rows)],
        )
        self.holds, self.lengths, self._used = sees, self.lengths + 1, self._used + 1
        return logits

    def select(self, rows: Sequence[int]) -> DecodeState:
        """Keep some rows, and no column that none of them holds."""
        chosen = torch.tensor(rows, dtype=torch.long, device=self.holds.device)
        holds = self.holds[chosen]
        first = int(holds.any(0).int().argmax())
        layers = [
            (_rows(keys, chosen, first, self._used), _rows(values, chosen, first, self._used))
            for keys, values in self._states
        ]
        return DecodeState(layers, holds[:, first:], self.lengths[chosen])

    def joined(self, other: DecodeState) -> DecodeState:
        """Put the rows of another state below these."""
        width = max(self._used, other._used)
        layers = [
            (_stack(keys, self._used, more[0], other._used), _stack(values, self._used, more[1], other._used))
            for (keys, values), more in zip(self._states, other._states, strict=True)
        ]
        holds = torch.cat([_aligned(each.holds, width) for each in (self, other)])
        return DecodeState(layers, holds, torch.cat([self.lengths, other.lengths]))


@torch.inference_mode()
def state_of(
    placed: Sequence[tuple[int, Placed]], added: KeysValues, prefix: Prefix | None, device: torch.device
) -> DecodeState:
    """Collect for each question what a packed pass computed for it.

    Parameters
    ----------
    placed : sequence of (row, Placed)
        Where the questions stand in the pass; there may be others in it.
    added : list
        Keys and values that the pass added.
    prefix : Prefix or None
        What its rows stand behind.
    device : torch.device
        Of the model's input.
    """
    base = prefix.length if prefix else 0
    paths = [[place for s in one.path for place in range(s.start, s.start + s.length)] for _, one in placed]
    width = max(map(len, paths))
    index = torch.zeros((len(paths), width), dtype=torch.long)
    holds = torch.ones((len(paths), base + width), dtype=torch.bool)
    for number, path in enumerate(paths):
        index[number, width - len(path) :] = torch.tensor(path)
        holds[number, base : base + width - len(path)] = False
    rows = torch.tensor([row for row, _ in placed])

    def collect(states: torch.Tensor, before: torch.Tensor | None) -> torch.Tensor:
        on = states.device
        own = states[rows.to(on)[:, None], :, index.to(on)].transpose(1, 2)  # (questions, heads, width, size)
        if before is None:
            return own.contiguous()
        return torch.cat([before.expand(len(paths), -1, -1, -1), own], dim=2)

    befores = prefix.layers if prefix else [(None, None)] * len(added)
    layers = [
        (collect(keys, before[0]), collect(values, before[1]))
        for (keys, values), before in zip(added, befores, strict=True)
    ]
    lengths = torch.tensor([base + len(path) for path in paths])
    return DecodeState(layers, holds.to(device), lengths.to(device))


def _with_room(states: torch.Tensor) -> torch.Tensor:
    shape = (*states.shape[:2], states.shape[2] // 8 + _ROOM, states.shape[3])
    return torch.cat([states, states.new_zeros(shape)], dim=2)


def _rows(states: torch.Tensor, rows: torch.Tensor, first: int, end: int) -> torch.Tensor:
    return states[:, :, first:end].index_select(0, rows.to(states.device))


def _aligned(holds: torch.Tensor, width: int) -> torch.Tensor:
    return torch.nn.functional.pad(holds, (width - holds.shape[1], 0))


def _stack(mine: torch.Tensor, my_end: int, theirs: torch.Tensor, their_end: int) -> torch.Tensor:
    """Put rows below rows so that what is used of both ends in the same column."""
    width = max(my_end, their_end)
    parts = [
        torch.nn.functional.pad(states[:, :, :end], (0, 0, width - end, 0))
        for states, end in ((mine, my_end), (theirs, their_end))
    ]
    return torch.cat(parts)
