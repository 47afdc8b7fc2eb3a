"""Builds: which index recipes a knowledge base is built for, and which documents each holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from rag.recipe import IndexRecipe
from rag.storage import vectors
from rag.storage.rows import insert_missing, insert_or_replace, listable, read
from rag.storage.tables import build, chunk, cut, document, indexed

DELETED = "deleted "  # what the names of cuts begin with whose passages go; no hash does

_counts = (
    sa.select(chunk.c.cut_id, sa.func.count().label("passages")).group_by(chunk.c.cut_id).subquery()
)
_rows_of_cut = cut.alias()  # of the cut itself, or of a segment
# Every page that is drawn reads it: putting it together costs more than its answer.
_PASSAGES_BY_CUT = (
    sa.select(cut.c.base_id, cut.c.name, sa.func.sum(_counts.c.passages).label("passages"))
    .join(_rows_of_cut, sa.func.coalesce(_rows_of_cut.c.segment_of, _rows_of_cut.c.id) == cut.c.id)
    .join(_counts, _counts.c.cut_id == _rows_of_cut.c.id)
    .group_by(cut.c.id)
)


@dataclass(frozen=True, slots=True)
class BuildRow:
    """An index recipe that documents are built for, and how many of them are."""

    hash: str
    cut_id: int
    recipe: IndexRecipe
    documents: int
    passages: int
    created: datetime


def ensure(connection: sa.Connection, base_id: int, recipe: IndexRecipe) -> int:
    """Register a build where it is not known yet; return the id of its cut."""
    return _register(connection, base_id, recipe)[0]


def register(connection: sa.Connection, base_id: int, recipe: IndexRecipe) -> bool:
    """Register a build where it is not known yet; return whether it was not."""
    return _register(connection, base_id, recipe)[1]


def _register(connection: sa.Connection, base_id: int, recipe: IndexRecipe) -> tuple[int, bool]:
    cut_id = ensure_cut(connection, base_id, recipe.cut)
    values = {
        "base_id": base_id,
        "hash": recipe.hash,
        "cut_id": cut_id,
        "recipe": recipe.model_dump(mode="json"),
        "created": datetime.now(UTC),
    }
    return cut_id, insert_missing(connection, build, values)


def ensure_cut(connection: sa.Connection, base_id: int, name: str) -> int:
    """Register a cut where there is none of this name; return its id."""
    insert_missing(connection, cut, {"base_id": base_id, "name": name})
    statement = sa.select(cut.c.id).where(cut.c.base_id == base_id, cut.c.name == name)
    return int(connection.execute(statement).scalar_one())


def cut_id(connection: sa.Connection, base_id: int, name: str) -> int | None:
    """The id of a cut by its name, or None while no document is cut that way."""
    statement = sa.select(cut.c.id).where(cut.c.base_id == base_id, cut.c.name == name)
    return connection.execute(statement).scalar()


def in_cut(cut_id: int | sa.ScalarSelect[int] | None) -> sa.ColumnElement[bool]:
    """Whether a passage is in a cut, be it in one of its segments; None has no passages."""
    if cut_id is None:
        return sa.false()
    rows = sa.select(cut.c.id).where(sa.or_(cut.c.id == cut_id, cut.c.segment_of == cut_id))
    return chunk.c.cut_id.in_(rows)


def passages_of(connection: sa.Connection, base_id: int, cut_name: str) -> int:
    """Number of passages of a cut."""
    mine = in_cut(cut_id(connection, base_id, cut_name))
    return int(connection.execute(sa.select(sa.func.count()).where(mine)).scalar_one())


def passages_by_cut(connection: sa.Connection) -> dict[tuple[int, str], int]:
    """Numbers of passages by base and name of a cut; cuts without passages are absent."""
    rows = connection.execute(_PASSAGES_BY_CUT)
    return {(base_id, name): int(count) for base_id, name, count in rows}


def list_builds(connection: sa.Connection, base_id: int) -> list[BuildRow]:
    """All builds of a base, oldest first, with the passages that each can search."""
    documents = (
        sa.select(indexed.c.build_hash, sa.func.count().label("documents"))
        .where(indexed.c.base_id == base_id)
        .group_by(indexed.c.build_hash)
        .subquery()
    )
    passages = (
        sa.select(
            sa.func.coalesce(cut.c.segment_of, cut.c.id).label("cut_id"),
            sa.func.count().label("passages"),
        )
        .join(cut, cut.c.id == chunk.c.cut_id)
        .where(chunk.c.base_id == base_id)
        .group_by(sa.func.coalesce(cut.c.segment_of, cut.c.id))
        .subquery()
    )
    rows = connection.execute(
        sa.select(
            build,
            sa.func.coalesce(documents.c.documents, 0).label("documents"),
            sa.func.coalesce(passages.c.passages, 0).label("passages"),
        )
        .outerjoin(documents, documents.c.build_hash == build.c.hash)
        .outerjoin(passages, passages.c.cut_id == build.c.cut_id)
        .where(build.c.base_id == base_id)
        .order_by(build.c.created)
    )
    return [read(BuildRow, row, recipe=IndexRecipe.restore(row.recipe)) for row in rows]


def held(connection: sa.Connection, base_id: int, build_hash: str) -> tuple[int, int]:
    """Return how many documents a build holds, and how many of these wait for vectors."""
    mine = (indexed.c.base_id == base_id) & (indexed.c.build_hash == build_hash)
    waits = sa.func.count().filter(indexed.c.waits)
    documents, waiting = connection.execute(sa.select(sa.func.count(), waits).where(mine)).one()
    return int(documents), int(waiting)


def recipe(connection: sa.Connection, base_id: int, build_hash: str) -> IndexRecipe | None:
    """Return the index recipe of a build; None if the build was deleted."""
    mine = (build.c.base_id == base_id) & (build.c.hash == build_hash)
    stored = connection.execute(sa.select(build.c.recipe).where(mine)).scalar()
    return None if stored is None else IndexRecipe.restore(stored)


def places(connection: sa.Connection) -> set[tuple[int, str]]:
    """Every build of every base: the base's id, and the build's hash."""
    return {(row.base_id, row.hash) for row in connection.execute(sa.select(build))}


def remove(connection: sa.Connection, base_id: int, build_hash: str) -> None:
    """Delete a build, and mark its passages for ``shared.deletion`` if no other has them."""
    mine = (build.c.base_id == base_id) & (build.c.hash == build_hash)
    cut_id = connection.execute(sa.select(build.c.cut_id).where(mine)).scalar()
    connection.execute(sa.delete(build).where(mine))
    shared = sa.select(build.c.hash).where(build.c.cut_id == cut_id)
    if cut_id is None or connection.execute(shared).first() is not None:
        return
    mark_deleted(connection, sa.or_(cut.c.id == cut_id, cut.c.segment_of == cut_id))


def mark_deleted(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    """Mark cuts for ``shared.deletion``; from now on nobody sees their passages."""
    mark = sa.literal(DELETED) + sa.cast(cut.c.id, sa.String)
    connection.execute(sa.update(cut).where(which).values(name=mark, segment_of=None))


@dataclass(frozen=True, slots=True)
class BuiltDocument:
    """A document of a build; ``waits`` where not all of its vectors are in."""

    id: str
    reader_version: int
    waits: bool


def documents(connection: sa.Connection, base_id: int, build_hash: str) -> list[BuiltDocument]:
    """The documents of a build, each with all its passages."""
    statement = (
        sa.select(document.c.id, document.c.reader_version, indexed.c.waits)
        .join(
            document,
            sa.and_(document.c.base_id == base_id, document.c.id == indexed.c.document_id),
        )
        .where(indexed.c.base_id == base_id, indexed.c.build_hash == build_hash)
    )
    return [read(BuiltDocument, row) for row in connection.execute(statement)]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A document of a build whose vectors are not all in."""

    build_hash: str
    id: str
    name: str
    characters: int


def waiting(connection: sa.Connection, base_id: int) -> list[Waiting]:
    """All of them, of every build, small documents first."""
    statement = (
        sa.select(indexed.c.build_hash, document.c.id, document.c.name, document.c.characters)
        .join(
            document,
            sa.and_(document.c.base_id == base_id, document.c.id == indexed.c.document_id),
        )
        .where(indexed.c.base_id == base_id, indexed.c.waits)
        .order_by(document.c.characters, document.c.id)
    )
    return [read(Waiting, row) for row in connection.execute(statement)]


def missing(connection: sa.Connection, base_id: int, build_hash: str) -> list[str]:
    """Ids of the documents that a build lacks, or whose vectors it lacks, in order of names."""
    statement = (
        sa.select(document.c.id)
        .outerjoin(
            indexed,
            sa.and_(
                indexed.c.base_id == base_id,
                indexed.c.build_hash == build_hash,
                indexed.c.document_id == document.c.id,
            ),
        )
        .where(
            document.c.base_id == base_id,
            sa.or_(indexed.c.document_id.is_(None), indexed.c.waits),
        )
        .order_by(document.c.name)
    )
    return list(connection.execute(statement).scalars())


def mark_indexed(
    connection: sa.Connection,
    base_id: int,
    build_hash: str,
    document_ids: Sequence[str],
    *,
    waits: bool = False,
) -> None:
    """Declare that a build holds all passages of documents, and their vectors unless it waits."""
    for document_id in document_ids:
        values = {
            "base_id": base_id,
            "build_hash": build_hash,
            "document_id": document_id,
            "waits": waits,
        }
        insert_or_replace(connection, indexed, values)


def end_waiting(
    connection: sa.Connection, base_id: int, build_hash: str, embedder: str, ids: Sequence[str]
) -> list[str]:
    """Return the waiting documents whose vectors are all in; they wait no longer."""
    cut_id = sa.select(build.c.cut_id).where(build.c.base_id == base_id, build.c.hash == build_hash)
    done = list[str]()
    for part in listable(ids):
        mine = (
            (indexed.c.base_id == base_id)
            & (indexed.c.build_hash == build_hash)
            & indexed.c.document_id.in_(part)
            & indexed.c.waits
        )
        lacking = vectors.without(embedder).where(
            chunk.c.base_id == base_id,
            in_cut(cut_id.scalar_subquery()),
            chunk.c.document_id == indexed.c.document_id,
        )
        statement = sa.select(indexed.c.document_id).where(mine, ~lacking.exists())
        done += connection.execute(statement).scalars()
    for part in listable(done):
        connection.execute(
            sa.update(indexed)
            .where(
                indexed.c.base_id == base_id,
                indexed.c.build_hash == build_hash,
                indexed.c.document_id.in_(part),
            )
            .values(waits=False)
        )
    return done
