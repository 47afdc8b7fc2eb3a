"""Imports from existing stores: their texts as documents, with the vectors that they have there."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag import providers
from rag.errors import InvalidInput, NotAllowed
from rag.evaluation.intervals import rate_interval
from rag.library.documents.stored import StoredDocuments
from rag.operation import operation
from rag.protocols import Embedder
from rag.providers.table import with_embedder_weight
from rag.recipe import Recipe
from rag.services.services import Services
from rag.storage import bases, documents, jobs
from rag.stores.existing import (
    ExistingStore,
    ReadableStore,
    StoreLayout,
    StoreRow,
    chosen,
    document_row,
    open_store,
)
from rag.types import Vectors

SAME_MODEL = 0.98
"""The cosine of a stored vector and that of its text from which on one model made both.

Rounding, batches and other processors move a vector by less than 0.001.
"""


@dataclass(frozen=True, slots=True)
class SampledText:
    """A text whose stored vector is checked, with the names of its passage and document."""

    passage: str
    document: str
    text: str


@dataclass(frozen=True, slots=True)
class ForeignVector:
    """A stored vector that the embedder of its index did not make; ``cosine`` is to its text's."""

    passage: str
    document: str
    cosine: float


@dataclass(frozen=True, slots=True)
class VectorCheck:
    """A random sample of stored vectors, compared with those of their texts, lowest cosine first.

    ``share`` is the interval (95 %) of the share of foreign vectors in the index. ``median`` is
    that of the cosines of the sample, 1 without any.
    """

    sampled: int
    foreign: tuple[ForeignVector, ...]
    share: tuple[float, float]
    median: float = 1.0


def check_vectors(embedder: Embedder, texts: Sequence[SampledText], stored: Vectors) -> VectorCheck:
    """Embed texts again; ``stored`` are their unit vectors. Raises ProviderError.

    A vector with a cosine below ``SAME_MODEL`` is of another model, another version of the model,
    or another text.
    """
    if not texts:
        return VectorCheck(0, (), (0.0, 1.0))
    fresh = embedder.embed([item.text for item in texts], "document")
    if fresh.shape != stored.shape:
        cosines = np.zeros(len(texts))
    else:
        cosines = np.einsum("ij,ij->i", stored, fresh, dtype=np.float64)
    foreign = [
        ForeignVector(item.passage, item.document, float(cosine))
        for item, cosine in zip(texts, cosines, strict=True)
        if cosine < SAME_MODEL
    ]
    low, high = rate_interval(len(foreign), len(texts))
    return VectorCheck(
        len(texts),
        tuple(sorted(foreign, key=lambda item: item.cosine)),
        (low, high),
        float(np.median(cosines)),
    )


KIND = "import-store"
UNRELATED = 0.5
"""The median cosine below which the stored vectors are of another model."""

_SAMPLE = 40
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
    check: VectorCheck | None
    notes: tuple[str, ...]


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
        payload: dict[str, Any] = {
            "store": store.model_dump(mode="json"),
            "embedder": recipe.index.embedder,
        }
        with self._services.database.write() as connection:
            title = f"Importing {store.name}"
            job = jobs.create(connection, self._base_id, KIND, title, payload, [(store.label, {})])
        self._jobs.wake()
        return job

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
    sample = opened.sample(_SAMPLE, guess) if layout.vectors else []
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


def check_rows(services: Services, embedder: str, rows: Sequence[StoreRow]) -> VectorCheck:
    """Compare the vectors of rows with those of their texts. Raises as ``require_dimension``."""
    stored = require_dimension(services, embedder, rows)
    texts = [SampledText(row.id, row.id, row.text) for row in rows]
    return check_vectors(services.models.embedder(embedder), texts, stored)


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
