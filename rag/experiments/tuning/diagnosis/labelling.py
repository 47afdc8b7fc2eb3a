"""The time that a person takes for a label, from the audit log."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rag.storage import Connection
from rag.storage.access import audit

TYPICAL_SECONDS = 45.0
"""Seconds for a label where none were measured."""
_ACTIONS = ("questions.label", "labels.label")  # the latter is in older logs
_PAUSE = 300.0  # seconds: whoever waits longer did something else meanwhile
_FEWEST = 10
_READ = 2000


@dataclass(frozen=True, slots=True)
class LabellingPace:
    """The seconds for a label, the median of ``measured`` ones; 0 measured: a typical value."""

    seconds: float = TYPICAL_SECONDS
    measured: int = 0


TYPICAL = LabellingPace()


def labelling_pace(connection: Connection, base_id: int) -> LabellingPace:
    """The pace of the people who label in a knowledge base; the typical one without accounts."""
    conditions = [audit.of_bases([base_id]), audit.of_kind("labels")]
    lines = audit.list_entries(connection, conditions, _READ)
    return pace_of(
        (line.entry.person_id, line.entry.at)
        for line in lines
        if line.entry.action in _ACTIONS and line.entry.via == "page"  # programs are quicker
    )


def pace_of(labels: Iterable[tuple[str, datetime]]) -> LabellingPace:
    """The pace from the people and moments of labels; that of one person's in a row counts."""
    moments = defaultdict[str, list[datetime]](list)
    for person, at in labels:
        moments[person].append(at)
    gaps = [
        seconds
        for times in moments.values()
        for first, second in zip(sorted(times), sorted(times)[1:], strict=False)
        if 0 < (seconds := (second - first).total_seconds()) <= _PAUSE
    ]
    if len(gaps) < _FEWEST:
        return TYPICAL
    return LabellingPace(statistics.median(gaps), len(gaps))
