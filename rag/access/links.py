"""Links for a demonstration: people with one can ask one knowledge base, for a while."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from rag.errors import InvalidInput, NotFound
from rag.operation import ALL, operation
from rag.storage import Database
from rag.storage.access import links
from rag.storage.access.links import LinkRow

PREFIX = "share_"
_LONGEST_NAME = 80
_LONGEST_LIFE = 365  # days
_SECRET_BYTES = 32
_LARGEST_ID = 2**31 - 1  # what every database stores as an integer


class Links:
    """The links to one knowledge base. The database has the SHA-256 of each, as of tokens."""

    _database: Database
    _base_id: int

    @operation("owner", audit="sharing", audited_arguments=1)
    def create_link(
        self, name: str = "", days: int = 7, maker: str = "", tour_id: int | None = None
    ) -> tuple[str, LinkRow]:
        """Create a link; return its secret, which is stored nowhere, and its row.

        Without a name, it is called by its time, which tells it from other links.
        With ``tour_id``, the link shows the chat and this tour alone. Raises InvalidInput, and
        NotFound for an unknown tour.
        """
        now = datetime.now(UTC)
        name = name.strip() or links.name_at(now)
        if len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidInput(f"The name of a link has up to {_LONGEST_NAME} characters.")
        if not 1 <= days <= _LONGEST_LIFE:
            raise InvalidInput(f"A link is valid for 1 to {_LONGEST_LIFE} days.")
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        row = LinkRow(
            id=secrets.token_hex(4),
            base_id=self._base_id,
            name=name,
            maker=maker,
            created=now,
            expires=now + timedelta(days=days),
            revoked=None,
            tour_id=tour_id,
        )
        with self._database.write() as connection:
            if tour_id is not None:
                # Keep a tour from being deleted until the transaction ends
                known = 0 < tour_id <= _LARGEST_ID
                if (
                    not known
                    or links.tour_by_id(connection, self._base_id, tour_id, lock=True) is None
                ):
                    raise NotFound(
                        f"There is no tour {tour_id} in this knowledge base.",
                        "The address of a tour has its number after `tour=`.",
                    )
            links.create(connection, row, _digest(secret))
        return secret, row

    @operation("owner")
    def links(self) -> list[LinkRow]:
        """All links without their secrets, newest first."""
        with self._database.read() as connection:
            return links.of_base(connection, self._base_id)

    @operation("owner", audit="sharing", audited_arguments=ALL)
    def revoke_link(self, link_id: str) -> None:
        """Let a link show nothing any more, from now on. Raises NotFound."""
        with self._database.write() as connection:
            if not links.revoke(connection, self._base_id, link_id):
                raise NotFound(f"There is no link {link_id!r}.")


def share_path(secret: str, tour_id: int | None = None) -> str:
    """Return the path of a new link on the server, which leads to its tour if it has one."""
    return f"/share/{secret}" + (f"/tour/{tour_id}" if tour_id is not None else "")


def link_of(database: Database, secret: str) -> LinkRow | None:
    """Return the link of a secret; None if it is unknown, expired or revoked."""
    with database.read() as connection:
        row = links.by_digest(connection, _digest(secret))
    return row if row is not None and row.valid else None


def still_valid(database: Database, link: LinkRow) -> bool:
    """Whether a link that was opened is neither over by now, nor revoked or deleted."""
    if not link.valid:
        return False
    with database.read() as connection:
        row = links.by_id(connection, link.id)
    return row is not None and row.valid


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
