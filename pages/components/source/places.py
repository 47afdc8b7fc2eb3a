"""Where a passage stands, as all pages say it: by the page and heading that have most of it."""

from __future__ import annotations

from pages.components.shell.run_cache import cached_per_run
from pages.components.shell.session import shared_cache, workspace
from rag import Chunk, Document, KnowledgeBase, NotFound, Place, place_of


def place(base: KnowledgeBase, chunk: Chunk, of: str = "") -> Place:
    """The place of a passage of ``base``, or of the base named ``of``.

    Where there is no such document, as for results of tools, it is what the passage says itself.
    """
    outline = _outline_in(base, chunk.document_id, of)
    if outline is None:
        return Place(chunk.page, chunk.heading)
    return place_of(outline, chunk.start, chunk.end)


def is_here(base: KnowledgeBase, document_id: str, of: str = "") -> bool:
    """Whether ``base``, or the base named ``of``, still has a document."""
    return _outline_in(base, document_id, of) is not None


def recognised(base: KnowledgeBase, document_id: str, page: int | None, of: str = "") -> str:
    """How surely a page was recognised in a picture; "" for text of its own, and where it is gone.

    ``of`` names the base of the document, where it is another.
    """
    outline = _outline_in(base, document_id, of)
    if outline is None:
        return ""
    at = next((each for each in outline.pages if each.number == page), None)
    return "" if at is None else place_of(outline, at.start, at.end).recognised


def _outline_in(base: KnowledgeBase, document_id: str, of: str) -> Document | None:
    """What is known of a document; None where it is gone, or of a base that is not seen here.

    Whether that base is seen is asked each time: what is kept, all who see it share.
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
