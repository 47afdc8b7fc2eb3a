"""The corpus that a recipe searches, put together from services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rag import providers
from rag.errors import NotFound
from rag.evaluation.calibration import Calibration
from rag.protocols import ChatModel, Reranker, VectorView
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval import Corpus, IncompleteVectors, Listwise, filters
from rag.retrieval.languages import KnownLanguages
from rag.retrieval.topic import shipped
from rag.services.indexing.index import Index, lookup
from rag.services.services import Services
from rag.storage import Connection, Database, bases, documents, passages
from rag.types import TOOL, Chunk, Document, Hit, Keys


def corpus(
    services: Services,
    base_id: int,
    recipe: Recipe,
    index: Index,
    calibration: Calibration | None = None,
) -> Corpus:
    """Return the corpus that ``recipe`` searches in ``index``, with the components of its steps.

    ``calibration`` is the calibration of the recipe's threshold rule. Raises InvalidRecipe,
    ProviderError.
    """
    chat = services.models.step_chat(recipe.answer) if recipe.search.asks_chat else None
    model, _ = providers.vector_space(recipe.index.embedder)
    return Corpus(
        embedder=services.models.embedder(recipe.index.embedder),
        dense=vectors_of(index),
        lexical=index.lexical,
        lookup=lookup(services.database, base_id, index.cut_id, index.version),
        keys=index.passages,
        calibration=calibration,
        chat=chat,
        reranker=_reranker(services, recipe.search, chat),
        allowed=allowed(services, base_id, recipe.search, index),
        queries=services.queries,
        topic=None if recipe.search.refuse == "off" else shipped(model),
        languages=KnownLanguages(
            providers.languages(recipe.index.embedder), providers.multilingual_embedders()[0]
        ),
        default_threshold=providers.default_threshold(recipe.index.embedder),
    )


def vectors_of(index: Index) -> VectorView:
    """Return the search view of an index's vectors, of which some can still be missing."""
    if not len(index.without_vector):
        return index.dense
    return IncompleteVectors(index.dense, index.without_vector)


@dataclass(frozen=True, slots=True)
class StoredSurroundings:
    """Documents and passages of a cut, read as they are asked for."""

    database: Database
    base_id: int
    cut_id: int

    def document(self, document_id: str) -> Document | None:
        """A document, or None where it is not here."""
        try:
            with self.database.read() as connection:
                return documents.get(connection, self.base_id, document_id)
        except NotFound:
            return None

    def passages(self, document_id: str, first: int, last: int) -> list[Chunk]:
        """The passages of a document from order ``first`` to ``last``."""
        place = self.base_id, self.cut_id, document_id
        with self.database.read() as connection:
            return passages.between(connection, *place, first, last)


@dataclass(frozen=True, slots=True)
class StoredSources:
    """Documents of hits, read as they are asked for: from the base that searched, or the hit's."""

    database: Database
    base_id: int
    base: str

    def document(self, hit: Hit) -> Document | None:
        """The document of a hit, or None where it is gone."""
        return self._read(documents.get, hit.chunk.document_id, hit.base)

    def outline(self, hit: Hit) -> Document | None:
        """The same without its text."""
        return self.outline_of(hit.chunk.document_id, hit.base)

    def outline_of(self, document_id: str, base: str = "") -> Document | None:
        """A document of a base ("" for the one that searched) without its text."""
        return self._read(documents.outline, document_id, base)

    def _read(
        self, get: Callable[[Connection, int, str], Document], document_id: str, base: str
    ) -> Document | None:
        try:
            with self.database.read() as connection:
                other = base not in ("", self.base) and not document_id.startswith(TOOL)
                base_id = bases.get_base(connection, base).id if other else self.base_id
                return get(connection, base_id, document_id)
        except NotFound:
            return None


def _reranker(services: Services, search: SearchRecipe, chat: ChatModel | None) -> Reranker | None:
    if search.rerank == "chat":
        return None if chat is None else Listwise(chat, search.rerank_batch)
    return services.models.reranker(search.rerank, search.rerank_batch) if search.rerank else None


def allowed(services: Services, base_id: int, search: SearchRecipe, index: Index) -> Keys | None:
    """Keys of the passages that pass the filters of a recipe; None where it has none."""
    if not filters.is_filtered(search):
        return None
    with services.database.read() as connection:
        chosen = filters.fitting_documents(documents.traits(connection, base_id), search)
        if not filters.looks_at_passages(search):
            parts = [keys for name, keys in index.keys.items() if name in chosen]
            return np.concatenate([np.empty(0, np.int64), *parts])
        keys = [
            key
            for key, document_id, page, heading in passages.marks(connection, base_id, index.cut_id)
            if document_id in chosen
            and document_id in index.keys
            and filters.fits_passage(page, heading, search)
        ]
    return np.array(keys, np.int64)
