"""The cache of vectors, by embedder and text: only text that is new is embedded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, Select, delete, func, select

from rag.storage.rows import insert_for, listable
from rag.storage.tables import chunk, job, vector


def text_hash(text: str) -> bytes:
    """The 16 bytes under which the vector of a text is cached."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def find_cached_hashes(
    connection: Connection, embedder: str, hashes: Sequence[bytes]
) -> set[bytes]:
    """Return the ``hashes`` whose vector is cached."""
    cached: set[bytes] = set()
    for part in listable(hashes):
        statement = select(vector.c.text_hash).where(
            vector.c.embedder == embedder, vector.c.text_hash.in_(part)
        )
        cached.update(connection.execute(statement).scalars())
    return cached


def find_cached_vectors(
    connection: Connection, embedder: str, hashes: Sequence[bytes]
) -> dict[bytes, bytes]:
    """Return those vectors of ``hashes`` that are cached."""
    cached: dict[bytes, bytes] = {}
    for part in listable(hashes):
        statement = select(vector.c.text_hash, vector.c.data).where(
            vector.c.embedder == embedder, vector.c.text_hash.in_(part)
        )
        cached.update({row.text_hash: row.data for row in connection.execute(statement)})
    return cached


def list_cached_vectors(connection: Connection, embedder: str) -> dict[bytes, bytes]:
    """All cached vectors of an embedder, in order of their hash."""
    rows = connection.execute(
        select(vector.c.text_hash, vector.c.data)
        .where(vector.c.embedder == embedder)
        .order_by(vector.c.text_hash)
    )
    return {row.text_hash: row.data for row in rows}


def dimension(connection: Connection, embedder: str) -> int | None:
    """The length of a cached vector of an embedder; None where there is none."""
    size = select(func.length(vector.c.data)).where(vector.c.embedder == embedder).limit(1)
    stored: int | None = connection.execute(size).scalar()
    return None if stored is None else stored // 4  # bytes of a float32


def without(embedder: str) -> Select[tuple[str]]:
    """Select the passages whose text has no cached vector of an embedder."""
    cached = (vector.c.embedder == embedder) & (vector.c.text_hash == chunk.c.text_hash)
    return select(chunk.c.document_id).where(~select(vector.c.text_hash).where(cached).exists())


def store(
    connection: Connection,
    embedder: str,
    vectors: Mapping[bytes, bytes],
    *,
    replace: bool = False,
) -> None:
    """Caches vectors (float32 bytes by text hash); unless ``replace``, those already there stay."""
    # In one order everywhere: two transactions never wait for each other's rows.
    rows = [
        {"embedder": embedder, "text_hash": key, "data": data}
        for key, data in sorted(vectors.items())
    ]
    if rows:
        fresh = insert_for(connection, vector)
        chosen = fresh.on_conflict_do_update(
            index_elements=[vector.c.embedder, vector.c.text_hash],
            set_={"data": fresh.excluded.data},
        )
        connection.execute(chosen if replace else fresh.on_conflict_do_nothing(), rows)


def forget(connection: Connection, text_hashes: Sequence[bytes]) -> None:
    """Delete those cached vectors among ``text_hashes`` that no passage refers to."""
    embedders = list(_embedders(connection))
    for part in listable(text_hashes):
        used = connection.execute(
            select(chunk.c.text_hash).where(chunk.c.text_hash.in_(part)).distinct()
        )
        unused = sorted(set(part).difference(used.scalars()))
        for embedder in embedders:
            mine = (vector.c.embedder == embedder) & vector.c.text_hash.in_(unused)
            connection.execute(delete(vector).where(mine))


def _embedders(connection: Connection) -> Iterator[str]:
    """Yield the embedders that have vectors, one look at the index for each.

    Rows are found by embedder and hash: by the hash alone, all rows would be read.
    """
    embedder: str | None = ""
    while True:
        later = select(func.min(vector.c.embedder)).where(vector.c.embedder > embedder)
        embedder = connection.execute(later).scalar()
        if embedder is None:
            return
        yield embedder


def count_unused(connection: Connection) -> int:
    """Count the cached vectors that no passage refers to.

    The count is 0 while a job is queued or running, because the job may be about to store the
    passages of its vectors.
    """
    count = select(func.count()).select_from(vector).where(_unused())
    return connection.execute(count).scalar_one()


def forget_unused(connection: Connection) -> None:
    """Delete those."""
    connection.execute(delete(vector).where(_unused()))


def _unused() -> ColumnElement[bool]:
    working = select(job.c.id).where(job.c.status.in_(("queued", "running")))
    return vector.c.text_hash.not_in(select(chunk.c.text_hash)) & ~working.exists()
