"""How often somebody may ask: a token bucket each, in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Rates:
    """Lets ``per_minute`` requests through in a minute, all at once or spread."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, as of when
        self._lock = threading.Lock()

    def wait(self, who: str) -> float:
        """Takes one request; 0 where it is let through, else the seconds until the next is."""
        with self._lock:
            now = self._clock()
            left, then = self._buckets.get(who, (self._most, now))
            left = min(self._most, left + (now - then) * self._per_second)
            if left < 1:
                self._buckets[who] = left, now
                return (1 - left) / self._per_second
            self._buckets[who] = left - 1, now
            return 0.0
