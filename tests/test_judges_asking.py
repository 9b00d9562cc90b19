"""One bad question, or one bad moment, costs no other question its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from bayesbt.errors import DocumentError
from bayesbt.judges.asking import JudgeFailedError, ask
from bayesbt.judges.prompts import Prompt, read_prompt
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch

PROMPT = read_prompt("zero-shot")


def questions(number: int) -> list[Presentation]:
    return [Presentation(f"i{n}", "k", "text", "text", "logic") for n in range(number)]


@dataclass
class Fragile:
    """A judge that raises on a batch where ``fails`` says so of one of its questions."""

    fails: Callable[[int], bool]
    batch: int = 8
    name: str = "fragile"
    error: Exception = field(default_factory=lambda: RuntimeError("CUDA error\nand a long trace"))
    asked: Counter[int] = field(default_factory=Counter)
    calls: int = 0

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        self.calls += 1
        numbers = [int(each.item_a[1:]) for each in presentations]
        for start in range(0, len(numbers), self.batch):
            places = range(start, min(start + self.batch, len(numbers)))
            self.asked.update(numbers[place] for place in places)
            if any(self.fails(numbers[place]) for place in places):
                raise self.error
            yield [(place, Verdict.from_label_masses(0.5, 0.2, numbers[place] / 10_000)) for place in places]


def answers(judge: Fragile, number: int) -> dict[int, Verdict]:
    found: dict[int, Verdict] = {}
    for batch in ask(judge, questions(number), PROMPT):
        for place, verdict in batch:
            assert place not in found
            found[place] = verdict
    return found


@pytest.mark.parametrize("bad", [{0}, {99}, {50}, {0, 1, 99}, {7, 8, 40, 41, 77}])
def test_only_the_questions_on_which_a_model_raises_stay_without_an_answer(bad: set[int]) -> None:
    judge = Fragile(lambda number: number in bad)
    found = answers(judge, 100)
    assert set(found) == set(range(100))
    assert {place for place, verdict in found.items() if verdict.reason} == bad
    assert {found[place].reason for place in bad} == {"error: RuntimeError: CUDA error"}
    assert all(found[place].p_b == place / 10_000 for place in set(range(100)) - bad)
    assert judge.calls < 60


def test_a_judge_that_never_fails_is_asked_once_for_all() -> None:
    judge = Fragile(lambda number: False)
    assert len(answers(judge, 100)) == 100
    assert judge.calls == 1
    assert set(judge.asked.values()) == {1}
    assert answers(judge, 0) == {}


def test_a_question_that_fails_once_is_answered() -> None:
    moments = iter([True])
    judge = Fragile(lambda number: number == 30 and next(moments, False))
    found = answers(judge, 64)
    assert not any(verdict.reason for verdict in found.values())


def test_a_judge_that_always_fails_is_given_up_at_once() -> None:
    judge = Fragile(lambda number: True)
    with pytest.raises(JudgeFailedError, match=r"'fragile' fails on question after question \(3 without"):
        answers(judge, 1000)
    assert judge.calls == 1 + 3 * 2


def test_a_judge_that_breaks_down_is_given_up_and_the_questions_are_not_blamed() -> None:
    found: list[tuple[int, Verdict]] = []
    asking = ask(Fragile(lambda number: number >= 500), questions(1000), PROMPT)
    with pytest.raises(JudgeFailedError, match=r"20 without an answer.*CUDA error"):
        found.extend(entry for batch in asking for entry in batch)
    assert {place for place, _ in found} >= set(range(496))
    assert not any(verdict.reason for _, verdict in found)


def test_very_few_questions_may_all_fail() -> None:
    found = answers(Fragile(lambda number: True), 2)
    assert [found[place].reason for place in range(2)] == ["error: RuntimeError: CUDA error"] * 2


def test_our_own_errors_are_passed_on() -> None:
    judge = Fragile(lambda number: True, error=DocumentError("label fuses"))
    with pytest.raises(DocumentError, match="label fuses"):
        answers(judge, 100)
    assert judge.calls == 1


@dataclass
class Careless:
    """A judge that forgets some questions, and answers others twice."""

    name: str = "careless"

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        verdict = Verdict.from_label_masses(0.1, 0.2, 0.3)
        for place, presentation in enumerate(presentations):
            if presentation.item_a != "i5":
                yield [(place, verdict), (place, verdict)]


def test_what_a_judge_leaves_out_is_asked_again_and_what_it_says_twice_counts_once() -> None:
    found = [entry for batch in ask(Careless(), questions(10), PROMPT) for entry in batch]
    assert sorted(place for place, _ in found) == list(range(10))
    assert {verdict.reason for place, verdict in found if place == 5} == {"error: the judge gave no answer"}
