"""A connection to somebody else's PostgreSQL, which neither hangs nor gets our credentials."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import psycopg

SECONDS_OF_STATEMENT = 60
"""The longest that the server works on a statement or a block of rows."""
SECONDS_OF_SILENCE = 70
"""The longest that an answer takes to come in: a peer that is no PostgreSQL keeps no promise."""

_ABSENT = f"{os.devnull}/none"  # a path at which there is never a file
_NOTHING_OF_OURS: Mapping[str, str] = {
    # What is not named is taken from variables of this process and files of its user. An empty
    # password is looked up in the file; a certificate without a name has a usual place.
    "user": "",
    "password": "",
    "passfile": _ABSENT,
    "dbname": "",
    "options": "",
    "sslcert": _ABSENT,
    "sslkey": "",
    "gssencmode": "disable",
}


class DeadlineConnection(psycopg.Connection[Any]):
    """A connection that closes where a statement is not answered in time."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for one answer. Raises OperationalError after ``SECONDS_OF_SILENCE``."""
        limit = SECONDS_OF_SILENCE if timeout is None else min(timeout, SECONDS_OF_SILENCE)
        try:
            return super().wait(gen, interval, limit)
        except psycopg.errors._WaitTimeout as error:
            self.close()
            raise psycopg.OperationalError(f"no answer within {limit:g} seconds") from error


def connect(arguments: Mapping[str, Any]) -> DeadlineConnection:
    """Connect with these arguments of libpq and nothing from the environment."""
    return DeadlineConnection.connect("", **{**_NOTHING_OF_OURS, **arguments})
