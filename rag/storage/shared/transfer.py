"""All rows of a database on a server as an SQLite file, and back: backups of both are alike.

Rows go through the tables as this version knows them, so a backup may be restored into the other
kind of database too, and one of an earlier version is brought up to date as a file first.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Table,
    Text,
    bindparam,
    cast,
    func,
    insert,
    select,
    type_coerce,
)

from rag.errors import InvalidInput, StorageError
from rag.storage import sqlite_file
from rag.storage.database import Database
from rag.storage.every_table import metadata
from rag.storage.rows import in_utc
from rag.storage.shared import file_parts
from rag.storage.tables import file_part, vector_build

_ELSEWHERE = {file_part.name, vector_build.name}  # files go beside; indexes are made again
_TABLES = tuple(table for table in metadata.sorted_tables if table.name not in _ELSEWHERE)
_ROWS = 200  # at once: a row may hold a megabyte of text


def save(database: Database, file: Path) -> None:
    """Write all rows into a new SQLite file, as they are at one moment. Raises StorageError."""
    file.unlink(missing_ok=True)
    with closing(Database(sqlite_file.url(file))) as copy:
        if not database.up_to_date():
            raise StorageError("The database has the schema of another version.", "Start anew.")
        with database.read() as source, copy.write() as target:
            _copy(source, target)


def load(copy: Database, database: Database, files: Mapping[str, Path]) -> None:
    """Fill an empty database on a server: with all rows and files (by SHA-256), or none.

    Raises InvalidInput where it holds something, StorageError.
    """
    with copy.read() as source, database.write() as target:
        if any(target.execute(select(table).limit(1)).first() for table in metadata.sorted_tables):
            raise InvalidInput(
                "The database is not empty.",
                "Create a new one, and set TOUCHSTONE_DATABASE_URL to it.",
            )
        _copy(source, target)
        for sha256, path in files.items():
            file_parts.store(target, sha256, path)
        for table in filter(_counts, _TABLES):
            _go_on_counting(target, table)


def _copy(source: Connection, target: Connection) -> None:
    on_server = target.dialect.name == "postgresql"
    for table in _TABLES:
        fill = insert(table).values({c.name: _given(c, on_server) for c in table.columns})
        read = select(*(_verbatim(column) for column in table.columns))
        result = source.execute(read, execution_options={"yield_per": _ROWS})
        for rows in result.mappings().partitions():
            target.execute(fill, [_in_utc(dict(row)) for row in rows])


def _verbatim(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """JSON as it is written: read and written again, its null would become that of SQL."""
    named = isinstance(column.type, JSON)
    return cast(column, Text).label(column.key) if named else column


def _given(column: ColumnElement[Any], on_server: bool) -> ColumnElement[Any]:
    if not isinstance(column.type, JSON):
        return bindparam(column.key, type_=column.type)
    text: ColumnElement[Any] = bindparam(column.key, type_=Text())
    return cast(text, JSON) if on_server else type_coerce(text, Text)


def _in_utc(row: Mapping[str, Any]) -> dict[str, Any]:
    """SQLite keeps moments without their zone, which is UTC."""
    return {
        name: in_utc(value).astimezone(UTC) if isinstance(value, datetime) else value
        for name, value in row.items()
    }


def _counts(table: Table) -> bool:
    return table.autoincrement_column is not None


def _go_on_counting(connection: Connection, table: Table) -> None:
    """Let the numbers of new rows begin behind those that were brought in."""
    column = table.autoincrement_column
    assert column is not None
    counter = func.pg_get_serial_sequence(table.name, column.name)
    last = select(func.setval(counter, func.max(column))).where(column.is_not(None))
    connection.execute(last.having(func.count() > 0))
