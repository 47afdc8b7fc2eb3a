"""The bytes of files in a database that several machines share, in parts of a megabyte.

Neither side ever holds more of a file than a part.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from sqlalchemy import Connection, delete, func, select

from rag.errors import storage_error
from rag.storage.database import Database
from rag.storage.rows import insert_missing, listable
from rag.storage.tables import file_part

_BYTES = 1 << 20


def store(connection: Connection, sha256: str, path: Path) -> None:
    """Store a file, unless it is there already. Raises OSError."""
    with path.open("rb") as file:
        for position in count():
            data = file.read(_BYTES)
            if not data and position:
                break
            values = {"sha256": sha256, "position": position, "data": data}
            if not insert_missing(connection, file_part, values):
                break  # all of it is there: it came in one transaction


def read(connection: Connection, sha256: str) -> Iterator[bytes]:
    """The parts of a file in order; none where it is not there."""
    for position in count():
        this = (file_part.c.sha256 == sha256) & (file_part.c.position == position)
        data = connection.execute(select(file_part.c.data).where(this)).scalar()
        if data is None:
            return
        yield data


def bring(database: Database, sha256: str, place: Path) -> None:
    """Copy a file to its place in a folder; nothing where it is not there. StorageError."""
    folder = place.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.NamedTemporaryFile(dir=folder.parent, prefix=".draft-", delete=False) as draft,
            database.read() as connection,
        ):
            checked = hashlib.sha256()
            for part in read(connection, sha256):
                draft.write(part)
                checked.update(part)
        if checked.hexdigest() == sha256:
            Path(draft.name).replace(place)
        Path(draft.name).unlink(missing_ok=True)
    except OSError as error:
        raise storage_error("A file could not be copied from the database", error) from error


def find_stored(connection: Connection, names: Sequence[str]) -> set[str]:
    """Find the files that are there."""
    present: set[str] = set()
    for part in listable(names):
        first = (file_part.c.position == 0) & file_part.c.sha256.in_(part)
        present.update(connection.execute(select(file_part.c.sha256).where(first)).scalars())
    return present


def size(connection: Connection, names: Sequence[str]) -> int:
    """Bytes of some files together; none of those that are not there."""
    length = select(func.sum(func.length(file_part.c.data)))
    return sum(
        connection.execute(length.where(file_part.c.sha256.in_(part))).scalar() or 0
        for part in listable(names)
    )


def list_stored(connection: Connection) -> set[str]:
    """All files that are there."""
    first = select(file_part.c.sha256).where(file_part.c.position == 0)
    return set(connection.execute(first).scalars())


def forget(connection: Connection, names: Sequence[str]) -> None:
    """Delete files."""
    for part in listable(names):
        connection.execute(delete(file_part).where(file_part.c.sha256.in_(part)))
