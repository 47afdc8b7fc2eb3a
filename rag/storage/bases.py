"""Knowledge bases: their names, recipes and change counters."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from rag.errors import AlreadyExists, NotFound
from rag.recipe import Recipe
from rag.storage.rows import insert_or_replace, read
from rag.storage.tables import (
    job,
    knowledge_base,
    question,
    question_set,
    recipe_version,
    run,
)

_MOST_BASES = 2**31 - 1  # what an integer of SQL holds


# Asked several times for every page that is drawn: putting one together costs more than its answer.
_THERE = ~knowledge_base.c.deleted
_NAMED = select(knowledge_base).where(knowledge_base.c.name == bindparam("name"), _THERE)
_BY_ID = select(knowledge_base).where(knowledge_base.c.id == bindparam("base_id"), _THERE)
_VERSION = _BY_ID.with_only_columns(knowledge_base.c.version)


@dataclass(frozen=True, slots=True)
class Base:
    """A row: ``version`` counts changes of the documents, ``recipe`` is the saved one."""

    id: int
    name: str
    recipe: Recipe
    version: int
    created: datetime


def create(connection: Connection, name: str, recipe: Recipe) -> Base:
    """A new, empty knowledge base. Raises AlreadyExists."""
    created = datetime.now(UTC)
    values = {
        # Drawn, as SQLite would give that of a deleted base again: what is cached of one base, in
        # this process or another, must never answer for the next.
        "id": 1 + secrets.randbelow(_MOST_BASES),
        "name": name,
        "recipe": recipe.model_dump(mode="json"),
        "version": 0,
        "created": created,
    }
    try:
        base_id = connection.execute(
            insert(knowledge_base).values(values).returning(knowledge_base.c.id)
        ).scalar_one()
    except IntegrityError as error:
        raise _name_taken(name) from error
    return Base(base_id, name, recipe, 0, created)


def list_bases(connection: Connection, ids: Collection[int] | None = None) -> list[Base]:
    """Knowledge bases by name: all, or those with some ids."""
    statement = select(knowledge_base).where(_THERE).order_by(knowledge_base.c.name)
    if ids is not None:
        statement = statement.where(knowledge_base.c.id.in_(ids))
    return [_base(row) for row in connection.execute(statement)]


def measurement_summaries(connection: Connection) -> dict[str, tuple[int, datetime | None]]:
    """By the name of a base: how many accepted questions it has, and when it was evaluated last."""
    questions = (
        select(func.count())
        .select_from(question)
        .join(question_set, question_set.c.id == question.c.set_id)
        .where(question_set.c.base_id == knowledge_base.c.id, question.c.state == "accepted")
    )
    last = select(func.max(run.c.created)).where(run.c.base_id == knowledge_base.c.id)
    rows = connection.execute(
        select(knowledge_base.c.name, questions.scalar_subquery(), last.scalar_subquery())
    )
    return {name: (count, moment) for name, count, moment in rows}


def get_base(connection: Connection, name: str) -> Base:
    """One knowledge base. Raises NotFound, naming those that exist."""
    row = connection.execute(_NAMED, {"name": name}).first()
    if row is None:
        names = ", ".join(base.name for base in list_bases(connection))
        first = "`python -m rag demo` adds the sample, `python -m rag ingest NAME PATH` yours."
        hint = f"There are: {names}." if names else first
        raise NotFound(f"There is no knowledge base named {name!r}.", hint)
    return _base(row)


def by_id(connection: Connection, base_id: int) -> Base:
    """One knowledge base. Raises NotFound when someone deleted it."""
    row = connection.execute(_BY_ID, {"base_id": base_id}).first()
    if row is None:
        raise _gone()
    return _base(row)


def _gone() -> NotFound:
    return NotFound("The knowledge base is gone.", "Someone deleted it; choose another.")


def hold(connection: Connection, base_id: int) -> None:
    """Let nobody else hold or delete a base before the transaction ends. Raises NotFound."""
    mine = select(knowledge_base.c.id).where(knowledge_base.c.id == base_id, _THERE)
    if connection.execute(mine.with_for_update()).first() is None:
        raise NotFound("The knowledge base is gone.", "It was deleted in the meantime.")


def rename(connection: Connection, base_id: int, name: str) -> None:
    """Give a knowledge base another name. Raises AlreadyExists."""
    try:
        connection.execute(
            update(knowledge_base).where(knowledge_base.c.id == base_id).values(name=name)
        )
    except IntegrityError as error:
        raise _name_taken(name) from error


def _name_taken(name: str) -> AlreadyExists:
    return AlreadyExists(f"A knowledge base named {name!r} exists already.", "Choose another name.")


def remove(connection: Connection, base_id: int) -> None:
    """Hide a knowledge base for good, stop its jobs, and free its name.

    ``shared.deletion`` deletes its rows.
    """
    mine = knowledge_base.c.id == base_id
    name = f"deleted {base_id} {secrets.token_hex(8)}"
    connection.execute(update(knowledge_base).where(mine).values(deleted=True, name=name))
    active = job.c.status.in_(("queued", "running"))
    connection.execute(update(job).where(job.c.base_id == base_id, active).values(cancel=True))


def version(connection: Connection, base_id: int) -> int:
    """Return the number of changes to the documents of a base.

    Raises NotFound if someone deleted the base.
    """
    counted = connection.execute(_VERSION, {"base_id": base_id}).scalar()
    if counted is None:
        raise _gone()
    return int(counted)


def has_version(connection: Connection, base_id: int, version: int) -> bool:
    """Whether a database, or a copy that lags behind, has seen a change of the documents."""
    counted = connection.execute(_VERSION, {"base_id": base_id}).scalar()
    return counted is not None and int(counted) >= version


def touch(connection: Connection, base_id: int) -> None:
    """Count a change of the documents; every index of the base is stale from here on."""
    connection.execute(
        update(knowledge_base)
        .where(knowledge_base.c.id == base_id)
        .values(version=knowledge_base.c.version + 1)
    )


def save_recipe(
    connection: Connection, base_id: int, recipe: Recipe, instead_of: Recipe | None = None
) -> bool:
    """Make ``recipe`` the saved one and keep it among the versions.

    Where ``instead_of`` is given and is not the saved one any more, nothing changes: False.
    """
    if instead_of is not None:
        hold(connection, base_id)
        if by_id(connection, base_id).recipe != instead_of:
            return False
    recipe = recipe.current()
    data = recipe.model_dump(mode="json")
    connection.execute(
        update(knowledge_base).where(knowledge_base.c.id == base_id).values(recipe=data)
    )
    version = {"base_id": base_id, "hash": recipe.hash, "recipe": data, "saved": datetime.now(UTC)}
    insert_or_replace(connection, recipe_version, version)
    return True


def saved_recipes(connection: Connection, base_id: int) -> list[tuple[datetime, Recipe]]:
    """Versions of the recipe, newest first."""
    rows = connection.execute(
        select(recipe_version.c.saved, recipe_version.c.recipe)
        .where(recipe_version.c.base_id == base_id)
        .order_by(recipe_version.c.saved.desc())
    )
    return [(row.saved, Recipe.restore(row.recipe)) for row in rows]


def _base(row: Row[tuple[object, ...]]) -> Base:
    # What this version lacks cannot answer: the saved recipe is what a search by it does now.
    return read(Base, row, recipe=Recipe.restore(row.recipe).current())
