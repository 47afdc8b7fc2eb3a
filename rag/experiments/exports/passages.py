"""Passages of a recipe's index, to load into another engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rag.recipe import IndexRecipe
from rag.services.services import Services
from rag.storage import documents, passages

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class ExportedPassage:
    """A passage for another engine.

    ``id`` is its id in searches and run files, and ``number`` the same as an integer, for engines
    that take only those. The engine indexes ``context``, a line break and ``text``, or ``text``
    alone where there is no context. ``vector`` has length one; None if it was not asked for.
    """

    id: str
    number: int
    text: str
    context: str
    document: str
    page: int | None
    vector: list[float] | None = None


def exported_passages(
    services: Services, base_id: int, recipe: IndexRecipe, *, vectors: bool
) -> Iterator[ExportedPassage]:
    """Generate the passages of an index in the order of their ids, which breaks ties.

    Raises InvalidInput while documents lack vectors.
    """
    index = services.indexes.complete(base_id, recipe)
    for start in range(0, len(index.passages), _AT_ONCE):
        keys = index.passages[start : start + _AT_ONCE]
        with services.database.read() as connection:
            chunks = passages.by_key(connection, index.cut_id, keys.tolist())
            ids = sorted({chunk.document_id for chunk in chunks.values()})
            names = documents.names(connection, base_id, ids)
        rows = index.dense.vectors(keys).tolist() if vectors else [None] * len(keys)
        for key, vector in zip(keys.tolist(), rows, strict=True):
            chunk = chunks[key]
            yield ExportedPassage(
                id=chunk.id,
                number=key,
                text=chunk.text,
                context=chunk.context,
                document=names[chunk.document_id],
                page=chunk.page,
                vector=vector,
            )
