"""Stored evaluations: the recipe, the figures, and what happened to every question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from rag.errors import NotFound
from rag.recipe import Recipe
from rag.storage.rows import insert_for, insert_or_replace, listable, read, values
from rag.storage.tables import UtcDateTime, baseline, cut, foreign_text, metadata, run, run_question
from rag.storage.tables import base_id as owned
from rag.types.results import QuestionResult, Run, SystemSource

# What was tried on a question set, once each: ``look`` names what makes it the same as before, and
# those of one ``family`` share the risk of a false winner in the order of their ids.
look_table = sa.Table(
    "look",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    owned(),
    sa.Column("question_set", sa.String, nullable=False),
    sa.Column("family", sa.String, nullable=False),
    sa.Column("look", sa.String(64), nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("metric", sa.String, nullable=False),
    sa.Column("alternatives", sa.Integer, nullable=False),
    sa.Column("recipes", sa.JSON, nullable=False),
    # Of the split whose held-out questions were looked at; null where all questions were.
    sa.Column("split_seed", sa.Integer),
    sa.Column("split_share", sa.Float),
    sa.Column("first", UtcDateTime, nullable=False),
    sa.UniqueConstraint("base_id", "question_set", "family", "look"),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A row: ``alternatives`` is how many different recipes were looked at, ``recipes`` are the
    hashes of those that were named.
    """

    family: str
    look: str
    kind: str
    metric: str
    alternatives: int
    recipes: tuple[str, ...] = ()
    split_seed: int | None = None
    split_share: float | None = None
    first: datetime | None = None


def insert_run(connection: sa.Connection, value: Run, results: Sequence[QuestionResult]) -> None:
    """Store a run whole."""
    new = values(
        run,
        value,
        recipe=value.recipe.model_dump(mode="json") if value.recipe else None,
        recipe_hash=value.recipe_hash or "",
        system=asdict(value.system) if value.system else None,
        build_hash=value.build_hash,
        metrics=dict(value.metrics),
        environment=dict(value.environment),
    )
    connection.execute(sa.insert(run).values(new))
    rows = [
        values(
            run_question, result, run_id=value.id, position=position, metrics=dict(result.metrics)
        )
        for position, result in enumerate(results)
    ]
    if rows:
        connection.execute(sa.insert(run_question), rows)


def run_exists(connection: sa.Connection, run_id: str) -> bool:
    """Whether a run is stored."""
    return connection.execute(sa.select(run.c.id).where(run.c.id == run_id)).first() is not None


def list_runs(
    connection: sa.Connection, base_id: int, question_set: str | None = None
) -> list[Run]:
    """All runs of a base, or those on one question set, newest first."""
    statement = sa.select(run).where(run.c.base_id == base_id).order_by(run.c.created.desc())
    if question_set is not None:
        statement = statement.where(run.c.question_set == question_set)
    return [_run(row) for row in connection.execute(statement)]


def has_runs(connection: sa.Connection, base_id: int) -> bool:
    """Return whether a base has a run."""
    return bool(connection.scalar(sa.select(sa.exists().where(run.c.base_id == base_id))))


def get(connection: sa.Connection, base_id: int, run_id: str) -> Run:
    """One run. Raises NotFound."""
    mine = (run.c.base_id == base_id) & (run.c.id == run_id)
    row = connection.execute(sa.select(run).where(mine)).first()
    if row is None:
        raise _unknown(run_id)
    return _run(row)


def results(
    connection: sa.Connection, run_id: str, depth: int | None = None
) -> list[QuestionResult]:
    """The questions of a run in the order of their set, with the first ``depth`` of each ranking.

    Rankings are nearly all of a run: cut while they are read, they take a fifth of the memory.
    """
    rows = connection.execute(
        sa.select(run_question)
        .where(run_question.c.run_id == run_id)
        .order_by(run_question.c.position)
    )
    return [
        read(
            QuestionResult,
            row,
            tags=tuple(row.tags),
            ranking=tuple(map(tuple, row.ranking[:depth])),
        )
        for row in rows
    ]


def figures(
    connection: sa.Connection, run_ids: Sequence[str]
) -> dict[str, dict[str, Mapping[str, float]]]:
    """Metrics of every question by run id and question id, without the rankings."""
    by_run: dict[str, dict[str, Mapping[str, float]]] = {name: {} for name in run_ids}
    rows = connection.execute(
        sa.select(run_question.c.run_id, run_question.c.question_id, run_question.c.metrics)
        .where(run_question.c.run_id.in_(run_ids))
        .order_by(run_question.c.run_id, run_question.c.position)
    )
    for row in rows:
        by_run[row.run_id][row.question_id] = row.metrics
    return by_run


BY_ANSWER = "exact_match"
"""A measure of the questions that have an expected answer: it counts also those without labels."""


def question_texts(connection: sa.Connection, run_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Texts of the questions that labels judge, by run id and question id."""
    by_run: dict[str, dict[str, str]] = {name: {} for name in run_ids}
    rows = connection.execute(
        sa.select(run_question.c.run_id, run_question.c.question_id, run_question.c.text).where(
            run_question.c.run_id.in_(run_ids),
            sa.or_(
                run_question.c.relevant > 0,
                ~sa.cast(run_question.c.metrics, sa.String).contains(f'"{BY_ANSWER}"'),
            ),
        )
    )
    for row in rows:
        by_run[row.run_id][row.question_id] = row.text
    return by_run


def owner(connection: sa.Connection, run_id: str) -> int:
    """The id of the knowledge base that a run belongs to. Raises NotFound."""
    base_id = connection.execute(sa.select(run.c.base_id).where(run.c.id == run_id)).scalar()
    if base_id is None:
        raise _unknown(run_id)
    return int(base_id)


def set_note(connection: sa.Connection, run_id: str, note: str) -> None:
    """Replace the note of a run."""
    connection.execute(sa.update(run).where(run.c.id == run_id).values(note=note))


def set_tags(connection: sa.Connection, run_id: str, tags: Sequence[str]) -> None:
    """Replace the tags of a run."""
    connection.execute(sa.update(run).where(run.c.id == run_id).values(tags=list(tags)))


def pin(connection: sa.Connection, value: Run) -> None:
    """Make a run the baseline of its question set, in the place of another."""
    key = {"base_id": value.base_id, "question_set": value.question_set}
    insert_or_replace(connection, baseline, {**key, "run_id": value.id})


def unpin(connection: sa.Connection, base_id: int, question_set: str) -> None:
    """Leave a question set without a baseline."""
    mine = (baseline.c.base_id == base_id) & (baseline.c.question_set == question_set)
    connection.execute(sa.delete(baseline).where(mine))


def baseline_id(connection: sa.Connection, base_id: int, question_set: str) -> str | None:
    """The id of the baseline of a question set, or None."""
    mine = (baseline.c.base_id == base_id) & (baseline.c.question_set == question_set)
    return connection.execute(sa.select(baseline.c.run_id).where(mine)).scalar()


def rename_set(connection: sa.Connection, base_id: int, before: str, after: str) -> None:
    """Keep runs and baseline with a question set that has another name now."""
    for table in (run, baseline, look_table):
        mine = (table.c.base_id == base_id) & (table.c.question_set == before)
        connection.execute(sa.update(table).where(mine).values(question_set=after))


def add_look(connection: sa.Connection, base_id: int, question_set: str, value: Trial) -> None:
    """Note a look at a question set, unless it is there."""
    new = values(
        look_table,
        value,
        base_id=base_id,
        question_set=question_set,
        recipes=list(value.recipes),
        first=datetime.now(UTC),
    )
    connection.execute(insert_for(connection, look_table).values(new).on_conflict_do_nothing())


def looks(connection: sa.Connection, base_id: int, question_set: str) -> list[Trial]:
    """Return the trials on a question set, oldest first."""
    mine = (look_table.c.base_id == base_id) & (look_table.c.question_set == question_set)
    rows = connection.execute(sa.select(look_table).where(mine).order_by(look_table.c.id))
    return [read(Trial, row, recipes=tuple(row.recipes)) for row in rows]


def insert_foreign_texts(
    connection: sa.Connection, run_id: str, texts: Iterable[tuple[str, str]]
) -> None:
    """Store ids and texts of results that no document contains."""
    rows = [{"run_id": run_id, "id": name, "text": text} for name, text in texts]
    if rows:
        connection.execute(sa.insert(foreign_text), rows)


def foreign_texts(connection: sa.Connection, run_id: str, ids: Sequence[str]) -> dict[str, str]:
    """Texts of results that no document contains, by their id; those without text are absent."""
    by_id: dict[str, str] = {}
    for part in listable(ids):
        statement = sa.select(foreign_text.c.id, foreign_text.c.text).where(
            foreign_text.c.run_id == run_id, foreign_text.c.id.in_(part)
        )
        by_id.update({row.id: row.text for row in connection.execute(statement)})
    return by_id


def remove(connection: sa.Connection, value: Run) -> None:
    """Delete a run; a question set that it was the baseline of is left without one.

    The passages of a system go with its run.
    """
    connection.execute(sa.delete(run).where(run.c.id == value.id))
    if value.system is not None:
        mine = (cut.c.base_id == value.base_id) & (cut.c.name == value.cut)
        connection.execute(sa.delete(cut).where(mine))


def _unknown(run_id: str) -> NotFound:
    return NotFound(f"There is no run {run_id!r}.", "`python -m rag runs KB` lists them.")


def _run(row: sa.Row[tuple[object, ...]]) -> Run:
    return read(
        Run,
        row,
        recipe=Recipe.restore(row.recipe) if row.recipe else None,
        system=SystemSource(**row.system) if row.system else None,
        tags=tuple(row.tags),
    )
