"""Documents that a newer reader would make another text of, and the job that reads them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.errors import InvalidInput
from rag.library.documents.stored import StoredDocuments
from rag.operation import operation
from rag.readers.characters import checked_encoding
from rag.readers.formats import reader_version
from rag.storage import documents
from rag.storage.documents import Reading
from rag.types import chosen_encoding

PASTED = "pasted text"
"""The source of a document that was typed in."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """A document that was read by an earlier version of its reader; ``kept`` if its file is."""

    id: str
    name: str
    kept: bool


class ReadingAgain(StoredDocuments):
    """The documents to read again. Labels look for their words in the new text."""

    @operation("viewer")
    def outdated(self) -> list[Outdated]:
        """Documents whose reader has another version now, by name."""
        readings = list(self._readings())
        missing = self._services.files.missing([row.id for row in readings])
        return [Outdated(row.id, row.name, row.id not in missing) for row in readings]

    @operation("editor", audit="documents")
    def read_again(self, document_ids: Sequence[str] | None = None, encoding: str = "") -> int:
        """Queue the reading of documents, or of all that are outdated; return the job.

        With an ``encoding``, current ones are read, too. Each keeps its id, tags and day. The job
        tells of every label that lost its words. Raises InvalidInput where there is none to read
        again, no file is kept of it, or the encoding is unknown.
        """
        selected = None if document_ids is None else set(document_ids)
        readings = list(self._readings(current=bool(encoding)))
        missing = self._services.files.missing([row.id for row in readings])
        chosen = checked_encoding(encoding) if encoding else ""
        items = [
            (row.name, _payload(row, chosen))
            for row in readings
            if selected is None or row.id in selected
            if row.id not in missing
        ]
        if not items:
            raise InvalidInput(
                "No document can be read again.",
                "All were read by the current readers, or their files were not kept.",
            )
        many = "document" if len(items) == 1 else "documents"
        title = f"Reading {len(items):,} {many} again"
        return self._jobs.submit(self._base_id, "ingest", title, {}, items)

    def _readings(self, *, current: bool = False) -> list[Reading]:
        with self._services.database.read() as connection:
            rows = documents.readings(connection, self._base_id)
        return [
            row for row in rows if current or row.reader_version < reader_version(row.media_type)
        ]


def _payload(row: Reading, encoding: str) -> dict[str, object]:
    payload = {"file": row.id, "source": row.source, "again": True}
    chosen = encoding or chosen_encoding(row.metadata)
    return payload | ({"pasted": True} if row.source == PASTED else {"encoding": chosen})
