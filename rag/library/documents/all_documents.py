"""The documents of a knowledge base: their additions, and one part for all operations on them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag import providers, readers
from rag.lexical.languages import language_name
from rag.library.documents.library import Library, Upload
from rag.library.documents.passage_edits import PassageEdits
from rag.library.documents.reading_again import ReadingAgain
from rag.library.documents.remaining_time import CHARACTERS, Throughput
from rag.library.documents.stored import StoredDocuments
from rag.library.documents.stores.imports import StoreImports
from rag.operation import operation
from rag.storage import files
from rag.storage.files import LockedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag.library.documents.library import Upload
    from rag.types import Document


@dataclass(frozen=True, slots=True)
class Amount:
    """The amount of content to read and embed: pages of PDFs, and characters of all text."""

    pages: float
    characters: float


@dataclass(frozen=True, slots=True)
class LanguageGap:
    """A language of documents that an embedder does not support.

    ``language`` is its English name, ``embedder`` a model for this computer that supports it, and
    ``installed`` whether that can be used now.
    """

    language: str
    embedder: str
    installed: bool


class Additions(StoredDocuments):
    """A preview of files that somebody thinks of adding."""

    @operation("viewer")
    def amount(self, upload: Upload) -> Amount:
        """Estimate the content of a file, from its size or from the pages of a PDF."""
        with _file(upload) as path:
            kind, size = readers.size_of(path, upload.name)
        return Amount(size if kind == "pdf" else 0.0, size * CHARACTERS.get(kind, 1.0))

    @operation("viewer")
    def seconds_to_add(self, amounts: Sequence[Amount], embedder: str) -> float | None:
        """Estimate the seconds that an embedder needs for files on this computer; None if unknown.

        A local model that no job has used yet is measured for about a second.
        """
        characters = sum(amount.characters for amount in amounts)
        pages = sum(amount.pages for amount in amounts)
        return Throughput(self._services).seconds(embedder, characters, pages)

    @operation("viewer")
    def language_gap(self, language: str, embedder: str) -> LanguageGap | None:
        """Return the language of a text, by its code in a receipt, if an embedder lacks it.

        Raises InvalidRecipe for an unknown embedder.
        """
        supported = providers.languages(embedder)
        if not language or not supported or language in supported:
            return None
        instead = providers.multilingual_embedders()[0]
        ready = {row.name for row in providers.statuses(self._services.settings) if row.ready}
        return LanguageGap(language_name(language), instead, instead in ready)

    @operation("viewer")
    def read_upload(self, upload: Upload) -> Document:
        """A file as it would be read. Raises UnreadableDocument."""
        limits = readers.Limits(
            max_bytes=self._services.settings.max_upload_mb << 20,
            max_characters=self._services.settings.max_document_characters,
            seconds=60,
            max_pages=300,
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


class LockedFiles(Library):
    """The files of a knowledge base that wait for a password.

    What is stored is a copy without encryption, and it is made before the job that reads it: so
    no job, process or database has the password, and pages can be drawn as of any other PDF.
    """

    @operation("viewer")
    def locked_files(self) -> list[LockedFile]:
        """List the files that wait, in the order they came."""
        return self._services.database.fetch(files.locked_files, self._base_id)

    @operation("editor", audit="documents")
    def open_locked_file(self, locked: LockedFile, password: str) -> int:
        """Decrypt a file and queue its reading; return the job.

        Raises UnreadableDocument for a wrong password, with which the file goes on waiting.
        """
        limits = readers.Limits(max_bytes=self._services.settings.max_upload_mb << 20)
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "decrypted.pdf"
            original = self._services.files.path(locked.file)
            readers.decrypt(original, target, password, limits=limits)
            with target.open("rb") as content:
                return self.add_files([Upload(locked.name, content, locked.source)])

    @operation("editor", audit="documents")
    def leave_out_locked_file(self, locked: LockedFile) -> None:
        """Delete a file that waits."""
        self._services.database.execute(files.forget_locked, locked)
        self._services.files.discard()


class Documents(LockedFiles, Additions, PassageEdits, ReadingAgain, StoreImports):
    """The documents of one knowledge base, and what is done to them."""
