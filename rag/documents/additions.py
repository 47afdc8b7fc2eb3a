"""Size and duration estimates for files before they are stored."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag import readers
from rag.documents.job_size import file_size
from rag.documents.remaining_time import CHARACTERS
from rag.documents.throughput import Throughput
from rag.operation import operation
from rag.readers.formats import extension_of
from rag.services import Services

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag.documents.library import Upload
    from rag.types import Document


@dataclass(frozen=True, slots=True)
class Amount:
    """The amount of content to read and embed: pages of PDFs, and characters of all text."""

    pages: float
    characters: float


class Additions:
    """Looks at files that somebody thinks of adding."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @operation("viewer")
    def amount(self, upload: Upload) -> Amount:
        """Estimate the content of a file, from its size or from the pages of a PDF."""
        kind = extension_of(upload.name)
        with _file(upload) as path:
            size = file_size(path, kind)
        return Amount(size if kind == "pdf" else 0.0, size * CHARACTERS.get(kind, 1.0))

    @operation("viewer")
    def seconds(self, amounts: Sequence[Amount], embedder: str) -> float | None:
        """Estimate the seconds that an embedder needs for files on this computer; None if unknown.

        A local model that no job has used yet is measured for about a second.
        """
        characters = sum(amount.characters for amount in amounts)
        pages = sum(amount.pages for amount in amounts)
        return Throughput(self._services).seconds(embedder, characters, pages)

    @operation("viewer")
    def document(self, upload: Upload) -> Document:
        """A file as it would be read. Raises UnreadableDocument."""
        limits = readers.Limits(
            max_bytes=self._services.settings.max_upload_mb << 20, seconds=60, max_pages=300
        )
        with _file(upload) as path:
            return readers.read(path, upload.name, limits=limits)


@contextmanager
def _file(upload: Upload) -> Iterator[Path]:
    """The upload as a file for a moment."""
    upload.content.seek(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "upload"
        with path.open("wb") as target:
            shutil.copyfileobj(upload.content, target)
        yield path
    upload.content.seek(0)
