"""Tokens of the API as rows: digests, never the tokens themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Column, Connection, DateTime, String, Table, insert, select, update

from rag.storage.rows import in_utc, read
from rag.storage.tables import metadata

api_token = Table(
    "api_token",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("name", String, nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", JSON, nullable=False),
    # Whose token it is; "" is the one user of a server that nobody signs in to.
    Column("owner", String, nullable=False, server_default=""),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("expires", DateTime(timezone=True)),
    Column("used", DateTime(timezone=True)),
    Column("revoked", DateTime(timezone=True)),
    # What its calls over MCP may come to, by ``calls``, ``minutes`` and ``money``.
    Column("budget", JSON, nullable=False, server_default="{}"),
)


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token without its secret. Moments are UTC; ``expires`` None is never.

    ``budget`` limits what its calls over MCP come to: ``calls``, ``minutes``, ``money``.
    """

    id: str
    name: str
    scopes: tuple[str, ...]
    owner: str
    created: datetime
    expires: datetime | None
    used: datetime | None
    revoked: datetime | None
    budget: Mapping[str, float] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether it lets anybody in now."""
        in_time = self.expires is None or datetime.now(UTC) < self.expires
        return in_time and self.revoked is None


def create(connection: Connection, row: TokenRow, digest: str) -> None:
    """Store a new token by the digest of its secret."""
    names = [name for name in TokenRow.__slots__ if name != "scopes"]
    values = {name: getattr(row, name) for name in names}
    values |= {"scopes": list(row.scopes), "digest": digest}
    connection.execute(insert(api_token).values(**values))


def by_digest(connection: Connection, digest: str) -> TokenRow | None:
    """The token whose secret has that digest, valid or not."""
    row = connection.execute(select(api_token).where(api_token.c.digest == digest)).first()
    return None if row is None else _row(row)


def by_id(connection: Connection, token_id: str) -> TokenRow | None:
    """The token with an id, valid or not."""
    row = connection.execute(select(api_token).where(api_token.c.id == token_id)).first()
    return None if row is None else _row(row)


def list_tokens(connection: Connection) -> list[TokenRow]:
    """All tokens, revoked ones too, newest first."""
    rows = connection.execute(select(api_token).order_by(api_token.c.created.desc()))
    return [_row(row) for row in rows]


def revoke(connection: Connection, token_id: str) -> bool:
    """Whether there was such a token; one that is revoked already stays as it is."""
    mine = api_token.c.id == token_id
    if connection.execute(select(api_token.c.id).where(mine)).first() is None:
        return False
    now = datetime.now(UTC)
    connection.execute(
        update(api_token).where(mine, api_token.c.revoked.is_(None)).values(revoked=now)
    )
    return True


def note_use(connection: Connection, token_id: str, moment: datetime) -> None:
    """Say when a token was used last."""
    connection.execute(update(api_token).where(api_token.c.id == token_id).values(used=moment))


def _row(row: Any) -> TokenRow:
    moments = {
        name: in_utc(getattr(row, name)) for name in ("created", "expires", "used", "revoked")
    }
    return read(TokenRow, row, scopes=tuple(row.scopes), **moments)
