"""Requests to an OpenAI-compatible server: the key, the retries, and which failure means what."""

from __future__ import annotations

import asyncio
import email.utils
import functools
import json
import os
import random
import time
from collections.abc import Generator
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httpx2

from bayesbt.errors import BayesBTError, InputError
from bayesbt.judges.settings import ServerOptions

KEY_VARIABLE = "OPENAI_API_KEY"
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
LONGEST_WAIT = 900.0
"""Seconds. Pauses double from the first to the longest; the longest wait is what a server may ask for."""
SHORTEST_KEY = 8
"""Signs; what is shorter (``EMPTY``, ``none``) stands in for a key where a server wants any."""

_TRANSIENT = {408, 425, 429}
_FATAL = {401, 402, 403, 404, 405, 407, 410, 501}
_SPENT = {"insufficient_quota", "billing_hard_limit_reached"}

Json = dict[str, Any]


class ServerError(BayesBTError):
    """A server that cannot be used as it is: a wrong key or address, no such model, nothing that answers."""


class RefusedError(Exception):
    """A request that the server understood and refuses; to send it again would change nothing."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}".strip())
        self.status = status


class UnansweredError(Exception):
    """A request without an answer after all retries. ``status`` is 0 where there was no response at all."""

    def __init__(self, problem: str, status: int = 0) -> None:
        super().__init__(problem)
        self.status = status


class Key(httpx2.Auth):
    """The key from the environment. It is sent to the server, and shows nowhere else."""

    def __init__(self) -> None:
        self.__value = os.environ.get(KEY_VARIABLE, "").strip()
        if not all("!" <= sign <= "~" for sign in self.__value):
            raise InputError(f"{KEY_VARIABLE} holds signs that no key has: set it to the key alone.")

    def __repr__(self) -> str:
        """Say nothing of the value."""
        return f"<key from {KEY_VARIABLE}>"

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Add the header."""
        if self.__value:
            request.headers["Authorization"] = f"Bearer {self.__value}"
        yield request

    def hide(self, text: str) -> str:
        """Take the key out of what a server said."""
        if len(self.__value) < SHORTEST_KEY:
            return text
        written = (self.__value, json.dumps(self.__value)[1:-1])
        return functools.reduce(lambda said, key: said.replace(key, "***"), written, text)


class Client:
    """Sends requests, and tries again what may succeed later. An asynchronous context manager.

    Parameters
    ----------
    options : ServerOptions
        Address, concurrency, time limit, retries.
    """

    def __init__(self, options: ServerOptions) -> None:
        self.base_url = checked_url(options.base_url)
        self._options = options
        self._key = Key()
        self._open_from = 0.0  # after a 429 nobody asks before this moment
        self._http = httpx2.AsyncClient(
            auth=self._key,
            timeout=httpx2.Timeout(options.timeout, connect=min(options.timeout, 10.0), pool=None),
            limits=httpx2.Limits(max_connections=options.concurrency),
        )

    async def __aenter__(self) -> Client:
        """Open nothing yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def post(self, path: str, body: Json, broken_after: int | None = None) -> Json:
        """Send a request, and give the JSON object of the answer.

        Parameters
        ----------
        broken_after : int, optional
            So many answers 500 end the tries, where the request itself may be what breaks the server.

        Raises
        ------
        RefusedError
            Where the request is at fault.
        UnansweredError
            Where no try brought an answer.
        ServerError
            Where no request at all can succeed.
        """
        tries = self._options.retries + 1
        broken = 0
        for attempt in range(1, tries + 1):
            if (closed := self._open_from - time.monotonic()) > 0:
                await asyncio.sleep(closed + random.uniform(0, 0.2 * closed))
            asked = 0.0
            status = 0
            try:
                response = await self._send(path, body)
                status = response.status_code
                if status == 200:
                    return self._json(response)
                problem = self._judged(response)
                asked = self._asked_wait(response)
                broken += status == 500
                if broken == broken_after:
                    break
            except (TimeoutError, httpx2.RequestError, _GarbledError) as error:
                problem = _said(error, self._options.timeout)
            if attempt < tries:
                longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1))
                await asyncio.sleep(max(asked, longest) * random.uniform(1.0 if asked else 0.5, 1.1))
        times = f" ({tries} tries)" if tries > 1 else ""
        raise UnansweredError(f"{problem}{times}", status)

    async def _send(self, path: str, body: Json) -> httpx2.Response:
        async with asyncio.timeout(self._options.timeout):  # httpx2's own limits count from byte to byte
            return await self._http.post(f"{self.base_url}/{path}", json=body)

    def _json(self, response: httpx2.Response) -> Json:
        try:
            found = json.loads(self._key.hide(response.text))
        except ValueError as error:
            raise _GarbledError("the answer is no JSON") from error
        if not isinstance(found, dict) or not isinstance(found.get("choices"), list) or not found["choices"]:
            raise _GarbledError("the answer holds no choices")
        return found

    def _judged(self, response: httpx2.Response) -> str:
        """Say what a response without success means; raise where nothing is to be tried again."""
        status = response.status_code
        text = self._key.hide(response.text)
        code, message = _complaint(text)
        said = f"{status} {message}".strip()
        if status in _FATAL or 300 <= status < 400 or code in _SPENT:
            location = self._key.hide(str(response.headers.get("location", "")))
            raise ServerError(_fatal(self.base_url, status, said, location))
        if status in _TRANSIENT or status >= 500:
            return said
        raise RefusedError(status, message)

    def _asked_wait(self, response: httpx2.Response) -> float:
        """Seconds for which the server asks to be left alone; nobody asks it in the meantime."""
        seconds = _retry_after(response.headers)
        if seconds > LONGEST_WAIT:
            raise ServerError(
                f"{self.base_url} asks for a pause of {seconds:,.0f} seconds ({response.status_code}). What "
                "was judged is kept: run the same command again after that."
            )
        if response.status_code in (429, 503):
            self._open_from = max(self._open_from, time.monotonic() + seconds)
        return seconds


class _GarbledError(Exception):
    """A successful response that is cut off, or is no answer."""


def checked_url(base_url: str | None) -> str:
    """Give the address without a slash at its end.

    Raises
    ------
    InputError
        Where it is missing, no http address, or holds a password.
    """
    if not base_url:
        raise InputError(
            "a served model needs the address of its server: --base-url, such as http://127.0.0.1:8000/v1. "
            "None is assumed, so that no text leaves this machine unasked."
        )
    try:
        parts = urlsplit(base_url)
        parts.port  # noqa: B018  (raises where it is no number)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"--base-url {base_url!r} is no address: give one such as http://127.0.0.1:8000/v1.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(
            "--base-url holds a user name, a password or a query. Give the bare address; a key is read from "
            f"{KEY_VARIABLE}."
        )
    return base_url.rstrip("/")


def _complaint(text: str) -> tuple[str, str]:
    """Read code and message from the body of an error; servers write it in several ways."""
    try:
        found = json.loads(text)
    except ValueError:
        found = text
    inner = found.get("error", found) if isinstance(found, dict) else found
    code = ""
    if isinstance(inner, dict):
        code = str(inner.get("code") or inner.get("type") or "")
        inner = inner.get("message") or inner.get("detail") or inner
    return code, " ".join(str(inner).split())[:300]


def _fatal(base_url: str, status: int, said: str, location: str) -> str:
    hint = {
        401: f"Set {KEY_VARIABLE} to a key that this server takes.",
        403: f"The key in {KEY_VARIABLE} may not use this model here.",
        404: "Check the name of the model, and that the address ends as the server's does (mostly in /v1).",
    }.get(status, "Check --base-url.")
    if 300 <= status < 400:
        hint = f"It points to {location or 'another address'}: give that to --base-url."
    return f"{base_url} refuses every request: {said} {hint} What was judged before is kept."


def _retry_after(headers: httpx2.Headers) -> float:
    """Read Retry-After, seconds or a date; 0 where there is none."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000.0)
        value = headers.get("retry-after", "")
        try:
            return max(0.0, float(value))
        except ValueError:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def _said(error: Exception, timeout: float) -> str:
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return f"no answer within {timeout:g} s"
    words = " ".join(str(error).split()) or type(error).__name__
    return words if isinstance(error, _GarbledError) else f"connection failed: {words}"
