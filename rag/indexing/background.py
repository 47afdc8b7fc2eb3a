"""Work on indexes that no search waits for."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable

log = logging.getLogger(__name__)

_RESTS = 10.0  # times as long as it worked: documents that keep coming in keep a tenth of a core


class Background:
    """Threads, one at most for each thing that is worked on."""

    def __init__(self) -> None:
        self._busy: set[Hashable] = set()
        self._rests: dict[Hashable, float] = {}
        self._guard = threading.Lock()

    def start(self, what: Hashable, work: Callable[[], object]) -> None:
        """Does ``work`` unless somebody is at it, or has been lately. What it raises is logged."""
        with self._guard:
            if what in self._busy or time.monotonic() < self._rests.get(what, -math.inf):
                return
            self._busy.add(what)
        name = f"index {what}"
        threading.Thread(target=self._run, args=(what, work), name=name, daemon=True).start()

    def _run(self, what: Hashable, work: Callable[[], object]) -> None:
        started = time.monotonic()
        try:
            work()
        except Exception:
            log.warning("Index %s stays as it is for now.", what, exc_info=True)
        now = time.monotonic()
        with self._guard:
            self._rests[what] = now + max(_RESTS * (now - started), 1.0)
            self._busy.discard(what)
