"""Stored evaluations: the recipe, the figures, and what happened to every question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from rag.errors import NotFound
from rag.recipe import Recipe
from rag.results import QuestionResult, Run
from rag.storage.tables import baseline, run, run_question
from rag.storage.upserts import insert_or_replace


def insert_run(connection: Connection, value: Run, results: Sequence[QuestionResult]) -> None:
    """Stores a run whole."""
    connection.execute(
        insert(run).values(
            id=value.id,
            base_id=value.base_id,
            question_set=value.question_set,
            set_version=value.set_version,
            recipe_hash=value.recipe.hash,
            recipe=value.recipe.model_dump(mode="json"),
            build_hash=value.build_hash,
            base_version=value.base_version,
            documents=value.documents,
            documents_hash=value.documents_hash,
            questions=value.questions,
            metrics=dict(value.metrics),
            environment=dict(value.environment),
            seconds=value.seconds,
            created=value.created,
            note=value.note,
            tags=list(value.tags),
        )
    )
    rows = [_question_values(value.id, place, item) for place, item in enumerate(results)]
    if rows:
        connection.execute(insert(run_question), rows)


def _question_values(run_id: str, position: int, item: QuestionResult) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "question_id": item.question_id,
        "position": position,
        "text": item.text,
        "tags": list(item.tags),
        "answerable": item.answerable,
        "metrics": dict(item.metrics),
        "ranking": [list(entry) for entry in item.ranking],
        "first_relevant": item.first_relevant,
        "found": item.found,
        "relevant": item.relevant,
    }


def every(connection: Connection, base_id: int) -> list[Run]:
    """All runs of a base, newest first."""
    statement = select(run).where(run.c.base_id == base_id).order_by(run.c.created.desc())
    return [_run(row) for row in connection.execute(statement)]


def get(connection: Connection, base_id: int, run_id: str) -> Run:
    """One run. Raises NotFound."""
    mine = (run.c.base_id == base_id) & (run.c.id == run_id)
    row = connection.execute(select(run).where(mine)).first()
    if row is None:
        raise _unknown(run_id)
    return _run(row)


def results(connection: Connection, run_id: str) -> list[QuestionResult]:
    """The questions of a run in the order of their set."""
    rows = connection.execute(
        select(run_question)
        .where(run_question.c.run_id == run_id)
        .order_by(run_question.c.position)
    )
    return [
        QuestionResult(
            question_id=row.question_id,
            text=row.text,
            tags=tuple(row.tags),
            answerable=row.answerable,
            metrics=row.metrics,
            ranking=tuple((entry[0], entry[1], entry[2]) for entry in row.ranking),
            first_relevant=row.first_relevant,
            found=row.found,
            relevant=row.relevant,
        )
        for row in rows
    ]


def figures(
    connection: Connection, run_ids: Sequence[str]
) -> dict[str, dict[str, Mapping[str, float]]]:
    """Metrics of every question by run id and question id, without the rankings."""
    found: dict[str, dict[str, Mapping[str, float]]] = {name: {} for name in run_ids}
    rows = connection.execute(
        select(run_question.c.run_id, run_question.c.question_id, run_question.c.metrics)
        .where(run_question.c.run_id.in_(run_ids))
        .order_by(run_question.c.run_id, run_question.c.position)
    )
    for row in rows:
        found[row.run_id][row.question_id] = row.metrics
    return found


def owner(connection: Connection, run_id: str) -> int:
    """The id of the knowledge base that a run belongs to. Raises NotFound."""
    found = connection.execute(select(run.c.base_id).where(run.c.id == run_id)).scalar()
    if found is None:
        raise _unknown(run_id)
    return int(found)


def set_note(connection: Connection, run_id: str, note: str) -> None:
    """Replaces the note of a run."""
    connection.execute(update(run).where(run.c.id == run_id).values(note=note))


def set_tags(connection: Connection, run_id: str, tags: Sequence[str]) -> None:
    """Replaces the tags of a run."""
    connection.execute(update(run).where(run.c.id == run_id).values(tags=list(tags)))


def pin(connection: Connection, value: Run) -> None:
    """Makes a run the baseline of its question set, in the place of another."""
    key = {"base_id": value.base_id, "question_set": value.question_set}
    insert_or_replace(connection, baseline, {**key, "run_id": value.id})


def unpin(connection: Connection, base_id: int, question_set: str) -> None:
    """Leaves a question set without a baseline."""
    mine = (baseline.c.base_id == base_id) & (baseline.c.question_set == question_set)
    connection.execute(delete(baseline).where(mine))


def pinned(connection: Connection, base_id: int, question_set: str) -> str | None:
    """The id of the baseline of a question set, or None."""
    mine = (baseline.c.base_id == base_id) & (baseline.c.question_set == question_set)
    return connection.execute(select(baseline.c.run_id).where(mine)).scalar()


def rename_set(connection: Connection, base_id: int, before: str, after: str) -> None:
    """Keeps runs and baseline with a question set that has another name now."""
    for table in (run, baseline):
        mine = (table.c.base_id == base_id) & (table.c.question_set == before)
        connection.execute(update(table).where(mine).values(question_set=after))


def remove(connection: Connection, run_id: str) -> None:
    """Deletes a run; a question set that it was the baseline of is left without one."""
    connection.execute(delete(run).where(run.c.id == run_id))


def _unknown(run_id: str) -> NotFound:
    return NotFound(f"There is no run {run_id!r}.", "`python -m rag runs KB` lists them.")


def _run(row: Row[tuple[object, ...]]) -> Run:
    return Run(
        id=row.id,
        base_id=row.base_id,
        question_set=row.question_set,
        set_version=row.set_version,
        recipe=Recipe.parse(row.recipe),
        base_version=row.base_version,
        documents=row.documents,
        documents_hash=row.documents_hash,
        questions=row.questions,
        metrics=row.metrics,
        environment=row.environment,
        seconds=row.seconds,
        created=row.created,
        note=row.note,
        tags=tuple(row.tags),
    )
