"""Encrypted PDFs that came in, and are read once somebody gives their password."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rag import readers
from rag.documents.library import Library, Upload
from rag.operation import operation
from rag.services import Services
from rag.storage import files
from rag.storage.files import LockedFile


class LockedFiles:
    """The files of a knowledge base that wait for a password.

    What is stored is a copy without encryption, and it is made before the job that reads it: so
    no job, process or database has the password, and pages can be drawn as of any other PDF.
    """

    def __init__(self, services: Services, library: Library, base_id: int) -> None:
        self._services = services
        self._library = library
        self._base_id = base_id

    @operation("viewer")
    def list_waiting(self) -> list[LockedFile]:
        """List the files that wait, in the order they came."""
        with self._services.database.read() as connection:
            return files.locked_files(connection, self._base_id)

    @operation("editor", audit="documents")
    def open(self, locked: LockedFile, password: str) -> int:
        """Decrypts a file and queues its reading; returns the job.

        Raises UnreadableDocument for a wrong password, with which the file goes on waiting.
        """
        limits = readers.Limits(max_bytes=self._services.settings.max_upload_mb << 20)
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "decrypted.pdf"
            original = self._services.files.path(locked.file)
            readers.decrypt(original, target, password, limits=limits)
            with target.open("rb") as content:
                return self._library.add_files([Upload(locked.name, content, locked.source)])

    @operation("editor", audit="documents")
    def leave_out(self, locked: LockedFile) -> None:
        """Deletes a file that waits."""
        with self._services.database.write() as connection:
            files.forget_locked(connection, locked)
        self._services.files.discard()
