"""Decisions of people about passages: spans of documents, as labels are."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from rag.errors import NotFound
from rag.storage.rows import read, values
from rag.storage.tables import base_id as owner
from rag.storage.tables import document, metadata
from rag.types import EditKind, PassageEdit

passage_edit = sa.Table(
    "passage_edit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    owner(),
    sa.Column("document_id", sa.String(64), nullable=False),
    sa.Column("document_name", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    sa.Column("quote", sa.Text, nullable=False),
    sa.Column("words", sa.Text, nullable=False, server_default=""),
    sa.Index(None, "base_id", "document_id"),
)
_OF_BASE = passage_edit.c.base_id == sa.bindparam("base_id")
_ONE = sa.select(passage_edit.c.id).where(_OF_BASE).limit(1)


@dataclass(frozen=True, slots=True)
class StoredEdit:
    """An edit as stored, with the words it is found by in another version of its document.

    It is lost while no present document has ``document_id``. ``id`` is 0 before it is stored.
    """

    document_name: str
    document_id: str
    kind: EditKind
    start: int
    end: int
    quote: str
    words: str = ""
    id: int = 0

    @property
    def edit(self) -> PassageEdit:
        """The edit itself, without its document."""
        return PassageEdit(self.kind, self.start, self.end, self.words)


def add(connection: sa.Connection, base_id: int, edit: StoredEdit) -> int:
    """Store an edit; return its id."""
    row = values(passage_edit, edit, base_id=base_id)
    del row["id"]
    stored = connection.execute(sa.insert(passage_edit).values(row).returning(passage_edit.c.id))
    return int(stored.scalar_one())


def get(connection: sa.Connection, base_id: int, edit_id: int) -> StoredEdit:
    """One edit. Raises NotFound."""
    mine = (passage_edit.c.base_id == base_id) & (passage_edit.c.id == edit_id)
    row = connection.execute(sa.select(passage_edit).where(mine)).first()
    if row is None:
        raise _gone()
    return read(StoredEdit, row)


def remove(connection: sa.Connection, base_id: int, edit_id: int) -> None:
    """Delete an edit. Raises NotFound."""
    mine = (passage_edit.c.base_id == base_id) & (passage_edit.c.id == edit_id)
    if not connection.execute(sa.delete(passage_edit).where(mine)).rowcount:
        raise _gone()


def _gone() -> NotFound:
    return NotFound("This edit no longer exists.", "Someone removed it.")


def has_edits(connection: sa.Connection, base_id: int) -> bool:
    """Return whether a base has an edit, lost ones included."""
    return connection.execute(_ONE, {"base_id": base_id}).first() is not None


def of_document(connection: sa.Connection, base_id: int, document_id: str) -> list[StoredEdit]:
    """The edits of one document, in the order of its text."""
    mine = (passage_edit.c.base_id == base_id) & (passage_edit.c.document_id == document_id)
    order = passage_edit.c.start, passage_edit.c.id
    return [
        read(StoredEdit, row)
        for row in connection.execute(sa.select(passage_edit).where(mine).order_by(*order))
    ]


def list_edits(connection: sa.Connection, base_id: int) -> list[StoredEdit]:
    """The edits of all present documents, as ``of_document`` has them."""
    is_present = passage_edit.c.document_id.in_(_present(base_id))
    order = passage_edit.c.document_id, passage_edit.c.start, passage_edit.c.id
    statement = sa.select(passage_edit).where(passage_edit.c.base_id == base_id, is_present)
    return [read(StoredEdit, row) for row in connection.execute(statement.order_by(*order))]


def lost(connection: sa.Connection, base_id: int) -> list[StoredEdit]:
    """Edits whose words no present document has, by the name of their document."""
    order = passage_edit.c.document_name, passage_edit.c.start, passage_edit.c.id
    return [
        read(StoredEdit, row)
        for row in connection.execute(
            sa.select(passage_edit)
            .where(
                passage_edit.c.base_id == base_id,
                passage_edit.c.document_id.not_in(_present(base_id)),
            )
            .order_by(*order)
        )
    ]


def adrift(
    connection: sa.Connection, base_id: int, names: Collection[str], document_ids: Collection[str]
) -> list[StoredEdit]:
    """The edits of some documents, and lost ones of documents with these names."""
    gone = passage_edit.c.document_id.not_in(_present(base_id))
    theirs = passage_edit.c.document_id.in_(document_ids)
    named = passage_edit.c.document_name.in_(names) & gone
    rows = connection.execute(
        sa.select(passage_edit)
        .where(passage_edit.c.base_id == base_id, sa.or_(theirs, named))
        .order_by(passage_edit.c.start, passage_edit.c.id)
    )
    return [read(StoredEdit, row) for row in rows]


def move(connection: sa.Connection, edit: StoredEdit) -> None:
    """Store where an edit, named by its id, is now."""
    row = values(passage_edit, edit)
    del row["id"]
    connection.execute(sa.update(passage_edit).where(passage_edit.c.id == edit.id).values(row))


def digest(connection: sa.Connection, base_id: int) -> str:
    """Return a digest of all edits of present documents, as ``"2 exclude, 1 words (3f2a…)"``.

    The digest is "" if there are no edits. Equal edits of equal documents have equal digests in
    every knowledge base.
    """
    return _digest(list_edits(connection, base_id))


def digest_by_document(connection: sa.Connection, base_id: int) -> dict[str, str]:
    """Return the digest of the edits of each present document that has some, by document id."""
    by_document: dict[str, list[StoredEdit]] = {}
    for edit in list_edits(connection, base_id):
        by_document.setdefault(edit.document_id, []).append(edit)
    return {key: _digest(edits) for key, edits in by_document.items()}


def _digest(stored: Sequence[StoredEdit]) -> str:
    if not stored:
        return ""
    edits = sorted((one.document_id, one.kind, one.start, one.end, one.words) for one in stored)
    kinds = Counter(one.kind for one in stored)
    listed = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    return f"{listed} ({hashlib.sha256(json.dumps(edits).encode()).hexdigest()[:12]})"


def _present(base_id: int) -> sa.Select[tuple[str]]:
    return sa.select(document.c.id).where(document.c.base_id == base_id)
