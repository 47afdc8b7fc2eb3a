"""Places of passages for all pages: the page and heading that contain most of a passage."""

from __future__ import annotations

from pages.components.shell.run_cache import cached_per_run
from pages.components.shell.session import shared_cache, workspace
from pages.components.source.snippets import LabelledRows
from rag import Chunk, Document, KnowledgeBase, NotFound, Place, StoredCitation, page_name, place_of


def place(base: KnowledgeBase, chunk: Chunk, of: str = "", quote: str = "") -> Place:
    """The place of a passage of ``base``, or of the base named ``of``, or of a quote of it.

    Where there is no such document, as for results of tools, it is what the passage says itself.
    """
    outline = _outline_in(base, chunk.document_id, of)
    if outline is None:
        return Place(chunk.page, chunk.heading)
    at = chunk.text.find(quote) if quote else -1
    start, end = (at, at + len(quote)) if at >= 0 else (0, chunk.end - chunk.start)
    return place_of(outline, chunk.start + start, chunk.start + end)


def is_here(base: KnowledgeBase, document_id: str, of: str = "") -> bool:
    """Whether ``base``, or the base named ``of``, still has a document."""
    return _outline_in(base, document_id, of) is not None


def tables_of(base: KnowledgeBase, chunk: Chunk, of: str = "") -> list[LabelledRows]:
    """The parts of a passage that are rows of a table, with the names of their columns."""
    outline = _outline_in(base, chunk.document_id, of) if "\t" in chunk.text else None
    return [
        ((max(one.start, chunk.start) - chunk.start, one.end - chunk.start), one.labels)
        for one in (outline.tables if outline else ())
        if one.start < chunk.end and one.end > chunk.start
    ]


def recognised(base: KnowledgeBase, document_id: str, page: int | None, of: str = "") -> str:
    """The confidence of the text recognition of a scanned page, in words.

    Return an empty string for native text, or if the document doesn't exist. ``of`` names the
    base of the document if it is another base.
    """
    outline = _outline_in(base, document_id, of)
    if outline is None:
        return ""
    at = next((printed for printed in outline.pages if printed.number == page), None)
    return "" if at is None else place_of(outline, at.start, at.end).recognised


def cited_page(base: KnowledgeBase, citation: StoredCitation) -> str:
    """The page of a citation, a sheet by its name; "" without pages."""
    outline = _outline_in(base, citation.document_id, citation.base)
    pages = outline.pages if outline is not None and citation.page is not None else ()
    at = next((page for page in pages if page.number == citation.page), None)
    heading = outline.heading_at(at.start) if outline is not None and at is not None else ""
    label = at.label if at is not None else citation.page_label
    return page_name(citation.document, citation.page, heading, label=label)


def _outline_in(base: KnowledgeBase, document_id: str, of: str) -> Document | None:
    """Return the outline of a document; None if it is gone or in a base that isn't visible here.

    Check the access to another base on each call, because all principals share the cached outlines.
    """
    if of in ("", base.name):
        return _outline(base, document_id)
    try:
        other = cached_per_run(("base", of), lambda: workspace().base(of))
    except NotFound:
        return None
    return _outline(other, document_id)


@shared_cache(1024)
def _outline(base: KnowledgeBase, document_id: str) -> Document | None:
    return base.outline(document_id)
