"""Dataclasses as rows of tables and back: a field is the column of the same name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Row, Table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MOST_LISTED = 500  # values in one SQL statement

Item = TypeVar("Item")
Value = TypeVar("Value", bound="DataclassInstance")


def values(table: Table, value: DataclassInstance, **derived: Any) -> dict[str, Any]:
    """What to store of a dataclass: the fields that are columns, and what is ``derived`` of it."""
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


def listable(wanted: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Values in parts that one SQL statement can list."""
    for start in range(0, len(wanted), _MOST_LISTED):
        yield wanted[start : start + _MOST_LISTED]
