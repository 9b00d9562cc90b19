"""Asynchronous work behind an ordinary iterator: an event loop in a thread, and a queue between the two."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Work = Callable[[Callable[[T], None]], Coroutine[Any, Any, None]]
"""An asynchronous function that is given ``emit``, and calls it with each result."""


@dataclass(frozen=True)
class _Result(Generic[T]):
    value: T


@dataclass(frozen=True)
class _End:
    error: BaseException | None


def in_background(work: Work[T]) -> Iterator[list[T]]:
    """Run ``work`` in an event loop of its own, and give out its results as they arrive.

    It works inside a running event loop too (a notebook has one). Where the iterator is closed, or the reader
    is interrupted, the work is cancelled, and nothing of it is left running.

    Yields
    ------
    list
        What has arrived since the last time, at least one result.

    Raises
    ------
    Exception
        What ``work`` raises, after the results that came before; of a group of exceptions the first.
    """
    results: queue.SimpleQueue[_Result[T] | _End] = queue.SimpleQueue()
    loop = asyncio.new_event_loop()
    task = loop.create_task(work(lambda value: results.put(_Result(value))))

    def run() -> None:
        error: BaseException | None = None
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        except BaseException as raised:  # is raised again where the results are read
            error = raised
        finally:
            with suppress(Exception):
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            results.put(_End(error))

    thread = threading.Thread(target=run, name="bayesbt-requests", daemon=True)
    thread.start()
    try:
        ended = False
        while not ended:
            found: list[_Result[T] | _End] = [results.get()]
            with suppress(queue.Empty):
                while True:
                    found.append(results.get_nowait())
            values = [each.value for each in found if isinstance(each, _Result)]
            if values:
                yield values
            for each in found:
                if isinstance(each, _End):
                    ended = True
                    if each.error is not None:
                        raise _first(each.error)
    finally:
        with suppress(RuntimeError):  # the loop is closed already
            loop.call_soon_threadsafe(task.cancel)
        thread.join()


def outcome_of(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run one coroutine in the background, and wait for what it returns."""

    async def work(emit: Callable[[T], None]) -> None:
        emit(await make())

    return [values[0] for values in in_background(work)].pop()


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
