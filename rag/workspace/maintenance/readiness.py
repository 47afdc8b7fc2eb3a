"""Whether a process can serve: its database answers and is up to date, its home can be written."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator

from rag.errors import StorageError
from rag.services.services import Services

_ROOM = 1 << 20  # bytes


def obstacles(services: Services) -> Iterator[str]:
    """Yield the reasons why the process is not ready, in sentences without secrets."""
    try:
        if not services.database.up_to_date():
            yield "The database has the schema of another version."
    except StorageError:
        yield "The database does not answer."
    try:
        with tempfile.TemporaryFile(dir=services.settings.home) as file:
            file.write(bytes(_ROOM))  # an empty file needs none
            file.flush()
    except OSError as error:
        full = error.errno == errno.ENOSPC
        yield "The disk is full." if full else "The home folder cannot be written to."
