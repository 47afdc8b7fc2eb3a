"""Drawing in turns: where many pages are asked for at once, first come, first served.

Python runs one thread at a time. Fifty pages that are drawn side by side are all ready at the end;
drawn a few at a time, most are ready much earlier, and none later.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AT_ONCE = 3
"""One has the interpreter, the others wait for the database or a model's arithmetic."""
LEASE = 2.0
"""Seconds. A page that draws for longer waits for something else, and delays no one."""


class RenderQueue:
    """At most ``at_once`` hold a turn at a time; each counts for ``lease`` seconds at most."""

    def __init__(
        self, at_once: int, lease: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_once, self._lease, self._clock = at_once, lease, clock
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._held: dict[threading.Event, float] = {}

    @property
    def waiting(self) -> int:
        """The number of threads that wait for a turn."""
        return len(self._waiting)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Wait for a turn, and give it back at the end."""
        mine = threading.Event()
        with self._lock:
            self._waiting.append(mine)
            self._hand_out()
        while not mine.wait(self._lease):
            with self._lock:  # of those who have one, the lease of some has run out by now
                self._hand_out()
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(mine, None)
                self._hand_out()

    def _hand_out(self) -> None:
        now = self._clock()
        while self._waiting:
            if sum(until > now for until in self._held.values()) >= self._at_once:
                return
            first = self._waiting.popleft()
            self._held[first] = now + self._lease
            first.set()


DRAWING = RenderQueue(AT_ONCE, LEASE)
