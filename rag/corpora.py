"""The corpus that a recipe searches, put together from services."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rag.errors import NotFound
from rag.evaluation.calibration import Calibration
from rag.indexing import Index, lookup
from rag.recipe import Recipe, SearchRecipe
from rag.retrieval import Corpus, filters
from rag.services import Services
from rag.storage import Database, documents, passages
from rag.types import Chunk, Document, Keys


def corpus(
    services: Services,
    base_id: int,
    recipe: Recipe,
    index: Index,
    calibration: Calibration | None = None,
) -> Corpus:
    """What ``recipe`` searches in ``index``, with what its steps need.

    ``calibration`` is that of the recipe's limit. Raises InvalidRecipe or ProviderError.
    """
    return Corpus(
        embedder=services.models.embedder(recipe.index.embedder),
        dense=index.dense,
        lexical=index.lexical,
        lookup=lookup(services.database, base_id, index.cut_id),
        calibration=calibration,
        allowed=allowed(services, base_id, recipe.search, index),
    )


@dataclass(frozen=True, slots=True)
class Surroundings:
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


def allowed(services: Services, base_id: int, search: SearchRecipe, index: Index) -> Keys | None:
    """Keys of the passages that pass the filters of a recipe; None where it has none."""
    if not filters.is_filtered(search):
        return None
    with services.database.read() as connection:
        chosen = filters.fitting_documents(documents.traits(connection, base_id), search)
        if not filters.looks_at_passages(search):
            parts = [held for name, held in index.keys.items() if name in chosen]
            return np.concatenate([np.empty(0, np.int64), *parts])
        found = [
            key
            for key, document_id, page, heading in passages.marks(connection, base_id, index.cut_id)
            if document_id in chosen
            and document_id in index.keys
            and filters.fits_passage(page, heading, search)
        ]
    return np.array(found, np.int64)
