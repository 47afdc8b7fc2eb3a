"""Thread pools for blocking functions, with limits on concurrency."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread

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
