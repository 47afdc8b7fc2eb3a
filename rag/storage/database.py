"""The database: opened, with its schema up to date, and its transactions."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import re
import shutil
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from rag.errors import (
    DiskFull,
    InvalidInput,
    StorageError,
)
from rag.input_rules import find_fault, mend
from rag.storage import sqlite_file
from rag.storage.shared.database_errors import (
    SECONDS_OF_A_REQUEST,
    TYPE_AGAIN,
    PatientPool,
    translate_errors,
)

log = logging.getLogger(__name__)

MIGRATIONS = Path(__file__).with_name("migrations")
FIRST, HEAD = "0046", "0056"
_VERSION = "SELECT version_num FROM alembic_version"
_INCREMENTAL = 2  # as ``PRAGMA auto_vacuum`` names it
_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
_AVOIDED_SECONDS = 5.0
_MOST_JOURNAL = 16 << 20  # bytes that a journal keeps once its content is in the database
_TRIES_ALONE, _SECONDS_ALONE = 50, 0.2
_MIGRATING = 0x746F756368  # an advisory lock that nothing else takes

_ESCAPED = re.compile(r"\\u(?:0000|d[89a-f])")  # as JSON writes what is no text, and much else

P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """Transactions over one SQL database: ``read()`` and ``write()``.

    SQLite runs in WAL mode, so readers never wait for a writer. Writers take the lock when they
    begin (BEGIN IMMEDIATE): a read that is later upgraded could fail half-way.
    """

    def __init__(self, url: str, read_url: str | None = None, pool: int = 5) -> None:
        """``pool`` connections to a server stay open, three times as many at most."""
        self._replica = None
        if read_url:
            self._replica = _engine(read_url, pool).execution_options(**_SNAPSHOT)
        self._avoided = -math.inf  # when the replica was found away
        self.file = sqlite_file.of(url)
        self._mark: int | None = None
        self._full = False  # the disk, when it was opened
        try:
            self._open(url, pool, self.file is not None and not sqlite_file.writable(self.file))
        except DiskFull:
            log.warning("The disk is full: data is read, and not changed, until the next start.")
            self._engine.dispose()
            self._full = True
            self._open(url, pool, read_only=True)
        self._leave = weakref.finalize(self, _leave, self._engine, self._replica, self.file)

    def _open(self, url: str, pool: int, read_only: bool) -> None:
        """Connect, and bring the schema up to date. Raises StorageError."""
        self.read_only = read_only
        self._engine = _engine(url, pool)
        if self.file is not None and read_only:
            self._engine = _engine(sqlite_file.read_only(self._engine.url, self.file), pool)
        if self._engine.dialect.name == "sqlite":
            _configure_sqlite(self._engine, read_only)
        event.listen(self._engine, "before_cursor_execute", _check_parameters)
        self._reader = self._engine
        if self.dialect == "postgresql":  # where each statement would see a moment of its own
            self._reader = self._engine.execution_options(**_SNAPSHOT)
        self._writer = self._engine.execution_options(touchstone_write=True)
        with translate_errors():
            if self.file is None or read_only:
                _migrate(self._engine)
            else:
                self._enter(self.file)

    def _enter(self, file: Path) -> None:
        """Open a file, and say where its journal did not come with it."""
        lost = sqlite_file.journal_lost(file)
        with contextlib.suppress(OSError):  # SQLite says what is wrong
            sqlite_file.make(file)
        _migrate(self._engine, file)
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
    def engine(self) -> Engine:
        """For adapters that keep something in the same database, in transactions of their own."""
        return self._engine

    @property
    def dialect(self) -> str:
        """``"sqlite"`` or ``"postgresql"``."""
        return self._engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view of the database: all of it sees one moment. Raises StorageError."""
        with translate_errors(), self._reader.connect() as connection:
            yield connection

    def nearby(self, work: Callable[[Connection], T], ready: Callable[[Connection], bool]) -> T:
        """Run ``work`` on the replica if that is ``ready``, else on the primary database.

        If the replica fails in the meantime, ``work`` runs again on the primary database. Raises
        StorageError.
        """
        if self._replica is not None and time.monotonic() - self._avoided > _AVOIDED_SECONDS:
            try:
                with translate_errors(), self._replica.connect() as connection:
                    if ready(connection):
                        return work(connection)
            except StorageError:
                self._avoided = time.monotonic()
                log.warning("The replica is away: the database is asked itself.", exc_info=True)
        with self.read() as connection:
            return work(connection)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction: all of it is stored when the block ends, or none. Raises StorageError."""
        if self._full:
            raise DiskFull(
                "The disk was full when this process started, so it stores nothing.",
                "Free some space, then start it again.",
            )
        with translate_errors():
            with self._writer.begin() as connection:
                first = self._mark == sqlite_file.CLOSED
                if first:
                    connection.exec_driver_sql(f"PRAGMA user_version = {sqlite_file.OPEN}")
                yield connection
            if first:  # the mark goes into the file itself, before more stands in the journal
                self._mark = sqlite_file.OPEN
                with contextlib.suppress(SQLAlchemyError), self._engine.connect() as connection:
                    connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    def fetch(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the result of one query, which reads in a transaction of its own."""
        with self.read() as connection:
            return query(connection, *args, **kwargs)

    def execute(
        self, change: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Make one change in a transaction of its own; return its result."""
        with self.write() as connection:
            return change(connection, *args, **kwargs)

    def up_to_date(self) -> bool:
        """Whether it answers with the schema of this version. Raises StorageError if it does not.

        Another process, of a newer version, may have brought it further since it was opened.
        """
        with self.read() as connection:
            return connection.exec_driver_sql(_VERSION).scalar() == HEAD

    def faults(self) -> list[str]:
        """Return the problems that SQLite's integrity checks report for the file.

        The list is empty for a database server, which checks its own integrity.
        """
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
        """Take a database that lacks what was in its journal as it is."""
        if self.incomplete:
            self._set_mark(sqlite_file.OPEN)

    def _set_mark(self, mark: int) -> None:
        with self.write() as connection:
            connection.exec_driver_sql(f"PRAGMA user_version = {mark}")
        self._mark = mark

    def copy_to(self, file: Path) -> None:
        """Copy the database as it is at one moment, while others go on reading and writing.

        For a file alone: see ``transfer.save`` for the database of a server.
        """
        file.unlink(missing_ok=True)
        with self._outside_transactions() as source:
            source.execute("VACUUM INTO ?", [str(file)])
        with contextlib.closing(sqlite3.connect(file)) as target:
            target.execute(f"PRAGMA user_version = {sqlite_file.CLOSED}")
            target.execute("PRAGMA journal_mode = DELETE")

    def spare_pages(self) -> int:
        """Return the number of pages that ``give_back`` could take off the end of the file.

        It is 0 for a server, and for a file that was made by an older version and never compacted.
        """
        if self.file is None or self.read_only:
            return 0
        with self.read() as connection:
            mode = connection.exec_driver_sql("PRAGMA auto_vacuum").scalar()
            free = connection.exec_driver_sql("PRAGMA freelist_count").scalar()
        return free or 0 if mode == _INCREMENTAL else 0

    def give_back(self, connection: Connection, pages: int) -> None:
        """Give spare pages back to the disk, in a transaction of ``write``."""
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        try:
            for _ in range(pages):  # a cursor makes the first step alone, which frees one page
                driver.execute("PRAGMA incremental_vacuum(1)")
        except sqlite3.Error as error:
            raise OperationalError(None, None, error) from error

    def compact(self) -> int:
        """Write the file anew without spare pages, and return the bytes that this freed.

        Others cannot write meanwhile, and the disk needs room for a second copy. From then on, the
        file gives pages back by itself. Raises InvalidInput for a server, StorageError.
        """
        if self.file is None:
            raise InvalidInput(
                "This database is on a server, which compacts itself.", "Leave --compact out."
            )
        before = self.file.stat().st_size
        with self._outside_transactions() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return before - self.file.stat().st_size

    @contextmanager
    def _outside_transactions(self) -> Iterator[sqlite3.Connection]:
        with translate_errors():
            pooled = self._engine.raw_connection()
            try:
                connection = pooled.driver_connection
                assert isinstance(connection, sqlite3.Connection)
                yield connection
            except sqlite3.Error as error:
                raise OperationalError(None, None, error) from error
            finally:
                pooled.close()

    def close(self) -> None:
        """Close the pooled connections."""
        self._leave()


def _leave(engine: Engine, replica: Engine | None, file: Path | None) -> None:
    engine.dispose()
    if replica is not None:
        replica.dispose()
    if file is not None:
        sqlite_file.leave(file)


def _engine(url: str | URL, pool: int) -> Engine:
    """The engine of a database URL. Raises StorageError; the URL is not shown: it may hold a
    password."""
    try:
        options: dict[str, Any] = {"pool_size": 16, "max_overflow": 48}  # a file has no limit
        if make_url(url).get_backend_name() != "sqlite":
            # The limit of a server is for all its processes. A connection is tested before use: the
            # server may have been started anew, or be another one.
            options = {
                "poolclass": PatientPool,
                "pool_size": pool,
                "max_overflow": 2 * pool,
                "pool_timeout": SECONDS_OF_A_REQUEST,
                "pool_pre_ping": True,
            }
        return create_engine(url, json_serializer=_to_json, json_deserializer=_from_json, **options)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        missing = getattr(error, "name", None)
        hint = (
            "Write it like postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE, with a % code "
            "for each sign such as @ in the password."
        )
        if missing:
            hint = f"Install the package {missing}, or {hint[0].lower()}{hint[1:]}"
        raise StorageError("The database of that URL cannot be used here.", hint) from error


def _to_json(value: Any) -> str:
    """JSON for a column. Raises InvalidInput for text that could not be read back as text."""
    text = json.dumps(value)
    if _ESCAPED.search(text):
        texts = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
        if fault := find_fault(texts):
            raise InvalidInput(f"{fault}.", TYPE_AGAIN)
    return text


def _from_json(text: str | bytes) -> Any:
    """The value of a column; text that was stored before it was refused is mended."""
    text = text.decode() if isinstance(text, bytes) else text
    return mend(json.loads(text)) if _ESCAPED.search(text) else json.loads(text)


def _check_parameters(
    _connection: Any, _cursor: Any, _statement: str, parameters: Any, _context: Any, _many: bool
) -> None:
    """Raise InvalidInput for text with a character 0: SQLite would store it, PostgreSQL not."""
    if isinstance(parameters, str):
        if "\0" in parameters:
            raise InvalidInput(f"{find_fault(parameters)}.", TYPE_AGAIN)
    elif isinstance(parameters, dict | list | tuple):  # one row, or many, by place or by name
        for inner in parameters.values() if isinstance(parameters, dict) else parameters:
            _check_parameters(_connection, _cursor, _statement, inner, _context, _many)


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _give_back_pages(connection: sqlite3.Connection) -> None:
    """Let a new file give pages back, and an older one from when it is compacted.

    Where it is so already, SQLite would write it again, and wait for any writer to end.
    """
    if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")


def _configure_sqlite(engine: Engine, read_only: bool) -> None:
    writing = (
        "journal_mode=WAL",
        f"journal_size_limit={_MOST_JOURNAL}",
        "synchronous=FULL",
        "secure_delete=ON",  # what is deleted is overwritten, however SQLite was built
    )
    pragmas = () if read_only else writing

    @event.listens_for(engine, "connect")
    def _on_connect(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # the begin event below opens transactions
        connection.execute("PRAGMA busy_timeout=30000")
        if not read_only:
            _give_back_pages(connection)
        for pragma in (*pragmas, "foreign_keys=ON", "temp_store=MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        # SQLite's own knows ASCII alone: Ü would not be found as ü.
        connection.create_function("lower", 1, _lower, deterministic=True)

    @event.listens_for(engine, "invalidate")
    def _on_invalidate(connection: sqlite3.Connection, _record: Any, _error: Any) -> None:
        # As by Ctrl+C. It is closed next, which ends its transaction only when the last of its
        # statements is gone: others would wait for as long as the traceback lives.
        connection.rollback()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("touchstone_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _schema(engine: Engine) -> str | None:
    """The number of the schema that a database has; None for an empty one."""
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return str(connection.exec_driver_sql(_VERSION).scalar())


def _migrate(engine: Engine, file: Path | None = None) -> None:
    """Upgrade an older schema; a current one costs one query, as Alembic is slow to import.

    A ``file`` is copied first, and stays as it is while another process has it open. Of several
    processes that start at once on a server, one upgrades it and the others wait. Raises
    StorageError for a file that is open, and for a schema that this version does not know.
    """
    schema = _schema(engine)
    if schema == HEAD:
        return
    if schema is not None and schema > HEAD:
        raise StorageError(
            f"This data was written by a newer version of Touchstone: it has schema {schema}, and "
            f"this version reads schemas up to {HEAD}.",
            f"Use a version that reads schema {schema}, or another folder (TOUCHSTONE_HOME).",
        )
    if schema is not None and schema < FIRST:
        raise StorageError(
            f"This data has schema {schema}, which is older than version 0.1.0 and not upgraded.",
            "Open it once with the release 1.0.0, which upgrades it, or use another folder "
            "(TOUCHSTONE_HOME).",
        )
    if schema is not None and file is not None:
        if not _wait_alone(engine, file):
            return
        _keep_copy(file, schema)
    elif schema is not None:
        log.warning("The schema %s is upgraded to %s. It is not copied first.", schema, HEAD)
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.execution_options(touchstone_write=True).begin() as connection:
        if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise StorageError(
                f"This data was written by another version of Touchstone: {error}.",
                "Use the version that wrote it, or another folder (TOUCHSTONE_HOME).",
            ) from error


def _wait_alone(engine: Engine, file: Path) -> bool:
    """Wait until no other process has the file open; False if one upgraded it in the meantime."""
    for _ in range(_TRIES_ALONE):
        if _schema(engine) == HEAD:
            return False
        engine.dispose()
        if sqlite_file.leave(file):
            return True
        time.sleep(_SECONDS_ALONE)
    raise StorageError(
        f"{file} has the schema of an older version, and another process has it open.",
        "Stop that process, such as a server of the older version, and try again.",
    )


def _keep_copy(file: Path, schema: str) -> None:
    """Copy a database before its upgrade, or say why there is no copy."""
    copy = file.with_name(f"{file.name}.schema-{schema}")
    try:
        shutil.copyfile(file, copy)
        copy.chmod(0o600)
        log.warning(
            "The schema %s is upgraded to %s. %s is the copy of before.", schema, HEAD, copy
        )
    except OSError as error:
        copy.unlink(missing_ok=True)
        log.warning("The schema %s is upgraded without a copy: %s.", schema, error.strerror)
