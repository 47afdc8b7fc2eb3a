"""Judges' preferences between two answers, each stored as soon as the judge states it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from rag.storage.quality.tables import preference
from rag.storage.rows import insert_missing, read


@dataclass(frozen=True, slots=True)
class StoredPreference:
    """A judge's preference for a question, asked in both orders.

    ``vote`` is 1 if the first run's answer is better, -1 if the other run's answer is better, and
    0.5 or -0.5 if only one order says so. ``cost`` is in ``currency``; None if the price is
    unknown.
    """

    question_id: str
    judge: str
    version: str
    rubric: str
    vote: float
    tokens: int
    cost: float | None = None
    currency: str = ""


def add(connection: Connection, run_id: str, other_id: str, new: StoredPreference) -> None:
    """Store a preference, unless the same was stored meanwhile."""
    row = {**asdict(new), "run_id": run_id, "other_id": other_id, "created": datetime.now(UTC)}
    insert_missing(connection, preference, row)


def between(
    connection: Connection, run_id: str, other_id: str, judge: str, rubric: str
) -> dict[str, StoredPreference]:
    """The preferences of a judge between two runs, by question id."""
    mine = (preference.c.run_id == run_id) & (preference.c.other_id == other_id)
    same_judge = (preference.c.judge == judge) & (preference.c.rubric == rubric)
    rows = connection.execute(select(preference).where(mine, same_judge).order_by(preference.c.id))
    return {row.question_id: read(StoredPreference, row) for row in rows}
