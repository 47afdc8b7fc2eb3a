"""People who signed in or were invited, their roles in knowledge bases, and their sign-ins."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from rag.errors import NotFound
from rag.storage import bases
from rag.storage.access.tokens import api_token
from rag.storage.conversations.sessions import bout, conversation
from rag.storage.rows import insert_missing, insert_or_replace
from rag.storage.tables import UtcDateTime, base_id, knowledge_base, metadata

person = sa.Table(
    "person",
    metadata,
    sa.Column("id", sa.String(12), primary_key=True),
    # In lower case; an invited person is identified by it until the first sign-in.
    sa.Column("email", sa.String, nullable=False, unique=True),
    sa.Column("name", sa.String, nullable=False, server_default=""),
    # A digest of who vouches for the person, and of the name that it has there for ever.
    sa.Column("subject", sa.String(64), unique=True),
    sa.Column(
        "administrator", sa.Boolean, nullable=False, default=False, server_default=sa.false()
    ),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("seen", UtcDateTime),
)

deleted_account = sa.Table(
    "deleted_account",
    metadata,
    # As in ``person``; kept for as long as a browser may bring back a sign-in from before.
    sa.Column("subject", sa.String(64), primary_key=True),
    sa.Column("at", UtcDateTime, nullable=False),
)

member = sa.Table(
    "member",
    metadata,
    base_id(primary=True),
    sa.Column(
        "person_id", sa.String(12), sa.ForeignKey("person.id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("role", sa.String, nullable=False),
    sa.Index(None, "person_id"),
)

_SIGNED_IN = sa.select(person.c.id).where(person.c.subject.is_not(None)).limit(1)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody; ``id`` "" is the one user of a server that nobody signs in to."""

    id: str
    email: str
    name: str = ""
    administrator: bool = False

    @property
    def local(self) -> bool:
        """Whether it is the owner of the files, who may do everything."""
        return not self.id

    @property
    def display_name(self) -> str:
        """The name, else the address."""
        return self.name or self.email


NOBODY_SIGNS_IN = Person("", "", "", administrator=True)
"""The one local user; also the command line, whose user has the files anyway."""


@dataclass(frozen=True, slots=True)
class Member:
    """A person of a knowledge base, and what the role there is."""

    person: Person
    role: str


def hold(connection: sa.Connection) -> None:
    """Let nobody else sign in before the transaction ends: of two, one is the first.

    With SQLite there is one who writes anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("LOCK TABLE person IN SHARE ROW EXCLUSIVE MODE"))


def any_signed_in(connection: sa.Connection) -> bool:
    """Whether anybody ever signed in."""
    return connection.execute(_SIGNED_IN).first() is not None


def by_email(connection: sa.Connection, email: str) -> Person | None:
    """The person with an address."""
    return _find(connection, person.c.email == email)


def by_subject(connection: sa.Connection, subject: str) -> Person | None:
    """The person whom a provider knows by a name."""
    return _find(connection, person.c.subject == subject)


def has_signed_in(connection: sa.Connection, person_id: str) -> bool:
    """Whether a person came here, and was not only invited."""
    statement = sa.select(person.c.subject).where(person.c.id == person_id)
    return connection.execute(statement).scalar() is not None


def list_people(connection: sa.Connection) -> list[Person]:
    """All people by address."""
    return [_person(row) for row in connection.execute(sa.select(person).order_by(person.c.email))]


def add(connection: sa.Connection, email: str) -> Person:
    """The person with an address, made if there is none."""
    new = {"id": secrets.token_hex(6), "email": email, "created": datetime.now(UTC)}
    insert_missing(connection, person, {**new, "name": "", "administrator": False})
    created = by_email(connection, email)
    assert created is not None
    return created


def note_sign_in(connection: sa.Connection, member: Person, subject: str) -> None:
    """Store what a sign-in told of a person."""
    values = {name: getattr(member, name) for name in ("email", "name", "administrator")}
    values |= {"subject": subject, "seen": datetime.now(UTC)}
    connection.execute(sa.update(person).where(person.c.id == member.id).values(**values))


def role(connection: sa.Connection, base_id: int, person_id: str) -> str | None:
    """Return the role of a person in a knowledge base; None if the person isn't a member."""
    mine = (member.c.base_id == base_id) & (member.c.person_id == person_id)
    return connection.execute(sa.select(member.c.role).where(mine)).scalar()


def roles(connection: sa.Connection, person_id: str) -> dict[int, str]:
    """Return the roles of a person, by id of the knowledge base."""
    rows = connection.execute(
        sa.select(member.c.base_id, member.c.role).where(member.c.person_id == person_id)
    )
    return {row.base_id: row.role for row in rows}


def members(connection: sa.Connection, base_id: int) -> list[Member]:
    """The people of a knowledge base by address."""
    statement = (
        sa.select(person, member.c.role)
        .join(member, member.c.person_id == person.c.id)
        .where(member.c.base_id == base_id)
        .order_by(person.c.email)
    )
    return [Member(_person(row), row.role) for row in connection.execute(statement)]


def member_called(connection: sa.Connection, base_id: int, email: str) -> Person:
    """A member by address, whom nobody else changes before the transaction ends.

    Raises NotFound.
    """
    bases.hold(connection, base_id)  # of two owners not both may leave at the same moment
    member = by_email(connection, email)
    if member is None or role(connection, base_id, member.id) is None:
        raise NotFound(f"{email} is not a member.")
    return member


def join(connection: sa.Connection, base_id: int, person_id: str, role: str) -> None:
    """Make a person a member, or give the member another role."""
    values = {"base_id": base_id, "person_id": person_id, "role": role}
    insert_or_replace(connection, member, values)


def leave(connection: sa.Connection, base_id: int, person_id: str) -> bool:
    """Whether the person was a member, and is none any more."""
    mine = (member.c.base_id == base_id) & (member.c.person_id == person_id)
    gone = connection.execute(sa.delete(member).where(mine).returning(member.c.role))
    return gone.first() is not None


def owners(connection: sa.Connection, base_id: int) -> Sequence[str]:
    """Return the ids of the owners of a knowledge base."""
    mine = (member.c.base_id == base_id) & (member.c.role == "owner")
    return connection.execute(sa.select(member.c.person_id).where(mine)).scalars().all()


def bases_with_sole_owner(connection: sa.Connection, person_id: str) -> list[str]:
    """The names of the knowledge bases that would have no owner without a person."""
    others = (
        sa.select(member.c.base_id)
        .where(member.c.role == "owner", member.c.person_id != person_id)
        .scalar_subquery()
    )
    statement = (
        sa.select(knowledge_base.c.name)
        .join(member, member.c.base_id == knowledge_base.c.id)
        .where(member.c.person_id == person_id, member.c.role == "owner")
        .where(knowledge_base.c.id.not_in(others), ~knowledge_base.c.deleted)
        .order_by(knowledge_base.c.name)
    )
    return list(connection.execute(statement).scalars())


def claim(connection: sa.Connection, person_id: str) -> None:
    """Give a person what nobody's is: knowledge bases, conversations, votes and tokens."""
    owned = sa.select(member.c.base_id).where(member.c.role == "owner").scalar_subquery()
    free = knowledge_base.c.id.not_in(owned)
    for unowned_id in (
        connection.execute(sa.select(knowledge_base.c.id).where(free)).scalars().all()
    ):
        join(connection, unowned_id, person_id, "owner")
    for table, column in (
        (conversation, conversation.c.visitor),
        (bout, bout.c.visitor),
        (api_token, api_token.c.owner),
    ):
        connection.execute(sa.update(table).where(column == "").values({column.name: person_id}))


def forget(connection: sa.Connection, person_id: str) -> dict[str, int]:
    """Delete a person with conversations, votes, tokens and memberships; tell how many."""
    counts = {}
    for name, table, column in (
        ("conversations", conversation, conversation.c.visitor),
        ("votes", bout, bout.c.visitor),
        ("tokens", api_token, api_token.c.owner),
        ("memberships", member, member.c.person_id),
    ):
        mine = column == person_id
        row_count = connection.execute(
            sa.select(sa.func.count()).select_from(table).where(mine)
        ).scalar_one()
        connection.execute(sa.delete(table).where(mine))
        counts[name] = int(row_count)
    gone = sa.delete(person).where(person.c.id == person_id).returning(person.c.subject)
    subject = connection.execute(gone).scalar()
    if subject is not None:
        values = {"subject": subject, "at": datetime.now(UTC)}
        insert_or_replace(connection, deleted_account, values)
    return counts


def deletion_time(connection: sa.Connection, subject: str) -> datetime | None:
    """Return the time at which an account was deleted; None if no deletion is recorded."""
    statement = sa.select(deleted_account.c.at).where(deleted_account.c.subject == subject)
    return connection.execute(statement).scalar()


def forget_deleted(connection: sa.Connection, before: datetime) -> None:
    """Delete what is known of accounts that were deleted before a moment."""
    connection.execute(sa.delete(deleted_account).where(deleted_account.c.at < before))


def _find(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> Person | None:
    row = connection.execute(sa.select(person).where(condition)).first()
    return None if row is None else _person(row)


def _person(row: Any) -> Person:
    return Person(row.id, row.email, row.name, row.administrator)


sign_in = sa.Table(
    "sign_in",
    metadata,
    # A digest of the cookie, so that whoever reads the database can't use it.
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column(
        "person_id", sa.String(12), sa.ForeignKey("person.id", ondelete="CASCADE"), nullable=False
    ),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("ended", UtcDateTime),
)


def begin_sign_in(connection: sa.Connection, key: str, person_id: str) -> bool:
    """Store a sign-in; whether it is new."""
    values = {"key": key, "person_id": person_id, "at": datetime.now(UTC)}
    return insert_missing(connection, sign_in, values)


def end_sign_in(connection: sa.Connection, key: str) -> str | None:
    """End a sign-in; return whose it was, None where it is unknown or ended before."""
    current = (sign_in.c.key == key) & sign_in.c.ended.is_(None)
    ended = sa.update(sign_in).where(current).values(ended=datetime.now(UTC))
    return connection.execute(ended.returning(sign_in.c.person_id)).scalar()


def list_ended_sign_ins(connection: sa.Connection, keys: Collection[str]) -> set[str]:
    """Return those of some sign-ins that have ended."""
    ended = sign_in.c.key.in_(keys) & sign_in.c.ended.is_not(None)
    return set(connection.execute(sa.select(sign_in.c.key).where(ended)).scalars())


def forget_sign_ins(connection: sa.Connection, before: datetime) -> None:
    """Delete the sign-ins from before a moment."""
    connection.execute(sa.delete(sign_in).where(sign_in.c.at < before))
