"""Findings of a diagnosis: one failed question with its cause, and the evidence of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag.experiments.tuning.diagnosis.causes import Cause

LEAST_ON_TOPIC = "least_on_topic"
"""The figure of a finding: the lowest probability of being on topic of questions with an answer."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause that was checked. ``evidence`` is a sentence, ``figures`` its numbers by name."""

    cause: Cause
    evidence: str
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailedQuestion:
    """A question that failed, and why.

    ``score`` is its nDCG at top-k. ``passage`` is the id of the relevant passage that was looked
    at, "" where there is none, with its ``document`` and ``page``.
    """

    id: str
    text: str
    score: float
    finding: Finding
    passage: str = ""
    document: str = ""
    page: int | None = None

    @property
    def cause(self) -> Cause:
        """The name of the cause."""
        return self.finding.cause
