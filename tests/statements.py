"""Compiled SQL statements that all engines of a process share."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import sqlalchemy

from rag.storage import database


class CompiledStatements(dict[tuple[Any, ...], Any]):
    """A cache of compiled statements whose keys name the class of a dialect, not the dialect.

    SQLAlchemy compiles each statement once per engine. A server has one engine, but almost every
    test opens its own, and would compile all statements again: a quarter of its time.
    """

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        """Return the compiled statement of a key of SQLAlchemy."""
        return super().get(_general(key), default)

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        """Keep a compiled statement for every engine."""
        super().__setitem__(_general(key), compiled)


def _general(key: tuple[Any, ...]) -> tuple[Any, ...]:
    dialect, *statement = key
    return type(dialect), *statement


@contextmanager
def compiled_once() -> Iterator[None]:
    """Let all databases that are opened meanwhile share their compiled statements."""
    options = {"compiled_cache": CompiledStatements()}
    with pytest.MonkeyPatch.context() as patch:
        create = partial(sqlalchemy.create_engine, execution_options=options)
        patch.setattr(database, "create_engine", create)
        yield
