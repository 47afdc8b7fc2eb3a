"""Passages as rows, with the vectors of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice

import numpy as np
from sqlalchemy import ColumnElement, Connection, and_, func, insert, select

from rag.storage import builds, vectors
from rag.storage.rows import listable, read, values
from rag.storage.tables import build, chunk, document, vector
from rag.storage.vectors import text_hash
from rag.types import Chunk, Keys, Mask, with_context

_ROWS = 4096  # rows written or read at a time

PASSAGE_DIGITS = 16
"""Hexadecimal digits of a passage's id; a document's has 64."""
PassageSpan = tuple[str, int, int]
"""Document id, start and end of a passage."""

_of_document = and_(document.c.base_id == chunk.c.base_id, document.c.id == chunk.c.document_id)


@dataclass(frozen=True, slots=True)
class PassageBatch:
    """Some passages of a build: keys (n,), and by row their document, indexed text and vector.

    A vector is float32 bytes, or None where the cache lost it.
    """

    keys: Keys
    documents: tuple[str, ...]
    texts: tuple[str, ...]
    vectors: tuple[bytes | None, ...]

    def at(self, mask: Mask) -> PassageBatch:
        """The rows of ``mask``, shape (n,)."""
        return PassageBatch(
            self.keys[mask],
            tuple(compress(self.documents, mask)),
            tuple(compress(self.texts, mask)),
            tuple(compress(self.vectors, mask)),
        )


def lack_vectors(
    connection: Connection, base_id: int, cut_id: int, document_id: str, embedder: str
) -> bool:
    """Whether a passage of a document has no vector of an embedder."""
    lacking = vectors.without(embedder).where(_in_document(base_id, cut_id, document_id))
    return connection.execute(lacking.limit(1)).first() is not None


def insert_all(connection: Connection, base_id: int, cut_id: int, chunks: Iterable[Chunk]) -> int:
    """Store passages; return how many. Streams, so that a huge document needs little memory."""
    total, place = 0, {"cut_id": cut_id, "base_id": base_id}
    source = iter(chunks)
    while part := list(islice(source, _ROWS)):
        rows = [
            values(chunk, item, text_hash=text_hash(item.indexed_text), **place) for item in part
        ]
        connection.execute(insert(chunk), rows)
        total += len(part)
    return total


def are_cut(connection: Connection, base_id: int, cut_id: int, document_id: str) -> bool:
    """Whether a document has been cut this way already."""
    statement = select(chunk.c.key).where(_in_document(base_id, cut_id, document_id))
    return connection.execute(statement.limit(1)).first() is not None


def by_key(connection: Connection, cut_id: int | None, keys: Sequence[int]) -> dict[int, Chunk]:
    """Passages of a cut by key; keys that are gone are absent. The cut None has no passages."""
    chunks: dict[int, Chunk] = {}
    for part in listable(keys):
        statement = select(chunk).where(builds.in_cut(cut_id), chunk.c.key.in_(part))
        chunks.update({row.key: read(Chunk, row) for row in connection.execute(statement)})
    return chunks


def passages_by_id(
    connection: Connection, base_id: int, cut_name: str, ids: Iterable[str]
) -> dict[str, Chunk]:
    """Return the passages of a cut by id. ``ids`` of rankings can also be those of documents."""
    keys = [int(name, 16) for name in sorted(ids) if len(name) == PASSAGE_DIGITS]
    chunks = by_key(connection, builds.cut_id(connection, base_id, cut_name), keys)
    return {chunk.id: chunk for chunk in chunks.values()}


def places(connection: Connection, cut_id: int, keys: Sequence[int]) -> dict[int, PassageSpan]:
    """Document id, start and end of passages of a cut, by key; keys that are gone are absent."""
    by_key: dict[int, PassageSpan] = {}
    columns = (chunk.c.key, chunk.c.document_id, chunk.c.start, chunk.c.end)
    for part in listable(keys):
        statement = select(*columns).where(builds.in_cut(cut_id), chunk.c.key.in_(part))
        by_key.update({row[0]: (row[1], row[2], row[3]) for row in connection.execute(statement)})
    return by_key


def place(connection: Connection, base_id: int, passage: str) -> PassageSpan | None:
    """Return the place of a passage by its id, of any chunking; None where it is not stored."""
    if len(passage) != PASSAGE_DIGITS or not set(passage) <= set("0123456789abcdef"):
        return None
    columns = (chunk.c.document_id, chunk.c.start, chunk.c.end)
    statement = (
        select(*columns)
        .join(document, _of_document)
        .where(chunk.c.base_id == base_id, chunk.c.key == int(passage, 16))
    )
    row = connection.execute(statement.limit(1)).first()
    return (row[0], row[1], row[2]) if row else None


def of_document(connection: Connection, base_id: int, cut_id: int, document_id: str) -> list[Chunk]:
    """Passages of one document in their order."""
    statement = select(chunk).where(_in_document(base_id, cut_id, document_id))
    return [read(Chunk, row) for row in connection.execute(statement.order_by(chunk.c.order))]


def in_order(
    connection: Connection, base_id: int, cut_id: int, first: int, count: int
) -> list[tuple[str, Chunk]]:
    """``count`` passages of a base from the place ``first`` on, by document name and order, each
    with the name of its document."""
    statement = (
        select(chunk, document.c.name.label("document_name"))
        .join(document, _of_document)
        .where(chunk.c.base_id == base_id, builds.in_cut(cut_id))
        .order_by(document.c.name, chunk.c.order)
        .offset(first)
        .limit(count)
    )
    return [(row.document_name, read(Chunk, row)) for row in connection.execute(statement)]


def between(
    connection: Connection, base_id: int, cut_id: int, document_id: str, first: int, last: int
) -> list[Chunk]:
    """Passages of one document from order ``first`` to ``last``."""
    statement = select(chunk).where(
        _in_document(base_id, cut_id, document_id), chunk.c.order.between(first, last)
    )
    return [read(Chunk, row) for row in connection.execute(statement.order_by(chunk.c.order))]


def _in_document(base_id: int, cut_id: int, document_id: str) -> ColumnElement[bool]:
    mine = (chunk.c.base_id == base_id) & builds.in_cut(cut_id)
    return mine & (chunk.c.document_id == document_id)


def counts(connection: Connection, base_id: int, cut_id: int) -> dict[str, int]:
    """Number of passages by document id."""
    rows = connection.execute(
        select(chunk.c.document_id, func.count())
        .where(chunk.c.base_id == base_id, builds.in_cut(cut_id))
        .group_by(chunk.c.document_id)
    )
    return {row[0]: row[1] for row in rows}


def spans(
    connection: Connection, base_id: int, cut_id: int | None, document_ids: Sequence[str]
) -> dict[str, list[tuple[int, int, int]]]:
    """(key, start, end) of the passages of some documents, by document id; none for no cut."""
    by_document: dict[str, list[tuple[int, int, int]]] = {}
    columns = (chunk.c.document_id, chunk.c.key, chunk.c.start, chunk.c.end)
    for part in listable(document_ids):
        statement = select(*columns).where(
            chunk.c.base_id == base_id, builds.in_cut(cut_id), chunk.c.document_id.in_(part)
        )
        for row in connection.execute(statement):
            by_document.setdefault(row[0], []).append((row[1], row[2], row[3]))
    return by_document


def marks(
    connection: Connection, base_id: int, cut_id: int
) -> Iterator[tuple[int, str, int | None, str]]:
    """(key, document id, page, heading) of the passages of a cut."""
    rows = connection.execute(
        select(chunk.c.key, chunk.c.document_id, chunk.c.page, chunk.c.heading).where(
            chunk.c.base_id == base_id, builds.in_cut(cut_id)
        )
    )
    return ((row[0], row[1], row[2], row[3]) for row in rows)


def texts(connection: Connection, cut_id: int | None, stride: int = 1) -> Iterator[str]:
    """Texts of the passages of a cut, or of one in ``stride``, taken by key: as good as chance."""
    statement = select(chunk.c.text).where(builds.in_cut(cut_id))
    if stride > 1:
        statement = statement.where(chunk.c.key % stride == 0)
    result = connection.execution_options(yield_per=_ROWS).execute(statement)
    yield from result.scalars()


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A passage whose text has no vector; ``characters`` are those that are shown.

    ``order`` is its place in the document.
    """

    document_id: str
    indexed_text: str
    characters: int
    order: int = 0


def list_unembedded(
    connection: Connection,
    base_id: int,
    build_hash: str,
    embedder: str,
    document_ids: Sequence[str],
    most: int,
) -> list[Unembedded]:
    """The first passages of documents in a build that have no vector, small documents first."""
    cut_id = select(build.c.cut_id).where(build.c.base_id == base_id, build.c.hash == build_hash)
    statement = (
        vectors.without(embedder)
        .add_columns(chunk.c.context, chunk.c.text, chunk.c.order)
        .join(
            document,
            and_(document.c.base_id == base_id, document.c.id == chunk.c.document_id),
        )
        .where(
            chunk.c.base_id == base_id,
            builds.in_cut(cut_id.scalar_subquery()),
            chunk.c.document_id.in_(document_ids),
        )
        .order_by(document.c.characters, document.c.id, chunk.c.order)
        .limit(most)
    )
    return [
        Unembedded(row.document_id, with_context(row.context, row.text), len(row.text), row.order)
        for row in connection.execute(statement)
    ]


def stream(
    connection: Connection,
    base_id: int,
    cut_id: int,
    embedder: str,
    document_ids: Sequence[str],
) -> Iterator[PassageBatch]:
    """Passages of documents with their cached vectors, a few thousand at a time."""
    for part in listable(document_ids):
        statement = (
            select(chunk.c.key, chunk.c.document_id, chunk.c.context, chunk.c.text, vector.c.data)
            .outerjoin(
                vector,
                and_(vector.c.embedder == embedder, vector.c.text_hash == chunk.c.text_hash),
            )
            .where(
                chunk.c.base_id == base_id,
                builds.in_cut(cut_id),
                chunk.c.document_id.in_(part),
            )
        )
        result = connection.execution_options(yield_per=_ROWS).execute(statement)
        for rows in result.partitions():
            keys, documents, contexts, texts, data = zip(*rows, strict=True)
            indexed = tuple(map(with_context, contexts, texts))
            yield PassageBatch(np.asarray(keys, dtype=np.int64), documents, indexed, data)
