"""Dataclasses as rows of tables and back: a field is the column of the same name.

Also inserts that another process may be making too: one statement each, never a duplicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Row, Table
from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MOST_LISTED = 500  # values in one SQL statement

Item = TypeVar("Item")
Value = TypeVar("Value", bound="DataclassInstance")


def values(table: Table, value: DataclassInstance, **derived: Any) -> dict[str, Any]:
    """Return the values to store for a dataclass, by column.

    These are the fields that are columns of the table, and the values ``derived`` from the
    dataclass.
    """
    names = (name for name in _names(type(value)) if name in table.c)
    return {name: getattr(value, name) for name in names} | derived


def read(value_type: type[Value], row: Row[*tuple[Any, ...]], **derived: Any) -> Value:
    """The dataclass that a row holds; ``derived`` are the fields that are no column as it is."""
    stored = row._mapping
    names = (name for name in _names(value_type) if name not in derived)
    return value_type(**{name: stored[name] for name in names}, **derived)


@cache
def _names(value_type: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(value_type))


def listable(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Values in parts that one SQL statement can list."""
    for start in range(0, len(items), _MOST_LISTED):
        yield items[start : start + _MOST_LISTED]


def insert_for(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that knows ``ON CONFLICT``, in the words of the database."""
    on_postgres = connection.dialect.name == "postgresql"
    return postgresql.insert(table) if on_postgres else sqlite.insert(table)


def insert_missing(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row unless there is one with its key; tell whether it did."""
    statement = insert_for(connection, table).values(dict(values)).on_conflict_do_nothing()
    stored = connection.execute(statement.returning(*table.primary_key))
    return stored.first() is not None


def insert_or_replace(connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Insert a row, in the place of the one with its primary key."""
    keys = [column.name for column in table.primary_key]
    rest = {name: value for name, value in values.items() if name not in keys}
    statement = insert_for(connection, table).values(dict(values))
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=rest))
