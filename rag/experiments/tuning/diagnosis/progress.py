"""Progress of a diagnosis in parts, so that one bar goes through all of them and never back."""

from __future__ import annotations

from dataclasses import dataclass

from rag.services.jobs.reporter import Reporter

_UNITS = 10_000


@dataclass(frozen=True, slots=True)
class PartOfProgress:
    """The part of a job's progress from one share of the whole to another."""

    reporter: Reporter
    start: float = 0.0
    end: float = 1.0

    def report(
        self, done: int, total: int, message: str, seconds_left: float | None = None
    ) -> None:
        """Set the progress of the part. Raises Cancelled as the reporter does."""
        share = self.start + (self.end - self.start) * done / max(total, 1)
        self.reporter.report(int(_UNITS * share), _UNITS, message, seconds_left)

    def share(self, done: int, total: int) -> float:
        """The share of the part that is done, by the units of the whole."""
        whole = done / total if total else 0.0
        return min(max((whole - self.start) / (self.end - self.start), 0.0), 1.0)
