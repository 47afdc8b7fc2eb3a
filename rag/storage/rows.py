"""Dataclasses as rows of tables and back: a field is the column of the same name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Row, Table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MOST_LISTED = 500  # values in one SQL statement

Item = TypeVar("Item")
Value = TypeVar("Value", bound="DataclassInstance")


def values(table: Table, value: DataclassInstance, **derived: Any) -> dict[str, Any]:
    """What to store of a dataclass: the fields that are columns, and what is ``derived`` of it."""
    names = (field.name for field in fields(value) if field.name in table.c)
    return {name: getattr(value, name) for name in names} | derived


def read(value_type: type[Value], row: Row[*tuple[Any, ...]], **derived: Any) -> Value:
    """The dataclass that a row holds; ``derived`` are the fields that are no column as it is."""
    names = (field.name for field in fields(value_type) if field.name not in derived)
    return value_type(**{name: row._mapping[name] for name in names}, **derived)


def listable(wanted: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Values in parts that one SQL statement can list."""
    for start in range(0, len(wanted), _MOST_LISTED):
        yield wanted[start : start + _MOST_LISTED]
