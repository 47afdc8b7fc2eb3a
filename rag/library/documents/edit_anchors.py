"""Edits of passages find their words: in new versions of their documents, as labels do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rag.evaluation.anchoring import Haystack
from rag.library.questions.reanchoring import spellings
from rag.storage import Connection, documents, passage_edits
from rag.storage.passage_edits import StoredEdit
from rag.types import LOST, Document


def with_edits(connection: Connection, base_id: int, document: Document) -> Document:
    """A document on its way in with the edits that it will have, or itself where it has none."""
    edits = list(_anchored(connection, base_id, document))
    return replace(document, edits=tuple(edit.edit for edit in edits)) if edits else document


def move_edits(
    connection: Connection, base_id: int, document: Document, replaced: str | None = None
) -> None:
    """Move the edits of the version that a document took the place of, and lost ones, into it.

    Those whose words it does not have stay as they are: lost, until a document has them.
    """
    moved_ids = {edit.id for edit in _moved(connection, base_id, document, replaced)}
    for edit in passage_edits.of_document(connection, base_id, document.id):
        if edit.id not in moved_ids:  # the same file, read into another text
            passage_edits.move(connection, replace(edit, document_id=LOST))


def _moved(
    connection: Connection, base_id: int, document: Document, replaced: str | None
) -> Iterator[StoredEdit]:
    for edit in _anchored(connection, base_id, document, replaced):
        passage_edits.move(connection, edit)
        yield edit


def _anchored(
    connection: Connection, base_id: int, document: Document, replaced: str | None = None
) -> Iterator[StoredEdit]:
    before = replaced or documents.find_id_by_name(connection, base_id, document.name)
    theirs = {document.id, *([before] if before else [])}
    adrift = passage_edits.adrift(connection, base_id, spellings(document.name), theirs)
    if not adrift:
        return
    text = Haystack(document.text)
    last = max(edit.end for edit in adrift)
    for edit in adrift:
        span = text.locate(edit.quote, edit.start, edit.end, edit.start / max(last, 1))
        if span is not None and span[1] is not None:
            yield replace(
                edit,
                document_id=document.id,
                document_name=document.name,
                start=span[0],
                end=span[1],
                quote=document.text[span[0] : span[1]],
            )
