"""The audit log: rows that record who changed or read what.

Rows are added, and deleted when they are old. The only update removes the address of an account
that is deleted.

Rows outlive the knowledge bases and people that they refer to, so they refer to them by id alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from rag.storage.access.people import person
from rag.storage.rows import read
from rag.storage.tables import UtcDateTime, metadata

audit_entry = sa.Table(
    "audit_entry",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", UtcDateTime, nullable=False),
    # Whose doing it was; "" is the one local user.
    sa.Column("person_id", sa.String(12), nullable=False),
    # How: on a page, by the API, by MCP, by a link; and by which token or link.
    sa.Column("via", sa.String, nullable=False),
    sa.Column("key_id", sa.String(12), nullable=False, server_default=""),
    sa.Column("base_id", sa.Integer),
    sa.Column("base", sa.String, nullable=False, server_default=""),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("action", sa.String, nullable=False),
    sa.Column("detail", sa.String, nullable=False, server_default=""),
    sa.Index(None, "at"),
    sa.Index(None, "base_id", "at"),
)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One act. ``base_id`` is None for what is of no knowledge base; ``at`` is UTC."""

    at: datetime
    person_id: str
    via: str
    key_id: str
    base_id: int | None
    base: str
    kind: str
    action: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditLine:
    """An entry with who it was: an address; "" for the local user, None for an account deleted."""

    id: int
    entry: AuditEntry
    email: str | None


def add(connection: sa.Connection, entries: Sequence[AuditEntry]) -> None:
    """Store entries."""
    names = AuditEntry.__slots__
    rows = [{name: getattr(entry, name) for name in names} for entry in entries]
    connection.execute(sa.insert(audit_entry), rows)


def list_entries(
    connection: sa.Connection, conditions: Sequence[sa.ColumnElement[bool]], limit: int
) -> list[AuditLine]:
    """Entries, newest first."""
    statement = (
        sa.select(audit_entry, person.c.email)
        .outerjoin(person, person.c.id == audit_entry.c.person_id)
        .where(*conditions)
        .order_by(audit_entry.c.at.desc(), audit_entry.c.id.desc())
        .limit(limit)
    )
    return [_line(row) for row in connection.execute(statement)]


def of_bases(base_ids: Sequence[int]) -> sa.ColumnElement[bool]:
    """Entries of some knowledge bases."""
    return audit_entry.c.base_id.in_(base_ids)


def by(email: str) -> sa.ColumnElement[bool]:
    """Entries of the person with an address."""
    return person.c.email.icontains(email, autoescape=True)


def of_base(name: str) -> sa.ColumnElement[bool]:
    """Entries of knowledge bases of a name, as they were called then."""
    return audit_entry.c.base == name


def of_kind(kind: str) -> sa.ColumnElement[bool]:
    """Entries of a kind."""
    return audit_entry.c.kind == kind


def between(first: datetime | None, last: datetime | None) -> sa.ColumnElement[bool]:
    """Entries from a moment on, and before another one."""
    at = audit_entry.c.at
    conditions = [at >= first] if first else []
    conditions += [at < last] if last else []
    condition: sa.ColumnElement[bool] = sa.true()
    for extra in conditions:
        condition &= extra
    return condition


def forget(connection: sa.Connection, before: datetime) -> int:
    """Delete entries from before a moment; tell how many."""
    return connection.execute(sa.delete(audit_entry).where(audit_entry.c.at < before)).rowcount


def forget_address(connection: sa.Connection, email: str) -> None:
    """Take the address of an account that is deleted out of what was done with its memberships."""
    detail = audit_entry.c.detail
    rest = sa.func.substr(detail, len(email) + 1)
    about = (detail == email) | detail.startswith(f"{email}, ", autoescape=True)
    connection.execute(
        sa.update(audit_entry)
        .where(audit_entry.c.kind == "members", about)
        .values(detail=sa.literal("deleted account").concat(rest))
    )


def _line(row: Any) -> AuditLine:
    return AuditLine(row.id, read(AuditEntry, row), "" if not row.person_id else row.email)
