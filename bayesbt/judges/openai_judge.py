"""A model behind any OpenAI-compatible server (vLLM, SGLang, TGI, llama.cpp, transformers serve, ...).

Two ways of answering, as for every judge. ``labels`` reads the probabilities of the labels where the server
gives log-probabilities: they are exact up to what lies outside the tokens that it names (100, 20 or 5 at a
place, as many as it grants). ``generate`` samples at temperature 1, with a seed for each question; whether
the same seed gives the same text is up to the server. Many requests are under way at a time, and each answer
is given out as soon as it is there.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bayesbt.judges.asking import FAILURES_IN_A_ROW
from bayesbt.judges.background import in_background, outcome_of
from bayesbt.judges.batching import reading_order
from bayesbt.judges.console import say
from bayesbt.judges.documents import JudgeDocument
from bayesbt.judges.parsing import read_verdict
from bayesbt.judges.prompts import Prompt
from bayesbt.judges.protocol import Presentation, Verdict, VerdictBatch
from bayesbt.judges.served_client import (
    Client,
    Json,
    RefusedError,
    ServerError,
    UnansweredError,
    checked_url,
)
from bayesbt.judges.served_cutting import cuts, is_too_long
from bayesbt.judges.served_dialect import PATH, TEMPERATURE, Dialect, find_dialect
from bayesbt.judges.served_labels import Path, check_paths, find_path, read_labels, reads_standard_labels
from bayesbt.judges.settings import BackendOptions, Decode


class OpenAIJudge:
    """A served model, asked for labels or for written answers.

    Nothing is sent before it is used for the first time; then a few requests for one token each find out
    what the server understands.

    Parameters
    ----------
    document : JudgeDocument
        ``hub_id`` is the name under which the server offers the model.
    options : BackendOptions
        Address of the server, concurrency, retries, way of answering.
    """

    def __init__(self, document: JudgeDocument, options: BackendOptions) -> None:
        self._document = document
        self._options = options
        self._paths: dict[str, Path | None] = {}
        checked_url(options.server.base_url)

    @property
    def name(self) -> str:
        """As in the ``judge`` column."""
        return self._document.name

    @property
    def decode(self) -> Decode:
        """What was asked for; of ``auto`` ``labels`` where the server gives all that this takes."""
        return self._asking.decode

    @property
    def fingerprint(self) -> str:
        """Sha256 over the model's name, here and on the server, and the way of asking; not the address."""
        parts = self._asking.dialect.shape() | {
            "decode": self.decode,
            "temperature": TEMPERATURE,
            "label_prefix": self._document.label_prefix,
            "over_long": self._options.over_long,
        }
        if self.decode == "generate":
            parts["max_new_tokens"] = self._options.max_new_tokens
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        """Give the turns that are sent; the server puts them into the model's chat template."""
        turns = self._asking.dialect.turns(prompt.render(presentation))
        return "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in turns)

    def tokens(self, presentation: Presentation, prompt: Prompt) -> int:
        """Estimate the tokens of a question, from their rate in a text that the server counted."""
        messages = prompt.render(presentation)
        length = len(messages.system) + len(messages.user)
        dialect = self._asking.dialect
        return round(dialect.template_tokens + length / dialect.characters_per_token)

    def computed_tokens(self, presentations: Sequence[Presentation], prompt: Prompt) -> int:
        """Estimate the tokens of all questions; what the server shares between them is not known."""
        return sum(self.tokens(presentation, prompt) for presentation in presentations)

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        """Ask many questions at a time, and give out each answer as soon as it is there.

        Questions that begin alike are sent one after the other, since servers remember beginnings.

        Raises
        ------
        ServerError
            Where no request can succeed (wrong key, no such model), or the server stops answering.
        DocumentError
            Where a label's probability cannot be read from this server.
        """
        answer = self._answering(prompt)
        order = reading_order(presentations)

        async def work(emit: Callable[[_Answer], None]) -> None:
            waiting = iter(order)

            async def ask_in_turn(client: Client) -> None:
                for place in waiting:
                    emit(await _settled(place, presentations[place], client, answer))

            async with Client(self._options.server) as client, asyncio.TaskGroup() as group:
                for _ in range(min(self._options.server.concurrency, len(order))):
                    group.create_task(ask_in_turn(client))

        held: VerdictBatch = []
        for arrived in in_background(work):
            batch = []
            for each in arrived:
                if each.silent:
                    held.append((each.place, each.verdict))
                    self._check(held)
                else:
                    batch += [*held, (each.place, each.verdict)]
                    held = []
            if batch:
                yield batch
        if held:
            yield held

    @functools.cached_property
    def _asking(self) -> _Asking:
        return outcome_of(self._find_out)

    async def _find_out(self) -> _Asking:
        """Settle how the server is asked, and which way of answering it gets."""
        wanted = self._options.decode
        async with Client(self._options.server) as client:
            dialect = await find_dialect(client, self._document, wants_logprobs=wanted != "generate")
            if wanted == "labels" and not dialect.top_logprobs:
                raise ServerError(
                    f"--decode labels: {client.base_url} gives no log-probabilities for the model "
                    f"{dialect.model!r}. Use --decode generate."
                )
            reads = wanted == "labels" or (
                wanted == "auto"
                and dialect.top_logprobs > 0
                and await reads_standard_labels(client, dialect, self._document.label_prefix)
            )
        if wanted == "auto" and not reads:
            why = "does not go on with A, Tie or B" if dialect.top_logprobs else "gives no log-probabilities"
            say(
                f"{self.name}: label probabilities cannot be read from this server (it {why}), so answers "
                "are sampled, as with --decode generate."
            )
        return _Asking("labels" if reads else "generate", dialect if reads else dialect.writing())

    def _answering(self, prompt: Prompt) -> _Ask:
        dialect = self._asking.dialect
        if self.decode == "labels":
            paths = self._read_paths(prompt)

            async def read(client: Client, presentation: Presentation) -> Verdict:
                return await read_labels(client, dialect, prompt.render(presentation), paths)

            ask = read
        else:
            limit = self._options.max_new_tokens

            async def write(client: Client, presentation: Presentation) -> Verdict:
                turns = dialect.turns(prompt.render(presentation))
                answer = await client.post(PATH, dialect.body(turns, limit, seed=presentation.seed))
                return _written(answer, prompt, limit)

            ask = write
        return _cutting(ask) if self._options.over_long == "truncate" else ask

    def _read_paths(self, prompt: Prompt) -> dict[str, Path]:
        """Give the tokens of the prompt's labels; found out once for each label."""
        unknown = [label for label in prompt.labels.values() if label not in self._paths]

        async def find() -> dict[str, Path | None]:
            async with Client(self._options.server) as client:
                prefix = self._document.label_prefix
                return {
                    label: await find_path(client, self._asking.dialect, label, prefix) for label in unknown
                }

        if unknown:
            self._paths |= outcome_of(find)
        found = {outcome: self._paths[label] for outcome, label in prompt.labels.items()}
        return check_paths(found, prompt.labels)

    def _check(self, held: VerdictBatch) -> None:
        if len(held) >= FAILURES_IN_A_ROW:
            raise ServerError(
                f"{self._options.server.base_url} has stopped answering: {len(held)} questions without an "
                f"answer between them, the last time: {held[-1][1].reason.removeprefix('error: ')}. What was "
                "judged before is kept: run the same command again when the server is back."
            )


_Ask = Callable[[Client, Presentation], Awaitable[Verdict]]


@dataclass(frozen=True)
class _Asking:
    """The way of answering, and the dialect for it."""

    decode: Decode
    dialect: Dialect


@dataclass(frozen=True)
class _Answer:
    """A verdict; ``silent`` where the server gave no answer, which says nothing about the question."""

    place: int
    verdict: Verdict
    silent: bool = False


def load(document: JudgeDocument, options: BackendOptions) -> OpenAIJudge:
    """Make the judge of a served model. Nothing is asked yet."""
    return OpenAIJudge(document, options)


async def _settled(place: int, presentation: Presentation, client: Client, ask: _Ask) -> _Answer:
    """Answer one question, come what may to it alone."""
    try:
        return _Answer(place, await ask(client, presentation))
    except RefusedError as error:
        return _Answer(place, Verdict.unscored(f"error: the server refuses the question: {error}"))
    except UnansweredError as error:
        return _Answer(place, Verdict.unscored(f"error: {error}"), silent=True)


def _cutting(ask: _Ask) -> _Ask:
    """Ask with shorter and shorter texts where the server finds them too long; the verdict says so."""

    async def cutting(client: Client, presentation: Presentation) -> Verdict:
        try:
            return await ask(client, presentation)
        except RefusedError as refused:
            if not is_too_long(str(refused)):
                raise
            first = refused
        for shorter, note in cuts(presentation):
            try:
                verdict = await ask(client, shorter)
            except RefusedError as refused:
                if not is_too_long(str(refused)):
                    raise
            else:
                raw = f"[{note}]\n{verdict.raw}" if verdict.raw else note
                return replace(verdict, raw=raw)
        raise first

    return cutting


def _written(answer: Json, prompt: Prompt, limit: int) -> Verdict:
    """Read the verdict from what the model wrote."""
    choice = answer["choices"][0]
    choice = choice if isinstance(choice, dict) else {}
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text, end = message.get("content") or "", choice.get("finish_reason")
    if not isinstance(text, str):
        text = json.dumps(text)
    if refusal := message.get("refusal"):
        return Verdict.unscored("refusal: the model refuses to answer", str(refusal))
    if end == "content_filter":
        return Verdict.unscored("refusal: the server's filter stopped the answer", text)
    verdict = read_verdict(text, prompt.labels, cut=end == "length")
    if verdict is not None:
        return Verdict.written(verdict, text)
    cut = f", which was cut at {limit} tokens" if end == "length" else ""
    return Verdict.unscored(f"parse: no verdict in the answer{cut}", text)
