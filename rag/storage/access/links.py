"""Links that show one knowledge base to their holders, and guided tours.

Of a link its digest is stored, never the link itself. The stops of a tour are plain data here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from rag.storage.rows import read
from rag.storage.tables import UtcDateTime, base_id, metadata
from rag.storage.tables import base_id as owner

DELETED_TOUR = 0
"""The tour of a link whose tour was deleted: SQLite gives ids of deleted rows to new ones."""
_FORMER_NAME = "link"  # of all links that got no name, in databases of earlier versions

share_link = sa.Table(
    "share_link",
    metadata,
    sa.Column("id", sa.String(12), primary_key=True),
    base_id(),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    # Who made it; "" is the one user of a server that nobody signs in to.
    sa.Column("maker", sa.String, nullable=False, server_default=""),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("expires", UtcDateTime, nullable=False),
    sa.Column("revoked", UtcDateTime),
    # The only tour that it shows; NULL shows all tours.
    sa.Column("tour_id", sa.Integer),
)


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link without its secret. Moments are UTC.

    ``tour_id`` is the only tour that it shows, ``DELETED_TOUR`` once that is deleted, or None for
    all tours.
    """

    id: str
    base_id: int
    name: str
    maker: str
    created: datetime
    expires: datetime
    revoked: datetime | None
    tour_id: int | None = None

    @property
    def valid(self) -> bool:
        """Whether it shows anything now."""
        return datetime.now(UTC) < self.expires and self.revoked is None


def create(connection: sa.Connection, row: LinkRow, digest: str) -> None:
    """Store a new link by the digest of its secret."""
    values = {name: getattr(row, name) for name in LinkRow.__slots__}
    connection.execute(sa.insert(share_link).values(**values, digest=digest))


def by_digest(connection: sa.Connection, digest: str) -> LinkRow | None:
    """The link whose secret has that digest, valid or not."""
    row = connection.execute(sa.select(share_link).where(share_link.c.digest == digest)).first()
    return None if row is None else _row(row)


def by_id(connection: sa.Connection, link_id: str) -> LinkRow | None:
    """The link of an id, valid or not."""
    row = connection.execute(sa.select(share_link).where(share_link.c.id == link_id)).first()
    return None if row is None else _row(row)


def of_base(connection: sa.Connection, base_id: int) -> list[LinkRow]:
    """The links to a knowledge base, newest first."""
    mine = sa.select(share_link).where(share_link.c.base_id == base_id)
    return [_row(row) for row in connection.execute(mine.order_by(share_link.c.created.desc()))]


def revoke(connection: sa.Connection, base_id: int, link_id: str) -> bool:
    """Whether there is such a link; one that is revoked already stays as it is."""
    mine = (share_link.c.base_id == base_id) & (share_link.c.id == link_id)
    if connection.execute(sa.select(share_link.c.id).where(mine)).first() is None:
        return False
    now = datetime.now(UTC)
    connection.execute(
        sa.update(share_link).where(mine, share_link.c.revoked.is_(None)).values(revoked=now)
    )
    return True


def forget_tour(connection: sa.Connection, base_id: int, tour_id: int) -> None:
    """Note on the links to a tour that it is deleted."""
    named = (share_link.c.base_id == base_id) & (share_link.c.tour_id == tour_id)
    connection.execute(sa.update(share_link).where(named).values(tour_id=DELETED_TOUR))


def _row(row: Any) -> LinkRow:
    name = row.name if row.name != _FORMER_NAME else name_at(row.created)
    return read(LinkRow, row, name=name)


def name_at(created: datetime) -> str:
    """Return the name of a link that got none: its time, which tells it from other links."""
    return f"Link of {created:%Y-%m-%d %H:%M:%S} UTC"


tour = sa.Table(
    "tour",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    owner(),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("stops", sa.JSON, nullable=False),
    sa.Column("changed", UtcDateTime, nullable=False),
)

_Stops = Sequence[dict[str, Any]]


def create_tour(connection: sa.Connection, base_id: int, title: str, stops: _Stops) -> int:
    """Store a tour; return its id."""
    values = {"base_id": base_id, "title": title, "stops": list(stops), "changed": _now()}
    created = connection.execute(sa.insert(tour).values(values).returning(tour.c.id))
    return int(created.scalar_one())


def replace_tour(
    connection: sa.Connection, base_id: int, tour_id: int, title: str, stops: _Stops
) -> bool:
    """Store another title and other stops; return False for an unknown tour."""
    values = {"title": title, "stops": list(stops), "changed": _now()}
    changed = connection.execute(sa.update(tour).where(_is(base_id, tour_id)).values(values))
    return changed.rowcount == 1


def list_tours(connection: sa.Connection, base_id: int) -> Sequence[Any]:
    """List the rows of the tours of a knowledge base, the one changed last first."""
    order = tour.c.changed.desc(), tour.c.id.desc()
    return connection.execute(
        sa.select(tour).where(tour.c.base_id == base_id).order_by(*order)
    ).all()


def tour_by_id(
    connection: sa.Connection, base_id: int, tour_id: int, *, lock: bool = False
) -> Any | None:
    """Return the row of a tour, or None; ``lock`` keeps others from changing it."""
    query = sa.select(tour).where(_is(base_id, tour_id))
    return connection.execute(query.with_for_update() if lock else query).first()


def delete_tour(connection: sa.Connection, base_id: int, tour_id: int) -> bool:
    """Delete a tour; return False for an unknown one."""
    return connection.execute(sa.delete(tour).where(_is(base_id, tour_id))).rowcount == 1


def _is(base_id: int, tour_id: int) -> Any:
    return (tour.c.base_id == base_id) & (tour.c.id == tour_id)


def _now() -> datetime:
    return datetime.now(UTC)
