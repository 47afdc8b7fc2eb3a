"""Passages as rows, with the vectors of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from sqlalchemy import Connection, Row, and_, func, insert, select

from rag.storage.tables import chunk, vector
from rag.storage.vectors import text_hash
from rag.types import Chunk, Keys

_ROWS = 4096  # rows written or read at a time
_IN_LIMIT = 500

PassageSpan = tuple[str, int, int]
"""Document id, start and end of a passage."""


@dataclass(frozen=True, slots=True)
class PassageBatch:
    """Some passages of a build: keys (n,), and by row their document, text and cached vector.

    A vector is float32 bytes, or None where the cache lost it.
    """

    keys: Keys
    documents: tuple[str, ...]
    texts: tuple[str, ...]
    vectors: tuple[bytes | None, ...]


def insert_all(connection: Connection, base_id: int, cut_id: int, chunks: Iterable[Chunk]) -> int:
    """Stores passages; returns how many. Streams, so that a huge document needs little memory."""
    total = 0
    source = iter(chunks)
    while part := list(islice(source, _ROWS)):
        connection.execute(insert(chunk), [_chunk_values(base_id, cut_id, item) for item in part])
        total += len(part)
    return total


def _chunk_values(base_id: int, cut_id: int, item: Chunk) -> dict[str, object]:
    return {
        "cut_id": cut_id,
        "key": item.key,
        "base_id": base_id,
        "document_id": item.document_id,
        "start": item.start,
        "end": item.end,
        "order": item.order,
        "page": item.page,
        "heading": item.heading,
        "text": item.text,
        "text_hash": text_hash(item.text),
    }


def are_cut(connection: Connection, base_id: int, cut_id: int, document_id: str) -> bool:
    """Whether a document has been cut this way already."""
    statement = select(chunk.c.key).where(
        chunk.c.base_id == base_id, chunk.c.cut_id == cut_id, chunk.c.document_id == document_id
    )
    return connection.execute(statement.limit(1)).first() is not None


def by_key(connection: Connection, cut_id: int, keys: Sequence[int]) -> dict[int, Chunk]:
    """Passages of a cut by key; keys that are gone are absent."""
    found: dict[int, Chunk] = {}
    for start in range(0, len(keys), _IN_LIMIT):
        part = keys[start : start + _IN_LIMIT]
        rows = connection.execute(
            select(chunk).where(chunk.c.cut_id == cut_id, chunk.c.key.in_(part))
        )
        found.update({row.key: _chunk(row) for row in rows})
    return found


def places(connection: Connection, cut_id: int, keys: Sequence[int]) -> dict[int, PassageSpan]:
    """Document id, start and end of passages of a cut, by key; keys that are gone are absent."""
    found: dict[int, PassageSpan] = {}
    columns = (chunk.c.key, chunk.c.document_id, chunk.c.start, chunk.c.end)
    for first in range(0, len(keys), _IN_LIMIT):
        part = keys[first : first + _IN_LIMIT]
        rows = connection.execute(
            select(*columns).where(chunk.c.cut_id == cut_id, chunk.c.key.in_(part))
        )
        found.update({row[0]: (row[1], row[2], row[3]) for row in rows})
    return found


def of_document(connection: Connection, base_id: int, cut_id: int, document_id: str) -> list[Chunk]:
    """Passages of one document in their order."""
    rows = connection.execute(
        select(chunk)
        .where(
            chunk.c.base_id == base_id, chunk.c.cut_id == cut_id, chunk.c.document_id == document_id
        )
        .order_by(chunk.c.order)
    )
    return [_chunk(row) for row in rows]


def between(
    connection: Connection, base_id: int, cut_id: int, document_id: str, first: int, last: int
) -> list[Chunk]:
    """Passages of one document from order ``first`` to ``last``."""
    rows = connection.execute(
        select(chunk)
        .where(
            chunk.c.base_id == base_id, chunk.c.cut_id == cut_id, chunk.c.document_id == document_id
        )
        .where(chunk.c.order.between(first, last))
        .order_by(chunk.c.order)
    )
    return [_chunk(row) for row in rows]


def counts(connection: Connection, base_id: int, cut_id: int) -> dict[str, int]:
    """Number of passages by document id."""
    rows = connection.execute(
        select(chunk.c.document_id, func.count())
        .where(chunk.c.base_id == base_id, chunk.c.cut_id == cut_id)
        .group_by(chunk.c.document_id)
    )
    return {row[0]: row[1] for row in rows}


def spans(
    connection: Connection, base_id: int, cut_id: int, document_ids: Sequence[str]
) -> dict[str, list[tuple[int, int, int]]]:
    """(key, start, end) of the passages of some documents, by document id."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for first in range(0, len(document_ids), _IN_LIMIT):
        rows = connection.execute(
            select(chunk.c.document_id, chunk.c.key, chunk.c.start, chunk.c.end).where(
                chunk.c.base_id == base_id,
                chunk.c.cut_id == cut_id,
                chunk.c.document_id.in_(document_ids[first : first + _IN_LIMIT]),
            )
        )
        for row in rows:
            found.setdefault(row[0], []).append((row[1], row[2], row[3]))
    return found


def marks(
    connection: Connection, base_id: int, cut_id: int
) -> Iterator[tuple[int, str, int | None, str]]:
    """(key, document id, page, heading) of the passages of a cut."""
    rows = connection.execute(
        select(chunk.c.key, chunk.c.document_id, chunk.c.page, chunk.c.heading).where(
            chunk.c.base_id == base_id, chunk.c.cut_id == cut_id
        )
    )
    return ((row[0], row[1], row[2], row[3]) for row in rows)


def texts(connection: Connection, cut_id: int, every: int = 1) -> Iterator[str]:
    """Texts of the passages of a cut, or of one in ``every``, taken by key: as good as chance."""
    statement = select(chunk.c.text).where(chunk.c.cut_id == cut_id)
    if every > 1:
        statement = statement.where(chunk.c.key % every == 0)
    result = connection.execution_options(yield_per=_ROWS).execute(statement)
    yield from result.scalars()


def _chunk(row: Row[tuple[object, ...]]) -> Chunk:
    return Chunk(
        key=row.key,
        document_id=row.document_id,
        start=row.start,
        end=row.end,
        text=row.text,
        order=row.order,
        heading=row.heading,
        page=row.page,
    )


def stream(
    connection: Connection,
    base_id: int,
    cut_id: int,
    embedder: str,
    document_ids: Sequence[str],
) -> Iterator[PassageBatch]:
    """Passages of documents with their cached vectors, a few thousand at a time."""
    for first in range(0, len(document_ids), _IN_LIMIT):
        statement = (
            select(chunk.c.key, chunk.c.document_id, chunk.c.text, vector.c.data)
            .outerjoin(
                vector,
                and_(vector.c.embedder == embedder, vector.c.text_hash == chunk.c.text_hash),
            )
            .where(
                chunk.c.base_id == base_id,
                chunk.c.cut_id == cut_id,
                chunk.c.document_id.in_(document_ids[first : first + _IN_LIMIT]),
            )
        )
        result = connection.execution_options(yield_per=_ROWS).execute(statement)
        for rows in result.partitions():
            keys, documents, texts, vectors = zip(*rows, strict=True)
            yield PassageBatch(np.asarray(keys, dtype=np.int64), documents, texts, vectors)
