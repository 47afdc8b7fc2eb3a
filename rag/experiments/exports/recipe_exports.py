"""Exports of recipes for other engines, with the fidelity of each field, and of their passages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from rag.errors import InvalidInput
from rag.experiments.exports.fidelity import (
    EngineExport,
    ExportedField,
    Fidelity,
    Statement,
    exported_fields,
)
from rag.experiments.exports.pgvector import pgvector_export
from rag.experiments.exports.python_retrievers import langchain_export, llama_index_export
from rag.experiments.exports.qdrant import qdrant_export
from rag.experiments.exports.search_engines import elasticsearch_export, opensearch_export
from rag.operation import operation
from rag.recipe import IndexRecipe, Recipe
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


ExportTarget = Literal[
    "qdrant",
    "pgvector",
    "elasticsearch",
    "opensearch",
    "langchain",
    "llama_index",
]
EXPORT_TARGETS: Mapping[str, Callable[[Recipe, int, float | None], EngineExport]] = {
    "qdrant": qdrant_export,
    "pgvector": pgvector_export,
    "elasticsearch": elasticsearch_export,
    "opensearch": opensearch_export,
    "langchain": langchain_export,
    "llama_index": llama_index_export,
}
_ENDINGS = {"pgvector": ".sql", "langchain": ".py", "llama_index": ".py"}


@dataclass(frozen=True, slots=True)
class RecipeExport:
    """A recipe for another engine.

    ``statements`` create the store, load one passage and ask one question, with placeholders.
    ``fields`` are those of the index and the search; the answer is no part of an export.
    """

    target: str
    recipe: str
    statements: tuple[Statement, ...]
    fields: tuple[ExportedField, ...]

    @property
    def file_name(self) -> str:
        """A name for the file, with the ending of its language."""
        return f"recipe-{self.target}{_ENDINGS.get(self.target, '.txt')}"

    @property
    def text(self) -> str:
        """One file: the inexact fields as comments, then the statements."""
        mark = "--" if self.target == "pgvector" else "#"
        lines = [
            f"{mark} Recipe {self.recipe} for {self.target}",
            f"{mark} Passages: python -m rag export-passages KB --vectors -o passages.jsonl",
        ]
        for field in self.fields:
            if field.fidelity != "exact":
                lines.append(f"{mark} {field.name}: {field.fidelity}; {field.reason}")
        for statement in self.statements:
            lines += ["", f"{mark} {statement.purpose}"]
            lines += filter(None, [statement.request, statement.content])
        return "\n".join(lines) + "\n"

    def count(self, fidelity: Fidelity) -> int:
        """The number of fields of a fidelity."""
        return sum(field.fidelity == fidelity for field in self.fields)


class RecipeExports:
    """Exports of recipes for other engines."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id

    @operation("viewer", audit="export")
    def passages(self, recipe: Recipe, *, vectors: bool = False) -> Iterator[ExportedPassage]:
        """Generate the passages of a recipe's index in the order of their ids.

        Raises InvalidInput while documents lack vectors.
        """
        return exported_passages(self._services, self._base_id, recipe.index, vectors=vectors)

    @operation("viewer")
    def export(self, recipe: Recipe, target: str) -> RecipeExport:
        """Write a recipe for an engine of ``EXPORT_TARGETS``.

        Raises InvalidInput for another target, and as the embedder where its dimension is unknown.
        """
        if target not in EXPORT_TARGETS:
            raise InvalidInput(
                f"No export is for {target[:100]!r}.", f"Choose one of: {', '.join(EXPORT_TARGETS)}"
            )
        models = self._services.models
        threshold = models.threshold(recipe.index.embedder, recipe.search)
        dimension = models.embedder(recipe.index.embedder).dimension
        statements, rules = EXPORT_TARGETS[target](recipe, dimension, threshold)
        fields = exported_fields(recipe, threshold, rules)
        return RecipeExport(target, recipe.hash, statements, fields)
