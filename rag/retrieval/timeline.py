"""The stages of one retrieval as they pass: the time each took, what it dropped and why."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rag import telemetry
from rag.types import Dropped, Stage, StageName


class Timeline:
    """The stages of a search; the time since the last one is that of the next."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._start = self._last = time.perf_counter()

    def passed(
        self,
        name: StageName,
        taken: int,
        given: int,
        note: str = "",
        dropped: Sequence[Dropped] = (),
        *,
        failed: bool = False,
        figures: Mapping[str, float] | None = None,
        hint: str = "",
    ) -> None:
        """Note a stage that has just ended; ``failed`` where it passed on what it was given.

        ``figures`` are those that it decided by; ``hint`` says how the recipe would help.
        """
        now = time.perf_counter()
        seconds = now - self._last
        stage = Stage(
            name, taken, given, tuple(dropped), seconds, note, failed, figures or {}, hint
        )
        self.stages.append(stage)
        self._last = now
        telemetry.note_step(seconds, stage)

    @property
    def seconds(self) -> float:
        """Since the first stage began."""
        return time.perf_counter() - self._start
