"""A cache of sized values, bounded by the sum of their sizes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from typing import Generic, TypeVar

Value = TypeVar("Value", bound=Sized)


class SizedCache(Generic[Value]):
    """A least-recently-used cache whose values have at most ``most`` entries together.

    Callers must not change a value. The latest value stays whatever its size. Safe to share between
    threads, two of which may read the same value.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Value]) -> Value:
        """Return the value of a key; call ``read`` if it is not cached."""
        with self._lock:
            cached = self._values.get(key)
        value = read() if cached is None else cached
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > 1 and self._size() > self._most:
                self._values.popitem(last=False)
        return value

    def _size(self) -> int:
        return sum(1 + len(value) for value in self._values.values())
