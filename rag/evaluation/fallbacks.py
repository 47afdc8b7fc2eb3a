"""Steps of a recipe that failed while it was measured: figures without them are not its figures."""

from __future__ import annotations

from collections.abc import Iterable

from rag.errors import ProviderUnavailable
from rag.types import Stage

ENOUGH = 3
"""Questions after which a step that never worked is believed not to work."""


class Fallbacks:
    """Counts questions by step that failed."""

    def __init__(self) -> None:
        self._questions = 0
        self._failed: dict[str, tuple[int, str]] = {}

    def note(self, stages: Iterable[Stage]) -> None:
        """Note the stages of one more question."""
        self._questions += 1
        for stage in stages:
            if stage.failed:
                count, first = self._failed.get(stage.name, (0, stage.note))
                self._failed[stage.name] = count + 1, first

    def require(self, questions: int) -> None:
        """Raise ProviderUnavailable where a step has failed for every one of enough questions."""
        for name, (count, why) in self._failed.items():
            if count == self._questions >= min(ENOUGH, questions):
                raise ProviderUnavailable(
                    f"The step {name!r} of the recipe does not work: {why}",
                    "Metrics without it would be those of another recipe. Fix the step, "
                    "or turn it off.",
                )

    def described(self) -> str:
        """Return the number of failures of each step and its first reason; "" without failures."""
        return "; ".join(
            f"{name} failed for {count} of {self._questions} questions: {why}"
            for name, (count, why) in self._failed.items()
        )
