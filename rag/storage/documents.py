"""Documents as rows. A document is written in one transaction with its passages, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, delete, func, insert, select, update

from rag.errors import NotFound
from rag.storage import builds, leases, passage_edits
from rag.storage.rows import listable, read, values
from rag.storage.tables import (
    build,
    chunk,
    cut,
    document,
    document_part,
    evidence,
    indexed,
    knowledge_base,
    question_set,
)
from rag.types import Document, Heading, Omission, Page, Receipt, Table

_PART = 1 << 20  # characters of a document in one row
_GLANCE = 4096  # characters that are read at once where words are looked for

# Every page that is drawn reads it: putting it together costs more than its answer.
_COUNTS = select(document.c.base_id, func.count().label("documents")).group_by(document.c.base_id)


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document without its text. ``passages`` counts those of a build, where one was asked for.

    ``date`` is the day that it states itself, as ``2024-01-31``, "" for none: filters by date then
    use the day it was added. ``left_out`` tells that all of its text is left out of search.
    ``receipt`` is None for a document from before readers gave one.
    """

    id: str
    name: str
    source: str
    media_type: str
    characters: int
    pages: int
    added: datetime
    tags: tuple[str, ...]
    date: str
    receipt: Receipt | None
    passages: int = 0
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class DocumentTraits:
    """The properties by which documents are filtered.

    ``day`` is the document's own date if its metadata has one, else the day on which it was added,
    as ``2024-01-31``.
    """

    id: str
    name: str
    media_type: str
    tags: tuple[str, ...]
    day: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A document, when it came, and the version of the reader that made its text."""

    id: str
    name: str
    source: str
    media_type: str
    reader_version: int
    added: datetime
    metadata: Mapping[str, str]


def insert_document(
    connection: Connection, base_id: int, value: Document, tags: Sequence[str] = ()
) -> None:
    """Store ``value``. The caller has removed what it replaces."""
    new = values(
        document,
        value,
        base_id=base_id,
        pages=[astuple(page) for page in value.pages],
        headings=[asdict(heading) for heading in value.headings],
        tables=[asdict(table) for table in value.tables],
        metadata=dict(value.metadata),
        characters=len(value.text),
        added=datetime.now(UTC),
        tags=list(tags),
        receipt=asdict(value.receipt) if value.receipt else None,
    )
    connection.execute(insert(document).values(new))
    for position, start in enumerate(range(0, len(value.text), _PART)):
        part = value.text[start : start + _PART]
        connection.execute(
            insert(document_part).values(
                base_id=base_id, document_id=value.id, position=position, text=part
            )
        )


def get(connection: Connection, base_id: int, document_id: str) -> Document:
    """One document, whole. Raises NotFound."""
    return _document(connection, base_id, document_id, text(connection, base_id, document_id))


def outline(connection: Connection, base_id: int, document_id: str) -> Document:
    """One document without its text: its pages and headings. Raises NotFound."""
    return _document(connection, base_id, document_id, "")


def _document(connection: Connection, base_id: int, document_id: str, words: str) -> Document:
    row = connection.execute(select(document).where(_is(base_id, document_id))).first()
    if row is None:
        raise _gone()
    return read(
        Document,
        row,
        text=words,
        pages=tuple(Page(*page) for page in row.pages),
        headings=tuple(Heading(**heading) for heading in row.headings),
        tables=tuple(_table(**table) for table in row.tables),
        edits=tuple(
            stored.edit for stored in passage_edits.of_document(connection, base_id, document_id)
        ),
        receipt=_receipt(row.receipt),
    )


def _table(labels: Sequence[str], **rest: Any) -> Table:
    return Table(labels=tuple(labels), **rest)


def _receipt(stored: Mapping[str, Any] | None) -> Receipt | None:
    if stored is None:
        return None
    return Receipt(stored["read"], tuple(Omission(**part) for part in stored["left_out"]))


def text(connection: Connection, base_id: int, document_id: str) -> str:
    """The text of a document, "" where there is none of this id."""
    parts = connection.execute(
        select(document_part.c.text)
        .where(document_part.c.base_id == base_id, document_part.c.document_id == document_id)
        .order_by(document_part.c.position)
    )
    return "".join(parts.scalars())


def stretch(connection: Connection, base_id: int, document_id: str, start: int, end: int) -> str:
    """The characters from ``start`` to ``end`` of a document, as far as it has them."""
    parts = document_part.c
    first, last = start // _PART, max(start, end - 1) // _PART
    at, length = start % _PART, max(end - start, 0)
    # No more of a large text is handed over than is asked for.
    characters = func.substr(parts.text, at + 1, length) if first == last else parts.text
    rows = connection.execute(
        select(characters)
        .where(parts.base_id == base_id, parts.document_id == document_id)
        .where(parts.position.between(first, last))
        .order_by(parts.position)
    )
    text = "".join(rows.scalars())
    return text if first == last else text[at : at + length]


def left_out(connection: Connection, base_id: int) -> dict[str, str]:
    """Return the names, by id, of the documents whose whole text is excluded from passages."""
    excluded: dict[str, list[tuple[int, int]]] = {}
    for edit in passage_edits.list_edits(connection, base_id):
        if edit.kind == "exclude":
            excluded.setdefault(edit.document_id, []).append((edit.start, edit.end))
    ids = [key for key, spans in excluded.items() if _covers(connection, base_id, key, spans)]
    return names(connection, base_id, ids)


def _covers(
    connection: Connection, base_id: int, document_id: str, spans: Sequence[tuple[int, int]]
) -> bool:
    """Return whether nothing but white space is outside of ``spans``, sorted by their start."""
    length, reached = characters(connection, base_id, document_id), 0
    for start, end in [*spans, (length, length)]:
        for at in range(reached, start, _GLANCE):
            part = at, min(at + _GLANCE, start)
            if stretch(connection, base_id, document_id, *part).strip():
                return False
        reached = max(reached, end)
    return True


def list_documents(connection: Connection, base_id: int) -> list[DocumentInfo]:
    """All documents of a base without their text, by name."""
    columns = document.c
    rows = connection.execute(
        select(
            columns.id,
            columns.name,
            columns.source,
            columns.media_type,
            columns.characters,
            func.json_array_length(columns.pages).label("pages"),
            columns.added,
            columns.tags,
            func.coalesce(columns.metadata["date"].as_string(), "").label("date"),
            columns.receipt,
        )
        .where(columns.base_id == base_id)
        .order_by(columns.name)
    )
    none = {"passages": 0, "left_out": False}
    return [
        read(DocumentInfo, row, tags=tuple(row.tags), receipt=_receipt(row.receipt), **none)
        for row in rows
    ]


def traits(connection: Connection, base_id: int) -> list[DocumentTraits]:
    """Return the filter properties of all documents of a base."""
    columns = document.c
    rows = connection.execute(
        select(
            columns.id,
            columns.name,
            columns.media_type,
            columns.tags,
            columns.metadata["date"].as_string().label("date"),
            columns.added,
        ).where(columns.base_id == base_id)
    )
    return [
        read(
            DocumentTraits,
            row,
            tags=tuple(row.tags),
            day=row.date or f"{row.added:%Y-%m-%d}",
        )
        for row in rows
    ]


def tags(connection: Connection, base_id: int, document_id: str) -> tuple[str, ...]:
    """The tags of a document, sorted. Raises NotFound."""
    row = connection.execute(select(document.c.tags).where(_is(base_id, document_id))).first()
    if row is None:
        raise _gone()
    return tuple(row.tags)


def set_tags(connection: Connection, base_id: int, document_id: str, words: Sequence[str]) -> None:
    """Replace the tags of a document."""
    change = update(document).where(_is(base_id, document_id)).values(tags=sorted(set(words)))
    connection.execute(change)


def set_name(connection: Connection, base_id: int, document_id: str, name: str) -> None:
    """Replace the name of a document, in its labels too; no other one may have it."""
    connection.execute(update(document).where(_is(base_id, document_id)).values(name=name))
    sets = select(question_set.c.id).where(question_set.c.base_id == base_id)
    labels = evidence.c.document_id == document_id, evidence.c.set_id.in_(sets)
    connection.execute(update(evidence).where(*labels).values(document_name=name))


def set_added(connection: Connection, base_id: int, document_id: str, added: datetime) -> None:
    """Replace the moment at which a document was added."""
    change = update(document).where(_is(base_id, document_id)).values(added=added)
    connection.execute(change)


def count(connection: Connection, base_id: int) -> int:
    """Number of documents."""
    statement = select(func.count()).where(document.c.base_id == base_id)
    return connection.execute(statement).scalar_one()


def counts(connection: Connection) -> dict[int, int]:
    """Numbers of documents by base; bases without documents are absent."""
    return {row.base_id: row.documents for row in connection.execute(_COUNTS)}


def characters(connection: Connection, base_id: int, document_id: str) -> int:
    """Length of a document's text; 0 for one that is not here."""
    statement = select(document.c.characters).where(_is(base_id, document_id))
    return connection.execute(statement).scalar() or 0


def find_id_by_name(connection: Connection, base_id: int, name: str) -> str | None:
    """The id of the document of that name, or None."""
    statement = select(document.c.id).where(document.c.base_id == base_id, document.c.name == name)
    return connection.execute(statement).scalar()


def source_of(connection: Connection, base_id: int, name: str) -> str | None:
    """Return the source of the document with a given name; None if there is none."""
    statement = select(document.c.source).where(
        document.c.base_id == base_id, document.c.name == name
    )
    return connection.execute(statement).scalar()


def ids_by_name(connection: Connection, base_id: int) -> dict[str, str]:
    """Document ids by document name."""
    statement = select(document.c.name, document.c.id).where(document.c.base_id == base_id)
    return {row.name: row.id for row in connection.execute(statement)}


def newest(connection: Connection, base_id: int) -> datetime | None:
    """Return when the newest document was added; None without documents."""
    statement = select(document.c.added).where(document.c.base_id == base_id)
    return connection.scalar(statement.order_by(document.c.added.desc()).limit(1))


def state(connection: Connection, base_id: int) -> tuple[object, ...]:
    """Return figures that change with every change of a base's documents or passages.

    Unlike the version of the base, they stay when another index is built.
    """
    each = document.c
    figures = (
        func.count(),
        func.max(each.added),
        *(func.sum(each.characters), func.sum(each.reader_version), func.max(each.recut)),
    )
    return tuple(connection.execute(select(*figures).where(each.base_id == base_id)).one())


def names(connection: Connection, base_id: int, ids: Sequence[str]) -> dict[str, str]:
    """Names of some documents, by id."""
    by_id: dict[str, str] = {}
    for part in listable(ids):
        statement = select(document.c.id, document.c.name).where(
            document.c.base_id == base_id, document.c.id.in_(part)
        )
        by_id.update({row.id: row.name for row in connection.execute(statement)})
    return by_id


def readings(connection: Connection, base_id: int) -> list[Reading]:
    """Return the readings of all documents of a base, sorted by name."""
    statement = select(document).where(document.c.base_id == base_id).order_by(document.c.name)
    columns = [document.c[field.name] for field in fields(Reading)]
    return [read(Reading, row) for row in connection.execute(statement.with_only_columns(*columns))]


def reading(connection: Connection, base_id: int, document_id: str) -> Reading | None:
    """Return the reading of a document; None if the document isn't in the base."""
    columns = [document.c[field.name] for field in fields(Reading)]
    row = connection.execute(select(*columns).where(_is(base_id, document_id))).first()
    return read(Reading, row) if row else None


def exists(connection: Connection, base_id: int, document_id: str) -> str | None:
    """The name under which these bytes are stored already, or None."""
    statement = select(document.c.name).where(_is(base_id, document_id))
    return connection.execute(statement).scalar()


def uncut(connection: Connection, base_id: int, document_id: str) -> list[bytes]:
    """Delete the passages of a document in every build, and note in which version of the base.

    Passages that other systems returned stay: their places are in the text, which stays too.

    Returns the hashes of their texts, but for those of segments, which ``shared.deletion`` deletes.
    Call it after ``bases.touch``; every build then lacks the document.
    """
    built = select(build.c.cut_id).where(build.c.base_id == base_id)
    mine = (cut.c.base_id == base_id) & func.coalesce(cut.c.segment_of, cut.c.id).in_(built)
    hashes = _delete_passages(connection, base_id, document_id, mine)
    marks = (indexed.c.base_id == base_id) & (indexed.c.document_id == document_id)
    connection.execute(delete(indexed).where(marks))
    connection.execute(
        update(document).where(_is(base_id, document_id)).values(recut=_now(base_id))
    )
    return hashes


def mark_recut(connection: Connection, base_id: int, text_hashes: Sequence[bytes]) -> int:
    """Have indexes read the documents with some passages again; return the number of documents.

    Call it after ``bases.touch``.
    """
    ids = set[str]()
    for part in listable(text_hashes):
        mine = (chunk.c.base_id == base_id) & chunk.c.text_hash.in_(part)
        ids.update(connection.execute(select(chunk.c.document_id).where(mine)).scalars())
    for some in listable(sorted(ids)):
        chosen = (document.c.base_id == base_id) & document.c.id.in_(some)
        connection.execute(update(document).where(chosen).values(recut=_now(base_id)))
    return len(ids)


def _now(base_id: int) -> ScalarSelect[int]:
    """Select the version of a base."""
    version = select(knowledge_base.c.version).where(knowledge_base.c.id == base_id)
    return version.scalar_subquery()


def recut_since(connection: Connection, base_id: int, version: int) -> set[str]:
    """Ids of the documents whose passages were cut anew after a version of the base."""
    statement = select(document.c.id).where(
        document.c.base_id == base_id, document.c.recut > max(version, 0)
    )
    return set(connection.execute(statement).scalars())


def remove(connection: Connection, base_id: int, document_id: str) -> list[bytes]:
    """Delete a document with its passages in every build; return the hashes of their texts.

    Its file is dropped. The vectors stay: the caller forgets them, after what replaces the document
    is there. ``shared.deletion`` deletes the rows and vectors of its segments.
    """
    hashes = _delete_passages(connection, base_id, document_id, cut.c.base_id == base_id)
    connection.execute(delete(document).where(_is(base_id, document_id)))
    leases.drop(connection, [document_id])
    return hashes


def _delete_passages(
    connection: Connection, base_id: int, document_id: str, cuts: ColumnElement[bool]
) -> list[bytes]:
    """Delete the passages of a document in some cuts; return the hashes of their texts.

    Segments are marked as deleted alone; those that are on their way in belong to others.
    """
    segments = cut.c.segment_of.is_not(None) & (cut.c.document_id == document_id)
    builds.mark_deleted(connection, cuts & segments)
    mine = (
        (chunk.c.base_id == base_id)
        & (chunk.c.document_id == document_id)
        & chunk.c.cut_id.in_(select(cut.c.id).where(cuts, cut.c.document_id.is_(None)))
    )
    hashes = connection.execute(select(chunk.c.text_hash).distinct().where(mine)).scalars().all()
    connection.execute(delete(chunk).where(mine))
    return list(hashes)


def _gone() -> NotFound:
    return NotFound("This document no longer exists.", "It was deleted or replaced.")


def _is(base_id: int, document_id: str) -> ColumnElement[bool]:
    return (document.c.base_id == base_id) & (document.c.id == document_id)
