"""Rebuilds a knowledge base from a bundle and measures again."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rag import readers
from rag.errors import InvalidInput
from rag.evaluation.formats import beir
from rag.evaluation.retrieved_text import in_tokens
from rag.experiments.bundles.contents import DocumentEntry, text_sha256
from rag.experiments.bundles.opening import Bundle
from rag.experiments.bundles.reproduction import Reproduction, compared
from rag.experiments.runs.evaluator import IDENTICAL, USERS, Evaluator
from rag.experiments.runs.history import RunHistory
from rag.library.documents.ingestion import Ingestion
from rag.library.questions.exchange import Exchange
from rag.recipe import Recipe
from rag.services.services import Services
from rag.storage import Connection, builds, documents, passage_edits, registries
from rag.storage.files import Arrival
from rag.storage.registries import CalibrationRow
from rag.types import Document

_GROUP = 64  # documents stored in one transaction
_PASTED = "pasted text"
_CORPUS = "corpus.jsonl"

ProgressCallback = Callable[[int, int, str], None]
"""Takes units done, units in all, and what is done now."""


class Restorer:
    """Restorer of an empty knowledge base from a bundle."""

    def __init__(
        self, services: Services, base_id: int, name: str, on_progress: ProgressCallback
    ) -> None:
        self._services = services
        self._base_id = base_id
        self._name = name
        self._tell = on_progress

    def restore(self, bundle: Bundle, folder: Path | None) -> Reproduction:
        """Add documents and questions, measure, and compare with what the bundle says.

        Documents come from the bundle, else from files with the same SHA-256 in ``folder`` or among
        those that this home holds for other knowledge bases. Raises InvalidInput when none is
        found, UnreadableDocument, ProviderError, InvalidFile.
        """
        with self._services.database.write() as connection:
            for edit in bundle.edits:  # found by their documents, when those come in
                passage_edits.add(connection, self._base_id, edit)
        sources = _Sources(folder, bundle.documents) if folder else None
        with self._services.files.arriving() as arrival:
            missing, changed = self._add_all(bundle, sources, arrival)
        exchange = Exchange(self._services.database, self._base_id)
        exchange.import_file(bundle.results.set, "questions.jsonl", bundle.questions)
        if bundle.calibration is not None:
            self._learn(bundle.recipe, bundle.calibration)
        evaluation = Evaluator(self._services, self._base_id).evaluate(
            bundle.results.set,
            bundle.recipe,
            bundle.results.cutoffs,
            lambda done, total: self._tell(done, total, "measuring"),
            by_tokens=in_tokens(bundle.results.metrics),
            ignore_identical=IDENTICAL in bundle.made_with,
            without_users=USERS in bundle.made_with,
        )
        history = RunHistory(self._services.database, self._base_id)
        history.describe(evaluation.run.id, note=f"Repeats run {bundle.results.run} of a bundle.")
        return compared(self._name, bundle.results, bundle.made_with, evaluation, missing, changed)

    def _learn(self, recipe: Recipe, calibration: CalibrationRow) -> None:
        with self._services.database.write() as connection:
            builds.ensure(connection, self._base_id, recipe.index)
            registries.replace_calibration(
                connection, self._base_id, recipe.index.hash, calibration
            )

    def _add_all(
        self, bundle: Bundle, sources: _Sources | None, arrival: Arrival
    ) -> tuple[list[str], list[str]]:
        """Names of the documents that are missing, and of those that were read differently."""
        missing, changed, group = list[str](), list[str](), list[Document]()
        entries = {entry.id: entry for entry in bundle.documents}
        ingestion = Ingestion(
            self._services.database, self._base_id, self._services.models.embedder
        )
        total = len(bundle.documents)
        for place, entry in enumerate(bundle.documents):
            self._tell(place, total, f"adding {entry.name}")
            document = self._document(bundle, entry, sources, arrival)
            if document is None:
                missing.append(entry.name)
                continue
            if text_sha256(document.text) != entry.text_sha256:
                changed.append(entry.name)
            group.append(_dated(document, entry.date))
            if len(group) == _GROUP:
                self._store(ingestion, group, entries, arrival)
                group = []
        if len(missing) == total:
            raise InvalidInput(
                f"None of the {total:,} documents of the bundle was found.",
                "Give the folder that contains them with --documents, or create the "
                "bundle again with --with-documents.",
            )
        if group:
            self._store(ingestion, group, entries, arrival)
        return missing, changed

    def _store(
        self,
        ingestion: Ingestion,
        group: Sequence[Document],
        entries: Mapping[str, DocumentEntry],
        arrival: Arrival,
    ) -> None:
        """Store documents with their tags and dates: filters let the same ones through."""

        def mark(connection: Connection, stored: Sequence[Document]) -> None:
            arrival.confirm(connection)
            for entry in (entries[document.id] for document in stored):
                documents.set_tags(connection, self._base_id, entry.id, entry.tags)
                if entry.added is not None:
                    documents.set_added(connection, self._base_id, entry.id, entry.added)

        ingestion.store(group, _silent, mark)

    def _document(
        self, bundle: Bundle, entry: DocumentEntry, sources: _Sources | None, arrival: Arrival
    ) -> Document | None:
        document = bundle.document(entry)
        original = bundle.original(entry)
        if original is not None:
            arrival.put(io.BytesIO(original))
        elif sources is not None and (path := sources.file(entry)) is not None:
            with path.open("rb") as file:
                arrival.put(file)
        if document is not None:
            return document
        stored = self._services.files.path(entry.id)
        if stored.exists():
            return self._read(stored, entry)
        return sources.row(entry) if sources is not None else None

    def _read(self, path: Path, entry: DocumentEntry) -> Document:
        if entry.source == _PASTED:
            text = readers.read_text(path.read_text("utf-8"), entry.name)
            return replace(text, id=entry.id, source=entry.source)
        settings = self._services.settings
        limits = readers.Limits(
            max_bytes=settings.max_upload_mb << 20, max_characters=settings.max_document_characters
        )
        return readers.read(path, entry.name, source=entry.source, limits=limits)


def _dated(document: Document, day: str | None) -> Document:
    """The document with the date that it had, whatever is read from it here; None for unknown."""
    if day is None:
        return document
    others = {name: value for name, value in document.metadata.items() if name != "date"}
    return replace(document, metadata=others | ({"date": day} if day else {}))


class _Sources:
    """Files of a folder, and rows of BEIR corpora in it, by SHA-256."""

    def __init__(self, folder: Path, entries: tuple[DocumentEntry, ...]) -> None:
        if not folder.is_dir():
            raise InvalidInput(f"{folder} is not a folder.", "Give the folder of the documents.")
        self._folder = folder
        sizes = {entry.bytes for entry in entries if entry.bytes is not None}
        self._files = dict(_hashed(folder, sizes))
        rows = {entry.id for entry in entries if entry.bytes is None}
        self._rows: Mapping[str, Document] = dict(_corpus_rows(folder, rows)) if rows else {}

    def file(self, entry: DocumentEntry) -> Path | None:
        return self._files.get(entry.id)

    def row(self, entry: DocumentEntry) -> Document | None:
        document = self._rows.get(entry.id)
        return replace(document, source=entry.source) if document is not None else None


def _hashed(folder: Path, sizes: set[int]) -> Iterator[tuple[str, Path]]:
    """Files with one of the sizes wanted, by the SHA-256 of their bytes."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size in sizes:
            with path.open("rb") as file:
                yield hashlib.file_digest(file, "sha256").hexdigest(), path


def _corpus_rows(folder: Path, document_ids: set[str]) -> Iterator[tuple[str, Document]]:
    for path in sorted(folder.rglob(_CORPUS)):
        for row in beir.read_documents(path.parent):
            document = row.document(path.parent.name)
            if document.id in document_ids:
                yield document.id, document


def _silent(_step: str, _done: int, _total: int) -> None:
    """Progress is reported by document."""
