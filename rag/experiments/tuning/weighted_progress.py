"""Progress of work in parts: each weighs what it takes, and reported progress never goes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rag.types import ProgressCallback

PER_RECIPE = 1 / 2000
"""What a recipe of a sweep takes, in searches of as many questions: arithmetic is that quick."""


class WeightedProgress:
    """Progress as ``done`` of ``total``, both in searches of one question."""

    def __init__(self, on_progress: ProgressCallback, total: float) -> None:
        self._tell = on_progress
        self._total = max(total, 1.0)
        self._before = self._told = 0.0

    @contextmanager
    def part(self, weight: float) -> Iterator[ProgressCallback]:
        """Yield a callback for ``weight`` of the whole; its progress may start again."""
        start = self._before

        def on_progress(done: int, total: int) -> None:
            self._show(start + weight * done / max(total, 1))

        on_progress(0, 1)
        yield on_progress
        self._before = start + weight
        self._show(self._before)

    def _show(self, done: float) -> None:
        self._told = min(max(self._told, done), self._total)
        self._tell(int(self._told), round(self._total))
