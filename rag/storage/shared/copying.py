"""Copies of rows: of one knowledge base as those of another, and of a whole database.

Rows of a knowledge base are copied within the database, so that no text passes through this
process. Passages keep their keys; vectors and originals are shared, as both are stored by what they
hold.

Rows of a server's database are copied to an SQLite file, and back, so that all backups are alike.
They go through the tables as this version knows them: a backup may be restored into the other kind
of database too, and one of an earlier version is brought up to date as a file first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rag.errors import InvalidInput, StorageError
from rag.storage import bases, builds, sqlite_file
from rag.storage.database import Database
from rag.storage.every_table import metadata
from rag.storage.files import store_parts
from rag.storage.passage_edits import passage_edit
from rag.storage.registries import prompt_text, recipe_name
from rag.storage.rows import read
from rag.storage.shared.segments import Segments
from rag.storage.tables import (
    build,
    calibration,
    chunk,
    cut,
    document,
    document_part,
    evidence,
    file_part,
    indexed,
    question,
    question_set,
    recipe_version,
    vector_build,
)


def missing(connection: sa.Connection, source: int, target: int) -> list[str]:
    """Ids of the documents that a copy lacks, by name; one that has the name of another stays
    away."""
    there = document.alias()
    same = sa.or_(there.c.id == document.c.id, there.c.name == document.c.name)
    exists_there = sa.select(there.c.id).where(there.c.base_id == target, same).exists()
    statement = sa.select(document.c.id).where(document.c.base_id == source, ~exists_there)
    return list(connection.execute(statement.order_by(document.c.name)).scalars())


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """The segment of a large document, and the name of its cut."""

    id: int
    document_id: str
    cut_name: str


def segments(connection: sa.Connection, source: int, ids: Sequence[str]) -> list[SourceSegment]:
    """The segments of some documents in all builds."""
    whole = cut.alias()
    statement = (
        sa.select(cut.c.id, cut.c.document_id, whole.c.name.label("cut_name"))
        .join(whole, whole.c.id == cut.c.segment_of)
        .where(cut.c.base_id == source, cut.c.document_id.in_(ids))
        .where(whole.c.id.in_(sa.select(build.c.cut_id)))
        .order_by(cut.c.id)
    )
    return [read(SourceSegment, row) for row in connection.execute(statement)]


def copy_segment(
    arriving: Segments, target: int, segment: SourceSegment, on_stored: Callable[[int], None]
) -> None:
    """Copy the passages of a segment, in portions. Raises StorageError."""
    last = [-1]  # no key is negative

    def copy(connection: sa.Connection, new_id: int, rows: int) -> int:
        mine = chunk.c.cut_id == segment.id
        some = sa.select(chunk.c.key).where(mine, chunk.c.key > last[0]).order_by(chunk.c.key)
        keys = connection.execute(some.limit(rows)).scalars().all()
        if keys:
            which = mine & chunk.c.key.between(keys[0], keys[-1])
            _copy(connection, chunk, which, base_id=target, cut_id=new_id)
            last[0] = keys[-1]
        return len(keys)

    arriving.store(segment.document_id, segment.cut_name, copy, on_stored)


def passages_of(connection: sa.Connection, source: int, ids: Sequence[str]) -> dict[str, int]:
    """Numbers of passages of documents in all builds, without those of segments."""
    mine = _of(chunk, source, "document_id", ids) & chunk.c.cut_id.in_(sa.select(build.c.cut_id))
    count = (
        sa.select(chunk.c.document_id, sa.func.count()).where(mine).group_by(chunk.c.document_id)
    )
    return {row[0]: row[1] for row in connection.execute(count)}


def documents(
    connection: sa.Connection,
    source: int,
    target: int,
    ids: Sequence[str],
    arriving: Segments,
    copied: Sequence[SourceSegment],
) -> bool:
    """Copies documents with their edits, and with their passages in every build.

    ``copied`` are those of large documents; where they are not the current ones any more, nothing
    is copied: False. A document whose vectors are not all in is no part of a build of the copy.
    Raises NotFound where the source was deleted.
    """
    bases.hold(connection, source)  # nothing that is copied is deleted meanwhile
    if list(copied) != segments(connection, source, ids):
        return False
    _builds(connection, source, target)
    _copy(connection, document, _of(document, source, "id", ids), base_id=target, recut=0)
    for table in (document_part, passage_edit):
        _copy(connection, table, _of(table, source, "document_id", ids), base_id=target)
    passages = _of(chunk, source, "document_id", ids) & chunk.c.cut_id.in_(
        sa.select(build.c.cut_id)
    )
    _copy(connection, chunk, passages, base_id=target, cut_id=_cut_of(chunk, target))
    for segment in copied:
        cut_id = builds.ensure_cut(connection, target, segment.cut_name)
        arriving.add(connection, segment.document_id, segment.cut_name, cut_id)
    whole = _of(indexed, source, "document_id", ids) & ~indexed.c.waits
    _copy(connection, indexed, whole, base_id=target)
    bases.touch(connection, target)
    return True


def all_else(connection: sa.Connection, source: int, target: int) -> None:
    """Copies recipes, prompts, calibrations, question sets, labels, and edits that wait
    for their document, as far as the copy has none of that name. Call it after the
    documents.

    Raises NotFound where the source was deleted.
    """
    bases.hold(connection, source)
    _builds(connection, source, target)
    for table, key in (
        (recipe_version, "hash"),
        (recipe_name, "hash"),
        (prompt_text, "name"),
        (calibration, "build_hash"),
        (question_set, "name"),
        (passage_edit, "document_id"),  # those of present documents are there already
    ):
        _copy(connection, table, _new(table, key, source, target), base_id=target)
    old, new = question_set.alias(), question_set.alias()
    pairs = sa.select(old.c.id, new.c.id).join(new, new.c.name == old.c.name)
    for theirs, mine in connection.execute(
        pairs.where(old.c.base_id == source, new.c.base_id == target)
    ).all():
        statement = sa.select(question.c.id).where(question.c.set_id == mine).limit(1)
        if connection.execute(statement).first() is None:  # else it was made in the copy meanwhile
            _copy(connection, question, question.c.set_id == theirs, set_id=mine)
            _copy(connection, evidence, evidence.c.set_id == theirs, set_id=mine)


def _builds(connection: sa.Connection, source: int, target: int) -> None:
    built = cut.c.id.in_(sa.select(build.c.cut_id))  # other cuts go with runs, which are not copied
    _copy(connection, cut, _new(cut, "name", source, target) & built, base_id=target)
    new = _new(build, "hash", source, target)
    _copy(connection, build, new, base_id=target, cut_id=_cut_of(build, target))


def _copy(
    connection: sa.Connection, table: sa.Table, which: sa.ColumnElement[bool], **instead: Any
) -> None:
    """Insert rows of a table once more, in their order, with other values in some columns."""
    columns = [column for column in table.columns if column is not table.autoincrement_column]
    values = [_value(column, instead) for column in columns]
    rows = sa.select(*values).where(which).order_by(*table.primary_key)
    connection.execute(sa.insert(table).from_select([column.name for column in columns], rows))


def _value(column: sa.ColumnElement[Any], instead: dict[str, Any]) -> sa.ColumnElement[Any]:
    if column.key not in instead:
        return column
    value = instead[column.key]
    return value if isinstance(value, sa.ColumnElement) else sa.literal(value, column.type)


def _of(table: sa.Table, source: int, key: str, ids: Sequence[str]) -> sa.ColumnElement[bool]:
    return (table.c.base_id == source) & table.c[key].in_(ids)


def _new(table: sa.Table, key: str, source: int, target: int) -> sa.ColumnElement[bool]:
    """Rows of the source whose key the target does not have."""
    there = table.alias()
    present_keys = sa.select(there.c[key]).where(there.c.base_id == target)
    return (table.c.base_id == source) & table.c[key].not_in(present_keys)


def _cut_of(table: sa.Table, target: int) -> sa.ColumnElement[Any]:
    """The cut of the target that is called like that of a row."""
    old, new = cut.alias(), cut.alias()
    same = sa.select(new.c.id).join(old, old.c.name == new.c.name)
    return same.where(new.c.base_id == target, old.c.id == table.c.cut_id).scalar_subquery()


_ELSEWHERE = {file_part.name, vector_build.name}  # files go beside; indexes are made again
_TABLES = tuple(table for table in metadata.sorted_tables if table.name not in _ELSEWHERE)
_ROWS = 200  # at once: a row may hold a megabyte of text


def save_as_file(database: Database, file: Path) -> None:
    """Write all rows into a new SQLite file, as they are at one moment. Raises StorageError."""
    file.unlink(missing_ok=True)
    with closing(Database(sqlite_file.url(file))) as copy:
        if not database.up_to_date():
            raise StorageError("The database has the schema of another version.", "Start anew.")
        with database.read() as source, copy.write() as target:
            _copy_all(source, target)


def load_from_file(copy: Database, database: Database, files: Mapping[str, Path]) -> None:
    """Fill an empty database on a server: with all rows and files (by SHA-256), or none.

    Raises InvalidInput where it holds something, StorageError.
    """
    with copy.read() as source, database.write() as target:
        if any(
            target.execute(sa.select(table).limit(1)).first() for table in metadata.sorted_tables
        ):
            raise InvalidInput(
                "The database is not empty.",
                "Create a new one, and set TOUCHSTONE_DATABASE_URL to it.",
            )
        _copy_all(source, target)
        for sha256, path in files.items():
            store_parts(target, sha256, path)
        for table in filter(_counts, _TABLES):
            # Let the numbers of new rows begin behind those that were brought in
            column = table.autoincrement_column
            assert column is not None
            counter = sa.func.pg_get_serial_sequence(table.name, column.name)
            last = sa.select(sa.func.setval(counter, sa.func.max(column))).where(
                column.is_not(None)
            )
            target.execute(last.having(sa.func.count() > 0))


def _copy_all(source: sa.Connection, target: sa.Connection) -> None:
    on_server = target.dialect.name == "postgresql"
    for table in _TABLES:
        fill = sa.insert(table).values({c.name: _given(c, on_server) for c in table.columns})
        read = sa.select(*(_verbatim(column) for column in table.columns))
        result = source.execute(read, execution_options={"yield_per": _ROWS})
        for rows in result.mappings().partitions():
            target.execute(fill, [dict(row) for row in rows])


def _verbatim(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """JSON as it is written: read and written again, its null would become that of SQL."""
    named = isinstance(column.type, sa.JSON)
    return sa.cast(column, sa.Text).label(column.key) if named else column


def _given(column: sa.ColumnElement[Any], on_server: bool) -> sa.ColumnElement[Any]:
    if not isinstance(column.type, sa.JSON):
        return sa.bindparam(column.key, type_=column.type)
    text: sa.ColumnElement[Any] = sa.bindparam(column.key, type_=sa.Text())
    return sa.cast(text, sa.JSON) if on_server else sa.type_coerce(text, sa.Text)


def _counts(table: sa.Table) -> bool:
    return table.autoincrement_column is not None
