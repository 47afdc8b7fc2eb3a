"""Rows of deleted knowledge bases and cuts, deleted in portions; repairs of invalid values.

A base or a cut is marked, which hides it from everyone at once. Its rows go later, in transactions
that are so short that no other writer waits long. A killed process leaves the mark, and the next
one continues. So go the segments of large documents, and what storing one left.

Repairs mend texts and recipes that were stored before validation rejected them.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from rag.errors import InvalidRecipe, StorageError
from rag.input_rules import mend
from rag.recipe import Recipe
from rag.storage import builds, files, leases, registries, vectors
from rag.storage.database import Database
from rag.storage.every_table import metadata
from rag.storage.files import Files
from rag.storage.rows import insert_or_replace
from rag.storage.shared import segments
from rag.storage.shared.segments import Portions
from rag.storage.tables import chunk, cut, document, job, job_item, knowledge_base, recipe_version

log = logging.getLogger(__name__)

_SHORT_SECONDS = 2.0
_KEPT_PAGES = 1000  # of 4 kB
_WITH_BASE = frozenset({knowledge_base, job, job_item})  # deleted in the last transaction


class Deletion:
    """Deletes what is marked, in a thread of its own."""

    def __init__(self, database: Database, stored: Files) -> None:
        self._database = database
        self._files = stored
        self._turn = threading.Lock()
        self._more = threading.Event()
        self._stopped = threading.Event()

    def start(self) -> None:
        """Delete in another thread; return when all is deleted, or after two seconds.

        A thread that deletes already goes on with what was marked meanwhile.
        """
        self._more.set()
        if self._turn.locked():
            return
        thread = threading.Thread(target=self._logged, name="deletion", daemon=True)
        thread.start()
        thread.join(_SHORT_SECONDS)

    def stop(self) -> None:
        """End after the current portion; the next process continues."""
        self._stopped.set()
        with self._turn:
            return

    def run(self) -> None:
        """Delete the rows and files of all marked bases and cuts, and give their room back to the
        disk. Raises StorageError."""
        with self._turn:
            self._more.set()
            while self._more.is_set() and not self._stopped.is_set():
                self._more.clear()
                self._run()

    def _run(self) -> None:
        segments.give_up_lost(self._database)
        with self._database.read() as connection:
            hidden = sa.select(knowledge_base.c.id).where(knowledge_base.c.deleted)
            base_ids = connection.execute(hidden).scalars().all()
            marked = sa.select(cut.c.id).where(cut.c.name.startswith(builds.DELETED))
            cut_ids = connection.execute(marked).scalars().all()
        for cut_id in cut_ids:
            self._delete_cut(cut_id)
        for base_id in base_ids:
            self._delete_base(base_id)
        if base_ids:
            self._files.discard()
        self._give_back()

    def _give_back(self) -> None:
        """Give pages that nothing uses any more back to the disk, but for some to write on."""
        portions = Portions(self._database)
        while not self._stopped.is_set():
            spare = self._database.spare_pages() - _KEPT_PAGES
            if spare <= 0:
                return
            with portions.write() as connection:
                self._database.give_back(connection, min(spare, portions.rows))
            self._stopped.wait(portions.pause)

    def _logged(self) -> None:
        try:
            self.run()
        except StorageError:
            log.warning("Deleted data is still stored; the next start continues.", exc_info=True)

    def _delete_cut(self, cut_id: int) -> None:
        if self._delete_portions(chunk, chunk.c.cut_id == cut_id):
            with self._database.write() as connection:
                connection.execute(sa.delete(cut).where(cut.c.id == cut_id))

    def _delete_base(self, base_id: int) -> None:
        owned = {
            table: mine
            for table in reversed(metadata.sorted_tables)
            if table not in _WITH_BASE and (mine := _belongs(table, base_id)) is not None
        }
        # Most have no rows, and a transaction for each takes longer than all that it deletes.
        there = (
            sa.select(sa.literal(table.name)).where(sa.exists().where(mine))
            for table, mine in owned.items()
        )
        with self._database.read() as connection:
            names = set(connection.execute(sa.union_all(*there)).scalars())
        for table, mine in owned.items():
            if table.name in names:
                self._delete_portions(table, mine)
        if not self._stopped.is_set():
            with self._database.write() as connection:
                leases.drop(connection, files.of_base(connection, base_id))
                connection.execute(sa.delete(knowledge_base).where(knowledge_base.c.id == base_id))

    def _delete_portions(self, table: sa.Table, which: sa.ColumnElement[bool]) -> bool:
        """Delete rows until none is left; return False if that was stopped."""
        portions = Portions(self._database)
        while not self._stopped.is_set():
            rows = portions.rows
            with portions.write() as connection:
                deleted = _delete_some(connection, table, which, rows)
            if deleted < rows:
                return True
            self._stopped.wait(portions.pause)
        return False


def _belongs(table: sa.Table, base_id: int) -> sa.ColumnElement[bool] | None:
    """Whether a row goes with a base; None for tables whose rows do not."""
    if table is knowledge_base:
        return knowledge_base.c.id == base_id
    for key in table.foreign_key_constraints:
        owner = None if key.ondelete != "CASCADE" else _belongs(key.referred_table, base_id)
        if owner is not None:
            if "base_id" in table.c:
                return table.c["base_id"] == base_id
            there = [element.column for element in key.elements]
            return sa.tuple_(*key.columns).in_(sa.select(*there).where(owner))
    return None


def _delete_some(
    connection: sa.Connection, table: sa.Table, which: sa.ColumnElement[bool], most: int
) -> int:
    """Delete up to ``most`` rows, and what they alone refer to; return their number."""
    key = sa.tuple_(*table.primary_key)
    some = sa.delete(table).where(key.in_(sa.select(*table.primary_key).where(which).limit(most)))
    if table is chunk:
        hashes = connection.execute(some.returning(chunk.c.text_hash)).scalars().all()
        vectors.forget(connection, sorted(set(hashes)))
        return len(hashes)
    if table is document:
        ids = connection.execute(some.returning(document.c.id)).scalars().all()
        leases.drop(connection, ids)
        return len(ids)
    return connection.execute(some).rowcount


_RECIPES = (knowledge_base.c.recipe, recipe_version.c.recipe)
_SIGNS = (r"\u0000", r"\ud")  # how JSON writes the character 0, and half a character or an emoji


def mend_text(connection: sa.Connection, *, repair: bool) -> list[str]:
    """Find values of JSON with text that is none, recipes aside, by the names of their columns;
    ``repair`` stores them as they are read anyway."""
    mended = []
    for table in metadata.sorted_tables:
        for column in (candidate for candidate in table.c if isinstance(candidate.type, sa.JSON)):
            if any(column is recipe_column for recipe_column in _RECIPES):
                continue
            for row, value in _spoilt(connection, table, column):
                mended.append(f"{table.name}.{column.name}")
                if repair:
                    mine = [key == row._mapping[key.name] for key in table.primary_key]
                    connection.execute(sa.update(table).where(*mine).values({column: value}))
    return mended


def _spoilt(
    connection: sa.Connection, table: sa.Table, column: sa.Column[Any]
) -> Iterator[tuple[sa.Row[Any], Any]]:
    text = sa.cast(column, sa.Text)
    suspicious = sa.or_(*(text.contains(sign, autoescape=True) for sign in _SIGNS))
    statement: sa.Select[Any] = sa.select(*table.primary_key, text.label("stored"))
    for row in connection.execute(statement.where(suspicious)).all():
        stored = json.loads(row.stored)
        if (value := mend(stored)) != stored:
            yield row, value


def mend_recipes(connection: sa.Connection, *, repair: bool) -> list[str]:
    """Find saved recipes, and versions of them, that would be refused today, by the names of their
    bases; ``repair`` stores them as they are read anyway."""
    mended = []
    for row, recipe in _refused(connection, knowledge_base):
        mended.append(f"the recipe of {row.name}")
        if repair:
            mine = knowledge_base.c.id == row.id
            data = recipe.model_dump(mode="json")
            connection.execute(sa.update(knowledge_base).where(mine).values(recipe=data))
    names = {row.id: row.name for row in connection.execute(sa.select(knowledge_base))}
    for row, recipe in _refused(connection, recipe_version):
        mended.append(f"version {row.hash} of the recipe of {names[row.base_id]}")
        if repair:
            _replace_version(connection, row, recipe)
    return mended


def _refused(connection: sa.Connection, table: sa.Table) -> Iterator[tuple[sa.Row[Any], Recipe]]:
    rows = connection.execute(
        sa.select(table, sa.cast(table.c.recipe, sa.Text).label("stored"))
    ).all()
    for row in rows:
        if _is_beyond(json.loads(row.stored)):
            yield row, Recipe.restore(row.recipe)


def _is_beyond(stored: Any) -> bool:
    try:
        Recipe.parse(stored)
    except InvalidRecipe:
        return True
    return False


def _replace_version(connection: sa.Connection, row: sa.Row[Any], recipe: Recipe) -> None:
    """Store a version under the hash that it has by now, with the name that it was given."""
    key = {"base_id": row.base_id, "hash": recipe.hash, "saved": row.saved}
    mine = (recipe_version.c.base_id == row.base_id) & (recipe_version.c.hash == row.hash)
    connection.execute(sa.delete(recipe_version).where(mine))
    insert_or_replace(connection, recipe_version, key | {"recipe": recipe.model_dump(mode="json")})
    name = registries.list_recipe_names(connection, row.base_id).get(row.hash, "")
    if name and recipe.hash != row.hash:
        registries.name_recipe(connection, row.base_id, row.hash, "")
        registries.name_recipe(connection, row.base_id, recipe.hash, name)
