"""Requests that may be repeated: what was made is not made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rag.errors import AlreadyExists, InvalidInput
from rag.storage import Database
from rag.storage.access import tokens

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
            with self._database.write() as connection:
                tokens.drop_reply(connection, token_id, key)
            raise
        with self._database.write() as connection:
            tokens.finish_reply(connection, token_id, key, reply.status, reply.body, reply.location)
        return reply
