"""Rebuilding of a knowledge base from a bundle that may come from anywhere.

Everything is checked before it is used. Members are read by names that a bundle may have, into
memory or under the SHA-256 of their bytes; none is extracted to a path that the archive names.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from rag import readers
from rag.errors import InvalidFile, InvalidInput, validation_words
from rag.evaluation.formats import beir
from rag.evaluation.span_metrics import in_tokens
from rag.experiments.bundles import contents
from rag.experiments.bundles.contents import (
    DocumentEntry,
    Documents,
    Edits,
    Environment,
    Results,
    Text,
    text_sha256,
)
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

_MEMBER = re.compile(r"texts/[0-9a-f]{64}\.json|files/[0-9a-f]{64}")
_MOST_MEMBERS = 2_000_000
_MOST_BYTES = 20_000_000_000  # unpacked, all members
_MOST_PART_BYTES = 1_000_000_000  # unpacked, one member
_MOST_RATIO = 300  # unpacked to packed; text and JSON stay far below
_SMALL_BYTES = 50_000_000  # below that, a ratio does no harm
_HINT = "Ask for the bundle again, or make it again with `python -m rag bundle`."

_Model = TypeVar("_Model")


class Bundle:
    """An open bundle: its parts as checked values, and its documents one by one."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = set(archive.namelist())
        environment = self._model(contents.ENVIRONMENT, Environment)
        if environment.format != contents.FORMAT:
            raise InvalidFile(
                f"The bundle has format {environment.format}, this version reads "
                f"{contents.FORMAT}.",
                "Install the version of Touchstone that made it, or a newer one.",
            )
        self.made_with = environment.made_with
        try:
            stored = json.loads(self._text(contents.RECIPE))
        except (ValueError, RecursionError) as error:
            raise InvalidFile(f"{contents.RECIPE} of the bundle is not JSON.", _HINT) from error
        self.recipe = Recipe.restore(stored)
        self.results = self._model(contents.RESULTS, Results)
        self.documents = self._model(contents.DOCUMENTS, Documents).documents
        self.questions = self._text(contents.QUESTIONS)
        has_learned = contents.CALIBRATION in self._names
        learned = self._model(contents.CALIBRATION, CalibrationRow) if has_learned else None
        self.calibration = contents.checked_calibration(learned) if learned else None
        has_edits = contents.EDITS in self._names
        self.edits = self._model(contents.EDITS, Edits).edits if has_edits else ()
        _check_unique(self.documents)

    def document(self, entry: DocumentEntry) -> Document | None:
        """The extracted text that the bundle holds, or None. Raises InvalidFile."""
        name = f"texts/{entry.id}.json"
        if name not in self._names:
            return None
        text = self._model(name, Text)
        if contents.text_sha256(text.text) != entry.text_sha256 or not text.is_consistent:
            raise InvalidFile(f"The text of {entry.name!r} in the bundle is damaged.", _HINT)
        return text.document(entry)

    def original(self, entry: DocumentEntry) -> bytes | None:
        """The original file that the bundle holds, or None. Raises InvalidFile."""
        name = f"files/{entry.id}"
        if name not in self._names:
            return None
        content = self._bytes(name)
        if hashlib.sha256(content).hexdigest() != entry.id:
            raise InvalidFile(f"The file {entry.name!r} in the bundle is damaged.", _HINT)
        return content

    def _model(self, name: str, model: type[_Model]) -> _Model:
        try:
            return TypeAdapter(model).validate_json(self._bytes(name))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"][:4])
            problem = f"{where} {validation_words(first)}"
            raise InvalidFile(f"{name} of the bundle is not valid: {problem}.", _HINT) from error

    def _text(self, name: str) -> str:
        try:
            return self._bytes(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidFile(f"{name} of the bundle is not UTF-8 text.", _HINT) from error

    def _bytes(self, name: str) -> bytes:
        try:
            return self._archive.read(name)
        except KeyError as error:
            raise InvalidFile(f"The bundle lacks {name}.", _HINT) from error
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
            raise InvalidFile(f"{name} of the bundle is damaged.", _HINT) from error
        except Exception as error:  # zlib.error, lzma.LZMAError: unpackers raise their own
            raise InvalidFile(f"{name} of the bundle cannot be unpacked.", _HINT) from error


@contextmanager
def opened(path: Path) -> Iterator[Bundle]:
    """The bundle at ``path``. Raises InvalidFile for anything that is none."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InvalidFile(f"{path.name} is not a bundle: {error}.", _HINT) from error
    with archive:
        _check(archive)
        yield Bundle(archive)


def _check(archive: zipfile.ZipFile) -> None:
    """Refuse what no bundle has, before anything is unpacked.

    Python's zipfile never unpacks more of a member than the size that the directory declares.
    """
    members = archive.infolist()
    names = [member.filename for member in members]
    strange = next((name for name in names if not _expected(name)), None)
    if strange is not None:
        raise InvalidFile(
            f"The archive contains {strange[:80]!r}, which does not belong in a bundle.", _HINT
        )
    if len(set(names)) != len(names) or len(names) > _MOST_MEMBERS:
        raise InvalidFile("The archive contains duplicate entries, or too many entries.", _HINT)
    if any(member.flag_bits & 1 for member in members):
        raise InvalidFile("The archive is encrypted. Bundles are never encrypted.", _HINT)
    packed = sum(member.compress_size for member in members)
    unpacked = sum(member.file_size for member in members)
    largest = max((member.file_size for member in members), default=0)
    bomb = unpacked > _SMALL_BYTES and unpacked > _MOST_RATIO * packed
    if unpacked > _MOST_BYTES or largest > _MOST_PART_BYTES or bomb:
        raise InvalidFile(f"The archive is too large: {unpacked / 1e6:,.0f} MB unpacked.", _HINT)


def _expected(name: str) -> bool:
    return name in contents.PARTS or _MEMBER.fullmatch(name) is not None


def _check_unique(entries: tuple[DocumentEntry, ...]) -> None:
    for values in ({entry.id for entry in entries}, {entry.name for entry in entries}):
        if len(values) != len(entries):
            raise InvalidFile("The bundle lists a document twice.", _HINT)


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
