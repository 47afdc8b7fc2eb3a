"""Signs that a text was read wrongly, and documents that a newer reader reads differently."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rag import readers
from rag.errors import InvalidInput
from rag.lexical import LexicalIndex
from rag.library.documents.ingestion import Ingest
from rag.library.documents.stored import StoredDocuments
from rag.operation import operation
from rag.readers.characters import checked_encoding
from rag.storage import documents
from rag.storage.documents import Reading
from rag.types import Document, chosen_encoding

SURE = 60.0
"""Percent: a page that text recognition is less sure of counts as unreadable."""
_FEWEST = 8  # words: of fewer, shares say nothing
_BROKEN = 0.03  # share of characters
_APART = 0.5  # share of words of one letter
_UNKNOWN = 0.7  # share of words that no other passage has
_LETTERS = re.compile(r"[^\W\d_]+")
_ONE_BY_ONE = re.compile(r"(?<!\S)[^\W\d_](?:\s{1,3}[^\W\d_])+(?!\S)")
"""Single letters one behind the other, as in "T h i s": not the "a" between two figures."""
_DISTINCT = 6  # letters: a table that marks its cells with "X" or "A" to "D" has fewer
_LONG = 4  # letters: shorter words are names, units ...


def broken_characters(text: str) -> str:
    """The sign in words; "" where the text looks right by itself."""
    visible = [character for character in text if not character.isspace()]
    broken = sum(_is_broken(character) for character in visible)
    if broken > _BROKEN * max(len(visible), 1):
        return f"{broken} of its {len(visible)} characters are no readable characters"
    words = _LETTERS.findall(text)
    letters = [
        letter for match in _ONE_BY_ONE.finditer(text) for letter in match[0].casefold().split()
    ]
    single = len(letters) if len(set(letters)) >= _DISTINCT else 0
    if len(words) >= _FEWEST and single > _APART * len(words):
        return f"{single} of its {len(words)} words are single letters"
    return ""


def unknown_words(text: str, lexical: LexicalIndex) -> str:
    """The sign in words; "" where other passages know most words of the text."""
    words = {word.casefold() for word in _LETTERS.findall(text) if len(word) >= _LONG}
    if len(words) < _FEWEST:
        return ""
    frequencies = {word: lexical.frequencies(word, fuzzy=False, prefix=False) for word in words}
    unknown = [word for word, counts in frequencies.items() if max(counts.values(), default=0) <= 1]
    indexed = [word for word, counts in frequencies.items() if counts]
    if len(indexed) < _FEWEST or len(unknown) <= _UNKNOWN * len(words):
        return ""
    shown = ", ".join(sorted(unknown)[:3])
    return f"no other passage has {len(unknown)} of its {len(words)} words, such as {shown}"


def _is_broken(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in ("Co", "Cn", "Cc")


def unread_words(document: Document) -> str:
    """Return what the reader left out of a document, in words; "" if nothing."""
    words = document.receipt.words if document.receipt else ""
    text = document.metadata.get("unread_text")
    if text:
        return f"left out, because it looks like a menu or a note beside the text: “{text}”"
    return f"not read: {words}" if words else ""


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
        return self._jobs.submit(self._base_id, title, Ingest(), items)

    def _readings(self, *, current: bool = False) -> list[Reading]:
        rows = self._services.database.fetch(documents.readings, self._base_id)
        return [
            row
            for row in rows
            if current or row.reader_version < readers.reader_version(row.media_type)
        ]


def _payload(row: Reading, encoding: str) -> dict[str, object]:
    payload = {"file": row.id, "source": row.source, "again": True}
    chosen = encoding or chosen_encoding(row.metadata)
    return payload | ({"pasted": True} if row.source == PASTED else {"encoding": chosen})
