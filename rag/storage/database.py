"""Opens the database, brings its schema up to date, and hands out transactions."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from rag.errors import InvalidInput, StorageError
from rag.storage import sqlite_file

log = logging.getLogger(__name__)

MIGRATIONS = Path(__file__).with_name("migrations")
HEAD = "0025"
_VERSION = "SELECT version_num FROM alembic_version"


class Database:
    """Transactions over one SQL database: ``read()`` and ``write()``.

    SQLite runs in WAL mode, so readers never wait for a writer. Writers take the lock when they
    begin (BEGIN IMMEDIATE): a read that is later upgraded could fail half-way.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        self.file = sqlite_file.of(url)
        self.read_only = self.file is not None and not sqlite_file.writable(self.file)
        self._mark: int | None = None
        if self.file is not None and self.read_only:
            self._engine = _engine(sqlite_file.read_only(self._engine.url, self.file))
        if self._engine.dialect.name == "sqlite":
            _configure_sqlite(self._engine, self.read_only)
        self._reader = self._engine
        if self.dialect == "postgresql":  # where each statement would see a moment of its own
            self._reader = self._engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        self._writer = self._engine.execution_options(touchstone_write=True)
        with _translated():
            if self.file is None or self.read_only:
                _migrate(self._engine)
            else:
                self._enter(self.file)
        self._leave = weakref.finalize(self, _leave, self._engine, self.file)

    def _enter(self, file: Path) -> None:
        """Opens a file, and says where its journal did not come with it."""
        lost = sqlite_file.journal_lost(file)
        with contextlib.suppress(OSError):  # SQLite says what is wrong
            sqlite_file.make(file)
        _migrate(self._engine)
        if lost:
            self._set_mark(sqlite_file.INCOMPLETE)
        with self.read() as connection:
            self._mark = connection.exec_driver_sql("PRAGMA user_version").scalar()
        if self.incomplete:
            log.warning("%s. python -m rag check --repair accepts that.", sqlite_file.JOURNAL_LOST)

    @property
    def incomplete(self) -> bool:
        """Whether the database was copied without its journal, and nobody accepted that."""
        return self._mark == sqlite_file.INCOMPLETE

    @property
    def dialect(self) -> str:
        """``"sqlite"`` or ``"postgresql"``."""
        return self._engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view of the database: all of it sees one moment. Raises StorageError."""
        with _translated(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction: all of it is stored when the block ends, or none. Raises StorageError."""
        with _translated():
            with self._writer.begin() as connection:
                first = self._mark == sqlite_file.CLOSED
                if first:
                    connection.exec_driver_sql(f"PRAGMA user_version = {sqlite_file.OPEN}")
                yield connection
            if first:  # the mark goes into the file itself, before more stands in the journal
                self._mark = sqlite_file.OPEN
                with contextlib.suppress(SQLAlchemyError), self._engine.connect() as connection:
                    connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    def up_to_date(self) -> bool:
        """Whether it answers with the schema of this version. Raises StorageError if it does not.

        Another process, of a newer version, may have brought it further since it was opened.
        """
        with self.read() as connection:
            return connection.exec_driver_sql(_VERSION).scalar() == HEAD

    def faults(self) -> list[str]:
        """What SQLite's own check finds wrong in the file; a server looks after itself."""
        if self.dialect != "sqlite":
            return []
        with self.read() as connection:
            rows = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            return [row for row in rows if row != "ok"] + [
                f"row {row[1]} of {row[0]} refers to a row of {row[2]} that is not there"
                for row in broken
            ]

    def accept(self) -> None:
        """Takes a database that lacks what was in its journal as it is."""
        if self.incomplete:
            self._set_mark(sqlite_file.OPEN)

    def _set_mark(self, mark: int) -> None:
        with self.write() as connection:
            connection.exec_driver_sql(f"PRAGMA user_version = {mark}")
        self._mark = mark

    def copy_to(self, file: Path) -> None:
        """Copies the database as it is at one moment, while others go on reading and writing.

        Raises InvalidInput for the database of a server.
        """
        if self.dialect != "sqlite":
            raise InvalidInput(
                "The database of a server is backed up with its own tools.",
                "Use pg_dump first, then copy the folder files of the home.",
            )
        with self.read() as connection, contextlib.closing(sqlite3.connect(file)) as target:
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            source.backup(target)
            target.execute(f"PRAGMA user_version = {sqlite_file.CLOSED}")
            target.execute("PRAGMA journal_mode = DELETE")

    def close(self) -> None:
        """Closes the pooled connections."""
        self._leave()


def storable(text: str) -> str:
    """``text`` with lone surrogates, which no encoding has, as question marks."""
    return text.encode("utf-8", "replace").decode()


def _leave(engine: Engine, file: Path | None) -> None:
    engine.dispose()
    if file is not None:
        sqlite_file.leave(file)


def _engine(url: str | URL) -> Engine:
    """The engine of a database URL. Raises StorageError; the URL is not shown: it may hold a
    password."""
    try:
        return create_engine(url, pool_size=16, max_overflow=48)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        missing = getattr(error, "name", None)
        hint = f"Install the package {missing}." if missing else "Check TOUCHSTONE_DATABASE_URL."
        raise StorageError("The database of that URL cannot be used here.", hint) from error


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInput(
            "There is half a character (a lone surrogate) in the text: it cannot be stored.",
            "Type it again, or leave it out.",
        ) from error
    except DBAPIError as error:
        raise StorageError(f"The database said: {error.orig}.", _hint(str(error.orig))) from error
    except SQLAlchemyError as error:
        raise StorageError(f"The database failed: {error}.") from error


def _hint(message: str) -> str:
    if "full" in message:
        return "The disk is full. Free some space and try again; what was stored is safe."
    if "locked" in message:
        return "Another process is writing. Try again in a moment."
    if "readonly" in message or "unable to open" in message:
        return "Check that the folder exists and may be written to (TOUCHSTONE_HOME)."
    return ""


def _configure_sqlite(engine: Engine, read_only: bool) -> None:
    journal = () if read_only else ("journal_mode=WAL", "synchronous=FULL")

    @event.listens_for(engine, "connect")
    def _on_connect(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # the begin event below opens transactions
        for pragma in (
            "busy_timeout=30000",
            *journal,
            "foreign_keys=ON",
            "temp_store=MEMORY",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("touchstone_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _migrate(engine: Engine) -> None:
    """Upgrades an older schema; a current one costs one query, as Alembic is slow to import.

    Raises StorageError for a schema that this version does not know.
    """
    with engine.connect() as connection:
        if inspect(connection).has_table("alembic_version"):
            version = connection.exec_driver_sql(_VERSION).scalar()
            if version == HEAD:
                return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.execution_options(touchstone_write=True).begin() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise StorageError(
                f"This data was written by another version of Touchstone: {error}.",
                "Use the version that wrote it, or another folder (TOUCHSTONE_HOME).",
            ) from error
