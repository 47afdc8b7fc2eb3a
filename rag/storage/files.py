"""The bytes of uploaded files, kept by their SHA-256, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rag.errors import StorageError

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that will survive a crash: its SHA-256 in hex, and its size in bytes."""

    sha256: str
    bytes: int


class Files:
    """A folder of files named by content, so that the same bytes are stored once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """Where a file is, or would be."""
        return self._folder / sha256[:2] / sha256

    def put(self, content: BinaryIO) -> StoredFile:
        """Stores a stream. It is on disk when this returns. Raises StorageError."""
        try:
            return self._put(content)
        except OSError as error:
            raise StorageError(
                f"The file could not be stored: {error.strerror or error}.",
                "Free some disk space, or check that the folder may be written to.",
            ) from error

    def _put(self, content: BinaryIO) -> StoredFile:
        self._folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        descriptor, draft = tempfile.mkstemp(dir=self._folder, prefix=".draft-")
        try:
            with os.fdopen(descriptor, "wb") as target:
                while block := content.read(_BLOCK):
                    digest.update(block)
                    target.write(block)
                size = target.tell()
                target.flush()
                os.fsync(target.fileno())
            final = self.path(digest.hexdigest())
            final.parent.mkdir(exist_ok=True)
            Path(draft).replace(final)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        return StoredFile(digest.hexdigest(), size)

    def remove(self, sha256: str) -> None:
        """Deletes a file; one that is gone already is fine."""
        self.path(sha256).unlink(missing_ok=True)

    def clear(self) -> None:
        """Deletes everything."""
        shutil.rmtree(self._folder, ignore_errors=True)
