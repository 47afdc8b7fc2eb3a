"""Exports of recipes as JSON."""

from __future__ import annotations

from pydantic import Field

from rag.experiments.exports.fidelity import ExportedField
from rag.experiments.exports.recipe_exports import ExportTarget
from rag.workspace.schemas.schema import Schema


class StatementData(Schema):
    """One call of an engine, with placeholders, or a file for it."""

    purpose: str
    request: str = Field(description="method and path, empty for SQL and files")
    content: str = Field(description="a JSON body, SQL or a file")


class RecipeExportData(Schema):
    """A recipe for another engine; ``recipe`` is its hash."""

    target: ExportTarget
    recipe: str
    statements: list[StatementData]
    fields: list[ExportedField]
