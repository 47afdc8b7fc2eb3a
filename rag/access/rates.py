"""Limits on the rate and the concurrency of a principal's requests, in this process."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class InFlight:
    """A limit of ``most`` requests of everybody that are under way at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def one(self, who: str) -> Iterator[bool]:
        """Whether a request is let in; it is under way until the block ends."""
        with self._lock:
            allowed = self._begun[who] < self._most
            self._begun[who] += allowed
        try:
            yield allowed
        finally:
            with self._lock:
                self._begun[who] -= allowed
                if not self._begun[who]:
                    del self._begun[who]


class Rates:
    """A limit of ``per_minute`` requests in a minute, all at once or spread: token buckets."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, as of when
        self._lock = threading.Lock()

    def wait(self, who: str) -> float:
        """Take one request; 0 if it is admitted, else the seconds until the next is."""
        with self._lock:
            now = self._clock()
            remaining, then = self._buckets.get(who, (self._most, now))
            remaining = min(self._most, remaining + (now - then) * self._per_second)
            if remaining < 1:
                self._buckets[who] = remaining, now
                return (1 - remaining) / self._per_second
            self._buckets[who] = remaining - 1, now
            return 0.0
