"""Names that people give to the recipes of a knowledge base."""

from __future__ import annotations

from sqlalchemy import Column, Connection, String, Table, bindparam, delete, select

from rag.storage.rows import insert_or_replace
from rag.storage.tables import base_id as owner
from rag.storage.tables import metadata

recipe_name = Table(
    "recipe_name",
    metadata,
    owner(primary=True),
    Column("hash", String(12), primary_key=True),
    Column("name", String, nullable=False),
)

_NAMES = select(recipe_name).where(recipe_name.c.base_id == bindparam("base_id"))


def list_recipe_names(connection: Connection, base_id: int) -> dict[str, str]:
    """Names by the hash of a recipe."""
    rows = connection.execute(_NAMES, {"base_id": base_id})
    return {row.hash: row.name for row in rows}


def put(connection: Connection, base_id: int, recipe_hash: str, name: str) -> None:
    """Give a recipe a name, or none where it is empty."""
    if name:
        key = {"base_id": base_id, "hash": recipe_hash}
        insert_or_replace(connection, recipe_name, {**key, "name": name})
        return
    mine = (recipe_name.c.base_id == base_id) & (recipe_name.c.hash == recipe_hash)
    connection.execute(delete(recipe_name).where(mine))
