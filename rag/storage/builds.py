"""Builds: which index recipes a knowledge base is built for, and which documents each holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, and_, delete, func, insert, select

from rag.recipe import IndexRecipe
from rag.storage import vectors
from rag.storage.rows import insert_missing, read
from rag.storage.tables import build, chunk, cut, document, indexed


@dataclass(frozen=True, slots=True)
class BuildRow:
    """An index recipe that documents are built for, and how many of them are."""

    hash: str
    cut_id: int
    recipe: IndexRecipe
    documents: int
    passages: int
    created: datetime


def ensure(connection: Connection, base_id: int, recipe: IndexRecipe) -> int:
    """Registers a build where it is not known yet; returns the id of its cut."""
    cut_id = _ensure_cut(connection, base_id, recipe.cut)
    values = {
        "base_id": base_id,
        "hash": recipe.hash,
        "cut_id": cut_id,
        "recipe": recipe.model_dump(mode="json"),
        "created": datetime.now(UTC),
    }
    insert_missing(connection, build, values)
    return cut_id


def _ensure_cut(connection: Connection, base_id: int, name: str) -> int:
    insert_missing(connection, cut, {"base_id": base_id, "name": name})
    known = select(cut.c.id).where(cut.c.base_id == base_id, cut.c.name == name)
    return int(connection.execute(known).scalar_one())


def cut_id(connection: Connection, base_id: int, name: str) -> int | None:
    """The id of a cut by its name, or None while no document is cut that way."""
    known = select(cut.c.id).where(cut.c.base_id == base_id, cut.c.name == name)
    return connection.execute(known).scalar()


def passages_of(connection: Connection, base_id: int, cut_name: str) -> int:
    """Number of passages of a cut."""
    statement = (
        select(func.count())
        .select_from(chunk)
        .join(cut, cut.c.id == chunk.c.cut_id)
        .where(cut.c.base_id == base_id, cut.c.name == cut_name)
    )
    return int(connection.execute(statement).scalar_one())


def every(connection: Connection, base_id: int) -> list[BuildRow]:
    """All builds of a base, oldest first, with the passages that each can search."""
    documents = (
        select(indexed.c.build_hash, func.count().label("documents"))
        .where(indexed.c.base_id == base_id)
        .group_by(indexed.c.build_hash)
        .subquery()
    )
    passages = (
        select(chunk.c.cut_id, func.count().label("passages"))
        .where(chunk.c.base_id == base_id)
        .group_by(chunk.c.cut_id)
        .subquery()
    )
    rows = connection.execute(
        select(
            build,
            func.coalesce(documents.c.documents, 0).label("documents"),
            func.coalesce(passages.c.passages, 0).label("passages"),
        )
        .outerjoin(documents, documents.c.build_hash == build.c.hash)
        .outerjoin(passages, passages.c.cut_id == build.c.cut_id)
        .where(build.c.base_id == base_id)
        .order_by(build.c.created)
    )
    return [read(BuildRow, row, recipe=IndexRecipe.model_validate(row.recipe)) for row in rows]


def places(connection: Connection) -> set[tuple[int, str]]:
    """Every build of every base: the base's id, and the build's hash."""
    return {(row.base_id, row.hash) for row in connection.execute(select(build))}


def remove(connection: Connection, base_id: int, build_hash: str) -> None:
    """Deletes a build; its passages and vectors too where no other build shares them."""
    mine = (build.c.base_id == base_id) & (build.c.hash == build_hash)
    cut_id = connection.execute(select(build.c.cut_id).where(mine)).scalar()
    connection.execute(delete(build).where(mine))
    shared = select(build.c.hash).where(build.c.cut_id == cut_id)
    if cut_id is None or connection.execute(shared).first() is not None:
        return
    hashes = select(chunk.c.text_hash).distinct().where(chunk.c.cut_id == cut_id)
    orphans = list(connection.execute(hashes).scalars())
    connection.execute(delete(cut).where(cut.c.id == cut_id))
    vectors.forget(connection, orphans)


def documents(connection: Connection, base_id: int, build_hash: str) -> dict[str, int]:
    """Ids of the documents that a build holds, whole, with the version of each one's reader."""
    statement = (
        select(indexed.c.document_id, document.c.reader_version)
        .join(
            document,
            and_(document.c.base_id == base_id, document.c.id == indexed.c.document_id),
        )
        .where(indexed.c.base_id == base_id, indexed.c.build_hash == build_hash)
    )
    return {row.document_id: row.reader_version for row in connection.execute(statement)}


def missing(connection: Connection, base_id: int, build_hash: str) -> list[str]:
    """Ids of the documents that a build still lacks, in order of their names."""
    statement = (
        select(document.c.id)
        .outerjoin(
            indexed,
            and_(
                indexed.c.base_id == base_id,
                indexed.c.build_hash == build_hash,
                indexed.c.document_id == document.c.id,
            ),
        )
        .where(document.c.base_id == base_id, indexed.c.document_id.is_(None))
        .order_by(document.c.name)
    )
    return list(connection.execute(statement).scalars())


def mark_indexed(
    connection: Connection, base_id: int, build_hash: str, document_ids: Sequence[str]
) -> None:
    """Declares documents whole in a build."""
    rows = [
        {"base_id": base_id, "build_hash": build_hash, "document_id": document_id}
        for document_id in document_ids
    ]
    if rows:
        connection.execute(insert(indexed), rows)
