"""Vectors in PostgreSQL by pgvector, in a table for each build (PostgreSQL only).

A table of its own has vectors of one dimension, which an index needs, is scanned without looking
at others, and goes at once when its build does. ``vector_build`` says which table is whose. Nothing
here is the truth: that is in the table ``text_vector``, and what is lost here is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from rag.stores.given import best, check_build
from rag.types import Keys, Scores, Vectors

SMALLEST_GRAPH = 10_000
"""Builds of fewer vectors are scanned: that is quick, and exact."""
MOST_DIMENSIONS = 4000
"""What a graph in half precision takes; builds of longer vectors are always scanned."""

# Chosen so that 98% and more of the true 10 nearest are found among 100,000 real vectors.
_LINKS = 16
_BUILD_DEPTH = 100
_SEARCH_DEPTH = 200
_DEEPEST = 1000  # what hnsw.ef_search may be
_MARGIN = 32
_INLINE_DIMENSIONS = 2000  # a row that holds more does not fit into a page of 8 KB
_WRITTEN = "SELECT CAST(pg_current_wal_lsn() AS text)"
_RIGHTS = """
SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') AS has_extension,
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
       OR (SELECT bool_or(trusted) FROM pg_available_extension_versions WHERE name = 'vector')
       AND has_database_privilege(current_database(), 'CREATE') AS may_extend,
       has_schema_privilege(current_schema(), 'CREATE') AS may_create,
       current_schema() AS schema, current_user AS role
"""
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
_SPARE_NAME = "incoming"


T = TypeVar("T")


class SqlDatabase(Protocol):
    """The transactions of a database. All raise StorageError."""

    def read(self) -> AbstractContextManager[Connection]:
        """A transaction that reads."""

    def write(self) -> AbstractContextManager[Connection]:
        """A transaction that is stored when the block ends, or not at all."""

    def nearby(self, work: Callable[[Connection], T], ready: Callable[[Connection], bool]) -> T:
        """Do ``work`` in a replica that is ``ready``, or else in the database itself."""


@dataclass(frozen=True, slots=True)
class _Build:
    table: str
    dimension: int


class PgVectors:
    """A ``VectorServer`` in a database; of kind ``flat`` or ``hnsw``.

    ``flat`` scans a build. ``hnsw`` walks a graph in half precision once ``settle`` has made it,
    and scans before. Scores are cosines in double precision in both.
    """

    def __init__(self, database: SqlDatabase, kind: str) -> None:
        self.exact = kind == "flat"
        self._database = database
        self._kept = "0/0"  # where the log of the database was after the last change from here

    def missing_grants(self, build: str) -> list[str]:
        """Return the SQL that an administrator has to run before a build can get its table."""
        with self._database.read() as connection:
            return [] if _find(connection, build) else missing_grants(connection)

    def keys(self, build: str) -> Keys:
        """All keys of a build, in order."""
        with self._database.read() as connection:
            record = _find(connection, build)
            if record is None:
                return np.empty(0, np.int64)
            statement = text(f"SELECT key FROM {record.table} ORDER BY key")
            return np.array(connection.execute(statement).scalars().all(), np.int64)

    def upsert(self, build: str, keys: Keys, vectors: Vectors) -> None:
        """Keep ``vectors``; the same again writes nothing."""
        with self._writing() as connection:
            record = _find(connection, build) or _make(connection, build, vectors.shape[1])
            check_build(vectors.shape[1], record.dimension)
            connection.execute(
                text(f"CREATE TEMP TABLE {_SPARE_NAME} (LIKE {record.table}) ON COMMIT DROP")
            )
            size = vectors.shape[1]
            rows = np.zeros(len(keys), _record(size))
            rows["fields"], rows["key_bytes"], rows["key"] = 2, 8, keys
            rows["vector_bytes"], rows["dimension"], rows["vector"] = 4 + 4 * size, size, vectors
            with (
                _driver(connection) as driver,
                driver.cursor() as cursor,
                cursor.copy(f"COPY {_SPARE_NAME} FROM STDIN (FORMAT BINARY)") as copy,
            ):
                copy.write(_SIGNATURE + rows.tobytes() + _TRAILER)
            # In one order everywhere: two processes never wait for each other's rows.
            connection.execute(
                text(
                    f"INSERT INTO {record.table} AS held SELECT key, vector FROM {_SPARE_NAME} "
                    "ORDER BY key ON CONFLICT (key) DO UPDATE SET vector = excluded.vector "
                    "WHERE held.vector <> excluded.vector"
                )
            )

    def delete(self, build: str, keys: Keys) -> None:
        """Drop ``keys``."""
        with self._writing() as connection:
            record = _find(connection, build)
            if record is not None:
                statement = text(f"DELETE FROM {record.table} WHERE key = ANY(:keys)")
                connection.execute(statement, {"keys": keys.tolist()})

    def drop(self, prefix: str) -> None:
        """Drop every build whose name begins with ``prefix``."""
        with self._writing() as connection:
            statement = "DELETE FROM vector_build WHERE starts_with(name, :prefix) RETURNING id"
            for number in connection.execute(text(statement), {"prefix": prefix}).scalars().all():
                connection.execute(text(f"DROP TABLE IF EXISTS {_table(number)}"))

    def settle(self, build: str) -> None:
        """Make the graph of a build that is large enough, where there is none."""
        if self.exact:
            return
        with self._writing() as connection:
            record = _find(connection, build)
            if record is None or record.dimension > MOST_DIMENSIONS:
                return
            count = text(f"SELECT count(*) FROM {record.table}")
            if connection.execute(count).scalar_one() < SMALLEST_GRAPH:
                return
            connection.execute(text("SET LOCAL maintenance_work_mem = '512MB'"))
            connection.execute(
                text(
                    f"CREATE INDEX IF NOT EXISTS {record.table}_graph ON {record.table} "
                    f"USING hnsw (({_half(record, 'vector')}) halfvec_ip_ops) "
                    f"WITH (m = {_LINKS}, ef_construction = {_BUILD_DEPTH})"
                )
            )

    def search(
        self, build: str, query: Vectors, k: int, allowed: Keys | None = None
    ) -> tuple[Keys, Scores]:
        """The k nearest, by the same arithmetic as an index in this process."""

        def search_build(connection: Connection) -> tuple[Keys, Scores]:
            record = _find(connection, build)
            if record is None or k < 1:
                return np.empty(0, np.int64), np.empty(0)
            check_build(len(query), record.dimension)
            if allowed is None and not self.exact and _has_graph(connection, record):
                keys, vectors = _walked(connection, record, query, k)
                if len(keys) >= k:
                    return _best(keys, vectors, query, k)
            return _best(*_scanned(connection, record, query, k, allowed), query, k)

        return self._database.nearby(search_build, self._has_kept)

    def _has_kept(self, connection: Connection) -> bool:
        """Whether a replica has all that was changed from here."""
        arrived = text("SELECT coalesce(pg_last_wal_replay_lsn() >= CAST(:kept AS pg_lsn), true)")
        return bool(connection.execute(arrived, {"kept": self._kept}).scalar())

    def vectors(self, build: str, keys: Keys) -> Vectors:
        """Vectors of ``keys``, in their order."""
        with self._database.read() as connection:
            record = _find(connection, build)
            if record is None:
                raise KeyError(int(keys[0]))
            statement = f"SELECT key, vector FROM {record.table} WHERE key = ANY(%s)"
            names, rows = _rows(connection, statement, [keys.tolist()], record.dimension)
        order = np.argsort(names)
        at = np.minimum(np.searchsorted(names, keys, sorter=order), max(len(names) - 1, 0))
        missing = names[order][at] != keys if len(names) else np.ones(len(keys), dtype=np.bool_)
        if missing.any():
            raise KeyError(int(keys[missing][0]))
        return rows[order[at]]

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._database.write() as connection:
            yield connection
        with self._database.read() as connection:
            self._kept = connection.execute(text(_WRITTEN)).scalar_one()


def available(connection: Connection) -> bool:
    """Whether the server has pgvector, be it that the database lacks the extension still."""
    statement = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
    return connection.execute(text(statement)).first() is not None


def missing_grants(connection: Connection) -> list[str]:
    """Return the SQL that an administrator has to run, so that this role can keep vectors."""
    row = connection.execute(text(_RIGHTS)).one()
    extension = [] if row.has_extension or row.may_extend else ["CREATE EXTENSION vector;"]
    schema, role = (f'"{name}"' for name in (row.schema, row.role))
    grant = f"GRANT CREATE ON SCHEMA {schema} TO {role};"
    return extension + ([] if row.may_create else [grant])


@contextmanager
def _driver(connection: Connection) -> Iterator[Any]:
    """The connection of psycopg, for its binary formats; its errors as those of SQLAlchemy."""
    assert connection.dialect.dbapi is not None
    failures = connection.dialect.dbapi.Error
    try:
        yield connection.connection.driver_connection
    except failures as error:
        translated = DBAPIError.instance(None, None, error, failures, dialect=connection.dialect)
        raise translated from error


def _find(connection: Connection, build: str) -> _Build | None:
    statement = text("SELECT id, dimension FROM vector_build WHERE name = :name")
    row = connection.execute(statement, {"name": build}).first()
    return None if row is None else _Build(_table(row.id), row.dimension)


def _table(number: int) -> str:
    return f"vector_build_{int(number)}"


def _make(connection: Connection, build: str, dimension: int) -> _Build:
    """A build's table; of two who make it at once the second waits, and finds that of the first."""
    connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('vector_build'))"))
    existing = _find(connection, build)
    if existing is not None:
        return existing
    connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    statement = "INSERT INTO vector_build (name, dimension) VALUES (:name, :size) RETURNING id"
    number = connection.execute(text(statement), {"name": build, "size": dimension}).scalar_one()
    created = _Build(_table(number), dimension)
    inline = "STORAGE PLAIN" if dimension <= _INLINE_DIMENSIONS else ""
    connection.execute(
        text(
            f"CREATE TABLE {created.table} "
            f"(key bigint PRIMARY KEY, vector vector({dimension}) {inline} NOT NULL)"
        )
    )
    return created


def _has_graph(connection: Connection, record: _Build) -> bool:
    statement = text("SELECT to_regclass(:name) IS NOT NULL")
    return bool(connection.execute(statement, {"name": f"{record.table}_graph"}).scalar())


def _walked(connection: Connection, record: _Build, query: Vectors, k: int) -> tuple[Keys, Vectors]:
    """About the nearest, by the graph; iterating makes up for rows that were deleted."""
    count = k + _MARGIN
    depth = min(max(2 * count, _SEARCH_DEPTH), _DEEPEST)
    connection.execute(
        text(
            "SELECT set_config('hnsw.ef_search', :depth, true), "
            "set_config('hnsw.iterative_scan', 'strict_order', true)"
        ),
        {"depth": str(depth)},
    )
    statement = (
        f"SELECT key, vector FROM {record.table} "
        f"ORDER BY {_half(record, 'vector')} <#> {_half(record, '%s')} LIMIT {count}"
    )
    return _rows(connection, statement, [_written(query)], record.dimension)


def _scanned(
    connection: Connection, record: _Build, query: Vectors, k: int, allowed: Keys | None
) -> tuple[Keys, Vectors]:
    """All that may be among the k nearest, given how pgvector rounds: it adds up in float32."""
    chosen, parameters = (
        ("", []) if allowed is None else ("WHERE key = ANY(%s)", [allowed.tolist()])
    )
    # Twice the bound of a dot product's rounding error (Higham 2002, 3.1) for unit vectors.
    rounding = 2 * record.dimension * float(np.finfo(np.float32).eps)
    statement = (
        f"WITH near AS MATERIALIZED (SELECT key, vector <#> %s::vector AS far FROM {record.table} "
        f"{chosen}), kth AS (SELECT far FROM near ORDER BY far OFFSET {k - 1} LIMIT 1) "
        f"SELECT key, vector FROM near JOIN {record.table} USING (key) "
        f"WHERE far <= coalesce((SELECT far FROM kth) + {rounding}, 'infinity')"
    )
    return _rows(connection, statement, [_written(query), *parameters], record.dimension)


def _best(keys: Keys, vectors: Vectors, query: Vectors, k: int) -> tuple[Keys, Scores]:
    """Row by row in float64, as an index in this process does it."""
    return best(keys, (vectors * query.astype(np.float64)).sum(axis=1), k)


def _half(record: _Build, value: str) -> str:
    return f"{value}::halfvec({record.dimension})"


def _written(query: Vectors) -> str:
    """A vector as pgvector reads it, exactly."""
    return f"[{','.join(map(repr, query.tolist()))}]"


def _record(dimension: int) -> np.dtype[np.void]:
    """A row of a key and a vector as PostgreSQL's binary COPY has it."""
    return np.dtype(
        [
            ("fields", ">i2"),
            ("key_bytes", ">i4"),
            ("key", ">i8"),
            ("vector_bytes", ">i4"),
            ("dimension", ">i2"),
            ("unused", ">i2"),
            ("vector", ">f4", (dimension,)),
        ]
    )


def _rows(
    connection: Connection, statement: str, parameters: list[object], dimension: int
) -> tuple[Keys, Vectors]:
    """Keys (n,) and vectors (n, dimension) that a statement selects, as they are stored."""
    with _driver(connection) as driver, driver.cursor(binary=True) as cursor:
        fetched = cursor.execute(statement, parameters).fetchall()
    keys = np.fromiter((key for key, _ in fetched), np.int64, len(fetched))
    joined = b"".join(data for _, data in fetched)
    rows = np.frombuffer(joined, np.dtype([("head", ">i4"), ("vector", ">f4", (dimension,))]))
    return keys, rows["vector"].astype(np.float32)
