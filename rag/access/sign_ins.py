"""Sign-ins of browsers: a sign-out ends one for all tabs and all processes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from rag.access.audit import AuditLog
from rag.storage import Database
from rag.storage.access import people
from rag.storage.access.audit import AuditEntry


class SignIns:
    """The sign-ins of people, each by the digest of a browser's cookie."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    def begin(self, key: str, person_id: str) -> None:
        """Note that a person signed in; the same sign-in again, by another tab, changes nothing."""
        with self._database.write() as connection:
            is_new = people.begin_sign_in(connection, key, person_id)
        if is_new:
            self._note(person_id, "sign_in")

    def end(self, key: str) -> None:
        """Note a sign-out: the cookie is not accepted any more."""
        with self._database.write() as connection:
            person_id = people.end_sign_in(connection, key)
        if person_id is not None:
            self._note(person_id, "sign_out")

    def ended(self, keys: Collection[str]) -> set[str]:
        """Return those of some sign-ins that have ended."""
        with self._database.read() as connection:
            return people.list_ended_sign_ins(connection, keys)

    def _note(self, person_id: str, action: str) -> None:
        entry = AuditEntry(datetime.now(UTC), person_id, "page", "", None, "", "sign-in", action)
        self._audit.note(entry)
