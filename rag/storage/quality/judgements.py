"""Judgements of hits by language models, each stored as soon as it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, case, func, select, update

from rag.storage.quality.tables import judgement
from rag.storage.rows import insert_missing, read
from rag.storage.tables import run, run_question


@dataclass(frozen=True, slots=True)
class StoredJudgement:
    """A judge's grade for a hit of a run.

    ``judge`` is "provider:model", ``version`` is the version of the code that asked the judge, and
    ``rubric`` is the wording with its version. ``probability`` is the probability with which the
    hit was sampled for judging. ``cost`` is in ``currency``; None if the price is unknown.
    ``model`` is the version that the server said it answered with, "" where it did not.
    ``stated`` is the probability that a decision model stated, None of a grade in words.
    """

    question_id: str
    item: str
    judge: str
    version: str
    rubric: str
    repetition: int
    grade: int
    reason: str
    tokens: int
    probability: float
    cost: float | None = None
    currency: str = ""
    model: str = ""
    stated: float | None = None


def add(connection: Connection, run_id: str, new: StoredJudgement) -> None:
    """Store a judgement, unless the same was made meanwhile."""
    row = {name: getattr(new, name) for name in StoredJudgement.__slots__}
    insert_missing(connection, judgement, {**row, "run_id": run_id, "created": datetime.now(UTC)})


def of_run(
    connection: Connection, run_id: str, judge: str | None = None, rubric: str | None = None
) -> list[StoredJudgement]:
    """The judgements of a run in the order they were made, of one judge or by one rubric."""
    statement = select(judgement).where(judgement.c.run_id == run_id).order_by(judgement.c.id)
    if judge is not None:
        statement = statement.where(judgement.c.judge == judge)
    if rubric is not None:
        statement = statement.where(judgement.c.rubric == rubric)
    return [read(StoredJudgement, row) for row in connection.execute(statement)]


def regrade(
    connection: Connection, run_id: str, judge: str, rubric: str, threshold: float, highest: int
) -> None:
    """Grade the hits of a run anew by their stated probabilities: the highest grade, or 0."""
    mine = (judgement.c.run_id == run_id, judgement.c.judge == judge, judgement.c.rubric == rubric)
    grade = case((judgement.c.stated >= threshold, highest), else_=0)
    connection.execute(
        update(judgement).where(*mine, judgement.c.stated.is_not(None)).values(grade=grade)
    )


def elsewhere(
    connection: Connection, base_id: int, judge: str, rubric: str
) -> dict[tuple[str, str, int], StoredJudgement]:
    """A judge's grades in all runs of a base, by the words of the question, item and repetition."""
    statement = (
        select(judgement, run_question.c.text)
        .join(
            run_question,
            (run_question.c.run_id == judgement.c.run_id)
            & (run_question.c.question_id == judgement.c.question_id),
        )
        .join(run, run.c.id == judgement.c.run_id)
        .where(run.c.base_id == base_id, judgement.c.judge == judge, judgement.c.rubric == rubric)
        .order_by(judgement.c.id)
    )
    return {
        (row.text, row.item, row.repetition): read(StoredJudgement, row)
        for row in connection.execute(statement)
    }


def judges(connection: Connection, run_id: str) -> Sequence[tuple[str, str]]:
    """Judge and rubric of all who judged a run, the one with most judgements first."""
    statement = (
        select(judgement.c.judge, judgement.c.rubric)
        .where(judgement.c.run_id == run_id)
        .group_by(judgement.c.judge, judgement.c.rubric)
        .order_by(func.count().desc(), judgement.c.judge)
    )
    return [(row.judge, row.rubric) for row in connection.execute(statement)]
