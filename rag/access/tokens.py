"""Bearer tokens, which say who may do what by the API and by MCP, and until when.

Here are also the log of what agents did and the budgets of their tokens, the limits on the rate and
concurrency of requests in this process, and the requests that may be repeated: what was made is not
made again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from rag.access.roles import BUDGETS, SCOPES
from rag.errors import AlreadyExists, InvalidInput, NotAllowed, NotFound, StorageError
from rag.storage import Database
from rag.storage.access import tokens
from rag.storage.access.tokens import AgentCall, TokenRow

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
        self._database.execute(tokens.create, row, _digest(secret))
        return secret, row

    def list_all(self) -> list[TokenRow]:
        """All tokens without their secrets, newest first."""
        rows = self._database.fetch(tokens.list_tokens)
        return [row.model_copy(update={"used": self._used.get(row.id, row.used)}) for row in rows]

    def revoke(self, token_id: str) -> None:
        """Let nobody in by a token any more, from now on. Raises NotFound."""
        with self._database.write() as connection:
            if not tokens.revoke(connection, token_id):
                raise NotFound(f"There is no token {token_id!r}.")

    def holder(self, secret: str) -> TokenRow | None:
        """Return the token of a secret; None if it is unknown, expired or revoked."""
        row = self._database.fetch(tokens.by_digest, _digest(secret))
        if row is None or not row.valid:
            return None
        self._note_use(row.id)
        return row

    def ended(self, secret: str) -> bool:
        """Whether a token let somebody in once, and is over or was revoked."""
        row = self._database.fetch(tokens.by_digest, _digest(secret))
        return row is not None and not row.valid

    def still_valid(self, token: TokenRow) -> bool:
        """Whether one that let somebody in is neither over by now, nor revoked or deleted."""
        if not token.valid:
            return False
        row = self._database.fetch(tokens.by_id, token.id)
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


class AgentLog:
    """The calls of agents in a home."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, call: AgentCall) -> None:
        """Store a call."""
        self._database.execute(tokens.add_call, call)

    def left(self, token: TokenRow) -> dict[str, float]:
        """Return the rest of each budget of a token, by its name."""
        if not token.budget:
            return {}
        spent = self._database.fetch(tokens.spent, token.id)
        return {name: most - spent[name] for name, most in token.budget.items()}

    def require_budget(self, token: TokenRow) -> None:
        """Raise NotAllowed for a token whose calls came to its budget."""
        for name, left in self.left(token).items():
            if left <= 0:
                most = token.budget[name]
                raise NotAllowed(
                    f"The budget of this token is spent: {most - left:.3g} of {most:g} {name}.",
                    "Tell the person who gave it to you what you learned, and ask for another one.",
                )


class InFlight:
    """A limit of ``most`` requests of everybody that are under way at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def one(self, who: str) -> Iterator[bool]:
        """Whether a request is let in; it is under way until the block ends."""
        with self._lock:
            allowed = self._begun[who] < self._most
            self._begun[who] += allowed
        try:
            yield allowed
        finally:
            with self._lock:
                self._begun[who] -= allowed
                if not self._begun[who]:
                    del self._begun[who]


class Rates:
    """A limit of ``per_minute`` requests in a minute, all at once or spread: token buckets."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, as of when
        self._lock = threading.Lock()

    def wait(self, who: str) -> float:
        """Take one request; 0 if it is admitted, else the seconds until the next is."""
        with self._lock:
            now = self._clock()
            remaining, then = self._buckets.get(who, (self._most, now))
            remaining = min(self._most, remaining + (now - then) * self._per_second)
            if remaining < 1:
                self._buckets[who] = remaining, now
                return (1 - remaining) / self._per_second
            self._buckets[who] = remaining - 1, now
            return 0.0


_KEPT_SECONDS = 24 * 3600.0
_AT_WORK_SECONDS = 600.0
_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Made:
    """An answer to a request that made something: ``location`` is its address, if it has one."""

    status: int
    body: Any
    location: str = ""


class KeyInUse(AlreadyExists):
    """The first request with this key is still being worked on."""


class KeptReplies:
    """Answers by token and idempotency key, for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def make_or_repeat(
        self, token_id: str, key: str, request: Any, make: Callable[[], Made]
    ) -> Made:
        """Return the result of ``make``, or its stored result for the same request with this key.

        ``request`` is plain data. Failures are not stored. Raises InvalidInput for a
        key of another request, ``KeyInUse``, and all errors of ``make``.
        """
        if not key.isprintable() or not 1 <= len(key) <= _LONGEST_KEY:
            raise InvalidInput(f"An idempotency key has 1 to {_LONGEST_KEY} printable characters.")
        digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        with self._database.write() as connection:
            tokens.forget_replies(connection, _KEPT_SECONDS, _AT_WORK_SECONDS)
            stored = tokens.begin_reply(connection, token_id, key, digest)
        if stored is not None:
            if stored.asked != digest:
                raise InvalidInput(
                    "This idempotency key was used for another request.", "Use a new key."
                )
            if stored.status is None:
                raise KeyInUse(
                    "The request with this key is still in progress.", "Wait, then retry."
                )
            return Made(stored.status, stored.body, stored.location)
        try:
            reply = make()
        except BaseException:
            self._database.execute(tokens.drop_reply, token_id, key)
            raise
        self._database.execute(
            tokens.finish_reply, token_id, key, reply.status, reply.body, reply.location
        )
        return reply
