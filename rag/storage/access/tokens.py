"""Tokens of the API, the calls of tools by agents that use them, and stored replies.

Of a token its digest is stored, never the token itself. Because of the replies to requests with an
idempotency key, a repeated request creates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from pydantic import Field

from rag.storage import leases
from rag.storage.rows import insert_missing, read, values
from rag.storage.tables import UtcDateTime, metadata
from rag.types.schema import Schema, Timestamp

api_token = sa.Table(
    "api_token",
    metadata,
    sa.Column("id", sa.String(12), primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("scopes", sa.JSON, nullable=False),
    # Whose token it is; "" is the one user of a server that nobody signs in to.
    sa.Column("owner", sa.String, nullable=False, server_default=""),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("expires", UtcDateTime),
    sa.Column("used", UtcDateTime),
    sa.Column("revoked", UtcDateTime),
    # What its calls over MCP may come to, by ``calls``, ``minutes`` and ``money``.
    sa.Column("budget", sa.JSON, nullable=False, server_default="{}"),
)


class TokenRow(Schema):
    """A token without its secret. Moments are UTC; ``expires`` None is never.

    ``budget`` limits what its calls over MCP come to: ``calls``, ``minutes``, ``money``.
    """

    id: str
    name: str
    scopes: tuple[str, ...]
    owner: str = Field(exclude=True)
    created: Timestamp
    expires: Timestamp | None
    used: Timestamp | None
    revoked: Timestamp | None
    budget: Mapping[str, float] = Field({})

    @property
    def valid(self) -> bool:
        """Whether it lets anybody in now."""
        in_time = self.expires is None or datetime.now(UTC) < self.expires
        return in_time and self.revoked is None


def create(connection: sa.Connection, row: TokenRow, digest: str) -> None:
    """Store a new token by the digest of its secret."""
    connection.execute(sa.insert(api_token).values(**dict(row), digest=digest))


def by_digest(connection: sa.Connection, digest: str) -> TokenRow | None:
    """The token whose secret has that digest, valid or not."""
    row = connection.execute(sa.select(api_token).where(api_token.c.digest == digest)).first()
    return None if row is None else TokenRow.of(row)


def by_id(connection: sa.Connection, token_id: str) -> TokenRow | None:
    """The token with an id, valid or not."""
    row = connection.execute(sa.select(api_token).where(api_token.c.id == token_id)).first()
    return None if row is None else TokenRow.of(row)


def list_tokens(connection: sa.Connection) -> list[TokenRow]:
    """All tokens, revoked ones too, newest first."""
    rows = connection.execute(sa.select(api_token).order_by(api_token.c.created.desc()))
    return [TokenRow.of(row) for row in rows]


def revoke(connection: sa.Connection, token_id: str) -> bool:
    """Whether there was such a token; one that is revoked already stays as it is."""
    mine = api_token.c.id == token_id
    if connection.execute(sa.select(api_token.c.id).where(mine)).first() is None:
        return False
    now = datetime.now(UTC)
    connection.execute(
        sa.update(api_token).where(mine, api_token.c.revoked.is_(None)).values(revoked=now)
    )
    return True


def note_use(connection: sa.Connection, token_id: str, moment: datetime) -> None:
    """Say when a token was used last."""
    connection.execute(sa.update(api_token).where(api_token.c.id == token_id).values(used=moment))


agent_call = sa.Table(
    "agent_call",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", UtcDateTime, nullable=False),
    # The token, or "" for who started the server beside the home.
    sa.Column("token_id", sa.String(12), nullable=False, server_default=""),
    sa.Column("agent", sa.String, nullable=False),
    # What a token spent stays spent when the knowledge base goes.
    sa.Column("base_id", sa.Integer, sa.ForeignKey("knowledge_base.id", ondelete="SET NULL")),
    sa.Column("tool", sa.String, nullable=False),
    sa.Column("arguments", sa.JSON, nullable=False),
    sa.Column("reason", sa.String, nullable=False, server_default=""),
    sa.Column("outcome", sa.String, nullable=False, server_default=""),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("money", sa.Float, nullable=False, server_default="0"),
    sa.Index(None, "base_id", "at"),
    sa.Index(None, "token_id"),
)


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call. ``agent`` is the name of its token, ``reason`` why it was made, ``outcome`` the
    sentence that answered it, or the error. ``money`` is in the currency of the price list.
    """

    at: datetime
    token_id: str
    agent: str
    base_id: int | None
    tool: str
    arguments: Mapping[str, Any]
    reason: str
    outcome: str
    seconds: float
    money: float = 0.0


def add_call(connection: sa.Connection, call: AgentCall) -> None:
    """Store a call."""
    connection.execute(sa.insert(agent_call).values(values(agent_call, call)))


def calls_of_base(connection: sa.Connection, base_id: int, limit: int) -> list[AgentCall]:
    """Return the calls about a knowledge base, newest first."""
    statement = sa.select(agent_call).where(agent_call.c.base_id == base_id)
    newest = statement.order_by(agent_call.c.id.desc()).limit(limit)
    return [read(AgentCall, row) for row in connection.execute(newest)]


def spent(connection: sa.Connection, token_id: str) -> dict[str, float]:
    """Return what the calls of a token came to: ``calls``, ``minutes``, ``money``."""
    sums = (sa.func.count(), sa.func.sum(agent_call.c.seconds), sa.func.sum(agent_call.c.money))
    row = connection.execute(sa.select(*sums).where(agent_call.c.token_id == token_id)).one()
    return {"calls": row[0], "minutes": (row[1] or 0.0) / 60, "money": row[2] or 0.0}


api_reply = sa.Table(
    "api_reply",
    metadata,
    sa.Column(
        "token_id",
        sa.String(12),
        sa.ForeignKey("api_token.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("key", sa.String(255), primary_key=True),
    # What was asked: the address and what the body said.
    sa.Column("asked", sa.String(64), nullable=False),
    # None while the request is still being worked on.
    sa.Column("status", sa.Integer),
    sa.Column("body", sa.JSON(none_as_null=True)),
    sa.Column("location", sa.String, nullable=False, server_default=""),
    sa.Column("created", sa.Float, nullable=False),
)


def begin_reply(connection: sa.Connection, token_id: str, key: str, asked: str) -> Any | None:
    """Note that a request is worked on; else the row of the one that had the key first.

    Its ``status`` is None where it is not answered yet.
    """
    values = {"token_id": token_id, "key": key, "asked": asked, "created": leases.now()}
    if insert_missing(connection, api_reply, values):
        return None
    return connection.execute(sa.select(api_reply).where(_reply_to(token_id, key))).one()


def finish_reply(
    connection: sa.Connection, token_id: str, key: str, status: int, body: Any, location: str
) -> None:
    """Keep an answer."""
    values = {"status": status, "body": body, "location": location}
    connection.execute(sa.update(api_reply).where(_reply_to(token_id, key)).values(**values))


def drop_reply(connection: sa.Connection, token_id: str, key: str) -> None:
    """Free the key of a request that made nothing."""
    connection.execute(sa.delete(api_reply).where(_reply_to(token_id, key)))


def forget_replies(connection: sa.Connection, kept_seconds: float, at_work_seconds: float) -> None:
    """Free old keys; those of requests that never ended, as their process did, sooner."""
    age = leases.now() - api_reply.c.created
    over = (age > at_work_seconds) & api_reply.c.status.is_(None)
    connection.execute(sa.delete(api_reply).where(over | (age > kept_seconds)))


def _reply_to(token_id: str, key: str) -> Any:
    return (api_reply.c.token_id == token_id) & (api_reply.c.key == key)
