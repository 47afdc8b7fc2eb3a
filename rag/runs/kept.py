"""What was read of runs and their questions, kept for whoever asks for the same again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from typing import Generic, TypeVar

Value = TypeVar("Value", bound=Sized)


class Kept(Generic[Value]):
    """The values that were asked for last, of at most ``most`` entries together.

    Whoever gets one must not change it. The latest is kept whatever its size. Safe to share
    between threads, of which two may read the same.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Value]) -> Value:
        """The value of a key, ``read`` where it is not kept."""
        with self._lock:
            known = self._values.get(key)
        value = read() if known is None else known
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > 1 and self._size() > self._most:
                self._values.popitem(last=False)
        return value

    def _size(self) -> int:
        return sum(1 + len(value) for value in self._values.values())
