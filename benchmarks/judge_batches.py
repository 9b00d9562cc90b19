"""Time the demo judge at several batch sizes, each in turn on the same questions. Run with `make bench`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import bayesbt as bt
from bayesbt.judges.backends import load_judge
from bayesbt.judges.prompts import read_prompt
from bayesbt.judges.protocol import Judge, Presentation
from bayesbt.judges.settings import BackendOptions

BUDGETS = (1, 512, 1024, 2048, 4096, 8192)
PASSES = 2


def questions(n: int) -> list[Presentation]:
    """Pairs of the demo's arguments; each question is as long as the demo's."""
    items = bt.read_items("data/ladder/items.csv").frame
    rows = items[["item", "text", "topic"]].itertuples(index=False)
    pairs = [(a, b) for a, b in permutations(rows, 2) if a.topic == b.topic][:: max(1, 396 // n)][:n]
    return [Presentation(a.item, b.item, a.text, b.text, "logic", a.topic) for a, b in pairs]


def rate(judge: Judge, asked: Sequence[Presentation]) -> float:
    """Presentations a second."""
    started = time.perf_counter()
    answered = sum(len(batch) for batch in judge.verdicts(asked, read_prompt("zero-shot")))
    assert answered == len(asked)
    return answered / (time.perf_counter() - started)


def main() -> None:
    """Print the best of two passes for each budget, and its ratio to one question at a time."""
    asked, options = questions(24), BackendOptions()
    judges = {budget: load_judge("smollm2-135m", replace(options, batch_tokens=budget)) for budget in BUDGETS}
    rates: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    for judge in judges.values():
        rate(judge, asked[:4])  # loads the weights
    for _, budget in product(range(PASSES), BUDGETS):
        rates[budget].append(rate(judges[budget], asked))
    for budget, measured in rates.items():
        ratio = max(measured) / max(rates[1])
        print(f"batch of {budget:>5} tokens: {max(measured):5.2f} presentations/s, {ratio:4.2f} x one by one")


if __name__ == "__main__":
    main()
