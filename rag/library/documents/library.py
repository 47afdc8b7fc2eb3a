"""The documents of a knowledge base, and the builds that make them searchable."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from rag import providers, readers
from rag.chunking import chunks, length_counter
from rag.errors import InvalidInput, NotFound, UnreadableDocument, storage_error
from rag.input_rules import storable
from rag.library.documents.bulk_jobs import Build, BuildSeveral, ImportBeir
from rag.library.documents.ingestion import Ingest, Item, QuestionFile, distinct, name_files
from rag.library.documents.reading_again import PASTED
from rag.library.documents.stored import StoredDocuments
from rag.network import refuse_credentials
from rag.operation import ALL, SERVER, operation
from rag.readers import Mark, PageImage
from rag.readers.characters import checked_encoding
from rag.recipe import IndexRecipe
from rag.services.indexing.index import VectorChoice
from rag.services.services import Models
from rag.storage import Connection, bases, builds, documents, jobs, labels, passages, vectors
from rag.storage.builds import BuildRow
from rag.storage.documents import DocumentInfo
from rag.storage.files import Arrival, Files, supersede_locked
from rag.storage.shared.segments import Portions
from rag.types import Chunk, Document, Page, Span

PICTURED = "application/pdf"


def page_image(
    original: Path | None, document: Document, number: int, spans: Sequence[Span]
) -> PageImage:
    """Page ``number`` (from 1) of a document; ``spans`` are offsets into its text.

    ``boxes`` of the result has a list for each span, empty where it stands on other pages. Raises
    UnreadableDocument for what has no pages to show, or whose original is gone, locked or damaged.
    """
    if document.media_type != PICTURED:
        raise UnreadableDocument(
            "This document has no printed pages.", "Read its text.", reason="unsupported_type"
        )
    if original is None:
        raise UnreadableDocument(
            "The original file is not kept here.",
            "Add it again to see its pages.",
            reason="missing",
        )
    page = next(
        (candidate for candidate in document.pages if candidate.number == number),
        Page(number, 0, 0),
    )
    text = document.text[page.start : page.end]
    return readers.draw(original, number, text, [_within(page, span) for span in spans])


def _within(page: Page, span: Span) -> Mark:
    start, end = (min(max(edge, page.start), page.end) - page.start for edge in span)
    return Mark(start, end)


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file on its way in; ``source`` says where it comes from, when that is not its name."""

    name: str
    content: BinaryIO
    source: str = ""


Questions = tuple[str, str, BinaryIO]
"""The name of a question set, that of its file, and the file."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Files and pages to be read into a knowledge base; ``arrival`` keeps the files until then."""

    items: Sequence[Item]
    arrival: Arrival | None = None
    request: Ingest = field(default_factory=Ingest)

    def queue(self, connection: Connection, base_id: int) -> int:
        """Queue a job for a knowledge base; return it. Raises InvalidInput for nothing to read,
        StorageError."""
        if not self.items:
            raise InvalidInput("There is nothing to add.", "Give a file or an address.")
        count, names = len(self.items), {name for name, _ in self.items}
        title = f"Reading {self.items[0][0]}" if count == 1 else f"Reading {count} files"
        job = self.request.queue(connection, base_id, title, self.items)
        if self.arrival is not None:
            self.arrival.confirm(connection)
        jobs.supersede(connection, job)
        supersede_locked(connection, base_id, names)
        log.info("Job %d of knowledge base %d: %s", job, base_id, title)
        return job


@contextmanager
def brought_in(
    files: Files, uploads: Iterable[Upload], questions: Questions | None = None
) -> Iterator[Reading]:
    """Store files, whose reading the block queues. See ``Library.add_files``."""
    with files.arriving() as arrival:
        items = distinct(_stored(arrival, upload) for upload in uploads)
        request = Ingest()
        if questions is not None:
            set_name, file_name, content = questions
            file = arrival.put(content).sha256
            request = Ingest(questions=QuestionFile(set=set_name, name=file_name, file=file))
        yield Reading(items, arrival, request)


@contextmanager
def paths_brought_in(
    files: Files, paths: Sequence[Path], urls: Sequence[str], encoding: str = ""
) -> Iterator[Reading]:
    """Store files; the block queues the reading of them and of pages: ``Library.add_paths``."""
    about = {"encoding": checked_encoding(encoding)} if encoding else {}
    pages = _pages(urls)
    with files.arriving() as arrival:
        stored = distinct(_stored_path(arrival, file, name) for file, name in name_files(paths))
        items = [(name, {**payload, **about}) for name, payload in (*stored, *pages)]
        yield Reading(items, arrival)


class Library(StoredDocuments):
    """The documents of one knowledge base.

    Methods that add documents return a job. Once they return, no data can be lost.
    """

    @operation("guest")
    def documents(self, recipe: IndexRecipe) -> list[DocumentInfo]:
        """All documents by name, with their passages in a build."""
        cut = self._cut_id(recipe)
        with self._database.read() as connection:
            counts = passages.counts(connection, self._base_id, cut) if cut is not None else {}
            rows = documents.list_documents(connection, self._base_id)
            left_out = documents.left_out(connection, self._base_id)
        return [
            replace(row, passages=counts.get(row.id, 0), left_out=row.id in left_out)
            for row in rows
        ]

    @operation("guest")
    def document(self, document_id: str) -> Document:
        """One document, whole. Raises NotFound."""
        return self._database.fetch(documents.get, self._base_id, document_id)

    @operation("guest")
    def original(self, document_id: str) -> Path | None:
        """The uploaded file; None where a document came without one, or is not of this base."""
        if self._database.fetch(documents.exists, self._base_id, document_id) is None:
            return None  # files are kept by their content: another base may have it
        path = self._services.files.path(document_id)
        return path if path.exists() else None

    @operation("guest")
    def page(self, document: Document, number: int, spans: Sequence[Span]) -> PageImage:
        """A page as it was printed, with spans of the text marked. Raises UnreadableDocument."""
        return page_image(self.original(document.id), document, number, spans)

    @operation("guest")
    def chunks(self, document_id: str, recipe: IndexRecipe) -> list[Chunk]:
        """The stored passages of a document in a build, in order."""
        cut = self._cut_id(recipe)
        if cut is None:
            return []
        return self._database.fetch(passages.of_document, self._base_id, cut, document_id)

    @operation("guest")
    def passages(
        self, recipe: IndexRecipe, first: int = 0, count: int = 100
    ) -> list[tuple[str, Chunk]]:
        """Stored passages of a build by document and order, from the place ``first`` on, each with
        the name of its document."""
        cut = self._cut_id(recipe)
        if cut is None:
            return []
        return self._database.fetch(passages.in_order, self._base_id, cut, first, count)

    @operation("guest")
    def spans(self, document_id: str, recipe: IndexRecipe) -> list[Span]:
        """Return the spans of a document's stored passages in a build, in order."""
        cut = self._cut_id(recipe)
        if cut is None:
            return []
        spans_by_document = self._database.fetch(passages.spans, self._base_id, cut, [document_id])
        return sorted((start, end) for _key, start, end in spans_by_document.get(document_id, []))

    @operation("viewer")
    def preview(self, document: Document, recipe: IndexRecipe) -> Iterator[Chunk]:
        """Return the passages that a recipe makes from a document, without storing them.

        Only the chunker ``semantic`` embeds.
        """
        return preview(self._services.models, document, recipe)

    @operation("guest")
    def sizes(self, document: Document, cut: Sequence[Chunk], recipe: IndexRecipe) -> list[int]:
        """Return the lengths of a document's passages, in the unit of a recipe."""
        return sizes(self._services.models, document, cut, recipe)

    @operation("viewer")
    def unread(self, document: Document, recipe: IndexRecipe) -> tuple[int, int]:
        """Return how many passages of a document are longer than an embedder reads, of how many.

        The vector of such a passage knows nothing of its end. Only the chunker ``semantic`` embeds.
        """
        models, limit = self._services.models, providers.tokens_read(recipe.embedder)
        count = models.embedder(recipe.embedder).tokenizer.count
        lengths = [count(passage.indexed_text) for passage in preview(models, document, recipe)]
        return sum(0 < limit < length for length in lengths), len(lengths)

    @operation("editor", audit="documents")
    def add_files(self, uploads: Iterable[Upload], questions: Questions | None = None) -> int:
        """Store files and queue their reading; return the job. Once it returns, none is lost.

        A name that is there twice gets a number, so that no file replaces another one of these.
        Files of types that nobody reads are not stored; they fail with the reason.
        ``questions`` (set name, file name, content) are imported when the documents are in.
        """
        with brought_in(self._services.files, uploads, questions) as reading:
            return self._ingest(reading)

    @operation(SERVER)
    def add_paths(self, paths: Sequence[Path], urls: Sequence[str] = (), encoding: str = "") -> int:
        """Store files, and those in folders, and queue pages to fetch; return the job.

        Files are named by their path below the folder given, like ``a/readme.md``.
        Files of types that nobody reads are not stored; they fail with the reason. ``encoding`` is
        that of all texts, "" to tell it from the bytes. Raises InvalidInput for a file that cannot
        be opened and for an unknown encoding, BlockedAddress as ``add_urls``.
        """
        with paths_brought_in(self._services.files, paths, urls, encoding) as reading:
            return self._ingest(reading)

    @operation("editor", audit="documents")
    def add_text(self, title: str, text: str) -> int:
        """Queue a pasted text; return the job."""
        if not title.strip() or not text.strip():
            raise InvalidInput("A text needs a title and some words.", "Fill in both fields.")
        with self._services.files.arriving() as arrival:
            stored = arrival.put(io.BytesIO(storable(text).encode()))
            payload = {"file": stored.sha256, "source": PASTED, "pasted": True}
            return self._ingest(Reading([(storable(title.strip()), payload)], arrival))

    @operation("editor", audit="documents", audited_arguments=ALL)
    def add_urls(self, urls: Sequence[str]) -> int:
        """Queue pages to fetch; return the job. Raises BlockedAddress for credentials."""
        return self._ingest(Reading(_pages(urls)))

    @operation(SERVER)
    def import_beir(self, folder: Path, split: str) -> int:
        """Queue a BEIR folder; return the job. Raises InvalidFile when it is not one."""
        request = ImportBeir.checked(folder, split)
        return self._jobs.submit(self._base_id, request.title, request)

    def _ingest(self, reading: Reading) -> int:
        job = self._database.execute(reading.queue, self._base_id)
        self._jobs.wake()
        self._services.files.discard()
        return job

    @operation("editor", audit="documents", audited_arguments=ALL)
    def delete_documents(self, document_ids: Sequence[str]) -> None:
        """Delete documents; from the next question on they do not answer.

        Many are deleted in several transactions, each document in one.
        """
        portions, rest = Portions(self._database), list(document_ids)
        while rest:
            with portions.write() as connection:
                bases.touch(connection, self._base_id)
                while rest and not portions.is_full():
                    self._delete(connection, rest.pop(0))
            time.sleep(portions.pause * bool(rest))
        self._services.files.discard()
        self._services.deletion.start()

    def _delete(self, connection: Connection, document_id: str) -> None:
        name = documents.exists(connection, self._base_id, document_id)
        jobs.withdraw(connection, self._base_id, name or "", document_id)
        removed = documents.remove(connection, self._base_id, document_id)
        vectors.forget(connection, removed)

    @operation("editor", audit="documents", audited_arguments=ALL)
    def tag(self, document: str, tags: Sequence[str]) -> tuple[str, ...]:
        """Set the tags of a document, named by id or by name; return them, sorted.

        No document changes: only searches that filter by tag notice. Tags are kept when another
        version of it replaces it. Raises NotFound, and InvalidInput for a tag without words.
        """
        words = sorted({" ".join(storable(tag).split()) for tag in tags})
        if "" in words:
            raise InvalidInput("A tag is empty.", "Remove it.")
        with self._database.write() as connection:
            document_id = documents.find_id_by_name(connection, self._base_id, document) or document
            if documents.exists(connection, self._base_id, document_id) is None:
                raise NotFound(f"There is no document {document!r}.", "Check its name or id.")
            documents.set_tags(connection, self._base_id, document_id, words)
        return tuple(words)

    @operation("guest")
    def labels_on(self, document_ids: Sequence[str]) -> int:
        """Return the number of labels that refer to some documents, and lose them on deletion."""
        counts = self._database.fetch(labels.on_documents, self._base_id, document_ids)
        return sum(counts.values())

    @operation("guest")
    def builds(self) -> list[BuildRow]:
        """The index recipes that it is built for, oldest first."""
        return self._database.fetch(builds.list_builds, self._base_id)

    @operation("guest")
    def vector_index(self, recipe: IndexRecipe) -> VectorChoice:
        """Return the kind of a build's vector index, and the reason.

        Raises InvalidRecipe, ProviderError.
        """
        return self._services.indexes.choice(self._base_id, recipe)

    @operation("guest")
    def missing(self, recipe: IndexRecipe) -> int:
        """Return the number of documents that a build lacks, or lacks vectors of."""
        return len(self._database.fetch(builds.missing, self._base_id, recipe.hash))

    @operation("guest")
    def by_words(self, recipe: IndexRecipe) -> list[str]:
        """Names of documents that only lexical search finds in a build, without vectors yet."""
        waiting = self._database.fetch(builds.waiting, self._base_id)
        return [item.name for item in waiting if item.build_hash == recipe.hash]

    @operation("editor", audit="documents")
    def build(self, recipe: IndexRecipe) -> int:
        """Queue a build of all documents for an index recipe; return the job."""
        self._services.models.require(recipe)  # an unknown name fails here, not later
        request = Build(recipe=recipe)
        return self._jobs.submit(self._base_id, request.title, request)

    @operation("editor", audit="documents")
    def build_several(self, recipes: Sequence[IndexRecipe]) -> int | None:
        """Queue the builds that lack documents, as one job; None where all are complete.

        Stopped or killed, it goes on where it was when it is queued again: vectors are cached.
        """
        lacking = {recipe.hash: recipe for recipe in recipes if self.missing(recipe)}
        for recipe in lacking.values():
            self._services.models.require(recipe)
        items: list[Item] = [
            (f"{recipe.cut} with {recipe.embedder}", Build(recipe=recipe).model_dump(mode="json"))
            for recipe in lacking.values()
        ]
        title = f"Building {len(items):,} " + ("index" if len(items) == 1 else "indexes")
        return self._jobs.submit(self._base_id, title, BuildSeveral(), items) if items else None

    @operation("editor")
    def prepare_build(self, recipe: IndexRecipe) -> None:
        """Make documents that are added from now on searchable with an index recipe too.

        Raises InvalidRecipe for unknown names, ProviderRejected for a key that is not set.
        """
        self._services.models.require(recipe)
        self._database.execute(builds.ensure, self._base_id, recipe)

    @operation("editor", audit="documents", audited_arguments=ALL)
    def delete_build(self, build_hash: str) -> None:
        """Delete a build. Raises InvalidInput for the one that the saved recipe needs."""
        with self._database.write() as connection:
            if build_hash == bases.by_id(connection, self._base_id).recipe.index.hash:
                raise InvalidInput(
                    "This index answers the questions now.",
                    "Save a recipe with another index first.",
                )
            builds.remove(connection, self._base_id, build_hash)
        self._services.forget_build(self._base_id, build_hash)
        self._services.deletion.start()

    def _cut_id(self, recipe: IndexRecipe) -> int | None:
        return self._database.fetch(builds.cut_id, self._base_id, recipe.cut)


def _pages(urls: Sequence[str]) -> list[Item]:
    for url in urls:
        refuse_credentials(url)
    return [(url, {"url": url}) for url in urls]


def _stored_path(arrival: Arrival, path: Path, name: str) -> Item:
    try:
        with path.open("rb") as content:
            return _stored(arrival, Upload(name, content))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def _stored(arrival: Arrival, upload: Upload) -> Item:
    try:
        error = readers.refusal(upload.name, upload.content)
    except OSError as failure:
        raise storage_error("The file could not be stored", failure) from failure
    if error:
        return upload.name, {"refused": [error.message, error.hint]}
    stored = arrival.put(upload.content)
    return upload.name, {"file": stored.sha256, "source": upload.source}


def preview(models: Models, document: Document, recipe: IndexRecipe) -> Iterator[Chunk]:
    """The passages of a document; only ``semantic`` embeds, and nothing is stored."""
    embedder, languages = models.embedder(recipe.embedder), providers.languages(recipe.embedder)
    embed = partial(embedder.embed, input_type="document")
    return chunks(document, recipe, embedder.tokenizer, embed, languages)


def sizes(
    models: Models, document: Document, cut: Sequence[Chunk], recipe: IndexRecipe
) -> list[int]:
    """Return the lengths of a document's passages, in the unit of a recipe."""
    tokenizer = models.embedder(recipe.embedder).tokenizer
    counted = length_counter(document, recipe, tokenizer, providers.languages(recipe.embedder))
    size = len if counted is None else counted.count
    return [size(passage.text) for passage in cut]
