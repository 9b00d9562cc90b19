"""What one server understands, found out by a few requests for one token each before anything is judged."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from bayesbt.judges.documents import JudgeDocument
from bayesbt.judges.prompts import Messages
from bayesbt.judges.served_client import Client, Json, RefusedError, ServerError, UnansweredError

Continuing = Literal["asked", "implied", "no"]

TEMPERATURE = 1.0
SAMPLING: tuple[Json, ...] = (
    {"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},  # vLLM, SGLang, llama.cpp
    {"top_p": 1.0, "generation_config": json.dumps({"do_sample": True, "top_k": 0})},  # transformers serve
    {"top_p": 1.0},
    {},
)
"""What makes a server sample from the model's own probabilities; the first that it accepts is sent.

Servers cut off unlikely words by default (``top_k``, ``min_p``), or take the model's recommendation to do so.
"""
TOP_LOGPROBS = (100, 20, 5)
BROKEN_AFTER = 3
"""So often a server answers 500 to a request before that counts as its refusal."""

PATH = "chat/completions"

_SYSTEM = (
    "Two short texts follow. Read both of them with care and attention before anything else is done. Then "
    "say which of the two was written in fewer words, and which of them names more colours of the rainbow. "
    "Where they are equal in both respects, say so in plain words, and add nothing that was not asked for."
)
_USER = "The sky is blue.\n\nGrass is green and roses are red."


@dataclass(frozen=True)
class Dialect:
    """How a model on a server is asked.

    Attributes
    ----------
    model : str
        The name under which it is asked for.
    reported : str
        What the server calls it; of a path the last part, since folders move.
    limit_name : str
        The field that limits the length of an answer.
    folds_system : bool
        The system text goes before the user's, since the chat template refuses or drops a system turn.
    sampling : str
        One of :data:`SAMPLING`, as JSON.
    top_logprobs : int
        Log-probabilities that come with each token; 0: none.
    continuing : str
        Whether the server goes on with an answer that was begun: where it is ``asked`` to, where the last
        turn is the assistant's (``implied``), or not.
    characters_per_token, template_tokens : float
        Of English text, and of what the chat template adds, for estimates.
    """

    model: str
    reported: str = ""
    limit_name: str = "max_tokens"
    folds_system: bool = False
    sampling: str = "{}"
    top_logprobs: int = 0
    continuing: Continuing = "no"
    characters_per_token: float = 4.0
    template_tokens: float = 0.0

    def shape(self) -> dict[str, Any]:
        """Give what can change an answer."""
        found = asdict(self)
        for estimate in ("characters_per_token", "template_tokens", "limit_name"):
            del found[estimate]
        return found

    def turns(self, messages: Messages) -> list[dict[str, str]]:
        """Give the turns of a question."""
        user = messages.user
        if messages.system and self.folds_system:
            user = f"{messages.system}\n\n{messages.user}"
        turns = [{"role": "user", "content": user}]
        if messages.system and not self.folds_system:
            turns.insert(0, {"role": "system", "content": messages.system})
        return turns

    def body(self, turns: list[dict[str, str]], limit: int, begun: str = "", seed: int | None = None) -> Json:
        """Write a request.

        Parameters
        ----------
        limit : int
            Longest answer in tokens.
        begun : str
            The beginning of the answer, with which the server goes on.
        seed : int, optional
            Its last 31 bits are sent: servers differ in what they take.
        """
        body: Json = {"model": self.model, "messages": turns, self.limit_name: limit}
        body |= {"temperature": TEMPERATURE, **json.loads(self.sampling)}
        if self.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        if begun:
            body["messages"] = [*turns, {"role": "assistant", "content": begun}]
            if self.continuing == "asked":
                body |= {"add_generation_prompt": False, "continue_final_message": True}
        if seed is not None:
            body["seed"] = seed & 0x7FFFFFFF
        return body

    def writing(self) -> Dialect:
        """Give the dialect for written answers, which need no log-probabilities."""
        return replace(self, top_logprobs=0)


def prompt_tokens(answer: Json) -> int | None:
    """Read how many tokens the server counted in the question."""
    usage = answer.get("usage")
    number = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return number if isinstance(number, int) else None


def token_logprobs(answer: Json) -> dict[bytes, float]:
    """Read the most probable tokens at the first place of an answer, with their log-probabilities.

    Of two tokens that read alike the more probable one counts. Empty where the server gave none.
    """
    found: dict[bytes, float] = {}
    try:
        entries = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        for entry in entries:
            written = entry.get("bytes")
            token = bytes(written) if written else str(entry["token"]).encode()
            value = entry["logprob"]
            if isinstance(value, int | float):
                found[token] = max(float(value), found.get(token, float("-inf")))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return {}
    return found


async def find_dialect(client: Client, document: JudgeDocument, wants_logprobs: bool) -> Dialect:
    """Ask for one token a few times, each time with one thing more, and see what the server accepts.

    Raises
    ------
    ServerError
        Where the server does not answer, refuses the plainest request, or offers no such model.
    """
    dialect = Dialect(str(document.hub_id or document.name))
    plain = Messages("", _USER)
    bare, answer = await _first_accepted(
        client, plain, dialect, replace(dialect, limit_name="max_completion_tokens")
    )
    dialect = replace(bare, reported=_reported(answer, bare.model))
    counted = prompt_tokens(answer)
    dialect = await _with_system(client, document, dialect, counted)
    for sampling in SAMPLING:
        changed = replace(dialect, sampling=json.dumps(sampling))
        if await _accepted(client, plain, changed) is not None:
            dialect = changed
            break
    return await _with_logprobs(client, plain, dialect, counted) if wants_logprobs else dialect


async def _with_system(
    client: Client, document: JudgeDocument, dialect: Dialect, counted: int | None
) -> Dialect:
    """Find out whether a system turn is taken, and not dropped; and how long words are in tokens."""
    if document.system_role == "fold":
        return replace(dialect, folds_system=True)
    answer = await _accepted(client, Messages(_SYSTEM, _USER), dialect)
    if answer is None:
        return replace(dialect, folds_system=True)
    longer = prompt_tokens(answer)
    if counted is None or longer is None:
        return dialect
    if longer <= counted:
        return replace(dialect, folds_system=True)
    rate = len(_SYSTEM) / (longer - counted)
    return replace(dialect, characters_per_token=rate, template_tokens=max(0.0, counted - len(_USER) / rate))


async def _with_logprobs(client: Client, plain: Messages, dialect: Dialect, counted: int | None) -> Dialect:
    """Find out how many log-probabilities come, and whether a begun answer is continued.

    It is where the beginning adds its own one token to the question, and no turn of its own.
    """
    for number in TOP_LOGPROBS:
        changed = replace(dialect, top_logprobs=number)
        answer = await _accepted(client, plain, changed)
        if answer is not None:
            if not token_logprobs(answer):
                return dialect  # the server ignores the wish
            dialect = changed
            break
    else:
        return dialect
    ways: tuple[Continuing, ...] = ("asked", "implied")
    for way in ways:
        changed = replace(dialect, continuing=way)
        answer = await _accepted(client, plain, changed, begun="T")
        if answer is not None and counted is not None and prompt_tokens(answer) == counted + 1:
            return changed
    return dialect


async def _accepted(client: Client, messages: Messages, dialect: Dialect, begun: str = "") -> Json | None:
    """Send a request for one token; None where the server refuses it, or breaks over it again and again."""
    body = dialect.body(dialect.turns(messages), 1, begun)
    try:
        return await client.post(PATH, body, broken_after=BROKEN_AFTER)
    except RefusedError:
        return None
    except UnansweredError as error:
        if error.status == 500:  # as some servers answer where a chat template refuses
            return None
        raise ServerError(_silent(client, error)) from error


async def _first_accepted(client: Client, messages: Messages, *dialects: Dialect) -> tuple[Dialect, Json]:
    """Give the first dialect whose plainest request is accepted. A server that starts has time to do so."""
    said = ""
    for dialect in dialects:
        try:
            body = dialect.body(dialect.turns(messages), 1)
            return dialect, await client.post(PATH, body)
        except RefusedError as error:
            said = said or str(error)
        except UnansweredError as error:
            raise ServerError(_silent(client, error)) from error
    raise ServerError(
        f"{client.base_url} refuses the plainest request for the model {dialects[0].model!r}: {said}"
    )


def _silent(client: Client, error: UnansweredError) -> str:
    return f"{client.base_url} does not answer: {error}. Is the server up, and is this its address?"


def _reported(answer: Json, model: str) -> str:
    name = str(answer.get("model") or model)
    is_path = name[:1] in "/.~" or name[1:2] == ":"
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2] if is_path else name
