"""The audit log: who changed or read what. Nothing here changes an entry."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime

from rag.errors import StorageError
from rag.spreadsheets import csv_text
from rag.storage import Database
from rag.storage.access import audit
from rag.storage.access.audit import AuditEntry, AuditLine

log = logging.getLogger(__name__)

AUDIT_KINDS = {
    "sign-in": "sign-ins and sign-outs",
    "base": "knowledge bases made, renamed, deleted",
    "documents": "documents added, edited, deleted",
    "labels": "question sets and labels",
    "recipe": "recipes and prompts",
    "evaluation": "evaluations, sweeps, runs",
    "members": "members and people",
    "sharing": "links",
    "tokens": "tokens",
    "tools": "HTTP tools, systems",
    "jobs": "jobs stopped",
    "conversation": "conversations renamed, deleted",
    "search": "searches",
    "ask": "questions answered",
    "export": "exports",
}
"""What entries are about."""

_READS = ("search", "ask", "export")
_MOST_WAITING = 10_000
_SECONDS = 0.5


class AuditLog:
    """Entries of changes are stored at once. Those of reads wait up to half a second, together:
    a search shall not wait for a writer of the database."""

    def __init__(self, database: Database, enabled: Callable[[], bool]) -> None:
        """``kept`` says whether entries are kept at all."""
        self._database = database
        self._kept = enabled
        self._waiting: deque[AuditEntry] = deque(maxlen=_MOST_WAITING)
        self._turn = threading.Lock()
        self._timer: threading.Timer | None = None

    def note(self, entry: AuditEntry) -> None:
        """Keep an entry."""
        if not self._kept():
            return
        self._waiting.append(entry)
        if entry.kind not in _READS:
            self.flush()
            return
        with self._turn:
            if self._timer is None:
                self._timer = threading.Timer(_SECONDS, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Store what waits."""
        with self._turn:
            self._timer = None
            entries = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not entries:
            return
        try:
            self._database.execute(audit.add, entries)
        except StorageError:
            log.exception("%d entries of the audit log could not be stored yet.", len(entries))
            self._waiting.extendleft(reversed(entries))

    def lines(
        self,
        person: str = "",
        base: str = "",
        kind: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        *,
        limit: int = 500,
        of_bases: Sequence[int] | None = None,
    ) -> list[AuditLine]:
        """Entries, newest first, by part of an address, base, kind and time.

        ``of_bases`` keeps those of some knowledge bases.
        """
        self.flush()
        conditions = [audit.between(since, until)]
        conditions += [audit.by(person)] if person else []
        conditions += [audit.of_base(base)] if base else []
        conditions += [audit.of_kind(kind)] if kind else []
        conditions += [] if of_bases is None else [audit.of_bases(of_bases)]
        return self._database.fetch(audit.list_entries, conditions, limit)


def audit_actor(line: AuditLine) -> str:
    """Return the actor of an audit entry, in words."""
    if line.email is None:
        return "deleted account"
    via = line.entry.via
    return line.email or ("anyone with the link" if via == "link" else "local administrator")


def audit_csv(lines: Sequence[AuditLine]) -> str:
    """Entries as a table for spreadsheets."""
    header = ["at", "who", "via", "key", "knowledge_base", "kind", "action", "detail"]
    return csv_text(header, map(_cells, lines))


def _cells(line: AuditLine) -> list[str]:
    entry = line.entry
    origin = [audit_actor(line), entry.via, entry.key_id, entry.base, entry.kind]
    return [entry.at.isoformat(), *origin, entry.action, entry.detail]
