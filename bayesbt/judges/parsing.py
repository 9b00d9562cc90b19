r"""Which label a judge gave, read from what it wrote. The last verdict counts.

What a model writes holds label words that are no verdict: the English article (``A stronger argument would
...``), the names of the arguments (``Argument A claims ...``), the list of allowed labels, the sub-questions
of a chain of thought, what others might think. A wrong label is worse than none, so only whole statements of
a few forms are read, and everything else is no verdict:

1. said to be one (``Verdict: B``, ``the answer is A``, ``[[A]]``, ``\boxed{A}``), with nothing behind the
   label that could turn it round, or the only thing on the last line;
2. a sentence that does nothing but call one side stronger, or choose it (``Overall, B is the better one.``);
3. a label alone on the first line.

The last verdict of the highest rank that occurs counts, unless what follows takes it back (``Wait, ...``).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from bayesbt.judges.protocol import Outcome

_DRESS = r"[\s*_`~\"'“”\u2018’#>$\\()\[\]{}]{0,12}"
_SOFT = r"[ \t*_`~\"'“”\u2018’$\\()\[\]{}]{0,12}"
_NOUN = (
    r"(?:(?:the\s+)?(?:argument|option|text|candidate|answer|response|essay|choice|label|side|letter)\s+)?"
)
_MARK = r"(?:verdict|answer|label|decision|choice|conclusion|judge?ment|winner|result|preference|output)"
_LEAD = (
    r"(?:(?:and|so|thus|therefore|hence|overall|finally|ultimately|accordingly|in\s+(?:conclusion|sum|short|total)"
    r"|on\s+balance|all\s+in\s+all|to\s+conclude|my|the|final|correct|best|own|right)[\s,:]+)*"
)
_SAID = r"(?::|\uff1a|=|-{1,2}>?|–|—|\bis(?:\s*:)?|\bwould\s+be\b|\bmust\s+be\b|\bshould\s+be\b)"
_REASON = r"[\s,;]+(?:because|since|as|for|due\s+to|given|with)\b[^\n]*"
_BETTER = (
    r"(?:stronger|strongest|better|superior|preferable|winner"
    r"|more\s+(?:convincing|persuasive|compelling|effective|reasonable))"
)
_DEGREE = r"(?:(?!hardly|rarely|barely|scarcely|allegedly|supposedly)\w+ly\s+|much\s+)"
_TAIL = r"(?:\s+(?:argument|one|case|text|option))?(?:\s+(?:overall|here|of\s+the\s+two))?"
_TAKES_BACK = re.compile(
    r"\b(?:wait|actually|correction|correcting|mistake|mistaken|error|scratch\s+that|second\s+thoughts?|rather|"
    r"instead|reconsider\w*|no,|not\s+so|is\s+false|is\s+wrong|was\s+wrong)\b",
    re.IGNORECASE,
)
_BUT = re.compile(r"\s*(?:however|but|yet|still|nevertheless|that\s+said)\b", re.IGNORECASE)
_SPECIAL = re.compile(r"<\|[\w ]{1,40}\|>")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


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
    answer = _SPECIAL.split(text.rpartition("</think>")[2])[0]
    if "<think>" in answer:
        return None
    reader = _reader(tuple(sorted((outcome, label) for outcome, label in labels.items())))
    ranks = (reader.declared, reader.leading) if cut else (reader.declared, reader.argued, reader.leading)
    for rank in ranks:
        found = [
            (place, end, outcome)
            for place, end, outcome in rank(answer)
            if not (cut and _at_end(answer, end))
        ]
        if found:
            _, end, outcome = max(found)
            return None if _TAKES_BACK.search(answer, end) else outcome
    return None


def _at_end(text: str, place: int) -> bool:
    return place > 2 and not text[place:].strip(" *_`\"'\n")


Found = tuple[int, int, Outcome]


class _Reader:
    """The patterns for one set of labels."""

    def __init__(self, labels: tuple[tuple[Outcome, str], ...]) -> None:
        self._outcomes = {label.casefold(): outcome for outcome, label in labels}
        words = [re.escape(label) for _, label in sorted(labels, key=lambda entry: -len(entry[1]))]
        long = "|".join(word for word in words if len(word) > 1) or "(?!)"
        every = "|".join(words)
        edge = r"(?!\w|['’]\w|-\w)"
        label = rf"(?:an?\s+(?P<long>{long})|(?<!\w)(?P<label>{every})){edge}"
        other = rf"(?:{every}){edge}"
        flags = re.IGNORECASE
        is_better = (
            rf"(?:\s+(?:argument|one|option|text))?{_SOFT}\s+(?:(?:is|was|seems|appears|remains)\s+(?:the\s+)?"
            rf"{_DEGREE}{{0,2}}{_BETTER}|(?:makes|presents|offers|has|provides)\s+"
            rf"(?:the|a)\s+{_DEGREE}{{0,2}}{_BETTER}|wins|prevails){_TAIL}"
            rf"(?:\s+than\s+{_NOUN}{_SOFT}{other}{_SOFT})?"
        )
        closed = r"(?=[.!;]|\n|$)"
        in_brackets = r"(?=\s+\([^()\n]{0,200}\)\s*(?:[.!]|\n|$))"
        stated = rf"(?={is_better}{_SOFT}(?:[.!;,\n]|$))"
        ends = rf"{_SOFT}(?:{closed}|{in_brackets}|(?={_REASON})|{stated})"
        statement = (
            rf"{_MARK}(?:\s{{0,3}}\([^()\n]{{0,60}}\))?{_SOFT}(?P<said>{_SAID}){_DRESS}{_NOUN}{_SOFT}"
            rf"{label}{ends}"
        )
        start = r"(?:(?<=[.!?;\n])|^)[\s\d.)*_#>\-–•\"'{(]{0,12}"
        self._declared = (
            re.compile(rf"{start}{_LEAD}{statement}", flags),
            re.compile(rf"[\"']{_MARK}[\"']\s*:\s*[\"']{label}[\"']", flags),
            re.compile(rf"<{_MARK}>\s*{_NOUN}{label}\s*</", flags),
            re.compile(
                rf"{start}{_LEAD}{_MARK}{_SOFT}:?{_SOFT}\n+{_DRESS}{_NOUN}{label}{_SOFT}[.!]?{_SOFT}(?=\n|$)",
                flags,
            ),
            re.compile(rf"(?:\[\[|\\boxed\{{(?:\\text\{{)?)\s*{_NOUN}{label}\s*(?:\]\]|\}})", flags),
        )
        self._alone = re.compile(rf"{_DRESS}{_NOUN}{label}[\s*_`~\"'”’)\]}}$.!]{{0,12}}", flags)
        self._bare = re.compile(rf"{_SOFT}{label}[\s*_`~\"'”’)\]}}$.!]{{0,12}}", flags)
        self._opening = re.compile(rf"{_SOFT}(?P<label>{long}){edge}{_SOFT}\s*[.,;:–—-]", flags)
        opener = rf"{_SOFT}{_LEAD}(?:(?:although|though|while)\s[^,.;:]{{0,120}},\s+)?"
        close = rf"(?:[,;]?\s+(?:although|though|while|whereas|because|since|as)\s[^\n]*)?{_SOFT}[.!]*\s*"
        self._argued = (
            re.compile(rf"{opener}{_NOUN}{_SOFT}{label}{is_better}{close}", flags),
            re.compile(
                rf"{opener}the\s+{_DEGREE}{{0,2}}(?:{_BETTER}|winning){_TAIL}\s+(?:is|would\s+be)\s+"
                rf"{_NOUN}{_SOFT}{label}{close}",
                flags,
            ),
            re.compile(
                rf"{opener}I(?:['’]d|\s+would|\s+will)?\s+(?:choose|pick|select|prefer|favou?r|say|vote\s+for"
                rf"|go\s+with|side\s+with|decide\s+for)\s+{_NOUN}{_SOFT}{label}{close}",
                flags,
            ),
            re.compile(
                rf"(?:[^.;:!?\n]{{0,160}},\s+(?:so|thus|therefore|hence)\s+|{opener})(?:it|this)(?:\s+is|['’]s)\s+"
                rf"(?:an?\s+)(?P<label>{long}){edge}{close}",
                flags,
            ),
        )

    def declared(self, text: str) -> Iterator[Found]:
        """Find verdicts that are said to be one, and a label alone on the last line."""
        for pattern in self._declared:
            for match in pattern.finditer(text):
                by_verb = "said" in pattern.groupindex and match["said"][-1:].isalpha()
                if not (by_verb and self._word(match) == "a"):
                    yield self._found(match)
        stripped = text.rstrip()
        last = stripped.rfind("\n") + 1
        alone = self._alone.fullmatch(stripped, last)
        if alone and (last or self._word(alone) != "a"):
            others = (self._bare.fullmatch(line.strip()) for line in stripped[:last].splitlines())
            if not any(other and self._outcome(other) != self._outcome(alone) for other in others):
                yield self._found(alone)

    def argued(self, text: str) -> Iterator[Found]:
        """Find sentences that call one side stronger, or choose it; a ``However`` behind them undoes them."""
        for sentence in _SENTENCE.finditer(text):
            for pattern in self._argued:
                match = pattern.fullmatch(text, sentence.start(), sentence.end())
                if match and self._word(match) != "a" and not _BUT.match(text, sentence.end()):
                    yield self._found(match)

    def leading(self, text: str) -> Iterator[Found]:
        """Find a label alone on the first line, or a label of more than one letter that opens it."""
        first, _, rest = text.lstrip().partition("\n")
        match = self._bare.fullmatch(first.strip()) or self._opening.match(first.strip())
        if match and self._word(match) != "a" and not self._bare.fullmatch(rest.strip().partition("\n")[0]):
            place = text.index(first) + match.start()
            yield place, place + len(match[0]), self._outcome(match)

    def _found(self, match: re.Match[str]) -> Found:
        group = "long" if match.re.groupindex.get("long") and match["long"] else "label"
        return match.start(group), match.end(group), self._outcome(match)

    def _word(self, match: re.Match[str]) -> str:
        return (match["long"] if match.re.groupindex.get("long") and match["long"] else match["label"]) or ""

    def _outcome(self, match: re.Match[str]) -> Outcome:
        return self._outcomes[self._word(match).casefold()]


@functools.lru_cache(maxsize=16)
def _reader(labels: tuple[tuple[Outcome, str], ...]) -> _Reader:
    return _Reader(labels)
