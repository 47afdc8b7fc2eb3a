"""Thread pools for blocking functions, with limits on concurrency, and server-sent events."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

_THREADS = 12  # of the 28 that the server has, so that pages are served meanwhile

Value = TypeVar("Value")

_DEAR_WORK: set[Callable[..., object]] = set()

READS = CapacityLimiter(_THREADS)
WRITES = CapacityLimiter(6)  # they wait for each other's transactions, and no search for them
_DEAR = CapacityLimiter(2)  # seconds of the processor each: more at a time would slow all others
ANSWERS = CapacityLimiter(8)  # models are slow: who waits for one is in nobody's way


def in_thread(
    work: Callable[..., Value], limiter: CapacityLimiter = READS
) -> Callable[..., Awaitable[Value]]:
    """A function that blocks as one that does not: so many run at a time, the others wait."""

    @functools.wraps(work)
    async def done(*arguments: Any, **named: Any) -> Value:
        call = functools.partial(work, *arguments, **named)
        return await to_thread.run_sync(call, limiter=limiter)

    return done


def dear(work: Callable[..., Value]) -> Callable[..., Awaitable[Value]]:
    """The same in threads of their own, for what takes seconds: nothing cheap waits behind it."""
    done = in_thread(work, _DEAR)
    _DEAR_WORK.add(done)
    return done


def is_dear(work: Callable[..., object]) -> bool:
    """Whether a function was declared to be dear."""
    return work in _DEAR_WORK


HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # proxies pass each on at once
STREAM: dict[str, Any] = {
    "description": "Server-sent events, each with JSON as its data.",
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "description": "an event; its data is JSON",
                "properties": {name: {"type": "string"} for name in ("event", "data", "id")},
            }
        }
    },
}
"""The response of an address that streams events, in the OpenAPI document."""
ALIVE = b": waiting\n\n"
"""A comment: keeps a connection open on which nothing happens."""


def event(name: str, data: Any, number: int | None = None) -> bytes:
    """One event, with JSON as its data."""
    identity = None if number is None else str(number)
    return format_sse_event(data_str=json.dumps(data), event=name, id=identity)


def streamed(events: AsyncIterator[bytes]) -> StreamingResponse:
    """An answer that goes on until the events end, or the client leaves."""
    return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)
