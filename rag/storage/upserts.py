"""Inserts that another process may be making too: one statement each, never a duplicate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_for(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that knows ``ON CONFLICT``, in the words of the database."""
    on_postgres = connection.dialect.name == "postgresql"
    return postgresql.insert(table) if on_postgres else sqlite.insert(table)


def insert_missing(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Inserts a row unless there is one with its key; tells whether it did."""
    statement = insert_for(connection, table).values(dict(values)).on_conflict_do_nothing()
    stored = connection.execute(statement.returning(*table.primary_key))
    return stored.first() is not None


def insert_or_replace(connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Inserts a row, in the place of the one with its primary key."""
    keys = [column.name for column in table.primary_key]
    rest = {name: value for name, value in values.items() if name not in keys}
    statement = insert_for(connection, table).values(dict(values))
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=rest))
