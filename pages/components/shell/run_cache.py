"""A cache that lasts for one rerun of a page and is shared by the parts of the page."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

# Not in the session state: a page looks here a hundred times, and that takes a lock each time.
_cache: ContextVar[dict[Hashable, Any] | None] = ContextVar("_cache", default=None)

Value = TypeVar("Value")


@contextmanager
def run_cache() -> Iterator[None]:
    """Make ``cached_per_run`` read once. The frame puts it around the drawing of a whole page."""
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


def cached_per_run(name: Hashable, read: Callable[[], Value]) -> Value:
    """Return the value of ``read``, which is called once per rerun of the page for each ``name``.

    Callbacks and fragment reruns call ``read`` each time, because they follow changes.
    """
    cache = _cache.get()
    if cache is None:
        return read()
    if name not in cache:
        cache[name] = read()
    value: Value = cache[name]
    return value
