"""Repairs of values that were stored before validation rejected them.

These values are invalid text, and recipes beyond their bounds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Row,
    Select,
    Table,
    Text,
    cast,
    delete,
    or_,
    select,
    update,
)

from rag.errors import InvalidRecipe
from rag.input_rules import mend
from rag.recipe import Recipe
from rag.storage import recipe_names
from rag.storage.every_table import metadata
from rag.storage.rows import insert_or_replace
from rag.storage.tables import knowledge_base, recipe_version

_RECIPES = (knowledge_base.c.recipe, recipe_version.c.recipe)
_SIGNS = (r"\u0000", r"\ud")  # how JSON writes the character 0, and half a character or an emoji


def mend_text(connection: Connection, *, repair: bool) -> list[str]:
    """Find values of JSON with text that is none, recipes aside, by the names of their columns;
    ``repair`` stores them as they are read anyway."""
    mended = []
    for table in metadata.sorted_tables:
        for column in (candidate for candidate in table.c if isinstance(candidate.type, JSON)):
            if any(column is recipe_column for recipe_column in _RECIPES):
                continue
            for row, value in _spoilt(connection, table, column):
                mended.append(f"{table.name}.{column.name}")
                if repair:
                    mine = [key == row._mapping[key.name] for key in table.primary_key]
                    connection.execute(update(table).where(*mine).values({column: value}))
    return mended


def _spoilt(
    connection: Connection, table: Table, column: Column[Any]
) -> Iterator[tuple[Row[Any], Any]]:
    text = cast(column, Text)
    suspicious = or_(*(text.contains(sign, autoescape=True) for sign in _SIGNS))
    statement: Select[Any] = select(*table.primary_key, text.label("stored"))
    for row in connection.execute(statement.where(suspicious)).all():
        stored = json.loads(row.stored)
        if (value := mend(stored)) != stored:
            yield row, value


def mend_recipes(connection: Connection, *, repair: bool) -> list[str]:
    """Find saved recipes, and versions of them, that would be refused today, by the names of their
    bases; ``repair`` stores them as they are read anyway."""
    mended = []
    for row, recipe in _refused(connection, knowledge_base):
        mended.append(f"the recipe of {row.name}")
        if repair:
            mine = knowledge_base.c.id == row.id
            data = recipe.model_dump(mode="json")
            connection.execute(update(knowledge_base).where(mine).values(recipe=data))
    names = {row.id: row.name for row in connection.execute(select(knowledge_base))}
    for row, recipe in _refused(connection, recipe_version):
        mended.append(f"version {row.hash} of the recipe of {names[row.base_id]}")
        if repair:
            _replace_version(connection, row, recipe)
    return mended


def _refused(connection: Connection, table: Table) -> Iterator[tuple[Row[Any], Recipe]]:
    rows = connection.execute(select(table, cast(table.c.recipe, Text).label("stored"))).all()
    for row in rows:
        if _is_beyond(json.loads(row.stored)):
            yield row, Recipe.restore(row.recipe)


def _is_beyond(stored: Any) -> bool:
    try:
        Recipe.parse(stored)
    except InvalidRecipe:
        return True
    return False


def _replace_version(connection: Connection, row: Row[Any], recipe: Recipe) -> None:
    """Store a version under the hash that it has by now, with the name that it was given."""
    key = {"base_id": row.base_id, "hash": recipe.hash, "saved": row.saved}
    mine = (recipe_version.c.base_id == row.base_id) & (recipe_version.c.hash == row.hash)
    connection.execute(delete(recipe_version).where(mine))
    insert_or_replace(connection, recipe_version, key | {"recipe": recipe.model_dump(mode="json")})
    name = recipe_names.list_recipe_names(connection, row.base_id).get(row.hash, "")
    if name and recipe.hash != row.hash:
        recipe_names.put(connection, row.base_id, row.hash, "")
        recipe_names.put(connection, row.base_id, recipe.hash, name)
