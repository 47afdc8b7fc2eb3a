"""The bytes of uploaded files, kept by their SHA-256, written whole or not at all.

A file stays while something refers to it: a document, a job that has still to read it, the item of
one that failed for want of a password, or the lease of the process that adds it. The lease is in
the database before the file is in its place, and goes after what refers to the file is there, so
that no moment is left in which it could be discarded. Code that releases a file drops it in the
same transaction; ``discard`` then looks whether it may go, and goes on with what a killed process
left.

In a database that several machines share, the bytes are stored in parts of a megabyte. Neither side
ever holds more of a file than a part.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from rag.errors import StorageError, storage_error
from rag.storage import leases
from rag.storage.database import Database
from rag.storage.leases import lease
from rag.storage.rows import insert_missing, listable
from rag.storage.tables import document, file_part, job, job_item

log = logging.getLogger(__name__)

LEASE_SECONDS = 3600.0
"""How long a file waits for what shall refer to it, from the last file of the same arrival on."""

_BLOCK = 1 << 20
_PLACES = "[0-9a-f][0-9a-f]/" + "[0-9a-f]" * 64
_KEYS = ("file", "fetched")  # of the items of jobs: what was given, what came from an address
_LOCKED = "locked"  # the note on an item that failed for want of a password


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that will survive a crash: its SHA-256 in hex, and its size in bytes."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A file that waits for its password, by the item of a job that failed for want of it.

    ``file`` is its SHA-256; ``name`` and ``source`` are those that its document shall have.
    """

    job_id: int
    position: int
    file: str
    name: str
    source: str
    reason: str
    hint: str


@dataclass(slots=True)
class Arrival:
    """Files on their way in, which nobody discards meanwhile."""

    files: Files
    holder: str
    names: set[str] = field(default_factory=set)
    renewed: float = field(default_factory=time.monotonic)

    def put(self, content: BinaryIO) -> StoredFile:
        """Store a stream. It is on disk when this returns. Raises StorageError."""
        try:
            return self._put(content)
        except OSError as error:
            raise storage_error("The file could not be stored", error) from error

    def _put(self, content: BinaryIO) -> StoredFile:
        folder = self.files.folder
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=folder, prefix=".draft-")
        try:
            stored = _written(content, descriptor)
            self.keep([stored.sha256])
            if self.files.in_database:
                self.files.database.execute(store_parts, stored.sha256, Path(draft))
            final = self.files.place(stored.sha256)
            final.parent.mkdir(exist_ok=True)
            Path(draft).replace(final)
        finally:
            Path(draft).unlink(missing_ok=True)
        for changed in (final.parent, folder):
            sync_folder(changed)
        return stored

    def keep(self, sha256s: Collection[str]) -> None:
        """Let nobody discard some files before this is over; renew that for all before."""
        with self.files.database.write() as connection:
            if time.monotonic() - self.renewed > LEASE_SECONDS / 10:
                leases.renew(connection, self.holder, LEASE_SECONDS)
                self.renewed = time.monotonic()
            leases.take(connection, self.holder, set(sha256s) - self.names, LEASE_SECONDS)
        self.names.update(sha256s)

    def confirm(self, connection: sa.Connection) -> None:
        """Say, in the transaction that refers to the files, that they are all there.

        Raises StorageError where they waited too long for it and may have been discarded.
        """
        if not self.names <= leases.leased_subjects(connection, self.holder, LEASE_SECONDS):
            raise StorageError("Storing the files took too long.", "Add them again.")


class Files:
    """A folder of files named by content, so that the same bytes are stored once.

    Where the database is a server, which other machines ask too, it has the files, and the folder
    has copies of those that were used here.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder
        self.database = database
        self.in_database = database.dialect == "postgresql"

    def place(self, sha256: str) -> Path:
        """Return the path of a file in the folder, whether or not the file exists."""
        return self.folder / sha256[:2] / sha256

    def path(self, sha256: str) -> Path:
        """The same; one that is in the database alone is brought here first. StorageError."""
        place = self.place(sha256)
        if self.in_database and not place.exists():
            bring_from_parts(self.database, sha256, place)
        return place

    def missing(self, names: Collection[str]) -> set[str]:
        """Return the files that are missing."""
        absent = {name for name in names if not self.place(name).exists()}
        if self.in_database:
            absent -= self.database.fetch(find_stored_parts, list(absent))
        return absent

    @contextlib.contextmanager
    def arriving(self) -> Iterator[Arrival]:
        """Take files in; those that nothing refers to when the block ends are discarded."""
        arrival = Arrival(self, uuid.uuid4().hex)
        try:
            yield arrival
        finally:
            if arrival.names:
                self._settle(arrival)

    def _settle(self, arrival: Arrival) -> None:
        try:
            with self.database.write() as connection:
                leases.release(connection, arrival.holder)
                self._discard(connection, list(arrival.names))
        except StorageError:  # what was stored is safe, and a lease ends by itself
            log.warning("The lease of new files could not be given back.", exc_info=True)

    def list_names(self) -> set[str]:
        """The files that are here: in the folder, or in the database that machines share."""
        if not self.in_database:
            return self.present()
        first = sa.select(file_part.c.sha256).where(file_part.c.position == 0)
        with self.database.read() as connection:
            return self.present().union(connection.execute(first).scalars())

    def present(self) -> set[str]:
        """The files that are in the folder, by SHA-256."""
        return {path.name for path in self.folder.glob(_PLACES)}

    def discard(self, dropped: Collection[str] = ()) -> None:
        """Delete what was dropped, where nothing refers to it any more."""
        with self.database.write() as connection:
            self._discard(connection, [*leases.clear(connection, LEASE_SECONDS), *dropped])

    def _discard(self, connection: sa.Connection, names: Sequence[str]) -> None:
        """Delete within the transaction: a process that takes a lease meanwhile waits for it."""
        gone = set(names) - find_referenced(connection, names)
        if self.in_database:
            forget_parts(connection, sorted(gone))
        for name in gone:
            try:
                self.place(name).unlink(missing_ok=True)
            except OSError:
                log.warning("The file %s could not be deleted.", name, exc_info=True)


def list_referenced_files(connection: sa.Connection) -> set[str]:
    """The files that anything refers to."""
    return {name for name in connection.execute(_references()).scalars() if name}


def of_jobs(connection: sa.Connection, which: sa.ColumnElement[bool]) -> set[str]:
    """The files that were brought in for some jobs."""
    items = sa.select(job_item).join(job).where(which).subquery()
    brought = sa.union_all(
        sa.select(job.c.payload["questions"]["file"].as_string()).where(which),
        *(sa.select(items.c.payload[key].as_string()) for key in _KEYS),
    )
    return {name for name in connection.execute(brought).scalars() if name}


def of_job(connection: sa.Connection, job_id: int) -> set[str]:
    """The files that were brought in for a job."""
    return of_jobs(connection, job.c.id == job_id)


def of_base(connection: sa.Connection, base_id: int) -> set[str]:
    """The files of a knowledge base: those of its documents, and all that came in for it."""
    documents = connection.execute(sa.select(document.c.id).where(document.c.base_id == base_id))
    return {*documents.scalars(), *of_jobs(connection, job.c.base_id == base_id)}


def expected_files(connection: sa.Connection) -> dict[str, str]:
    """Names of documents and of items that wait, by the file that has to be there for them.

    A document that came as a row of a collection, or in a bundle, may have none.
    """
    active = job.c.status.in_(("queued", "running")) & (job_item.c.status == "waiting")
    names: dict[str, str] = {}
    for key in _KEYS:
        file = job_item.c.payload[key].as_string()
        stored = (document.c.base_id == job.c.base_id) & (document.c.id == file)
        statement = (
            sa.select(file.label("file"), job_item.c.name)
            .select_from(job_item.join(job).outerjoin(document, stored))
            .where(file.is_not(None), active | document.c.id.is_not(None))
        )
        names.update({row.file: row.name for row in connection.execute(statement)})
    return names


def find_referenced(connection: sa.Connection, names: Sequence[str]) -> set[str]:
    """Find the files that a document, a lease, or a job that is not over refers to.

    One statement looks at all of them, so that what changes hands meanwhile is not overlooked.
    """
    references = _references().subquery()
    files_in_use: set[str] = set()
    for part in listable(names):
        files_in_use.update(
            connection.execute(sa.select(references).where(references.c.name.in_(part))).scalars()
        )
    return files_in_use


def _references() -> Any:
    active = job.c.status.in_(("queued", "running"))
    awaited = sa.select(job_item).join(job).where(active, job_item.c.status == "waiting").subquery()
    failed = job_item.c.status == "failed"
    questions: sa.Select[Any] = sa.select(job.c.payload["questions"]["file"].as_string()).where(
        active
    )
    return sa.union_all(
        sa.select(document.c.id.label("name")),
        sa.select(lease.c.subject).where(leases.in_force(lease.c.until, LEASE_SECONDS)),
        *(sa.select(awaited.c.payload[key].as_string()) for key in _KEYS),
        sa.select(job_item.c.payload[_LOCKED]["file"].as_string()).where(failed),
        questions,
    )


def add_items(
    connection: sa.Connection,
    job_id: int,
    items: Sequence[tuple[str, Mapping[str, Any]]],
    first: int = 0,
) -> None:
    """Give a job items that wait, (name, payload), from the position ``first`` on."""
    rows = [
        {
            "job_id": job_id,
            "position": position,
            "name": name,
            "payload": dict(data),
            "status": "waiting",
        }
        for position, (name, data) in enumerate(items, first)
    ]
    if rows:
        connection.execute(sa.insert(job_item), rows)


def add_unpacked(
    connection: sa.Connection,
    job_id: int,
    position: int,
    parts: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    reason: str | None,
) -> None:
    """Add the files that came out of an item, (name, payload), behind all others of its job.

    ``reason`` is the outcome of an item that is no document itself; None for one still to be read.
    """
    # The row of the job makes other workers wait.
    connection.execute(sa.update(job).where(job.c.id == job_id).values(deaths=0))
    this = (job_item.c.job_id == job_id) & (job_item.c.position == position)
    payload = connection.execute(sa.select(job_item.c.payload).where(this)).scalar_one()
    outcome = {} if reason is None else {"status": "unpacked", "reason": reason}
    values = {"payload": {**payload, "unpacked": True}, **outcome}
    connection.execute(sa.update(job_item).where(this).values(values))
    mine = sa.select(sa.func.max(job_item.c.position)).where(job_item.c.job_id == job_id)
    add_items(connection, job_id, parts, connection.execute(mine).scalar_one() + 1)


def note_locked(
    connection: sa.Connection, job_id: int, position: int, item: Mapping[str, Any]
) -> None:
    """Note that an item's file (``file``, ``name``, ``source``) waits for its password."""
    locked = {key: item[key] for key in ("file", "name", "source")}
    _set_locked(connection, job_id, position, {_LOCKED: locked})


def locked_files(connection: sa.Connection, base_id: int) -> list[LockedFile]:
    """The files of a knowledge base that wait for a password, in the order they came."""
    rows = connection.execute(
        sa.select(job_item)
        .join(job, job.c.id == job_item.c.job_id)
        .where(job.c.base_id == base_id, job_item.c.status == "failed")
        .where(job_item.c.payload[_LOCKED]["file"].as_string().is_not(None))
        .order_by(job_item.c.job_id, job_item.c.position)
    )
    return [
        LockedFile(
            **row.payload[_LOCKED],
            job_id=row.job_id,
            position=row.position,
            reason=row.reason,
            hint=row.hint,
        )
        for row in rows
    ]


def forget_locked(connection: sa.Connection, locked: LockedFile) -> None:
    """Let a file go that waits for its password; nobody misses it any more."""
    _set_locked(connection, locked.job_id, locked.position, {}, status="cancelled")
    leases.drop(connection, [locked.file])


def supersede_locked(connection: sa.Connection, base_id: int, names: Collection[str]) -> None:
    """Let those go whose name, or whose address, something new comes in under."""
    for locked in locked_files(connection, base_id):
        if locked.name in names or locked.source in names:
            forget_locked(connection, locked)


def _set_locked(
    connection: sa.Connection,
    job_id: int,
    position: int,
    fresh: Mapping[str, Any],
    status: str | None = None,
) -> None:
    this = (job_item.c.job_id == job_id) & (job_item.c.position == position)
    payload = connection.execute(sa.select(job_item.c.payload).where(this)).scalar_one()
    rest = {key: value for key, value in payload.items() if key != _LOCKED}
    changes = {"payload": {**rest, **fresh}} | ({"status": status} if status else {})
    connection.execute(sa.update(job_item).where(this).values(changes))


def _written(content: BinaryIO, descriptor: int) -> StoredFile:
    digest = hashlib.sha256()
    with os.fdopen(descriptor, "wb") as target:
        while block := content.read(_BLOCK):
            digest.update(block)
            target.write(block)
        target.flush()
        os.fsync(target.fileno())
        return StoredFile(digest.hexdigest(), target.tell())


def digest(path: Path) -> str:
    """The SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last; where folders cannot be opened, the system does so."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_BYTES = 1 << 20


def store_parts(connection: sa.Connection, sha256: str, path: Path) -> None:
    """Store a file, unless it is there already. Raises OSError."""
    with path.open("rb") as file:
        for position in count():
            data = file.read(_BYTES)
            if not data and position:
                break
            values = {"sha256": sha256, "position": position, "data": data}
            if not insert_missing(connection, file_part, values):
                break  # all of it is there: it came in one transaction


def bring_from_parts(database: Database, sha256: str, place: Path) -> None:
    """Copy a file to its place in a folder; nothing where it is not there. StorageError."""
    folder = place.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.NamedTemporaryFile(dir=folder.parent, prefix=".draft-", delete=False) as draft,
            database.read() as connection,
        ):
            checked = hashlib.sha256()
            for position in count():
                this = (file_part.c.sha256 == sha256) & (file_part.c.position == position)
                data = connection.execute(sa.select(file_part.c.data).where(this)).scalar()
                if data is None:
                    break
                draft.write(data)
                checked.update(data)
        if checked.hexdigest() == sha256:
            Path(draft.name).replace(place)
        Path(draft.name).unlink(missing_ok=True)
    except OSError as error:
        raise storage_error("A file could not be copied from the database", error) from error


def find_stored_parts(connection: sa.Connection, names: Sequence[str]) -> set[str]:
    """Find the files that are there."""
    present: set[str] = set()
    for part in listable(names):
        first = (file_part.c.position == 0) & file_part.c.sha256.in_(part)
        present.update(connection.execute(sa.select(file_part.c.sha256).where(first)).scalars())
    return present


def size_of_parts(connection: sa.Connection, names: Sequence[str]) -> int:
    """Bytes of some files together; none of those that are not there."""
    length = sa.select(sa.func.sum(sa.func.length(file_part.c.data)))
    return sum(
        connection.execute(length.where(file_part.c.sha256.in_(part))).scalar() or 0
        for part in listable(names)
    )


def forget_parts(connection: sa.Connection, names: Sequence[str]) -> None:
    """Delete files."""
    for part in listable(names):
        connection.execute(sa.delete(file_part).where(file_part.c.sha256.in_(part)))
