"""Answers that a model writes depend on the question and its seed, not on what is written beside them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from test_judges_memory import LAYOUT, openings, written
from test_judges_passes import VOCABULARY, random_model
from transformers import PreTrainedModel

from bayesbt.judges.generation import NOT_FINITE, Budgets, Opening, write_plain, write_shared
from bayesbt.judges.memory import TokenBudget
from bayesbt.judges.passes import Passes
from bayesbt.judges.prefix_tree import Layout
from bayesbt.judges.sampling import draw_tokens

ENDS = frozenset([1, 2, 3])


@torch.inference_mode()
def reference(model: PreTrainedModel, opening: Opening) -> tuple[list[int], bool]:
    """One answer alone: the whole text is read anew for each token, which NumPy draws."""
    numbers = torch.rand(
        opening.most, generator=torch.Generator().manual_seed(opening.seed), dtype=torch.float64
    ).numpy()
    tokens: list[int] = []
    for number in numbers:
        logits = (
            model(input_ids=torch.tensor([opening.context + tuple(tokens)])).logits[0, -1].double().numpy()
        )
        weights = np.exp(logits - logits.max())
        token = int((np.cumsum(weights) / weights.sum() <= number).sum())
        if token in ENDS:
            return tokens, True
        tokens.append(token)
    return tokens, False


@pytest.mark.parametrize("kind", ["Llama", "Cohere2"])
def test_answers_are_those_of_each_question_alone(kind: str) -> None:
    model = random_model(kind)
    asked = openings(14, 25)
    asked |= {
        100 + run: Opening(asked[0].context, 7_000 + run, 25) for run in range(5)
    }  # runs of one question
    expected = {key: reference(model, opening) for key, opening in asked.items()}
    complete = Counter(done for _, done in expected.values())
    assert complete[True] > 5
    assert len({tuple(tokens) for tokens, _ in expected.values()}) > 12
    passes = Passes(model)
    for reading, writing, layout in ((1, 1, LAYOUT), (300, 400, LAYOUT), (10_000, 100_000, Layout(500, 5))):
        budgets = Budgets(TokenBudget(reading), TokenBudget(writing))
        assert written(write_shared(passes, asked, budgets, layout, ENDS)) == expected
    for budget in (1, 400, 100_000):
        assert written(write_plain(passes, asked, TokenBudget(budget), ENDS)) == expected


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("Mamba", {"state_size": 4}),
        ("OpenAIGPT", {"n_positions": 512, "n_embd": 32, "n_layer": 2, "n_head": 4}),
    ],
)
def test_models_with_another_state_or_none_write_the_same(kind: str, more: dict[str, Any]) -> None:
    model = random_model(kind, **more)
    asked = openings(6, 8)
    expected = {key: reference(model, opening) for key, opening in asked.items()}
    assert written(write_plain(Passes(model), asked, TokenBudget(300), ENDS)) == expected


def test_rows_that_end_make_room_for_those_that_wait() -> None:
    model = random_model("Llama")
    rows: list[tuple[int, int]] = []
    hook = model.register_forward_pre_hook(
        lambda _, args, kwargs: rows.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    asked = openings(30, 25)
    budgets = Budgets(TokenBudget(150), TokenBudget(500))
    found = written(write_shared(Passes(model), asked, budgets, LAYOUT, ENDS))
    hook.remove()
    assert len(found) == 30
    steps = [height for height, width in rows if width == 1]
    grew = sum(later > earlier for earlier, later in itertools.pairwise(steps))
    assert grew >= 2  # the batch was filled up again while others were being written
    written_tokens = sum(len(tokens) + complete for tokens, complete in found.values())
    assert sum(steps) <= written_tokens  # no row is computed after its end


def test_tokens_follow_the_models_probabilities() -> None:
    model = random_model("Llama")
    context = openings(1)[0].context
    asked = {n: Opening(context, n, 1) for n in range(4_000)}
    budgets = Budgets(TokenBudget(4_000), TokenBudget(40_000))
    found = written(write_shared(Passes(model), asked, budgets, LAYOUT, frozenset()))
    counts = Counter(tokens[0] for tokens, _ in found.values())
    with torch.inference_mode():
        expected = torch.softmax(model(input_ids=torch.tensor([context])).logits[0, -1].double(), -1)
    assert float(expected.max()) < 0.9
    statistic = sum(
        (counts[token] - 4_000 * float(p)) ** 2 / (4_000 * float(p)) for token, p in enumerate(expected)
    )
    assert statistic < VOCABULARY + 4 * math.sqrt(2 * VOCABULARY)


def test_borders_of_a_draw() -> None:
    logits = torch.tensor([[0.0, -math.inf, 0.0, -math.inf]]).repeat(5, 1)
    assert draw_tokens(logits, [0.0, 0.499999, 0.5, 0.75, 1 - 2**-53]) == [0, 0, 2, 2, 2]
    assert draw_tokens(torch.tensor([[0.0, math.nan], [0.0, math.inf], [3.0, 0.0]]), [0.1] * 3) == [
        None,
        None,
        0,
    ]


def test_logits_that_are_not_finite_are_named() -> None:
    model = random_model("Llama")
    with torch.no_grad():
        model.model.norm.weight[3] = math.nan
    passes, asked = Passes(model), openings(4)
    budgets = Budgets(TokenBudget(300), TokenBudget(900))
    expected = dict.fromkeys(range(4), NOT_FINITE)
    assert written(write_shared(passes, asked, budgets, LAYOUT, ENDS)) == expected
    assert written(write_plain(passes, asked, TokenBudget(300), ENDS)) == expected
