"""Answers of runs, each stored as soon as it is given, so that a killed run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select

from rag.storage.quality.tables import run_answer
from rag.storage.rows import insert_or_replace, read
from rag.types import Answer


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer to one question of a run, with its measures by name."""

    question_id: str
    status: str
    mode: str
    text: str
    note: str
    sentences: list[Any]
    metrics: Mapping[str, float]
    searched: float
    first_token: float | None
    seconds: float
    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        """All that were reported."""
        return self.prompt_tokens + self.completion_tokens


def store(
    connection: Connection,
    base_id: int,
    run_id: str,
    question_id: str,
    answer: Answer,
    metrics: Mapping[str, float],
) -> None:
    """Stores an answer, in the place of one that failed before."""
    row = {
        "run_id": run_id,
        "question_id": question_id,
        "base_id": base_id,
        "status": answer.status,
        "mode": answer.mode,
        "text": answer.text,
        "note": answer.note,
        "sentences": [asdict(each) for each in answer.sentences],
        "metrics": dict(metrics),
        "searched": answer.trace.seconds,
        "first_token": answer.first_token,
        "seconds": answer.seconds,
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
        "created": datetime.now(UTC),
    }
    insert_or_replace(connection, run_answer, row)


def of_run(connection: Connection, run_id: str) -> dict[str, RunAnswer]:
    """The answers of a run by question id."""
    rows = connection.execute(select(run_answer).where(run_answer.c.run_id == run_id))
    return {row.question_id: read(RunAnswer, row) for row in rows}
