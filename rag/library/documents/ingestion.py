"""Documents into a knowledge base: cut and stored, each whole, in one transaction.

The passages of a large document are stored before, where nobody sees them: see ``Segments``.
``take`` stores before anything is embedded, so that a document answers by words at once; ``store``
embeds before.
"""

from __future__ import annotations

import logging
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from rag import providers
from rag.chunking import chunks
from rag.errors import Cancelled, StorageError, TouchstoneError
from rag.evaluation.anchoring import Haystack
from rag.input_rules import composed
from rag.library.documents import remaining_time
from rag.library.questions.reanchoring import reanchor, spellings
from rag.protocols import Embedder
from rag.recipe import IndexRecipe
from rag.services.jobs import Job
from rag.services.services import cache_vectors, uncached
from rag.storage import (
    Connection,
    Database,
    bases,
    builds,
    documents,
    passage_edits,
    passages,
    vectors,
)
from rag.storage.passage_edits import StoredEdit
from rag.storage.shared.segments import LARGE, Segments
from rag.types import LOST, Chunk, Document, Vectors, chosen_encoding, chunk_key

log = logging.getLogger(__name__)

_CUT_AT_ONCE = 512  # passages between two tellings
_LEAST_AT_ONCE, _MOST_AT_ONCE = 32, 512  # texts; more are quicker, because batches go by length
_QUICK_SECONDS, _SLOW_SECONDS = 0.5, 2.0

ProgressCallback = Callable[[str, int, int], None]
"""Takes the step of the work, see ``Ingestion.work``, units done, and in all (0: not known)."""


class BatchSize:
    """An adaptive number of texts to embed at once, chosen so that they take about a second."""

    def __init__(self) -> None:
        self.texts = _LEAST_AT_ONCE

    def took(self, texts: int, seconds: float) -> None:
        """Learn from a batch."""
        if seconds < _QUICK_SECONDS and texts >= self.texts:
            self.texts = min(2 * self.texts, _MOST_AT_ONCE)
        elif seconds > _SLOW_SECONDS:
            self.texts = max(self.texts // 2, _LEAST_AT_ONCE)


@dataclass(slots=True)
class Cutting:
    """Passages of one document in one cut, without their text, which the document holds."""

    document: Document
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    headings: list[str] = field(default_factory=list)
    pages: list[int | None] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, chunk: Chunk) -> None:
        self.starts.append(chunk.start)
        self.ends.append(chunk.end)
        self.headings.append(chunk.heading)
        self.pages.append(chunk.page)
        same = self.contexts and self.contexts[-1] == chunk.context  # of neighbours, kept once
        self.contexts.append(self.contexts[-1] if same else chunk.context)

    def chunks(self) -> Iterator[Chunk]:
        document = self.document
        for order, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            yield Chunk(
                key=chunk_key(document.id, start, end),
                document_id=document.id,
                start=start,
                end=end,
                text=document.text[start:end],
                order=order,
                heading=self.headings[order],
                page=self.pages[order],
                context=self.contexts[order],
            )


Cuttings = dict[tuple[str, str], Cutting]  # by document id and cut name


@dataclass(frozen=True, slots=True)
class _Cuts:
    """The cuttings of one transaction for some recipes, and the segments of large documents.

    ``waits`` tells by document id and build hash whether a large document lacks vectors.
    """

    recipes: Sequence[IndexRecipe]
    cuttings: Cuttings
    segments: Segments
    waits: dict[tuple[str, str], bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stored:
    """The outcome of storing a document, with the number of passages under the saved recipe.

    ``before`` is the id of the version that this one replaced: the document's own id if it was read
    again, None if there was no previous version. ``lost`` contains the quotes of labels whose text
    is no longer in the document.
    """

    name: str
    status: Literal["added", "replaced", "unchanged"]
    chunks: int
    before: str | None = None
    lost: tuple[str, ...] = ()


class Ingestion:
    """The way of documents into one knowledge base, for every build that it has."""

    def __init__(
        self, database: Database, base_id: int, embedder: Callable[[str], Embedder]
    ) -> None:
        self._database = database
        self.base_id = base_id
        self.embedder = embedder
        self._behind: dict[str, str] = {}
        self._loaded = set[str]()
        self.batch_size = BatchSize()

    def recipes(self) -> list[IndexRecipe]:
        """Index recipes of all builds, the saved one first; a document is stored for each."""
        with self._database.read() as connection:
            saved = bases.by_id(connection, self.base_id).recipe.index
            built = [row.recipe for row in builds.list_builds(connection, self.base_id)]
        return [saved, *(recipe for recipe in built if recipe.hash != saved.hash)]

    def work(self) -> dict[str, str]:
        """The steps of storing a document in every build, and whose pace each has."""
        return remaining_time.work_for(*self.recipes())

    def behind(self) -> str:
        """Return the builds that could not take documents, with the reasons; "" if all could."""
        return "; ".join(self._behind.values())

    def present(self, document_id: str) -> str | None:
        """The name under which these very bytes are stored already, or None."""
        return self._database.fetch(documents.exists, self.base_id, document_id)

    def withdraw(self, connection: Connection, name: str, document_id: str) -> str | None:
        """Remove what is stored as ``name``, whose content now is that of a stored document.

        Its labels look for their words there. Returns its id, None where there was nothing else.
        """
        before = documents.find_id_by_name(connection, self.base_id, name)
        if before is None or before == document_id:
            return None
        length = documents.characters(connection, self.base_id, before)
        texts = documents.remove(connection, self.base_id, before)
        now = documents.get(connection, self.base_id, document_id)
        reanchor(connection, self.base_id, now, before, length)
        vectors.forget(connection, texts)
        bases.touch(connection, self.base_id)
        return before

    def store(
        self,
        group: Sequence[Document],
        on_progress: ProgressCallback,
        also: Callable[[Connection, Sequence[Document]], None] = lambda _c, _d: None,
    ) -> None:
        """Store documents whole, some in each transaction; ``also`` joins it with these.

        A build that cannot take them, other than that of the saved recipe, lacks them until it is
        built again: see ``behind``. Raises ProviderError or InvalidRecipe for the saved recipe.
        """
        with self._database.read() as connection:
            group = [with_edits(connection, self.base_id, document) for document in group]
        recipes, cuttings = self._prepare_all(group, on_progress)
        for portion in _portions(cuttings):
            ids = {document_id for document_id, _ in portion}
            some = [document for document in group if document.id in ids]
            with self._storing(recipes, portion, on_progress) as (connection, cuts):
                for document in some:
                    self._insert(connection, document, cuts)
                also(connection, some)

    def take(
        self,
        document: Document,
        on_progress: ProgressCallback,
        also: Callable[[Connection, Stored], None],
    ) -> None:
        """Store a document as soon as it is cut; its vectors are left to ``EmbeddingQueue``.

        ``also`` joins its transaction, to keep books on it. Raises as ``store`` does: an embedder
        elsewhere is asked whether it is there.
        """
        document = self._database.fetch(with_edits, self.base_id, document)
        recipes, cuttings = self._prepare_all([document], on_progress, embed=False)
        with self._storing(recipes, cuttings, on_progress) as (connection, cuts):
            also(connection, self._insert(connection, document, cuts))

    def recut(
        self,
        document: Document,
        change: Callable[[Connection], None],
        on_progress: ProgressCallback,
    ) -> None:
        """Cuts a stored document anew, in every build, with ``change`` in the same transaction.

        ``document`` is as it is after that. Raises as ``store`` does; then nothing has changed.
        """
        recipes, cuttings = self._prepare_all([document], on_progress)
        with self._storing(recipes, cuttings, on_progress) as (connection, cuts):
            change(connection)
            if documents.exists(connection, self.base_id, document.id) is None:
                return  # deleted meanwhile
            texts = documents.uncut(connection, self.base_id, document.id)
            self._insert_cuts(connection, document, cuts)
            vectors.forget(connection, texts)

    def complete(
        self, recipe: IndexRecipe, document_ids: Sequence[str], on_progress: ProgressCallback
    ) -> None:
        """Add documents that are stored already to a build that lacks them.

        Those that were deleted meanwhile are left out.
        """
        with self._database.read() as connection:
            present = documents.names(connection, self.base_id, document_ids)
            group = [
                documents.get(connection, self.base_id, name)
                for name in document_ids
                if name in present
            ]
        cuttings: Cuttings = {}
        self._prepare(group, recipe, cuttings, on_progress)
        for portion in _portions(cuttings):
            self._complete(recipe, portion, on_progress)

    def _complete(
        self, recipe: IndexRecipe, cuttings: Cuttings, on_progress: ProgressCallback
    ) -> None:
        """Add some documents to a build, in one transaction."""
        with self._database.read() as connection:
            cut_id = builds.cut_id(connection, self.base_id, recipe.cut)
            cut = {
                key: cutting
                for key, cutting in cuttings.items()
                if cut_id is None or not passages.are_cut(connection, self.base_id, cut_id, key[0])
            }
        with self._storing([recipe], cut, on_progress) as (connection, cuts):
            ids = [
                document_id
                for document_id, _ in cuttings
                if documents.exists(connection, self.base_id, document_id) is not None
            ]
            cut_id = builds.ensure(connection, self.base_id, recipe)
            for document_id in ids:
                if (document_id, recipe.cut) in cut:
                    self._insert_cut(connection, cut_id, (document_id, recipe.cut), cuts)
            builds.mark_indexed(connection, self.base_id, recipe.hash, ids)

    def _prepare_all(
        self, group: Sequence[Document], on_progress: ProgressCallback, *, embed: bool = True
    ) -> tuple[list[IndexRecipe], Cuttings]:
        """Prepare for every build that can take documents now; return those."""
        saved, *others = self.recipes()
        cuttings: Cuttings = {}
        self._prepare(group, saved, cuttings, on_progress, embed=embed)
        ready = [saved]
        for number, recipe in enumerate(others, 1):
            if recipe.hash in self._behind:
                continue  # every document would wait for the same server in vain
            try:
                self._prepare(group, recipe, cuttings, on_progress, number, embed=embed)
            except (Cancelled, StorageError):
                raise
            except TouchstoneError as error:
                log.warning("Build %s lacks new documents: %s", recipe.hash, error)
                self._behind[recipe.hash] = f"not in the build with {recipe.embedder}: {error}"
            else:
                ready.append(recipe)
        return ready, cuttings

    def _prepare(
        self,
        group: Sequence[Document],
        recipe: IndexRecipe,
        cuttings: Cuttings,
        on_progress: ProgressCallback,
        number: int = 0,
        *,
        embed: bool = True,
    ) -> None:
        """Cuts every document and caches the vectors; nothing of it is visible to a search.

        Where it does not ``embed``, it makes sure that the embedder can be asked.
        """
        embedder = self.embedder(recipe.embedder)
        cutting, embedding = remaining_time.steps(number)
        before, total = 0, sum(len(document.text) for document in group)

        def sentences(texts: Sequence[str]) -> Vectors:
            on_progress(cutting, before, total)
            return embedder.embed(texts, "document")

        for document in group:
            if (document.id, recipe.cut) not in cuttings:
                new_cutting = cuttings[document.id, recipe.cut] = Cutting(document)
                new_chunks = chunks(
                    document,
                    recipe,
                    embedder.tokenizer,
                    sentences,
                    providers.languages(recipe.embedder),
                )
                for place, chunk in enumerate(new_chunks):
                    if place % _CUT_AT_ONCE == 0:
                        on_progress(cutting, before + chunk.start, total)
                    new_cutting.add(chunk)
            before += len(document.text)
        if cut := [cuttings[item.id, recipe.cut] for item in group]:
            self._load(recipe.embedder, cut[0], on_progress, embed=embed)
        if embed:
            self._embed(embedder, cut, partial(on_progress, embedding))

    def _load(
        self, name: str, cutting: Cutting, on_progress: ProgressCallback, *, embed: bool
    ) -> None:
        """Load a model of this computer, which would else seem to be the pace of the first
        document, or ask one elsewhere, before a document waits for it; not where the vectors came
        with it, as with the sample.
        """
        if name in self._loaded or embed != providers.is_local(name):
            return
        embedder = self.embedder(name)
        if uncached(self._database, embedder, [chunk.indexed_text for chunk in cutting.chunks()]):
            on_progress("loading the embedding model", 0, 0)
            embedder.embed(["hello"], "query")
            self._loaded.add(name)

    def _embed(
        self,
        embedder: Embedder,
        cuttings: Sequence[Cutting],
        on_progress: Callable[[int, int], None],
    ) -> None:
        done, batch = 0, list[str]()
        total = sum(len(cutting) for cutting in cuttings)
        on_progress(0, total)
        for cutting in cuttings:
            for chunk in cutting.chunks():
                batch.append(chunk.indexed_text)
                if len(batch) >= self.batch_size.texts:
                    self._cache(embedder, batch)
                    done += len(batch)
                    batch.clear()
                    on_progress(done, total)
        if batch:
            self._cache(embedder, batch)
            on_progress(total, total)

    def _cache(self, embedder: Embedder, batch: Sequence[str]) -> None:
        """Embed a batch, and make the next one so large that it takes about a second."""
        started = time.monotonic()
        cache_vectors(self._database, embedder, batch)
        self.batch_size.took(len(batch), time.monotonic() - started)

    @contextmanager
    def _storing(
        self, recipes: Sequence[IndexRecipe], cuttings: Cuttings, on_progress: ProgressCallback
    ) -> Iterator[tuple[Connection, _Cuts]]:
        """A transaction for documents; the passages of large ones are stored before it begins."""
        with Segments(self._database, self.base_id) as segments:
            cuts = _Cuts(recipes, cuttings, segments)
            self._store_segments(cuts, on_progress)
            on_progress("storing", 0, 0)
            with self._database.write() as connection:
                bases.touch(connection, self.base_id)  # first: its row makes other writers wait
                yield connection, cuts

    def _store_segments(self, cuts: _Cuts, on_progress: ProgressCallback) -> None:
        large = {key: cutting for key, cutting in cuts.cuttings.items() if len(cutting) > LARGE}
        done, total = 0, sum(map(len, large.values()))

        def on_stored(passages: int) -> None:
            on_progress("storing", done + passages, total)

        for (document_id, cut_name), cutting in large.items():
            chunks = cutting.chunks()

            def insert(
                connection: Connection, segment: int, rows: int, chunks: Iterator[Chunk] = chunks
            ) -> int:
                some = islice(chunks, rows)
                return passages.insert_all(connection, self.base_id, segment, some)

            segment = cuts.segments.store(document_id, cut_name, insert, on_stored)
            done += len(cutting)
            with self._database.read() as connection:  # it takes too long for a transaction
                place = self.base_id, segment, document_id
                for recipe in (recipe for recipe in cuts.recipes if recipe.cut == cut_name):
                    embedder = self.embedder(recipe.embedder).id
                    waits = passages.lack_vectors(connection, *place, embedder)
                    cuts.waits[document_id, recipe.hash] = waits

    def _insert(self, connection: Connection, document: Document, cuts: _Cuts) -> Stored:
        stored = documents.reading(connection, self.base_id, document.id)
        encoding = chosen_encoding(document.metadata)
        if (
            stored is not None
            and stored.reader_version >= document.reader_version
            and encoding in ("", chosen_encoding(stored.metadata))
        ):
            return Stored(document.name, "unchanged", 0)  # another process was quicker
        before = (
            document.id
            if stored
            else documents.find_id_by_name(connection, self.base_id, document.name)
        )
        length, texts, tags = 0, list[bytes](), tuple[str, ...]()
        if before is not None:
            length = documents.characters(connection, self.base_id, before)
            tags = documents.tags(connection, self.base_id, before)
            texts = documents.remove(connection, self.base_id, before)
        lost = reanchor(connection, self.base_id, document, before, length) if stored else ()
        documents.insert_document(connection, self.base_id, document, tags)
        if stored is not None:
            documents.set_added(connection, self.base_id, document.id, stored.added)
        else:
            lost = reanchor(connection, self.base_id, document, before, length)
        move_edits(connection, self.base_id, document, before)
        self._insert_cuts(connection, document, cuts)
        vectors.forget(connection, texts)
        status: Literal["added", "replaced"] = "added" if before is None else "replaced"
        passages_cut = len(cuts.cuttings[document.id, cuts.recipes[0].cut])
        return Stored(document.name, status, passages_cut, before, lost)

    def _insert_cuts(self, connection: Connection, document: Document, cuts: _Cuts) -> None:
        for recipe in cuts.recipes:
            cut_id = builds.ensure(connection, self.base_id, recipe)
            self._insert_cut(connection, cut_id, (document.id, recipe.cut), cuts)
            waits = cuts.waits.get((document.id, recipe.hash))
            if waits is None:
                place = self.base_id, cut_id, document.id
                embedder = self.embedder(recipe.embedder).id
                waits = passages.lack_vectors(connection, *place, embedder)
            ids = [document.id]
            builds.mark_indexed(connection, self.base_id, recipe.hash, ids, waits=waits)

    def _insert_cut(
        self, connection: Connection, cut_id: int, key: tuple[str, str], cuts: _Cuts
    ) -> None:
        if passages.are_cut(connection, self.base_id, cut_id, key[0]):
            return
        if not cuts.segments.add(connection, *key, cut_id):
            passages.insert_all(connection, self.base_id, cut_id, cuts.cuttings[key].chunks())


def _portions(cuttings: Cuttings) -> Iterator[Cuttings]:
    """The cuttings of the documents of each transaction: of a large one, or of several others."""
    passages_of, portions = Counter[str](), [set[str]()]
    for (document_id, _), cutting in cuttings.items():
        passages_of[document_id] += len(cutting)
    rows = 0
    for document_id, count in passages_of.items():
        if rows and rows + count > LARGE:
            portions.append(set())
            rows = 0
        portions[-1].add(document_id)
        rows += count
    for ids in portions:
        yield {key: cutting for key, cutting in cuttings.items() if key[0] in ids}


def with_edits(connection: Connection, base_id: int, document: Document) -> Document:
    """A document on its way in with the edits that it will have, or itself where it has none."""
    if not passage_edits.has_edits(connection, base_id):
        return document
    edits = list(_anchored(connection, base_id, document))
    return replace(document, edits=tuple(edit.edit for edit in edits)) if edits else document


def move_edits(
    connection: Connection, base_id: int, document: Document, replaced: str | None = None
) -> None:
    """Move the edits of the version that a document took the place of, and lost ones, into it.

    Those whose words it does not have stay as they are: lost, until a document has them.
    """
    if not passage_edits.has_edits(connection, base_id):
        return
    moved_ids = {edit.id for edit in _moved(connection, base_id, document, replaced)}
    for edit in passage_edits.of_document(connection, base_id, document.id):
        if edit.id not in moved_ids:  # the same file, read into another text
            passage_edits.move(connection, replace(edit, document_id=LOST))


def _moved(
    connection: Connection, base_id: int, document: Document, replaced: str | None
) -> Iterator[StoredEdit]:
    for edit in _anchored(connection, base_id, document, replaced):
        passage_edits.move(connection, edit)
        yield edit


def _anchored(
    connection: Connection, base_id: int, document: Document, replaced: str | None = None
) -> Iterator[StoredEdit]:
    before = replaced or documents.find_id_by_name(connection, base_id, document.name)
    theirs = {document.id, *([before] if before else [])}
    adrift = passage_edits.adrift(connection, base_id, spellings(document.name), theirs)
    if not adrift:
        return
    text = Haystack(document.text)
    last = max(edit.end for edit in adrift)
    for edit in adrift:
        span = text.locate(edit.quote, edit.start, edit.end, edit.start / max(last, 1))
        if span is not None and span[1] is not None:
            yield replace(
                edit,
                document_id=document.id,
                document_name=document.name,
                start=span[0],
                end=span[1],
                quote=document.text[span[0] : span[1]],
            )


class QuestionFile(BaseModel):
    """A stored file of questions, by its SHA-256, which become a set."""

    set: str
    name: str
    file: str


class Ingest(Job[None]):
    """The reading of items into a knowledge base, and then of questions about them."""

    kind = "ingest"
    questions: QuestionFile | None = Field(None, exclude_if=lambda file: file is None)


Item = tuple[str, Mapping[str, object]]
"""The name and the payload of an item of a job."""


def name_files(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Every file once, with its path below the folder given; equal ones with that folder's name.

    Neither depends on the order of ``paths``, so that the same files are the same documents.
    """
    roots: dict[Path, tuple[Path, Path]] = {}
    for path in sorted(paths):
        root = path if path.is_dir() else path.parent
        for file in _files(path):
            roots.setdefault(file.resolve(), (file, root))
    names = [_readable(file.relative_to(root)) for file, root in roots.values()]
    count = Counter(names)
    return [
        (file, f"{_readable(Path(root.resolve().name))}/{name}" if count[name] > 1 else name)
        for (file, root), name in zip(roots.values(), names, strict=True)
    ]


def _readable(path: Path) -> str:
    """A path as text; bytes in it that are no UTF-8 are replaced, as no database has them."""
    return path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _files(path: Path) -> list[Path]:
    """The file itself, or every file below a folder, hidden ones aside."""
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )


def distinct(items: Iterable[Item]) -> list[Item]:
    """The items, a number in every name that an earlier one has, like ``readme (2).md``."""
    by_name: dict[str, Item] = {}
    for written, payload in items:
        name = composed(written)
        stem, dot, extension = name.rpartition(".") if "." in name else (name, "", "")
        number, free = 2, name
        while free in by_name:
            free = f"{stem} ({number}){dot}{extension}"
            number += 1
        by_name[free] = (free, payload)
    return list(by_name.values())
