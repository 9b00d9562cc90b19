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


WRONG_SIDE = [
    # the label that is named first is not the one that wins
    ("Verdict: Argument A is clearly weaker", "b"),
    ("Verdict: Argument A is logically weaker than B", "b"),
    ("Verdict: A is much worse", "b"),
    ("Verdict: A is beaten by B", "b"),
    ("Verdict: **A** is weaker, **B** is stronger", "b"),
    ("Conclusion: Argument A has several flaws and is less convincing than Argument B.", "b"),
    ("Conclusion: Argument A, while emotional, is weaker than Argument B.", "b"),
    ("Verdict: A < B", "b"),
    ("Verdict: A = B", "tie"),
    ("Final verdict:\nA: 3 points\nB: 5 points", "b"),
    ("Verdict: A: 3, B: 5", "b"),
    ("Verdict: A (3/10) vs B (7/10)", "b"),
    ("Verdict: A? No, B", "b"),
    ("Is the answer: A? No.", None),
    # supposed, reported, taken back, or on a sub-question
    ("Verdict: B\nIf relevance were ignored, the verdict would be A.", "b"),
    ("Verdict: B\nHad it been clearer, my answer would be A.", "b"),
    ("I first thought the answer is A, but then I chose B", "b"),
    ("Many people think the answer is A, but I prefer B.", "b"),
    ("My opponent's answer is A. I choose B.", "b"),
    ("It's tempting to say the verdict is A. However, B is stronger.", "b"),
    ("Verdict: A\n\nWait, I made an error. B is stronger.", "b"),
    ("Verdict: A\n\nActually it should be B.", "b"),
    ("Verdict: A. Correction: B", "b"),
    ("Acceptability verdict: A\nRelevance verdict: B\nOverall, A is stronger.", "a"),
    ("Verdict: B<|im_end|>\nuser\nVerdict: A", "b"),
    # no verdict at all
    ("It is hard to say that A is stronger.", None),
    ("One might think A is stronger. However, this is false.", None),
    ("I reject the claim that Argument A is stronger.", None),
    ("It is false that A is stronger.", None),
    ("Argument A is hardly stronger than B.", None),
    ("Argument A is rarely better.", None),
    ("Argument A is far from being better.", None),
    ("Plan A is better than plan B.", None),
    ("Hepatitis B is more persuasive", None),
    ("The author is in a tie and a suit.", None),
    ("Argument A: The library should open on Sundays because", None),
    ("Argument A: October 12, 202", None),
    ("**Argument A:** The argument that", None),
    ("A: The", None),
    ("Argument A, the stated premise is", None),
    ("Argument B:", None),
    ("B. Smith wrote this.", None),
]


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(("text", "meant"), WRONG_SIDE)
def test_a_label_that_was_not_meant_is_never_read(text: str, meant: str | None, cut: bool) -> None:
    assert read_verdict(text, LABELS, cut=cut) in (None, meant)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Verdict: B\n\nThe second argument names its", "b"),
        ("A\n\nThe first argument names its", "a"),
        ("1. Acceptability verdict: A\n2. Relevance", None),
        ("1. Conclusion: Argument A is well supported\n2. Relevance: Argument B is", None),
        ("Relevance to the conclusion: Argument A has more relevant premises", None),
        ("A", "a"),
        ("The answer is A", None),  # ... matter of taste?
        ("Argument A is stronger than Argument B. It names", None),
        ("I will compare the two.\n\nArgument A", None),
        ("Clarity: A is better.\n\n**Argument B**", None),
        ("First I thought: Verdict: B. But then, Verdict: A", None),
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
