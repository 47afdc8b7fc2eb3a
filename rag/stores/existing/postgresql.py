"""Tables of somebody else's PostgreSQL, which are only read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
from sqlalchemy import (
    ARRAY,
    REAL,
    ColumnElement,
    Connection,
    Text,
    and_,
    cast,
    column,
    create_engine,
    func,
    select,
    table,
    text,
    true,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from rag.errors import InvalidInput, MissingDependency, ProviderRejected, ProviderUnavailable
from rag.network import resolve
from rag.stores.existing.definition import ExistingStore
from rag.stores.existing.rows import RawRow, StoreFieldData, StoreLayout, VectorFieldData, no_such

SECONDS_OF_STATEMENT = 60
"""The longest that the server works on a statement or a block of rows."""
SECONDS_OF_SILENCE = 70
"""The longest that an answer takes to come in: a peer that is no PostgreSQL keeps no promise."""

_ABSENT = f"{os.devnull}/none"  # a path at which there is never a file
_NOTHING_OF_OURS: Mapping[str, str] = {
    # What is not named is taken from variables of this process and files of its user. An empty
    # password is looked up in the file; a certificate without a name has a usual place.
    "user": "",
    "password": "",
    "passfile": _ABSENT,
    "dbname": "",
    "options": "",
    "sslcert": _ABSENT,
    "sslkey": "",
    "gssencmode": "disable",
}


class DeadlineConnection(psycopg.Connection[Any]):
    """A connection that closes where a statement is not answered in time."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for one answer. Raises OperationalError after ``SECONDS_OF_SILENCE``."""
        limit = SECONDS_OF_SILENCE if timeout is None else min(timeout, SECONDS_OF_SILENCE)
        try:
            return super().wait(gen, interval, limit)
        except psycopg.errors._WaitTimeout as error:
            self.close()
            raise psycopg.OperationalError(f"no answer within {limit:g} seconds") from error


def connect(arguments: Mapping[str, Any]) -> DeadlineConnection:
    """Connect with these arguments of libpq and nothing from the environment."""
    return DeadlineConnection.connect("", **{**_NOTHING_OF_OURS, **arguments})


_PORT = 5432
_SECONDS_TO_CONNECT = 10
_BLOCK = 500
_NO_RIGHT, _BAD_LOGIN = "42501", ("28000", "28P01", "3D000")
_REFUSALS = ("authentication failed", "does not exist", "no password supplied")
_SIMILARITIES = {
    "_cosine_ops": "cosine",
    "_ip_ops": "dot product",
    "_l2_ops": "Euclidean distance",
}
_COLUMNS = text(
    "SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute "
    "WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)
_PRIMARY_KEY = text(
    "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid "
    "AND attnum = ANY(indkey) WHERE indrelid = to_regclass(:name) AND indisprimary"
)
_INDEXES = text(
    "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = to_regclass(:name)"
)
_TABLES = text(
    "SELECT DISTINCT table_schema || '.' || table_name AS name FROM information_schema.columns "
    "WHERE udt_name IN ('vector', 'halfvec') ORDER BY name"
)


class PostgresTable:
    """A ``ReadableStore`` on PostgreSQL: each reading is one transaction that is read only."""

    def __init__(
        self, store: ExistingStore, variables: Mapping[str, str], *, allow_private: bool
    ) -> None:
        self._store = store
        self._password = next((variables[name] for name in store.variables), None)
        self._allow_private = allow_private
        *schema, self._name = store.name.rsplit(".", 1)
        self._schema = schema[0] if schema else None
        parts = [*schema, self._name]
        self._quoted = ".".join('"' + part.replace('"', '""') + '"' for part in parts)

    def layout(self) -> StoreLayout:
        """Look at the columns."""
        with self._reading() as connection:
            columns = self._columns(connection)
            definitions = connection.execute(_INDEXES, {"name": self._quoted}).scalars().all()
            count = select(func.count()).select_from(self._table()).where(self._where())
            rows = connection.execute(count).scalar_one()
        vectors = tuple(
            VectorFieldData(name, _dimension(kind), _similarity(name, definitions))
            for name, kind in columns.items()
            if _is_vector(kind)
        )
        others = (StoreFieldData(*item) for item in columns.items() if not _is_vector(item[1]))
        return StoreLayout(rows, tuple(others), vectors)

    def sample(self, number: int, vector: str) -> list[RawRow]:
        """Read random rows."""
        with self._reading() as connection:
            columns = self._columns(connection)
            key = self._key(connection, columns, "")
            # With a table of its own: without one, the key is that of the outer row.
            some = select(key).select_from(self._table()).where(self._where())
            ids = some.order_by(func.random()).limit(number)
            plain = [name for name, kind in columns.items() if not _is_vector(kind)]
            statement = self._selected(key, plain, vector).where(key.in_(ids)).limit(number)
            return [_row(row) for row in connection.execute(statement)]

    def rows(self, store: ExistingStore) -> Iterator[RawRow]:
        """Read all rows as they are when the reading begins."""
        with self._reading() as connection:
            columns = self._columns(connection)
            plain = [name for name, kind in columns.items() if not _is_vector(kind)]
            if store.fields:
                paths = (store.text, store.title, store.id, *store.fields)
                wanted = {path.partition(".")[0] for path in paths} | set(paths)
                plain = [name for name in plain if name in wanted]
            key = self._key(connection, columns, store.id)
            statement = self._selected(key, plain, store.vector).where(self._where())
            for row in connection.execution_options(yield_per=_BLOCK).execute(statement):
                yield _row(row)

    def _columns(self, connection: Connection) -> dict[str, str]:
        rows = connection.execute(_COLUMNS, {"name": self._quoted})
        columns = {str(row.name): str(row.type) for row in rows}
        if not columns:
            raise no_such(self._store, connection.execute(_TABLES).scalars().all())
        return columns

    def _key(
        self, connection: Connection, columns: Mapping[str, str], chosen: str
    ) -> ColumnElement[Any]:
        """The column that names a row. Raises InvalidInput where there is none."""
        keys = connection.execute(_PRIMARY_KEY, {"name": self._quoted}).scalars().all()
        names = [chosen] if chosen in columns else [*keys][: len(keys) == 1]
        names = names or [name for name in ("id", "uuid") if name in columns]
        if not names:
            raise InvalidInput(
                f"The {self._store.label} has no primary key of one column.",
                f"Name the column that names a row: {', '.join(columns)}.",
            )
        return column(names[0])

    def _table(self) -> Any:
        return table(self._name, schema=self._schema)

    def _selected(self, key: ColumnElement[Any], plain: list[str], vector: str) -> Any:
        vectors = cast(column(vector), ARRAY(REAL)).label("__vector")
        return select(cast(key, Text).label("__key"), vectors, *map(column, plain)).select_from(
            self._table()
        )

    def _where(self) -> ColumnElement[bool]:
        same = (cast(column(name), Text) == value for name, value in self._store.only.items())
        return and_(true(), *same)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        store, place = self._store, urlsplit(self._store.address.strip())
        host, port = place.hostname or "", place.port or _PORT
        modes = parse_qs(place.query).get("sslmode", ["prefer"])
        try:
            address, *_ = resolve(host, port, allow_private=self._allow_private)
        except (OSError, UnicodeError) as error:
            raise ProviderUnavailable(
                f"There is no computer named {host}.", "Check the address of the store."
            ) from error
        arguments = {
            "host": host,
            "hostaddr": address,
            "port": port,
            "user": unquote(place.username or ""),
            "password": self._password or "",
            "dbname": unquote(place.path.lstrip("/")),
            "connect_timeout": _SECONDS_TO_CONNECT,
            "sslmode": modes[0],
            "application_name": "Touchstone (reads)",
        }
        try:
            pass
        except ImportError as error:
            raise MissingDependency(
                "PostgreSQL needs the package psycopg, which is not installed.",
                "Install requirements-postgres.txt.",
            ) from error
        engine = create_engine(
            "postgresql+psycopg://",
            poolclass=NullPool,
            creator=lambda: connect(arguments),
        )
        try:
            with engine.connect().execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            ) as connection:
                limit = f"SET LOCAL statement_timeout = '{SECONDS_OF_STATEMENT}s'"
                connection.execute(text(limit))
                yield connection
        except DBAPIError as error:
            raise _translated(store, host, error) from error
        finally:
            engine.dispose()


def _translated(store: ExistingStore, host: str, error: DBAPIError) -> Exception:
    lines = str(error.orig).splitlines()
    detail = " ".join(lines[0].split()).rstrip(" .") if lines else ""
    state = getattr(error.orig, "sqlstate", None)
    if state == _NO_RIGHT:
        return ProviderRejected(
            f"The {store.label} does not let its rows be read: {detail}.",
            "Give the user of the address the right to SELECT.",
        )
    refused = any(words in detail for words in _REFUSALS)
    if state in _BAD_LOGIN or refused:
        return ProviderRejected(
            f"PostgreSQL at {host} refuses: {detail}.",
            "Check the user and the database in the address, the column names, and the password "
            "in the environment variable.",
        )
    return ProviderUnavailable(
        f"The connection to PostgreSQL at {host} failed: {detail}.",
        "Check whether it runs. Nothing was imported.",
    )


def _is_vector(kind: str) -> bool:
    return kind.partition("(")[0].rpartition(".")[2] in ("vector", "halfvec")


def _dimension(kind: str) -> int | None:
    size = kind.partition("(")[2].rstrip(")")
    return int(size) if size.isdecimal() else None


def _similarity(name: str, definitions: Any) -> str:
    """The similarity by which an index of a column sorts, "" without one."""
    for definition in definitions:
        for ending, similarity in _SIMILARITIES.items():
            if f"{name} " in definition and ending in definition:
                return similarity
    return ""


def _row(row: Any) -> RawRow:
    fields = dict(row._mapping)
    key, vector = fields.pop("__key"), fields.pop("__vector")
    return RawRow(str(key), fields, vector)
