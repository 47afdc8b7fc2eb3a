"""Bearer tokens: who may do what by the API and by MCP, until when."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from rag.access.scopes import BUDGETS, SCOPES
from rag.errors import InvalidInput, NotFound, StorageError
from rag.storage import Database
from rag.storage.access import tokens
from rag.storage.access.tokens import TokenRow

NO_BUDGET: Mapping[str, float] = MappingProxyType({})
PREFIX = "touchstone_"  # lets scanners of source code find a token that was left in some
_LONGEST_NAME = 80
_LONGEST_LIFE = 3650  # days
_SECRET_BYTES = 32
_USE_SECONDS = 60.0  # how exactly it is known when a token was used last
_BATCH_SECONDS = 5.0  # how long uses wait to be stored together: no request waits for the database


class Tokens:
    """The tokens of a home.

    A token is 256 random bits, of which the database has the SHA-256. A slow hash with a salt, as
    passwords need, would add nothing: there is no list of likely tokens to try.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: dict[str, float] = {}
        self._used: dict[str, datetime] = {}  # not stored yet
        self._lock = threading.Lock()
        self._batch: threading.Timer | None = None

    def create(
        self,
        name: str,
        scopes: Collection[str],
        days: int | None = 90,
        owner: str = "",
        budget: Mapping[str, float] = NO_BUDGET,
    ) -> tuple[str, TokenRow]:
        """A new token, and what is kept of it; nobody can read the token again.

        ``days`` None is for ever. ``budget`` limits its calls over MCP, by the names in
        ``BUDGETS``. Raises InvalidInput.
        """
        name = name.strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidInput(f"A token needs a name of 1 to {_LONGEST_NAME} characters.")
        unknown = sorted(set(scopes) - SCOPES.keys())
        if unknown or not scopes:
            message = f"There is no scope {unknown[0]!r}." if unknown else "A token needs a scope."
            raise InvalidInput(message, f"There are: {', '.join(SCOPES)}.")
        if days is not None and not 1 <= days <= _LONGEST_LIFE:
            raise InvalidInput(f"A token is valid for 1 to {_LONGEST_LIFE:,} days.")
        if any(name not in BUDGETS or not value > 0 for name, value in budget.items()):
            raise InvalidInput(f"A budget is a number above 0 of {', '.join(BUDGETS)}.")
        secret, now = PREFIX + secrets.token_urlsafe(_SECRET_BYTES), datetime.now(UTC)
        row = TokenRow(
            id=secrets.token_hex(4),
            name=name,
            scopes=tuple(scope for scope in SCOPES if scope in scopes),
            owner=owner,
            created=now,
            expires=None if days is None else now + timedelta(days=days),
            used=None,
            revoked=None,
            budget=dict(budget),
        )
        with self._database.write() as connection:
            tokens.create(connection, row, _digest(secret))
        return secret, row

    def list_all(self) -> list[TokenRow]:
        """All tokens without their secrets, newest first."""
        with self._database.read() as connection:
            rows = tokens.list_tokens(connection)
        return [replace(row, used=self._used.get(row.id, row.used)) for row in rows]

    def revoke(self, token_id: str) -> None:
        """Let nobody in by a token any more, from now on. Raises NotFound."""
        with self._database.write() as connection:
            if not tokens.revoke(connection, token_id):
                raise NotFound(f"There is no token {token_id!r}.")

    def holder(self, secret: str) -> TokenRow | None:
        """Return the token of a secret; None if it is unknown, expired or revoked."""
        with self._database.read() as connection:
            row = tokens.by_digest(connection, _digest(secret))
        if row is None or not row.valid:
            return None
        self._note_use(row.id)
        return row

    def ended(self, secret: str) -> bool:
        """Whether a token let somebody in once, and is over or was revoked."""
        with self._database.read() as connection:
            row = tokens.by_digest(connection, _digest(secret))
        return row is not None and not row.valid

    def still_valid(self, token: TokenRow) -> bool:
        """Whether one that let somebody in is neither over by now, nor revoked or deleted."""
        if not token.valid:
            return False
        with self._database.read() as connection:
            row = tokens.by_id(connection, token.id)
        return row is not None and row.valid

    def _note_use(self, token_id: str) -> None:
        now = time.monotonic()
        if now - self._noted.get(token_id, -_USE_SECONDS) < _USE_SECONDS:
            return
        with self._lock:
            self._noted[token_id] = now
            self._used[token_id] = datetime.now(UTC)
            if self._batch is None:
                self._batch = threading.Timer(_BATCH_SECONDS, self.store_uses)
                self._batch.daemon = True
                self._batch.start()

    def store_uses(self) -> None:
        """Store when tokens were used last, all of them in one transaction."""
        with self._lock:
            if self._batch is not None:
                self._batch.cancel()
            used, self._batch = dict(self._used), None
        try:
            if used:
                with self._database.write() as connection:
                    for token_id, moment in used.items():
                        tokens.note_use(connection, token_id, moment)
        except StorageError:  # a home that may only be read still answers
            return
        with self._lock:
            for token_id, moment in used.items():
                if self._used.get(token_id) == moment:
                    del self._used[token_id]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
