"""Label plans, batches and draws: pure arithmetic."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesbt.errors import DocumentError
from bayesbt.judges.batching import batch_size
from bayesbt.judges.draws import draw_outcome, uniform
from bayesbt.judges.labels import Reading, plan_labels
from bayesbt.judges.protocol import Verdict


def test_single_token_labels_need_the_context_alone() -> None:
    plan = plan_labels({"a": (5,), "tie": (7,), "b": (6,)})
    assert plan.suffixes == ((),)
    assert plan.readings == {"a": (Reading(0, 0, 5),), "tie": (Reading(0, 0, 7),), "b": (Reading(0, 0, 6),)}


def test_labels_share_rows_where_one_beginning_holds_the_other() -> None:
    plan = plan_labels({"a": (1, 2, 3), "tie": (1, 9), "b": (4, 5)})
    assert plan.suffixes == ((1, 2), (4,))
    assert plan.readings["a"] == (Reading(0, 0, 1), Reading(0, 1, 2), Reading(0, 2, 3))
    assert plan.readings["tie"] == (Reading(0, 0, 1), Reading(0, 1, 9))
    assert plan.readings["b"] == (Reading(0, 0, 4), Reading(1, 1, 5))
    assert plan.longest == 2


@pytest.mark.parametrize("longer", [(3, 4), (3,)])
def test_a_label_that_begins_another_is_refused(longer: tuple[int, ...]) -> None:
    with pytest.raises(DocumentError, match="is the beginning of label"):
        plan_labels({"a": (3,), "tie": longer, "b": (8,)})


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), min_size=3, max_size=3))
def test_readings_give_the_chain_rule_under_any_model(labels: list[tuple[int, ...]]) -> None:
    named = dict(zip("abc", labels, strict=True))
    if any(x != y and named[y][: len(named[x])] == named[x] for x in named for y in named):
        with pytest.raises(DocumentError):
            plan_labels(named)
        return

    def conditional(before: tuple[int, ...]) -> np.ndarray:
        weights = np.random.default_rng([len(before), *before]).random(3)
        return weights / weights.sum()

    plan = plan_labels(named)
    for name, tokens in named.items():
        direct = math.prod(conditional(tokens[:place])[token] for place, token in enumerate(tokens))
        planned = math.prod(
            conditional(plan.suffixes[reading.row][: reading.offset])[reading.token]
            for reading in plan.readings[name]
        )
        assert planned == pytest.approx(direct, rel=1e-12)
    assert len(plan.suffixes) <= len({tokens[:-1] for tokens in labels})


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 3)), min_size=1, max_size=40), st.integers(1, 200)
)
def test_a_batch_holds_as_many_as_the_budget_allows(sizes: list[tuple[int, int]], budget: int) -> None:
    sizes.sort(reverse=True)
    number = batch_size(iter(sizes), budget)

    def cost(first: int) -> int:
        return sum(rows for _, rows in sizes[:first]) * sizes[0][0]

    assert cost(number) <= budget or number == 1
    assert number == len(sizes) or cost(number + 1) > budget


def test_the_number_of_a_judgment_is_fixed_for_ever() -> None:
    # the first 53 bits of sha256('["x", 1]') = 38e37cb98808b9cc...; a change would redraw everyone's labels
    assert uniform("x", 1) == float.fromhex("0x1.c71be5cc4045cp-3")
    assert uniform("x", 1) == (0x38E37CB98808B9CC >> 11) / 2**53


def test_labels_follow_the_renormalised_probabilities() -> None:
    verdict = Verdict.from_label_masses(0.25, 0.1, 0.05)
    draws = Counter(draw_outcome(verdict, uniform("pair", number)) for number in range(20_000))
    for outcome, expected in (("a", 0.625), ("tie", 0.25), ("b", 0.125)):
        sd = math.sqrt(expected * (1 - expected) / 20_000)
        assert draws[outcome] / 20_000 == pytest.approx(expected, abs=4 * sd)


def test_borders_of_the_draw() -> None:
    verdict = Verdict.from_label_masses(0.2, 0.1, 0.1)
    assert [draw_outcome(verdict, x) for x in (0.0, 0.499, 0.501, 0.749, 0.751, 0.999)] == [
        "a",
        "a",
        "tie",
        "tie",
        "b",
        "b",
    ]


@pytest.mark.parametrize(
    "masses", [(math.nan, 0.1, 0.1), (math.inf, 0, 0), (0.9, 0.9, 0.1), (-0.1, 0.5, 0.5), (0.0, 0.0, 0.0)]
)
def test_masses_that_are_no_probabilities_are_unscored(masses: tuple[float, float, float]) -> None:
    verdict = Verdict.from_label_masses(*masses)
    assert verdict.reason.startswith("error")
    assert math.isnan(verdict.p_tie)


def test_what_falls_on_no_label_is_kept() -> None:
    verdict = Verdict.from_label_masses(0.03, 0.0005, 0.001)
    assert verdict.p_other == pytest.approx(0.9685, rel=1e-9)
    assert verdict.p_a + verdict.p_tie + verdict.p_b + verdict.p_other == pytest.approx(1.0, abs=1e-9)
