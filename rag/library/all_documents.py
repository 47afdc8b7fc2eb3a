"""The documents of a knowledge base: their additions, and one part for all operations on them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rag import providers, readers
from rag.errors import NotFound
from rag.languages import language_name
from rag.library.documents.library import Library, Upload
from rag.library.documents.passage_edits import PassageEdits
from rag.library.documents.reading_again import ReadingAgain
from rag.library.documents.remaining_time import CHARACTERS, Throughput
from rag.library.documents.stored import StoredDocuments, documents_hash_now
from rag.library.documents.stores import StoreImports
from rag.operation import operation, part
from rag.retrieval.filters import filter_digest
from rag.storage import documents, files
from rag.storage.files import LockedFile

if TYPE_CHECKING:
    from rag.library.examination import Examinations
    from rag.library.maps import BaseMaps, Maps
    from rag.recipe import Recipe
    from rag.services.jobs import Jobs
    from rag.services.services import Services
    from rag.storage.conversations import Scope
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
    """The documents of one knowledge base, and what is done to them.

    ``scope`` are the conversations whose questions an examination looks at. For ``may_name_keys``
    and ``permit_recipe`` see ``StoreImports``.
    """

    def __init__(
        self,
        services: Services,
        jobs: Jobs,
        maps: Maps,
        scope: Scope,
        may_name_keys: bool,
        permit_recipe: Callable[[Recipe], None],
    ) -> None:
        super().__init__(services, jobs, scope.base_id)
        self._maps = maps
        self._scope = scope
        self._may_name_keys = may_name_keys
        self._permit_recipe = permit_recipe

    @part
    def maps(self) -> BaseMaps:
        from rag.library.maps import BaseMaps

        return BaseMaps(self._maps, self._jobs, self._base_id)

    @part
    def examinations(self) -> Examinations:
        from rag.library.examination import Examinations

        return Examinations(self._database, self._scope, self)

    @operation("guest")
    def hash(self) -> str:
        """Name the documents that are held: a run's ``documents_hash`` until they change."""
        return self._database.fetch(documents_hash_now, self._base_id)

    @operation("guest", models="none")
    def filter_digest(self, recipe: Recipe) -> str:
        """Name the documents that pass a recipe's filters by tag and date; "" without any.

        Tags do not count as a change of the documents.
        """
        with self._database.read() as connection:
            traits = partial(documents.traits, connection, self._base_id)
            return filter_digest(recipe.search, traits)

    @operation("guest")
    def outline(self, document_id: str) -> Document | None:
        """A document without its text; None if it is gone."""
        with suppress(NotFound):
            return self._database.fetch(documents.outline, self._base_id, document_id)
        return None
