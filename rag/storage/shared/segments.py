"""Segments of large documents on their way in, stored in portions that nobody sees.

A segment is added to its cut in the transaction that stores its document. What a cancelled or
killed process leaves has a lease that runs out, and ``deletion`` deletes it. Portions are
transactions so short that no other writer waits long.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from sqlalchemy import Connection, String, cast, insert, literal, select, update

from rag.errors import ConnectionLost, StorageError
from rag.storage import builds, leases
from rag.storage.database import Database
from rag.storage.leases import lease
from rag.storage.tables import cut

log = logging.getLogger(__name__)

LARGE = 4096
"""Passages of a document in a cut; one with more has a segment of its own."""

_ARRIVING = "arriving "  # what the names of segments begin with that are not in their cut yet
_SUBJECT = "segment "
_LEASE_SECONDS = 120.0  # longer than a process waits for the database


InsertPortion = Callable[[Connection, int, int], int]
"""Inserts the next passages into a segment (its id), so many at most; returns their number."""


class Segments:
    """The segments of the documents of one knowledge base, for one transaction.

    Those that were not added when the block ends are marked as deleted.
    """

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id
        self._portions = Portions(database)
        self._holder = uuid.uuid4().hex
        self._ids: dict[tuple[str, str], int] = {}  # by document id and cut name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ids:
            return
        try:
            with self._database.write() as connection:
                mine = cut.c.id.in_(self._ids.values()) & cut.c.name.startswith(_ARRIVING)
                builds.mark_deleted(connection, mine)
                leases.release(connection, self._holder)
        except StorageError:  # the lease ends by itself
            log.warning("A segment could not be marked as deleted.", exc_info=True)

    def store(
        self,
        document_id: str,
        cut_name: str,
        write: InsertPortion,
        on_stored: Callable[[int], None],
    ) -> int:
        """Store the passages of a document, and return the id of the segment.

        ``on_stored`` hears the number of passages before each transaction, and may raise. Raises
        StorageError.
        """
        segment_id, done, inserted = self._begin(document_id, cut_name), 0, 1
        while inserted:
            on_stored(done)
            time.sleep(self._portions.pause)
            with self._portions.write() as connection:
                self._confirm(connection)
                inserted = write(connection, segment_id, self._portions.rows)
            done += inserted
        return segment_id

    def add(self, connection: Connection, document_id: str, cut_name: str, cut_id: int) -> bool:
        """Add the segment of a document to its cut, if it has one; return whether it has.

        Raises ConnectionLost where the lease ran out.
        """
        segment_id = self._ids.get((document_id, cut_name))
        if segment_id is None:
            return False
        self._confirm(connection)
        name = f"segment {document_id} of {cut_id}"
        mine = update(cut).where(cut.c.id == segment_id)
        connection.execute(mine.values(name=name, segment_of=cut_id))
        return True

    def _begin(self, document_id: str, cut_name: str) -> int:
        row = {
            "base_id": self._base_id,
            "name": f"{_ARRIVING}{uuid.uuid4().hex}",
            "document_id": document_id,
        }
        with self._database.write() as connection:
            new = insert(cut).values(row).returning(cut.c.id)
            segment_id: int = connection.execute(new).scalar_one()
            leases.take(connection, self._holder, [f"{_SUBJECT}{segment_id}"], _LEASE_SECONDS)
        self._ids[document_id, cut_name] = segment_id
        return segment_id

    def _confirm(self, connection: Connection) -> None:
        """Renew the leases. Raises ConnectionLost where one ran out: others delete its rows."""
        leased = leases.leased_subjects(connection, self._holder, _LEASE_SECONDS)
        if not {f"{_SUBJECT}{segment_id}" for segment_id in self._ids.values()} <= leased:
            raise ConnectionLost("Storing the passages took too long.", "Try again.")
        leases.renew(connection, self._holder, _LEASE_SECONDS)


def give_up_lost(database: Database) -> None:
    """Mark the segments as deleted whose process was killed."""
    leased = select(lease.c.subject).where(leases.in_force(lease.c.until, _LEASE_SECONDS))
    is_leased = (literal(_SUBJECT) + cast(cut.c.id, String)).in_(leased)
    lost = cut.c.name.startswith(_ARRIVING) & ~is_leased
    with database.read() as reader:
        if reader.execute(select(cut.c.id).where(lost).limit(1)).first() is None:
            return
    with database.write() as connection:
        leases.lock(connection)
        builds.mark_deleted(connection, lost)


_SECONDS = 0.1  # of a transaction; SQLite lets a process that waits look as often
_MOST_ROWS = 1 << 16
_FIRST_ROWS = 16  # of which each may have a megabyte of text


class Portions:
    """Transactions of about 0.1 s, and the number of rows for the next one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.rows = _FIRST_ROWS
        self.pause = 0.0
        """Seconds in which others shall have their turn before the next transaction."""
        self._started = 0.0

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction for ``rows`` rows. Raises StorageError."""
        with self._database.write() as connection:
            self._started = time.perf_counter()  # waiting for others is no work
            yield connection
        seconds = time.perf_counter() - self._started
        self.rows = max(1, min(2 * self.rows, int(self.rows * _SECONDS / seconds), _MOST_ROWS))
        self.pause = max(seconds, _SECONDS) if seconds > _SECONDS / 4 else seconds

    def is_full(self) -> bool:
        """Whether the transaction has taken its time: for work that is not counted in rows."""
        return time.perf_counter() - self._started > _SECONDS
