"""Forward passes of a causal language model: plain ones, and ones in which questions share beginnings."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, PretrainedConfig, PreTrainedModel

from bayesbt.judges.labels import Tokens
from bayesbt.judges.memory import out_of_memory
from bayesbt.judges.prefix_tree import Branch, Layout, PrefixTree, Row

KeysValues = list[tuple[torch.Tensor, torch.Tensor]]
"""Of each layer: keys and values, (rows, heads, tokens, head size)."""

_AGREES = {torch.float32: 1e-3}
_AGREES_ROUNDED = 0.2


@dataclass(frozen=True)
class Prefix:
    """Keys and values of tokens that all rows of a pass begin with; one row."""

    layers: KeysValues
    length: int


class SharedCache(DynamicCache):
    """Lets every row of a pass attend to one prefix, and keeps what the pass adds only where asked to.

    The prefix is broadcast, not stored once a row; only the layer at work holds keys and values of all rows.
    """

    def __init__(self, prefix: Prefix | None, keep: bool) -> None:
        super().__init__()
        self._prefix = prefix
        self._keep = keep
        self._kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    @property
    def added(self) -> KeysValues:
        """What the pass has added, where it was kept."""
        return [self._kept[layer] for layer in sorted(self._kept)]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Give what the new tokens of a layer attend to."""
        if self._keep:
            self._kept[layer_idx] = (key_states, value_states)
        if self._prefix is None:
            return key_states, value_states
        rows = key_states.shape[0]
        keys, values = (states.expand(rows, -1, -1, -1) for states in self._prefix.layers[layer_idx])
        return torch.cat([keys, key_states], dim=2), torch.cat([values, value_states], dim=2)

    def get_seq_length(self, layer_idx: int = 0, *args: Any) -> int:
        """Count the tokens of the prefix."""
        return self._prefix.length if self._prefix else 0


class Passes:
    """One model, and the passes that can be made with it. All run in inference mode.

    Parameters
    ----------
    model : PreTrainedModel
        In evaluation mode, on its device or devices.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        embedding: Any = model.get_input_embeddings()
        self._vocabulary: int = embedding.weight.shape[0]
        self.device: torch.device = embedding.weight.device
        if self.device.type == "meta":  # the weights wait elsewhere for their turn
            self.device = torch.device(embedding._hf_hook.execution_device)
        parameters = inspect.signature(model.forward).parameters
        self.cache_name = next((name for name in ("cache", "past_key_values") if name in parameters), None)
        self._keeps_logits = "logits_to_keep" in parameters

    @torch.inference_mode()
    def plain(self, rows: Sequence[Tokens], kept: int) -> torch.Tensor:
        """Read rows that share nothing, padded on the left.

        Returns
        -------
        Tensor
            Logits at the last ``kept`` positions, (rows, kept, vocabulary). The head sees no others.
        """
        tokens, mask = left_padded(rows)
        output = self.model(
            input_ids=tokens.to(self.device),
            attention_mask=mask.to(self.device),
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0).to(self.device),
            use_cache=False,
            **self.last(kept),
        )
        logits: torch.Tensor = output.logits[:, -kept:]
        return logits

    def last(self, kept: int) -> dict[str, int]:
        """Give the arguments by which the output layer sees the last positions only, where it can."""
        return {"logits_to_keep": kept} if self._keeps_logits else {}

    @torch.inference_mode()
    def prefix(self, tokens: Tokens, behind: Prefix | None) -> Prefix:
        """Compute the keys and values of a prefix that continues another."""
        row = Row()
        row.write(tokens, behind.length if behind else 0, ())
        _, added = self.packed([row], behind, [], keep=True)
        if behind is not None:
            added = [
                (torch.cat([old[0], new[0]], dim=2), torch.cat([old[1], new[1]], dim=2))
                for old, new in zip(behind.layers, added, strict=True)
            ]
        return Prefix(added, (behind.length if behind else 0) + len(tokens))

    @torch.inference_mode()
    def packed(
        self,
        rows: Sequence[Row],
        prefix: Prefix | None,
        wanted: Sequence[tuple[int, int]],
        keep: bool = False,
    ) -> tuple[torch.Tensor, KeysValues]:
        """Read rows of several questions each, behind a prefix.

        Parameters
        ----------
        rows : sequence of Row
            Padded on the right.
        wanted : sequence of (row, place)
            Where logits are needed.
        keep : bool
            Give the keys and values of the rows too.

        Returns
        -------
        logits : Tensor
            (wanted, vocabulary).
        added : list
            Keys and values of each layer, (rows, heads, width, head size); empty where not ``keep``.
        """
        base = prefix.length if prefix else 0
        width = max(len(row.tokens) for row in rows)
        if self.device.type == "cuda":
            width += -(base + width) % 8  # attention kernels read masks in steps of eight
        tokens = torch.zeros((len(rows), width), dtype=torch.long)
        positions = torch.full_like(tokens, base)
        sees = torch.eye(width, dtype=torch.bool).repeat(len(rows), 1, 1)  # padding sees itself: no NaN
        for number, row in enumerate(rows):
            tokens[number, : len(row.tokens)] = torch.tensor(row.tokens)
            for own, behind in row.stretches:
                place = slice(own.start, own.start + own.length)
                positions[number, place] = torch.arange(own.position, own.position + own.length)
                sees[number, place, place] = torch.ones(own.length, own.length, dtype=torch.bool).tril()
                for each in behind:
                    sees[number, place, each.start : each.start + each.length] = True
        cache = SharedCache(prefix, keep)
        logits = self.run(tokens, positions, self.additive(sees, base), cache, wanted)
        return logits, cache.added

    def additive(self, sees: torch.Tensor, base: int) -> torch.Tensor:
        """Turn what each token sees into a mask of summands, (rows, 1, tokens, base + seen).

        ``sees`` is bool, (rows, tokens, seen); the ``base`` tokens before are seen by all.
        """
        dtype = self.model.dtype
        mask = torch.zeros(
            (sees.shape[0], 1, sees.shape[1], base + sees.shape[2]), dtype=dtype, device=self.device
        )
        mask[:, 0, :, base:].masked_fill_(~sees.to(self.device), torch.finfo(dtype).min)
        return mask

    def run(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        mask: torch.Tensor,
        cache: DynamicCache,
        wanted: Sequence[tuple[int, int]],
    ) -> torch.Tensor:
        """Make a pass with a mask of one's own, and give logits where ``wanted``, (wanted, vocabulary).

        The output layer sees the wanted positions only: over a large vocabulary it is a good part of the
        work.
        """
        if self.cache_name is None:
            raise TypeError(f"{type(self.model).__name__} takes no cache")
        places = torch.tensor([row * tokens.shape[1] + place for row, place in wanted], dtype=torch.long)

        def select(_: Any, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            hidden = inputs[0].flatten(0, 1)
            return (hidden[places.to(hidden.device)].unsqueeze(0), *inputs[1:])

        hook = self.model.get_output_embeddings().register_forward_pre_hook(select)
        try:
            output = self.model(
                input_ids=tokens.to(self.device),
                attention_mask=mask,
                position_ids=positions.to(self.device),
                use_cache=True,
                **{self.cache_name: cache},
            )
        finally:
            hook.remove()
        logits: torch.Tensor = output.logits[0]
        return logits

    def shares_prefixes(self) -> bool:
        """Try out whether this model honours a shared prefix, several questions a row, and their mask.

        The same few tokens are read in the plain way and in the other. A model that cannot do it (no cache, a
        state that runs through all tokens, a mask of its own) fails, or gives other logits.
        """
        made = self.probe_tokens(24)
        contexts = [made[:14], made[:10] + made[14:20], made[:6] + made[16:]]
        expected = torch.cat([self.plain([context], 1)[0] for context in contexts])
        tree = PrefixTree([Branch(context) for context in contexts], Layout(64, 0))
        row = tree.rows([0, 1, 2], 4)[0]
        wanted = [(0, each.last) for each in sorted(row.placed, key=lambda placed: placed.key)]
        try:
            prefix = self.prefix(contexts[0][2:4], self.prefix(contexts[0][:2], None))
            found, _ = self.packed([row, row], prefix, wanted)
        except Exception as error:  # whatever it fails with, it does not do this
            if out_of_memory(error):
                raise
            return False
        return agree(found, expected)

    def probe_tokens(self, number: int) -> Tokens:
        """Make up some tokens to try things out with."""
        return tuple((7 + 31 * place * place) % self._vocabulary for place in range(number))


def agree(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether two ways give the same logits, (places, vocabulary), for what the number format allows.

    They may differ by a small part of what one context differs from another.
    """
    if found.shape != expected.shape:
        return False
    first, second = found.double(), expected.double()
    differs = (first - second).square().mean().sqrt()
    matters = (second - second.roll(1, 0)).square().mean().sqrt()
    return bool(differs <= _AGREES.get(found.dtype, _AGREES_ROUNDED) * matters)


def left_padded(rows: Sequence[Tokens]) -> tuple[torch.Tensor, torch.Tensor]:
    """Lay rows out so that all end together: tokens and their mask of ones, (rows, longest)."""
    width = max(map(len, rows))
    tokens = torch.zeros((len(rows), width), dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for number, row in enumerate(rows):
        tokens[number, width - len(row) :] = torch.tensor(row)
        mask[number, width - len(row) :] = 1
    return tokens, mask


def sharing_limit(config: PretrainedConfig) -> float:
    """Tokens up to which all layers attend to everything before, and positions mean the same in every pass.

    Beyond a sliding window, or where the scale of positions follows the longest row, only plain passes give
    what the model means.
    """
    text = config.get_text_config()
    limits = [math.inf]
    kinds = getattr(text, "layer_types", None)
    slides = any("full" not in kind for kind in kinds) if kinds else getattr(text, "use_sliding_window", True)
    for name in ("sliding_window", "attention_chunk_size"):
        if slides and getattr(text, name, None):
            limits.append(getattr(text, name))
    if scales_with_length(config):
        limits.append(_scaling(text).get("original_max_position_embeddings") or text.max_position_embeddings)
    return min(limits)


def scales_with_length(config: PretrainedConfig) -> bool:
    """Whether long rows change how positions count for every row of a batch."""
    kind = _scaling(config.get_text_config())
    return kind.get("rope_type", kind.get("type")) in {"dynamic", "longrope"}


def _scaling(text: PretrainedConfig) -> dict[str, Any]:
    return getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
