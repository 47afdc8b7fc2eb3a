"""Imports from existing stores: their texts as documents, with the vectors that they have there.

The job that imports an existing store.

It reads the whole store into a file before it stores anything: a connection that ends in the
middle leaves nothing behind. A process that dies afterwards goes on with the file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

import numpy as np
from pydantic import Field

from rag import providers
from rag.errors import InvalidInput, NotAllowed
from rag.evaluation.intervals import rate_interval
from rag.library.documents.embedding_queue import refresh
from rag.library.documents.ingestion import Ingestion
from rag.library.documents.stored import StoredDocuments
from rag.operation import operation
from rag.protocols import Embedder
from rag.providers.table import with_embedder_weight
from rag.recipe import Recipe
from rag.services.jobs import Job, Reporter
from rag.services.services import Services
from rag.storage import Connection, bases, builds, documents, vectors
from rag.storage import jobs as rows
from rag.storage.jobs import JobItem, JobRow
from rag.stores.existing import (
    ExistingStore,
    ReadableStore,
    StoreLayout,
    StoreRow,
    chosen,
    document_row,
    open_store,
)
from rag.types import Document, Vectors, percent

SAME_MODEL = 0.98
"""The cosine of a stored vector and that of its text from which on one model made both.

Rounding, batches and other processors move a vector by less than 0.001.
"""


@dataclass(frozen=True, slots=True)
class ForeignVector:
    """A stored vector that the embedder of its index did not make; ``cosine`` is to its text's."""

    passage: str
    document: str
    cosine: float


@dataclass(frozen=True, slots=True)
class VectorCheckData:
    """A sample of stored vectors compared with those of their texts."""

    sampled: int
    foreign: tuple[ForeignVector, ...]
    """By cosine, lowest first."""
    share: tuple[float, float]
    """The interval (95 %) of the share of foreign vectors in the index."""
    median: Annotated[float, Field(description="the median cosine of the sample")]


def check_vectors(embedder: Embedder, rows: Sequence[StoreRow], stored: Vectors) -> VectorCheckData:
    """Embed the texts of rows again; ``stored`` are their unit vectors. Raises ProviderError.

    A vector with a cosine below ``SAME_MODEL`` is of another model, another version of the model,
    or another text.
    """
    if not rows:
        return VectorCheckData(0, (), (0.0, 1.0), 1.0)
    fresh = embedder.embed([row.text for row in rows], "document")
    if fresh.shape != stored.shape:
        cosines = np.zeros(len(rows))
    else:
        cosines = np.einsum("ij,ij->i", stored, fresh, dtype=np.float64)
    foreign = [
        ForeignVector(row.id, row.id, float(cosine))
        for row, cosine in zip(rows, cosines, strict=True)
        if cosine < SAME_MODEL
    ]
    low, high = rate_interval(len(foreign), len(rows))
    return VectorCheckData(
        len(rows),
        tuple(sorted(foreign, key=lambda item: item.cosine)),
        (low, high),
        float(np.median(cosines)),
    )


UNRELATED = 0.5
"""The median cosine below which the stored vectors are of another model."""

_OPENED_SAMPLE = 40
_SHOWN = 5
_UNIT = 0.01  # what a length may differ from one
_MOST_SPACE = 24
_NO_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class StorePreview:
    """A store before it is imported.

    ``store`` names all its fields. ``rows`` are the first of ``sampled`` random rows. ``check``
    compares their vectors with an embedder, None where none was named. ``notes`` are sentences on
    what changes by the import.
    """

    store: ExistingStore
    layout: StoreLayout
    sampled: int
    rows: tuple[StoreRow, ...]
    check: VectorCheckData | None
    notes: tuple[str, ...]


class ImportStore(Job[int]):
    """An import of a store whose vectors an embedder made; it leaves the documents added."""

    kind = "import-store"
    store: ExistingStore
    embedder: str


class StoreImports(StoredDocuments):
    """Imports from existing stores into one knowledge base.

    A store is only read. Its vectors have a space of their own (see ``providers.vector_space``):
    they are never mixed with those that the embedder makes here.

    ``may_name_keys`` says whether a store may name environment variables of the server: it decides
    where their values go. ``permit_recipe`` raises for a recipe that costs too much.
    """

    _may_name_keys: bool
    _permit_recipe: Callable[[Recipe], None]

    @operation("editor", audit="documents")
    def preview_store(self, store: ExistingStore, embedder: str = "") -> StorePreview:
        """Look at the fields and some rows of a store, and check the vectors of an ``embedder``.

        Raises NotFound, NotAllowed, BlockedAddress, InvalidInput, InvalidRecipe, ProviderError.
        """
        self._check_keys(store)
        if embedder:
            self._permit(store, embedder)
        opened = opened_store(self._services, store)
        layout, store, rows = look(opened, store)
        check = check_rows(self._services, embedder, rows) if embedder else None
        return StorePreview(
            store, layout, len(rows), tuple(rows[:_SHOWN]), check, _notes(store, layout, rows)
        )

    @operation("editor", audit="documents")
    def import_store(self, store: ExistingStore, embedder: str) -> int:
        """Queue the import of a store whose vectors an ``embedder`` made; return the job.

        The knowledge base has no documents yet, or those of an earlier import with this embedder.
        Raises as ``preview_store``.
        """
        self._check_keys(store)
        recipe = self._permit(store, embedder)
        opened = opened_store(self._services, store)
        layout, store, rows = look(opened, store)
        require_rows(self._services, store, layout.rows)
        require_dimension(self._services, embedder, rows)
        request = ImportStore(store=store, embedder=recipe.index.embedder)
        title, items = f"Importing {store.name}", [(store.label, dict[str, Any]())]
        return self._jobs.submit(self._base_id, title, request, items)

    def _check_keys(self, store: ExistingStore) -> None:
        if store.variables and not self._may_name_keys:
            raise NotAllowed(
                f"Only an administrator may send {', '.join(store.variables)}, which is a key of "
                "the server.",
                "Ask one to import the store.",
            )

    def _permit(self, store: ExistingStore, embedder: str) -> Recipe:
        """The recipe of the base after an import. Raises as ``import_store``."""
        if providers.vector_space(embedder)[1]:
            raise InvalidInput(
                f"{embedder} names the vectors of an earlier import.", "Name the embedder alone."
            )
        with self._services.database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
            count = documents.count(connection, self._base_id)
        fresh = "" if count else space_name(store.name, secrets.token_hex(3))
        recipe = store_recipe(saved, embedder, fresh)
        self._services.models.require(recipe.index)
        self._permit_recipe(recipe)
        return recipe


def store_recipe(saved: Recipe, embedder: str, fresh: str) -> Recipe:
    """The recipe under which a base ranks the vectors of a store.

    ``fresh`` is the name of a new space, "" to go on with that of the saved recipe. Raises
    InvalidInput where that has none, or one of another embedder.
    """
    model, space = providers.vector_space(saved.index.embedder)
    if not fresh and not space:
        raise InvalidInput(
            "This knowledge base has documents that did not come from a store.",
            "Create a knowledge base for the store: its vectors rank its own texts only.",
        )
    if not fresh and model != embedder:
        raise InvalidInput(
            f"The vectors in this knowledge base are of {model}, not of {embedder}.",
            f"Name {model}, or create a knowledge base for the store.",
        )
    name = f"{embedder}#{fresh or space}"
    changes = {"index.embedder": name, "index.chunker": "whole", "index.context": "none"}
    return with_embedder_weight(saved, saved.with_fields(changes))


def opened_store(services: Services, store: ExistingStore) -> ReadableStore:
    """A store to read from. Raises ProviderRejected where its key is not set."""
    settings = services.settings
    return open_store(store, settings.tool_variables, allow_private=settings.allow_private_urls)


def look(
    opened: ReadableStore, store: ExistingStore
) -> tuple[StoreLayout, ExistingStore, list[StoreRow]]:
    """The fields, the store with all their names, and random rows with text and vector.

    Raises InvalidInput for a store without such rows, and as ``ReadableStore``.
    """
    layout = opened.layout()
    names = [vector.name for vector in layout.vectors]
    guess = store.vector if store.vector in names else "".join(names[:1])
    sample = opened.sample(_OPENED_SAMPLE, guess) if layout.vectors else []
    store = chosen(store, layout, sample)
    rows = [row for raw in sample if (row := document_row(store, raw)).text]
    usable = [row for row in rows if row.vector is not None]
    if not usable:
        raise InvalidInput(
            f"None of {len(sample)} rows of the {store.label} has text in {store.text!r} and a "
            f"vector in {store.vector!r}.",
            "Choose other fields.",
        )
    return layout, store, usable


def require_rows(services: Services, store: ExistingStore, count: int) -> None:
    """Raise InvalidInput for more rows than an import reads."""
    most = services.settings.max_store_rows
    if count > most:
        raise InvalidInput(
            f"The {store.label} has more than {most:,} rows, which is the most of an import.",
            "Restrict the rows, or set TOUCHSTONE_MAX_STORE_ROWS to more.",
        )


def check_rows(services: Services, embedder: str, rows: Sequence[StoreRow]) -> VectorCheckData:
    """Compare the vectors of rows with those of their texts. Raises as ``require_dimension``."""
    stored = require_dimension(services, embedder, rows)
    return check_vectors(services.models.embedder(embedder), rows, stored)


def require_dimension(services: Services, embedder: str, rows: Sequence[StoreRow]) -> Vectors:
    """The vectors of rows with length one, shape (n, dimension).

    Raises InvalidInput for a vector of another dimension than those of the embedder, ProviderError.
    """
    dimension = services.models.embedder(embedder).embed(["hello"], "query").shape[1]
    return unit_vectors(rows, embedder, dimension)


def unit_vectors(rows: Sequence[StoreRow], embedder: str, dimension: int) -> Vectors:
    """The vectors of rows with length one. Raises InvalidInput for another dimension."""
    units = np.empty((len(rows), dimension), np.float32)
    for place, row in enumerate(rows):
        assert row.vector is not None  # such rows are left out before
        if len(row.vector) != dimension:
            raise InvalidInput(
                f"The vector of row {row.id} has {len(row.vector):,} dimensions, those of "
                f"{embedder} have {dimension:,}.",
                "Name the embedder that made the vectors.",
            )
        units[place] = row.vector / np.linalg.norm(row.vector.astype(np.float64))
    return units


def _notes(store: ExistingStore, layout: StoreLayout, rows: Sequence[StoreRow]) -> tuple[str, ...]:
    similarity = next(
        (vector.similarity for vector in layout.vectors if vector.name == store.vector), ""
    )
    lengths = [np.linalg.norm(row.vector) for row in rows if row.vector is not None]
    is_unit = all(abs(length - 1) < _UNIT for length in lengths)
    if is_unit or similarity == "cosine":
        return ()
    return (
        f"The vectors do not have length one. The store ranks by {similarity or 'its own rule'}, "
        "and this knowledge base by cosine: the order can differ.",
    )


def space_name(name: str, suffix: str) -> str:
    """The name of a vector space, after the store."""
    words = _NO_WORD.sub("-", name.lower()).strip("-")[:_MOST_SPACE].strip("-")
    return f"{words}-{suffix}" if words else suffix


_GROUP = 256  # documents stored in one transaction
_SAMPLE = 100
_TELLING = 200  # rows between two reports


def import_store(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "import-store".

    Documents that are present already are left alone, but get the vector that they have now.
    """
    (item,) = services.database.fetch(rows.items, job.id)
    if "fetched" not in item.payload:
        _fetch(services, job, item, reporter)
        (item,) = services.database.fetch(rows.items, job.id)
    return _store(services, job, item, reporter)


@dataclass(slots=True)
class _Reading:
    """The rows of a store so far: how many are usable, and a random sample of them."""

    names: set[str] = field(default_factory=set)
    texts: dict[bytes, bytes] = field(default_factory=dict)
    sample: list[StoreRow] = field(default_factory=list)
    usable: int = 0
    without: int = 0
    repeated: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(0))

    def add(self, row: StoreRow) -> bool:
        """Count a row; return whether it has a text and a vector.

        Raises InvalidInput for an id that an earlier row has.
        """
        if not row.text or row.vector is None:
            self.without += 1
            return False
        if row.id in self.names:
            raise InvalidInput(
                f"The id {row.id} occurs twice.", "Choose another field as id, or none."
            )
        self.names.add(row.id)
        digest = hashlib.blake2b(row.vector.tobytes(), digest_size=8).digest()
        if self.texts.setdefault(vectors.text_hash(row.text), digest) != digest:
            self.repeated += 1
        self.usable += 1
        place = self.chance.randrange(self.usable)
        if len(self.sample) < _SAMPLE:
            self.sample.append(row)
        elif place < _SAMPLE:
            self.sample[place] = row
        return True


def _fetch(services: Services, job: JobRow, item: JobItem, reporter: Reporter) -> None:
    """Read the store into a file that the item refers to. Raises as ``ReadableStore``."""
    store = ImportStore.of(job).store
    embedder, _ = providers.vector_space(ImportStore.of(job).embedder)
    dimension = services.models.embedder(embedder).embed(["hello"], "query").shape[1]
    opened = opened_store(services, store)
    reporter.report(0, 0, f"{item.name}: reading")
    total, reading = opened.layout().rows, _Reading()
    require_rows(services, store, total)
    with tempfile.TemporaryFile(dir=services.settings.home) as file:
        for place, raw in enumerate(opened.rows(store)):
            if place % _TELLING == 0:
                message = f"{item.name}: {place:,} of {total:,} rows read"
                reporter.report(place, max(total, place), message)
            require_rows(services, store, place + 1)  # its count may be wrong, or a lie
            row = document_row(store, raw)
            if reading.add(row):
                file.write(_line(row, embedder, dimension))
                _require_bytes(services, store, file.tell())
        notes = _checked(services, store, embedder, reading)
        file.seek(0)
        with services.files.arriving() as arrival:
            stored = arrival.put(cast(BinaryIO, file))
            with services.database.write() as connection:
                former = _prepare(connection, job)
                rows.note_fetched(connection, item, stored.sha256)
                rows.set_item(connection, job.id, item.position, "waiting", "; ".join(notes))
                arrival.confirm(connection)
    for build_hash in former:
        services.forget_build(job.base_id, build_hash)


def _require_bytes(services: Services, store: ExistingStore, size: int) -> None:
    most = services.settings.max_store_mb
    if size > most * 1_000_000:
        raise InvalidInput(
            f"The rows of the {store.label} are larger than {most:,} MB, which is the most of an "
            "import.",
            "Restrict the rows, or set TOUCHSTONE_MAX_STORE_MB to more.",
        )


def _prepare(connection: Connection, job: JobRow) -> list[str]:
    """Save the recipe of the import; return the builds that it replaces.

    Raises InvalidInput where others brought documents in meanwhile.
    """
    bases.hold(connection, job.base_id)
    saved = bases.by_id(connection, job.base_id).recipe
    model, space = providers.vector_space(ImportStore.of(job).embedder)
    is_new = providers.vector_space(saved.index.embedder)[1] != space
    if is_new and documents.count(connection, job.base_id):
        store_recipe(saved, model, "")  # says why the vectors do not fit
        raise InvalidInput("Another import ended meanwhile.", "Start the import again.")
    recipe = store_recipe(saved, model, space)
    bases.save_recipe(connection, job.base_id, recipe)
    former = []
    if is_new:
        former = [row.hash for row in builds.list_builds(connection, job.base_id)]
        for build_hash in former:
            builds.remove(connection, job.base_id, build_hash)
    builds.ensure(connection, job.base_id, recipe.index)
    return former


def _checked(
    services: Services, store: ExistingStore, embedder: str, reading: _Reading
) -> list[str]:
    """Sentences on what was read. Raises InvalidInput for nothing, and for another embedder."""
    if not reading.usable:
        raise InvalidInput(
            f"No row of the {store.label} has a text and a vector.", "Choose other fields."
        )
    check, notes = check_rows(services, embedder, reading.sample), []
    if check.median < UNRELATED:
        raise InvalidInput(
            f"{embedder} did not make these vectors: the median cosine with the vectors of their "
            f"texts is {check.median:.2f}.",
            "Name the embedder that made them.",
        )
    if check.foreign:
        low, high = check.share
        notes.append(
            f"{len(check.foreign):,} of {check.sampled:,} sampled vectors are not what {embedder} "
            f"makes of their texts (cosine below {SAME_MODEL:g}, lowest "
            f"{check.foreign[0].cosine:.2f}; {percent(low, 1)} to {percent(high, 1)} of all)"
        )
    if reading.without:
        notes.append(f"{reading.without:,} rows without text or vector left out")
    if reading.repeated:
        notes.append(
            f"{reading.repeated:,} rows repeat a text with another vector: the first counts"
        )
    return notes


def _line(row: StoreRow, embedder: str, dimension: int) -> bytes:
    unit = unit_vectors([row], embedder, dimension)[0]
    fields = {
        "id": row.id,
        "text": row.text,
        "title": row.title,
        "metadata": dict(row.metadata),
        "vector": base64.b64encode(unit.tobytes()).decode(),
    }
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _store(services: Services, job: JobRow, item: JobItem, reporter: Reporter) -> str:
    """Store the rows of the file as documents, and their vectors."""
    path, source = services.files.path(item.payload["fetched"]), item.name
    space = services.models.embedder(ImportStore.of(job).embedder).id
    ingestion = Ingestion(services.database, job.base_id, services.models.embedder)
    total = sum(1 for _ in _lines(path))
    seen, replaced, added = 0, 0, reporter.carried() or 0
    read = set[bytes]()
    lines = _lines(path)
    while group := list(islice(lines, _GROUP)):
        reporter.report(seen, total, f"{item.name}: {seen:,} of {total:,} documents")
        made = [_document(fields, source) for fields in group]
        present = services.database.fetch(documents.names, job.base_id, [one.id for one in made])
        new = [place for place, one in enumerate(made) if one.id not in present]
        replaced += _replace_vectors(services, job, space, _first_vectors(made, group, read))
        if new:
            units = {
                vectors.text_hash(made[place].text): base64.b64decode(group[place]["vector"])
                for place in reversed(new)
            }
            services.database.execute(vectors.store, space, units)
            ingestion.store(
                [made[place] for place in new],
                lambda *_: None,
                lambda connection, _: _require_space(connection, job),
            )
        seen, added = seen + len(group), added + len(new)
        reporter.result = added
        reporter.give_way()
    services.database.execute(rows.set_item, job.id, item.position, "added", chunks=added)
    services.files.discard([item.payload["fetched"]])
    refresh(services, job.base_id, partial(reporter.report, total, total))
    counts = [f"{added:,} of {total:,} documents added"]
    if replaced:
        counts.append(f"{replaced:,} with another vector than before")
    return "; ".join(filter(None, (*counts, item.reason)))


def _first_vectors(
    made: Sequence[Document], group: Sequence[Mapping[str, Any]], read: set[bytes]
) -> dict[bytes, bytes]:
    """Return the vectors of the texts that aren't in ``read``, and add these texts to it.

    Where rows repeat a text, the first counts.
    """
    units: dict[bytes, bytes] = {}
    for document, fields in zip(made, group, strict=True):
        key = vectors.text_hash(document.text)
        if key not in read:
            read.add(key)
            units[key] = base64.b64decode(fields["vector"])
    return units


def _replace_vectors(
    services: Services, job: JobRow, space: str, units: Mapping[bytes, bytes]
) -> int:
    """Store the vectors that differ from those of an earlier import; count their documents."""
    stored = services.database.fetch(vectors.find_cached_vectors, space, list(units))
    changed = {key: units[key] for key in stored if stored[key] != units[key]}
    if not changed:
        return 0
    with services.database.write() as connection:
        _require_space(connection, job)
        bases.touch(connection, job.base_id)
        vectors.store(connection, space, changed, replace=True)
        return documents.mark_recut(connection, job.base_id, list(changed))


def _require_space(connection: Connection, job: JobRow) -> None:
    """Raise InvalidInput where the saved recipe does not rank the vectors of the job any more.

    An import by another process can have prepared the base before the first documents were stored.
    """
    saved = bases.by_id(connection, job.base_id).recipe.index.embedder
    if providers.vector_space(saved) != providers.vector_space(ImportStore.of(job).embedder):
        raise InvalidInput(
            "The recipe of this knowledge base names other vectors than those of this import.",
            "Another import or a change of the recipe came between. Start the import again.",
        )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            yield json.loads(line)


def _document(fields: dict[str, Any], source: str) -> Document:
    """A row as a document, named by its id; its own id covers all but the vector."""
    identity = json.dumps({**fields, "vector": ""}, sort_keys=True).encode()
    metadata = fields["metadata"]
    if fields["title"]:
        metadata = {"title": fields["title"], **metadata}
    return Document(
        id=hashlib.sha256(identity).hexdigest(),
        name=fields["id"],
        source=source,
        media_type="text/plain",
        text=fields["text"],
        metadata=metadata,
    )
