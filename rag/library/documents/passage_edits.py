"""Edits of passages: text left out, boundaries set and taken away, and words added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rag.errors import InvalidInput
from rag.evaluation.anchoring import Haystack
from rag.input_rules import storable
from rag.library.documents.ingestion import Ingestion
from rag.library.documents.stored import StoredDocuments
from rag.operation import operation
from rag.storage import Connection, documents, passage_edits
from rag.storage.passage_edits import StoredEdit
from rag.types import Document, EditKind, Span

LONGEST_WORDS = 300
"""Characters of added words: they share the embedder's window with the passage."""
_BEGINNING = 80
"""Characters after a boundary that it is found by in another version."""


class PassageEdits(StoredDocuments):
    """The edits of one knowledge base. Each cuts its document anew, in every build."""

    @operation("viewer")
    def passage_edits(self, document: str) -> list[StoredEdit]:
        """The edits of a document, named by id or by name, in the order of its text."""
        with self._database.read() as connection:
            document_id = documents.find_id_by_name(connection, self._base_id, document) or document
            return passage_edits.of_document(connection, self._base_id, document_id)

    @operation("viewer")
    def lost_edits(self) -> list[StoredEdit]:
        """Edits whose words no present document has; they come back with them."""
        return self._database.fetch(passage_edits.lost, self._base_id)

    @operation("viewer")
    def find_quote(self, document: str, quote: str, near: float = 0.0) -> Span:
        """Return the span of a quote in a document, given by id or name. White space is ignored.

        If the quote occurs several times, the result is the occurrence nearest to ``near``, from 0
        (start) to 1 (end). Raises NotFound, and InvalidInput for a quote that the document does not
        contain.
        """
        current = self._document(document)
        span = Haystack(current.text).find(storable(quote), near, similar=False)
        if span is None:
            raise InvalidInput(
                f"{current.name} does not have these words.", "Copy them from the document."
            )
        return span

    @operation("editor", audit="documents")
    def edit_passages(self, document: str, kind: EditKind, span: Span, words: str = "") -> int:
        """Edit a span of a document, named by id or by name; return the id of the edit.

        ``split`` needs only the start of the span, and what follows it there. Raises NotFound,
        InvalidInput for a span without text or an edit without words, and what embedding raises.
        """
        current = self._document(document)
        words = " ".join(storable(words).split())
        if (kind == "words") != bool(words) or len(words) > LONGEST_WORDS:
            raise InvalidInput(
                "Only edits that add search terms take words, and they need some.",
                f"Give synonyms or part numbers, up to {LONGEST_WORDS} characters.",
            )
        start, end = _trimmed(current, span, kind)
        quote = current.text[start:end]
        new = StoredEdit(current.name, current.id, kind, start, end, quote, words)
        if new.edit in current.edits:
            raise InvalidInput(
                "This edit exists already.", "Remove the existing edit, or choose other words."
            )
        after = sorted((*current.edits, new.edit), key=lambda edit: edit.start)
        ids = list[int]()
        self._recut(
            replace(current, edits=tuple(after)),
            lambda connection: ids.append(passage_edits.add(connection, self._base_id, new)),
        )
        return ids[0]

    @operation("editor", audit="documents")
    def remove_edit(self, edit_id: int) -> None:
        """Take an edit back, also one that is lost. Raises NotFound, and what embedding raises."""
        with self._database.read() as connection:
            gone = passage_edits.get(connection, self._base_id, edit_id)
            here = documents.exists(connection, self._base_id, gone.document_id) is not None

        def change(connection: Connection) -> None:
            passage_edits.remove(connection, self._base_id, edit_id)

        if not here:
            self._database.execute(change)
            return
        document = self._document(gone.document_id)
        remaining = tuple(edit for edit in document.edits if edit != gone.edit)
        self._recut(replace(document, edits=remaining), change)

    def _recut(self, document: Document, change: Callable[[Connection], None]) -> None:
        ingestion = Ingestion(self._database, self._base_id, self._services.models.embedder)
        ingestion.recut(document, change, lambda *_: None)

    def _document(self, document: str) -> Document:
        with self._database.read() as connection:
            document_id = documents.find_id_by_name(connection, self._base_id, document) or document
            return documents.get(connection, self._base_id, document_id)


def _trimmed(document: Document, span: Span, kind: EditKind) -> Span:
    """The span without white space at its ends; that of a boundary is what follows it."""
    start, end = span
    if kind == "split":
        end = start + _BEGINNING
    words = document.text[start:end] if 0 <= start < end else ""
    if not words.strip():
        raise InvalidInput(
            f"There is no text from {start} to {end} in {document.name}.", "Choose some words."
        )
    start += len(words) - len(words.lstrip())
    return start, start + len(words.strip())
