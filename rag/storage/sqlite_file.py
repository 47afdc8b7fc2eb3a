"""The file of an SQLite database: who may write to it, and whether its journal came with it.

What was written last stands in the journal, ``*-wal``, until the last process closes the database.
A copy of the file alone lacks it, and nothing in SQLite says so. Therefore the file is marked
(``user_version``) from the first write until the last process closes it: marked, and without a
journal, it is such a copy.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

log = logging.getLogger(__name__)

CLOSED: Final = 0
OPEN: Final = 1
INCOMPLETE: Final = 2

JOURNAL_LOST = (
    "The database was copied, or moved, without its journal (the file that ends in -wal) while it "
    "was in use: what was written last is missing"
)


def url(path: Path) -> str:
    """The URL of a database in a file, which may have any name."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def of(address: str) -> Path | None:
    """The file that the URL of a database names; None for one in memory or on a server."""
    try:
        url = make_url(address)
    except (SQLAlchemyError, ValueError):  # a port that is none
        return None
    named = url.database and url.database != ":memory:" and "uri" not in url.query
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" and named else None


def writable(path: Path) -> bool:
    """Whether a database may be written to, or made: SQLite needs its folder for the journal."""
    effective = os.access in os.supports_effective_ids
    needed = [entry for entry in (path, path.parent) if entry.exists()]
    return all(os.access(entry, os.W_OK, effective_ids=effective) for entry in needed)


def make(path: Path) -> None:
    """Make the file, readable for its owner only; the journal takes that over."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def read_only(url: URL, path: Path) -> URL:
    """The address that opens a file that may not be written to.

    Without a journal, or with an empty one where the disk is full and nobody can write, nothing is
    missing in it, and it can be read as it stands.
    """
    query = {"mode": "ro", "uri": "true"}
    journal = _journal(path)
    if not journal.exists() or (writable(path) and journal.stat().st_size == 0):
        query["immutable"] = "1"
    return url.set(database=f"file:{quote(str(path))}", query=query)


def journal_lost(path: Path) -> bool:
    """Whether the file was in use when it was copied. Asked before it is opened."""
    return not _journal(path).exists() and _mark(path) == OPEN and not _journal(path).exists()


def leave(path: Path) -> bool:
    """Marks the file as closed if nobody else has it open; returns whether that is so."""
    if not path.exists() or not writable(path):
        return False
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as only:
            open_mark = only.execute("PRAGMA user_version").fetchone()[0] == OPEN
            only.execute("PRAGMA synchronous = NORMAL")  # closing writes the journal into the file
            only.execute("PRAGMA locking_mode = EXCLUSIVE")
            only.execute("BEGIN IMMEDIATE")
            only.execute(f"PRAGMA user_version = {CLOSED}" if open_mark else "SELECT 1")
            only.execute("COMMIT")
    except sqlite3.Error:
        return False  # another process has it open, and will mark it
    return True


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _mark(path: Path) -> int | None:
    """The mark in the file itself, read without touching it; None for no database."""
    address = f"file:{quote(str(path))}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error:
        return None
