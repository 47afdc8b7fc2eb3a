"""Exports of recipes for other engines, with the fidelity of each field, and of their passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from rag.experiments.exports.fidelity import (
    EngineExport,
    ExportedField,
    Fidelity,
    StatementData,
)
from rag.experiments.exports.pgvector import pgvector_export
from rag.experiments.exports.python_retrievers import langchain_export, llama_index_export
from rag.experiments.exports.qdrant import qdrant_export
from rag.experiments.exports.search_engines import elasticsearch_export, opensearch_export
from rag.recipe import Recipe
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
