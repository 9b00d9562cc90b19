"""What counts as a verdict in a text that a judge wrote, and what does not."""

from __future__ import annotations

import time

import pytest

from bayesbt.judges.parsing import read_verdict

LABELS = {"a": "A", "tie": "Tie", "b": "B"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the label alone
        ("A", "a"),
        (" B ", "b"),
        ("Tie", "tie"),
        ("tie", "tie"),
        ("TIE.", "tie"),
        ("**A**", "a"),
        ("'B'", "b"),
        ("[[A]]", "a"),
        ("(B)", "b"),
        ("Argument B.", "b"),
        ("**Argument A**", "a"),
        ("\\boxed{B}", "b"),
        ("b", "b"),
        # said to be the answer
        ("Answer: B.", "b"),
        ("answer: b", "b"),
        ("Answer: a", "a"),
        ("The answer is: Tie", "tie"),
        ("The answer is **A**.", "a"),
        ("**Final verdict:** B", "b"),
        ("### Verdict\n\n**B**\n\nThe second one cites its source.", "b"),
        ("Verdict: Argument A", "a"),
        ("Verdict: Argument A is logically stronger.", "a"),
        ("Answer: A because it is sound.", "a"),
        ("Answer (A, B or Tie): B", "b"),
        ('{"reason": "Argument A is vague", "verdict": "B"}', "b"),
        ("<answer>A</answer>", "a"),
        ("The correct label would be B", "b"),
        ("My decision is a tie.", "tie"),
        ("Answer: A tie.", "tie"),
        ("So the verdict is A, since B begs the question.", "a"),
        ("Reasoning: the answer depends on the audience.\nLabel: Tie (both rest on one premise)", "tie"),
        # the last one counts
        ("Verdict: A\nWait, that is wrong.\nVerdict: B", "b"),
        ("Argument A is stronger.\nFinal answer: Tie", "tie"),
        ("Verdict: B. Argument A is stronger in tone.", "b"),
        ("First I thought: answer: A.\n\nB", "b"),
        ("<think>Answer: A</think>\nB", "b"),
        ("1. Acceptability: A\n2. Relevance: A\n3. Sufficiency: B\n\nOverall: see below.\n\nVerdict: A", "a"),
        # said to be stronger, or chosen
        ("Argument A is logically stronger than Argument B.", "a"),
        ("Argument A is weaker. I choose B.", "b"),
        ("Overall, B is the stronger argument.", "b"),
        ("B is stronger overall, although A is better written.", "b"),
        ("Although A is better, B is stronger.", "b"),
        ("The stronger argument is Argument B.", "b"),
        ("I would say B.", "b"),
        ("Both rest on the same premise, so it is a tie.", "tie"),
        ("Clarity: Argument A is better. Overall: Argument B is stronger.", "b"),
        ("Argument B makes the stronger case.", "b"),
        ("Argument A wins.", "a"),
        # the first thing written
        ("A. The first argument names its premises.", "a"),
        ("B\n\nThe second argument names its premises, the first none.", "b"),
        ("Tie - both are vague.", "tie"),
    ],
)  # fmt: skip
def test_a_verdict_is_read(text: str, expected: str) -> None:
    assert read_verdict(text, LABELS) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot decide.",
        # the English article
        "A stronger argument would cite a source.",
        "A stronger argument",
        "The answer is a matter of taste.",
        "The answer is a",
        "Answer: A stronger argument would cite a source.",
        "The verdict is a difficult one.",
        "Verdict: a close call",
        "a",
        # the names of the arguments
        "Argument A claims that taxes rise. Argument B denies it.",
        "Argument A\nIt claims that taxes rise.\nArgument B\nIt denies that.",
        "Argument A: taxes rise.\n\nArgument B: they fall.",
        "A's answer: weak.",
        # lists of labels
        "Reply with one of these. Answer: A, B or Tie",
        "Label: A or B?",
        "A, B or Tie",
        "A/B",
        "A. Acceptability of the premises\nB. Relevance of the premises",
        # sub-questions, and an answer that was cut off within them
        "1. Clarity: Argument A is better.\n2. Emotional appeal: Argument",
        "Argument A is stronger in clarity.",
        "Acceptability: A\nRelevance: B\nSufficiency: unclear, as",
        # denied, supposed, weighed
        "The answer is not A.",
        "Argument A is not stronger.",
        "I don't think Argument A is stronger.",
        "Neither argument A is stronger nor the other.",
        "Verdict: Argument A is not stronger",
        "It is hard to say whether Argument A is stronger.",
        "This is not a tie.",
        "It would be a tie if the premises held.",
        "Initially, Argument A seems stronger than Argument B.",
        "At first glance, A is stronger.",
        # words that hold a label
        "Answer: Absolutely neither",
        "verdict: B-movies are worse",
        "the tie-break decides",
        # a thought that was never finished
        "<think>The answer is A. But",
    ],
)
def test_what_is_no_verdict_is_not_read_as_one(text: str) -> None:
    assert read_verdict(text, LABELS) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Verdict: B\n\nThe second argument names its", "b"),
        ("A. The first argument names its", "a"),
        ("A", "a"),
        ("The answer is A", None),  # ... matter of taste?
        ("Argument A is stronger than Argument B. It names", None),
        ("I will compare the two.\n\nArgument A", None),
        ("Clarity: A is better.\n\n**Argument B**", None),
        ("First I thought: Verdict: B. But then, Verdict: A", "b"),
    ],
)
def test_of_an_answer_that_was_cut_only_what_it_declares_counts(text: str, expected: str | None) -> None:
    assert read_verdict(text, LABELS, cut=True) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Verdict: first", "a"),
        ("The first argument is stronger.", "a"),
        ("I choose second.", "b"),
        ("equal", "tie"),
        ("The first argument makes a claim.", None),
        ("Answer: A", None),
    ],
)
def test_labels_may_be_any_words(text: str, expected: str | None) -> None:
    assert read_verdict(text, {"a": "first", "tie": "equal", "b": "second"}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", "a"), ("Answer: 2", "b"), ("12", None), ("Answer: 20", None), ("My answer = 0", "tie")],
)
def test_labels_may_be_numbers(text: str, expected: str | None) -> None:
    assert read_verdict(text, {"a": "1", "tie": "0", "b": "2"}) == expected


@pytest.mark.parametrize(
    "text",
    [
        "verdict: " * 20_000,
        "A is " * 20_000,
        "a " * 40_000,
        "\n" * 80_000,
        "answer " + "*" * 80_000,
        "[[" * 40_000,
    ],
)
def test_a_long_answer_costs_no_time(text: str) -> None:
    begun = time.perf_counter()
    read_verdict(text, LABELS)
    assert time.perf_counter() - begun < 5.0
