"""Recipes: saved versions, what they mean, and their exports to other engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from rag.errors import InvalidInput
from rag.experiments.exports.fidelity import (
    EngineExport,
    ExportedField,
    Fidelity,
    StatementData,
    exported_fields,
)
from rag.experiments.exports.pgvector import pgvector_export
from rag.experiments.exports.python_retrievers import langchain_export, llama_index_export
from rag.experiments.exports.qdrant import qdrant_export
from rag.experiments.exports.search_engines import elasticsearch_export, opensearch_export
from rag.library.documents.bulk_jobs import Build
from rag.operation import operation
from rag.recipe import Recipe
from rag.search.corpus import threshold_rule
from rag.services.jobs import Jobs
from rag.services.services import Services
from rag.storage import Connection, bases, builds, documents, passages
from rag.types.schema import Schema


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


ExportTarget = Literal[
    "qdrant",
    "pgvector",
    "elasticsearch",
    "opensearch",
    "langchain",
    "llama_index",
]
EXPORT_TARGETS: Mapping[ExportTarget, Callable[[Recipe, int, float | None], EngineExport]] = {
    "qdrant": qdrant_export,
    "pgvector": pgvector_export,
    "elasticsearch": elasticsearch_export,
    "opensearch": opensearch_export,
    "langchain": langchain_export,
    "llama_index": llama_index_export,
}
_ENDINGS = {"pgvector": ".sql", "langchain": ".py", "llama_index": ".py"}


class RecipeExportData(Schema):
    """A recipe for another engine; ``recipe`` is its hash.

    ``statements`` create the store, load one passage and ask one question, with placeholders.
    ``fields`` are those of the index and the search; the answer is no part of an export.
    """

    target: ExportTarget
    recipe: str
    statements: tuple[StatementData, ...]
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


_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class SavedRecipe:
    """The outcome of saving a recipe.

    ``saved`` is False if another recipe was saved meanwhile. ``job`` builds what the index lacks.
    """

    saved: bool
    job: int | None = None


class Recipes:
    """The recipes of one knowledge base."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._database = services.database
        self._base_id = base_id

    @operation("viewer")
    def versions(self) -> list[tuple[datetime, Recipe]]:
        """All recipes that were saved, newest first."""
        return self._database.fetch(bases.saved_recipes, self._base_id)

    @operation("editor", audit="recipe")
    def save(self, recipe: Recipe, instead_of: Recipe | None = None) -> bool:
        """Make a recipe the saved one, earlier ones stay; not if that is no more ``instead_of``.

        Raises InvalidRecipe for an embedder or analyzer that nobody knows, ProviderRejected for a
        key that is not set.
        """
        self._services.models.require(recipe.index)
        return self._database.execute(self._save, recipe, instead_of)

    @operation("editor", audit="recipe")
    def save_and_build(self, recipe: Recipe, instead_of: Recipe | None = None) -> SavedRecipe:
        """Save a recipe and queue the build that its index lacks. Raises as ``save``."""
        self._services.models.require(recipe.index)
        with self._database.write() as connection:
            if not self._save(connection, recipe, instead_of):
                return SavedRecipe(saved=False)
            if not builds.missing(connection, self._base_id, recipe.index.hash):
                return SavedRecipe(saved=True)
            build = Build(recipe=recipe.index)
            job = build.queue(connection, self._base_id, build.title)
        self._jobs.wake()
        return SavedRecipe(saved=True, job=job)

    def _save(self, connection: Connection, recipe: Recipe, instead_of: Recipe | None) -> bool:
        """Save a recipe with the row of its build, so that new documents get into its index."""
        bases.hold(connection, self._base_id)
        if not bases.save_recipe(connection, self._base_id, recipe, instead_of):
            return False
        builds.ensure(connection, self._base_id, recipe.index)
        return True

    @operation("guest", models="none")
    def threshold(self, recipe: Recipe) -> float | None:
        """The least relevance that a recipe asks for: ``auto`` as a number, None for no limit.

        Raises InvalidInput for a probability without a calibration.
        """
        return threshold_rule(self._services, self._base_id, recipe.index, recipe.search).threshold

    @operation("guest", models="none")
    def count_tokens(self, text: str, recipe: Recipe) -> int:
        """Length of a text as budgets count it: in tokens of the recipe's embedder."""
        return self._services.models.embedder(recipe.index.embedder).tokenizer.count(text)

    @operation("viewer", audit="export")
    def passages(self, recipe: Recipe, *, vectors: bool = False) -> Iterator[ExportedPassage]:
        """Generate the passages of a recipe's index in the order of their ids.

        Raises InvalidInput while documents lack vectors.
        """
        index = self._services.indexes.complete(self._base_id, recipe.index)
        for start in range(0, len(index.passages), _AT_ONCE):
            keys = index.passages[start : start + _AT_ONCE]
            with self._database.read() as connection:
                chunks = passages.by_key(connection, index.cut_id, keys.tolist())
                ids = sorted({chunk.document_id for chunk in chunks.values()})
                names = documents.names(connection, self._base_id, ids)
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

    @operation("viewer")
    def export(self, recipe: Recipe, target: ExportTarget) -> RecipeExportData:
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
        return RecipeExportData(
            target=target, recipe=recipe.hash, statements=statements, fields=fields
        )
