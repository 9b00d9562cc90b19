"""Passes that share beginnings give what plain passes give, for every kind of model, or are not used."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

import accelerate
import torch
import transformers
from transformers import AutoModelForCausalLM, PreTrainedModel

from bayesbt.judges.chat import Encoded
from bayesbt.judges.labels import Tokens, plan_labels
from bayesbt.judges.memory import TokenBudget
from bayesbt.judges.passes import Passes, scales_with_length, sharing_limit
from bayesbt.judges.prefix_tree import Layout
from bayesbt.judges.protocol import Verdict, VerdictBatch
from bayesbt.judges.scoring import score_plain, score_shared, tree_of

VOCABULARY = 61
SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.4,
    "pad_token_id": 0,
}
PAPERS = {
    "Mistral": {"sliding_window": None},
    "Mixtral": {"num_local_experts": 4},
    "Llama": {},
    "Qwen2": {},
    "Olmo2": {},
    "Cohere": {},
    "Cohere2": {"sliding_window": 300},
}
LABELS = plan_labels({"a": (3,), "tie": (5, 9, 2), "b": (4, 8)})


def random_model(kind: str, **more: Any) -> PreTrainedModel:
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(**SMALL | more)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config).eval()
    return model


def questions(seed: int = 0) -> list[Encoded]:
    """Contexts as a few-shot prompt makes them: one of two openings, a first text, a second text."""
    draw = random.Random(seed)

    def text(length: int) -> Tokens:
        return tuple(draw.randrange(10, VOCABULARY) for _ in range(length))

    openings = [text(40), text(33)]
    openings.append(openings[0][:21] + text(17))
    firsts = [text(draw.randrange(2, 30)) for _ in range(4)]
    contexts = [
        opening + first + text(draw.randrange(1, 25))
        for opening in openings
        for first in firsts
        for _ in range(3)
    ]
    contexts += [contexts[5], contexts[7][:-1], (12,)]  # one twice, one that begins another, one alone
    draw.shuffle(contexts)
    return [Encoded(context, LABELS) for context in contexts]


@torch.inference_mode()
def reference(model: PreTrainedModel, asked: list[Encoded]) -> list[list[float]]:
    """Log-probability of each label, token by token, each row alone and unpadded."""
    labels = {"a": (3,), "tie": (5, 9, 2), "b": (4, 8)}
    found = []
    for question in asked:
        scores = []
        for label in labels.values():
            row = torch.tensor([question.context + label])
            logs = torch.log_softmax(model(input_ids=row).logits[0].double(), -1)
            start = len(question.context)
            scores.append(sum(logs[start + n - 1, token].item() for n, token in enumerate(label)))
        found.append(scores)
    return found


def gathered(batches: Iterator[VerdictBatch], number: int) -> list[list[float]]:
    found: dict[int, Verdict] = {}
    for batch in batches:
        for key, verdict in batch:
            assert key not in found
            found[key] = verdict
    assert sorted(found) == list(range(number))
    return [[math.log(v) for v in (found[n].p_a, found[n].p_tie, found[n].p_b)] for n in range(number)]


@pytest.mark.parametrize("kind", PAPERS)
def test_the_papers_models_share_beginnings_and_stay_exact(kind: str) -> None:
    model = random_model(kind, **PAPERS[kind])
    asked = questions()
    expected = reference(model, asked)
    passes = Passes(model)
    encoded = dict(enumerate(asked))
    assert sharing_limit(model.config) >= 300
    assert passes.shares_prefixes()
    plain = gathered(score_plain(passes, encoded, TokenBudget(500)), len(asked))
    assert plain == [pytest.approx(each, abs=1e-4) for each in expected]
    for width, pass_cost, budget in ((1, 0, 1), (70, 10, 300), (200, 40, 100_000), (64, 10_000, 128)):
        layout = Layout(width, pass_cost)
        shared = gathered(score_shared(passes, encoded, TokenBudget(budget), layout), len(asked))
        assert shared == [pytest.approx(each, abs=1e-4) for each in expected]


def test_eager_attention_and_bfloat16_share_too() -> None:
    model = random_model("Llama", attn_implementation="eager")
    assert model.config._attn_implementation == "eager"
    asked = questions()
    found = gathered(
        score_shared(Passes(model), dict(enumerate(asked)), TokenBudget(300), Layout(70, 10)), len(asked)
    )
    expected = reference(model, asked)
    assert found == [pytest.approx(each, abs=1e-4) for each in expected]
    rounded = Passes(random_model("Llama").to(torch.bfloat16))
    assert rounded.shares_prefixes()
    found = gathered(
        score_shared(rounded, dict(enumerate(asked)), TokenBudget(300), Layout(70, 10)), len(asked)
    )
    spread = max(
        abs(a - b)
        for one, other in zip(found, expected, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    assert 1e-4 < spread < 1.5  # rounding to 8 bits shows, and is no more than rounding


ALONE: dict[str, dict[str, Any]] = {
    "Mamba": {"state_size": 4},  # a state that runs through all tokens
    "RecurrentGemma": {
        "attention_window_size": 16,
        "lru_width": 32,
        "head_dim": 8,
        "block_types": ["recurrent", "attention"],
    },
    "Bloom": {"n_layer": 2, "n_head": 4},  # positions by a bias of its own
    "OpenAIGPT": {"n_positions": 512, "n_embd": 32, "n_layer": 2, "n_head": 4},  # no cache at all
}


@pytest.mark.parametrize("kind", ALONE)
def test_models_that_cannot_share_are_found_out_and_read_in_the_plain_way(kind: str) -> None:
    model = random_model(kind, **ALONE[kind])
    passes = Passes(model)
    assert not passes.shares_prefixes()
    asked = questions()[:12]
    plain = gathered(score_plain(passes, dict(enumerate(asked)), TokenBudget(300)), len(asked))
    assert plain == [pytest.approx(each, abs=1e-4) for each in reference(model, asked)]


def test_a_model_spread_over_devices_shares_too() -> None:
    """The same hooks move inputs, states and weights as where a model lies on several accelerators."""
    model = random_model("Llama")
    asked = questions()
    expected = reference(model, asked)
    accelerate.cpu_offload(model, execution_device=torch.device("cpu"))
    assert model.get_input_embeddings().weight.device.type == "meta"
    passes = Passes(model)
    assert passes.device.type == "cpu"
    assert passes.shares_prefixes()
    found = gathered(
        score_shared(passes, dict(enumerate(asked)), TokenBudget(300), Layout(70, 10)), len(asked)
    )
    assert found == [pytest.approx(each, abs=1e-4) for each in expected]


def test_a_model_that_ignores_the_mask_is_found_out() -> None:
    model = random_model("Llama")

    def without_mask(
        _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        mask = kwargs["attention_mask"]
        return args, kwargs | {"attention_mask": torch.zeros_like(mask) if mask.dim() == 4 else mask}

    hook = model.register_forward_pre_hook(without_mask, with_kwargs=True)
    assert not Passes(model).shares_prefixes()
    hook.remove()
    assert Passes(model).shares_prefixes()


@pytest.mark.parametrize(
    ("kind", "more", "limit"),
    [
        ("Llama", {}, math.inf),
        ("Mistral", {"sliding_window": 16}, 16),
        ("Mistral", {"sliding_window": None}, math.inf),
        ("Qwen2", {"sliding_window": 16, "use_sliding_window": False}, math.inf),
        ("Cohere2", {"sliding_window": 16}, 16),
        ("Llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}}, 512),
    ],
)
def test_how_long_a_question_may_be_to_share(kind: str, more: dict[str, Any], limit: float) -> None:
    config = getattr(transformers, f"{kind}Config")(**SMALL | more)
    assert sharing_limit(config) == limit
    assert scales_with_length(config) == ("rope_parameters" in more)


def test_only_what_is_not_shared_is_computed() -> None:
    """What the plan counts is what the model reads, token by token."""
    model = random_model("Llama")
    read = []
    hook = model.register_forward_pre_hook(
        lambda _, args, kwargs: read.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    asked = questions()
    layout = Layout(70, 10)
    passes = Passes(model)
    list(score_shared(passes, dict(enumerate(asked)), TokenBudget(1), layout))  # one row a pass: no padding
    hook.remove()
    counted = tree_of(asked, layout).computed()
    assert sum(read) == counted
    assert counted < 0.5 * sum(question.length for question in asked)
