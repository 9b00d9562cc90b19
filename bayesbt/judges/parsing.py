r"""Which label a judge gave, read from what it wrote. The last verdict counts.

What a model writes holds label words that are no verdict: the English article (``A stronger argument would
...``), the names of the arguments (``Argument A claims ...``), the list of allowed labels, the sub-questions
of a chain of thought. So a label word counts only where it stands as a verdict does, and the ways in which
it can do so are ranked:

1. said to be one (``Verdict: B``, ``the answer is A``, ``[[A]]``, ``\boxed{A}``), or the only thing on the
   last line;
2. said to be stronger or chosen in a sentence (``Argument A is logically stronger``, ``I choose B``);
3. the first thing that was written (``A. The first argument ...``).

The last verdict of the highest rank that occurs counts. Where none occurs there is no verdict.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from bayesbt.judges.protocol import Outcome

_DRESS = r"[\s*_`~\"'“”\u2018’#>$\\()\[\]{}]{0,12}"
_NOUN = (
    r"(?:(?:the\s+)?(?:argument|option|text|candidate|answer|response|essay|choice|label|side|letter)\s+"
    r"[*_`\"'“(\[]{0,4})?"
)
_MARKER = (
    r"\b(?:verdict|answer|label|decision|choice|conclusion|judge?ment|winner|result|preference|output)\b"
    r"(?:\s{0,3}\([^()\n]{0,60}\))?[\s*_`\"'#]{0,8}"
    r"(?P<said>:|\uff1a|=|-{1,2}>?|–|—|>|\bis(?:\s*:)?|\bwas\b|\b(?:would|should|must|will)\s+be\b|(?<=[\n\"]))"
    r"(?:\s{0,3}(?:therefore|thus|clearly|hence|then|simply|to\s+choose|for)\b,?)?"
)
_STRONGER = (
    r"(?:stronger|strongest|better|superior|preferable|(?:the\s+)?winner"
    r"|more\s+(?:convincing|persuasive|compelling|effective|reasonable))\b"
    r"(?=[\s*_]*(?:[.,;:!)\n]|$)|\s+(?:than|overall|argument|one|option|case|of\s+the|because|since|as|due|here|"
    r"\w+ly\b|\w+\s+(?:argument|case|one)\b))"
    r"(?!\s+(?:argument\s+|one\s+|case\s+)?(?:in|on|at|with|regarding|for|when)\b(?!\s+(?:all|total|sum)\b))"
)
_VERB = r"(?:is|was|seems|appears|remains|proves|emerges|stands|comes|makes|presents|offers|has|provides)"
_BEFORE = (
    r"(?:choose|pick|select|prefer|favou?r|vote\s+for|go\s+with|side\s+with"
    r"|(?:decide|rule)\s+(?:for|in\s+favou?r\s+of))"
)
_DENIES = re.compile(
    r"\b(?:not|neither|nor|never|no|cannot|whether|if|unless|although|though|while|whereas|would|could)\b|n['’]t\b",
    re.IGNORECASE,
)
_AT_FIRST = re.compile(r"\s*(?:initially|(?:at|on)\s+first|on\s+the\s+one\s+hand)\b", re.IGNORECASE)
_FOLLOWS_A_NAME = re.compile(
    r"(?:is|was|has|wins|because|since|as|over|for|by|due|with|given|seems|appears|but|on|in|here|overall)",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\s+(?:is|was|has|does|seems)\s*(?:not\b|n['’]t\b|weaker\b|less\b|worse\b|no\b)", re.IGNORECASE
)


def read_verdict(
    text: str, labels: Mapping[Outcome, str] | Mapping[str, str], *, cut: bool = False
) -> Outcome | None:
    r"""Read the verdict from what a judge wrote.

    Parameters
    ----------
    text : str
        The answer as it was written. What stands before ``</think>`` is no answer, nor is a thought that was
        never finished.
    labels : mapping
        The label of each outcome ``a``, ``tie``, ``b``, as in :class:`~bayesbt.judges.prompts.Prompt`. They
        count in any case and as whole words.
    cut : bool
        The text ends in mid-answer. Then what it argues on the way is no verdict, nor are its last words.

    Returns
    -------
    str or None
        ``a``, ``tie`` or ``b``; None where the text holds no verdict.

    Examples
    --------
    >>> labels = {"a": "A", "tie": "Tie", "b": "B"}
    >>> read_verdict("Argument A cites no source.\n\n**Verdict:** B", labels)
    'b'
    >>> read_verdict("A stronger argument would cite a source.", labels)
    """
    answer = text.rpartition("</think>")[2]
    if "<think>" in answer:
        return None
    reader = _reader(tuple(sorted((outcome, label) for outcome, label in labels.items())))
    ranks = (reader.declared, reader.leading) if cut else (reader.declared, reader.argued, reader.leading)
    for rank in ranks:
        found = [
            (place, outcome) for place, end, outcome in rank(answer) if not (cut and _at_end(answer, end))
        ]
        if found:
            return max(found)[1]
    return None


def _at_end(text: str, place: int) -> bool:
    return place > 2 and not text[place:].strip(" *_`\"'\n")


class _Reader:
    """The patterns for one set of labels."""

    def __init__(self, labels: tuple[tuple[Outcome, str], ...]) -> None:
        self._outcomes = {label.casefold(): outcome for outcome, label in labels}
        words = "|".join(re.escape(label) for _, label in sorted(labels, key=lambda entry: -len(entry[1])))
        word = rf"(?:(?<!\w)an?\s+)?(?<!\w)(?<!\w['’])(?P<label>{words})(?!\w|['’]\w|-\w)"
        flags = re.IGNORECASE
        self._declared = re.compile(rf"{_MARKER}{_DRESS}{_NOUN}{word}", flags)
        self._boxed = re.compile(rf"(?:\[\[|\\boxed\{{(?:\\text\{{)?)\s*{_NOUN}{word}\s*(?:\]\]|\}})", flags)
        self._alone = re.compile(rf"{_DRESS}{_NOUN}{word}[\s*_`~\"'”’)\]}}$.!]{{0,12}}", flags)
        self._list = re.compile(
            rf"[\s*_`\"'”)]*(?:,|/|\||\bor\b|\band\b|\bvs\b)[\s*_`\"'“(]*(?:or\s+)?{_NOUN}{word}", flags
        )
        between = r"(?:\s+(?!not\b|no\b|than\b)[\w'’-]+){0,5}?"
        own_noun = r"(?:\s+(?:argument|one|option|text))?"
        self._is_stronger = re.compile(
            rf"{_NOUN}{word}{own_noun}[*_`\"'”)]{{0,4}}\s+(?:(?:{_VERB}{between}\s+{_STRONGER})|(?:wins|prevails)\b)",
            flags,
        )
        self._chosen = re.compile(
            rf"\b(?:{_BEFORE}|(?:stronger|better|superior|winning)(?:\s+\w+)?(?:\s+\w+)?\s+(?:is|would\s+be)|I(?:['’]d|\s+would)?\s+say)"
            rf":?\s+{_DRESS}{_NOUN}{word}",
            flags,
        )
        self._is_level = re.compile(
            rf"\b(?:is|it['’]s|was|as|in|it|declare|call)\s+(?:an?\s+)(?:\w+\s+)?{word}", flags
        )
        self._leading = re.compile(
            rf"{_DRESS}{_NOUN}{word}(?=[*_`\"'”)\]]{{0,6}}\s*(?:[.,:;\n–—-]|$))", flags
        )

    def declared(self, text: str) -> Iterator[tuple[int, int, Outcome]]:
        """Find verdicts that are said to be one, and a label alone on the last line."""
        for match in self._declared.finditer(text):
            by_verb = match["said"][-1:].isalpha()
            if self._names(match, text) and not (by_verb and match["label"] == "a"):
                yield self._found(match)
        for match in self._boxed.finditer(text):
            yield self._found(match)
        stripped = text.rstrip()
        last = stripped.rfind("\n") + 1
        if (alone := self._alone.fullmatch(stripped, last)) and (last or alone["label"] != "a"):
            yield self._found(alone)

    def argued(self, text: str) -> Iterator[tuple[int, int, Outcome]]:
        """Find sentences that call one side stronger, or choose it; those on a sub-question do not count."""
        for pattern in (self._is_stronger, self._chosen, self._is_level):
            for match in pattern.finditer(text):
                level = pattern is self._is_level
                if level and len(match["label"]) < 3:
                    continue
                if not self._qualified(match, text) and (
                    pattern is not self._chosen or self._names(match, text)
                ):
                    yield self._found(match)

    def leading(self, text: str) -> Iterator[tuple[int, int, Outcome]]:
        """Find a label at the very beginning, where the lines are no list that goes A, B, ..."""
        lines = text.strip().splitlines()
        starts = [match for line in lines if (match := self._leading.match(line.strip()))]
        if lines and len(starts) == 1 and self._leading.match(lines[0].strip()) is not None:
            match = starts[0]
            heading = match[0].rstrip("*_` ").casefold() != match["label"].casefold() and len(lines) > 1
            if match["label"] != "a" and not heading and not self._list.match(lines[0].strip(), match.end()):
                yield self._found(match)

    def _found(self, match: re.Match[str]) -> tuple[int, int, Outcome]:
        return match.start("label"), match.end("label"), self._outcomes[match["label"].casefold()]

    def _names(self, match: re.Match[str], text: str) -> bool:
        """Whether the label word names a verdict here: no article, no list of labels, nothing denied."""
        end = match.end("label")
        if self._list.match(text, end) or _DENIED.match(text, end):
            return False
        label = match["label"]
        follower = re.match(r"[*_`\"'”)\]}]*[^\S\n]+([^\W\d_]+)", text[end : end + 60])
        if len(label) > 1 or follower is None:
            return True
        is_name = label == "A" and _FOLLOWS_A_NAME.fullmatch(follower[1]) is not None
        return label.casefold() != "a" or is_name

    def _qualified(self, match: re.Match[str], text: str) -> bool:
        """Whether the clause denies it, supposes it, or answers a sub-question (``Clarity: A is better``)."""
        start = match.start()
        clause = max(text.rfind(sign, 0, start) for sign in ".;!?\n,—") + 1
        said = text[clause : match.end()]
        if _DENIES.search(re.sub(r"\bI would\b", "", said) if match.re is self._chosen else said):
            return True
        line = text.rfind("\n", 0, start) + 1
        sentence = max(text.rfind(sign, line, start) for sign in ".;!?") + 1 or line
        head, colon, _ = text[sentence:start].rpartition(":")
        if _AT_FIRST.match(text, sentence):
            return True
        return bool(colon) and not re.search(
            r"overall|conclusion|sum|verdict|answer|therefore", head, re.IGNORECASE
        )


@functools.lru_cache(maxsize=16)
def _reader(labels: tuple[tuple[Outcome, str], ...]) -> _Reader:
    return _Reader(labels)
