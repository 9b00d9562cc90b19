"""Short memory costs time, never an answer that would fit, and never a wrong one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from test_judges_passes import gathered, questions, random_model, reference
from transformers import PreTrainedModel

from bayesbt.judges.chat import Encoded
from bayesbt.judges.generation import Budgets, Opening, write_plain, write_shared
from bayesbt.judges.memory import TokenBudget, in_batches, out_of_memory
from bayesbt.judges.passes import Passes
from bayesbt.judges.prefix_tree import Layout
from bayesbt.judges.sampling import Answer
from bayesbt.judges.scoring import score_plain, score_shared

LAYOUT = Layout(70, 10)


def cuda_error() -> Exception:
    return torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def cpu_error() -> Exception:
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: not enough memory: you tried"
    )


@contextmanager
def short_memory(
    model: PreTrainedModel, most: int, error: Callable[[], Exception] = cuda_error
) -> Iterator[list[int]]:
    """Let a real model fail as if memory ran out where rows times what they attend to exceed ``most``."""
    sizes: list[int] = []

    def check(_: Any, args: Any, kwargs: dict[str, Any]) -> None:
        rows = kwargs["input_ids"].shape[0]
        size = rows * kwargs["attention_mask"].shape[-1]
        sizes.append(size)
        if size > most:
            raise error()

    hook = model.register_forward_pre_hook(check, with_kwargs=True)
    try:
        yield sizes
    finally:
        hook.remove()


def test_what_says_that_memory_ran_out() -> None:
    with pytest.raises(RuntimeError) as real:
        torch.empty(1 << 55)  # a real allocation that no machine grants
    assert out_of_memory(real.value)
    assert out_of_memory(cuda_error())
    assert out_of_memory(cpu_error())
    assert out_of_memory(MemoryError())
    assert not out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not out_of_memory(ValueError("out of memory"))


def test_the_budget_halves_and_grows_back() -> None:
    budget = TokenBudget(1000)
    budget.failed(600)
    assert budget.now == 300
    for _ in range(20):
        budget.succeeded(100)  # small passes prove nothing
    assert budget.now == 300
    grown = []
    for _ in range(200):
        budget.succeeded(budget.now)
        grown.append(budget.now)
    assert grown[14:16] == [300, 375]
    assert grown[-1] == 1000
    budget.failed(2_000)
    assert budget.now == 1000  # a single question may be larger than the budget
    budget.failed(3)
    assert budget.now == 1
    budget.failed(1)
    assert budget.now == 1


def test_batches_are_tried_again_smaller_and_parted_last() -> None:
    def work(batch: list[tuple[int, ...]]) -> int:
        total = len(batch) * max(map(len, batch))
        if total > 6:
            raise cuda_error()
        return total

    budget = TokenBudget(40)
    units = [(1,) * 9, (2,) * 4, (3,) * 4, (4,) * 3, (5,) * 2, (6,)]
    done = list(in_batches(units, lambda u: (len(u), 1), work, budget, lambda u: [(each,) for each in u]))
    assert all(one.result is not None for one in done)
    worked = sorted(number for one in done for unit in one.batch for number in unit)
    assert worked == sorted(number for unit in units for number in unit)
    done = list(in_batches(units, lambda u: (len(u), 1), work, TokenBudget(40)))
    failed = [one for one in done if one.result is None]
    assert [one.batch for one in failed] == [[(1,) * 9]]
    assert failed[0].problem == "CUDA out of memory. Tried to allocate 2.00 GiB."


def test_wide_rows_are_parted_without_trying_each_in_vain() -> None:
    """Once a row of eight was too wide, the others like it are parted at once."""
    tried: list[int] = []

    def work(batch: list[tuple[int, ...]]) -> int:
        tried.append(len(batch) * max(map(len, batch)))
        if tried[-1] > 6:
            raise cuda_error()
        return 1

    units = [tuple(range(8 * n, 8 * n + 8)) for n in range(10)]
    budget = TokenBudget(8)
    done = list(
        in_batches(units, lambda u: (len(u), 1), work, budget, lambda u: [u[:4], u[4:]] if len(u) > 4 else [])
    )
    assert sorted(n for one in done for unit in one.batch for n in unit) == list(range(80))
    assert sum(size > 6 for size in tried) <= 3
    assert budget.now >= 4


def test_other_errors_are_not_taken_for_short_memory() -> None:
    def work(batch: list[int]) -> int:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        list(in_batches([1], lambda _: (1, 1), work, TokenBudget(4)))


@pytest.mark.parametrize("error", [cuda_error, cpu_error])
def test_scores_are_the_same_with_short_memory(error: Callable[[], Exception]) -> None:
    model = random_model("Llama")
    asked = questions()
    expected = [pytest.approx(each, abs=1e-4) for each in reference(model, asked)]
    passes = Passes(model)
    encoded = dict(enumerate(asked))
    longest = max(question.length for question in asked)
    for ways in (
        lambda budget: score_plain(passes, encoded, budget),
        lambda budget: score_shared(passes, encoded, budget, LAYOUT),
    ):
        budget = TokenBudget(5_000)
        with short_memory(model, 3 * longest, error) as sizes:
            assert gathered(ways(budget), len(asked)) == expected
        assert max(sizes) > 3 * longest  # it did run out
        assert budget.now < 5_000


def test_a_question_that_memory_does_not_hold_alone_is_named() -> None:
    model = random_model("Llama")
    small = questions()[:6]
    large = Encoded(tuple(10 + n % 50 for n in range(300)), small[0].plan)
    encoded = dict(enumerate([*small, large]))
    passes = Passes(model)
    for batches in (
        score_plain(passes, encoded, TokenBudget(2_000)),
        score_shared(passes, encoded, TokenBudget(2_000), LAYOUT),
    ):
        with short_memory(model, 250):
            found = dict(pair for batch in batches for pair in batch)
        assert sorted(found) == list(range(7))
        assert found[6].reason.startswith("error: out of memory on this question alone (CUDA out of memory.")
        assert math.isnan(found[6].p_a)
        assert all(found[n].reason == "" and found[n].p_a > 0 for n in range(6))


def openings(number: int = 12, most: int = 20) -> dict[int, Opening]:
    return {
        key: Opening(question.context, 1_000 + key, most) for key, question in enumerate(questions()[:number])
    }


def written(batches: Iterator[list[tuple[int, Answer | str]]]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for batch in batches:
        for key, outcome in batch:
            assert key not in found
            found[key] = outcome if isinstance(outcome, str) else (outcome.tokens, outcome.complete)
    return found


@pytest.mark.parametrize("most", [90, 200, 700])
def test_answers_are_the_same_with_short_memory(most: int) -> None:
    model = random_model("Llama")
    passes = Passes(model)
    ends = frozenset([1, 2, 3])
    asked = openings()

    def budgets() -> Budgets:
        return Budgets(TokenBudget(2_000), TokenBudget(8_000))

    expected = written(write_shared(passes, asked, budgets(), LAYOUT, ends))
    assert len({len(tokens) for tokens, _ in expected.values()}) > 3  # they end at different times
    with short_memory(model, most) as sizes:
        found = written(write_shared(passes, asked, budgets(), LAYOUT, ends))
    assert max(sizes) > most
    longest = {key: len(opening.context) + len(expected[key][0]) for key, opening in asked.items()}
    for key, outcome in found.items():
        if isinstance(outcome, str):
            assert longest[key] + 8 > most  # only what does not fit alone has no answer
        else:
            assert outcome == expected[key]
    assert sorted(found) == sorted(asked)
    if most >= 200:
        assert found == expected
    with short_memory(model, most):
        plain = written(write_plain(passes, asked, TokenBudget(8_000), ends))
    assert sorted(plain) == sorted(asked)
    assert all(outcome == expected[key] for key, outcome in plain.items() if not isinstance(outcome, str))
    assert sum(isinstance(outcome, str) for outcome in plain.values()) < len(asked) or most == 90
