"""The documents behind an answer: where cited words stand, and which of them went away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from rag.chunking.places import place_of
from rag.types import Citation, Document, Hit


class Sources(Protocol):
    """Reads the documents that hits are from."""

    def document(self, hit: Hit) -> Document | None:
        """The document of a hit; None where it is gone, and for results of tools."""

    def outline(self, hit: Hit) -> Document | None:
        """The same without its text, which is quick."""


def place_citations(
    citations: Sequence[Citation], sources: Sources | None
) -> tuple[tuple[Citation, ...], str]:
    """Citations with the pages of what they quote, and a note on documents that are gone."""
    if sources is None:
        return tuple(citations), ""
    done, gone = list[Citation](), dict[str, None]()
    for one in citations:
        outline = sources.outline(one.hit)
        if outline is not None:
            chunk, quote = one.hit.chunk, one.quote
            at = chunk.text.find(quote) if quote else -1
            start, length = (at, len(quote)) if at >= 0 else (0, len(chunk.text))
            place = place_of(outline, chunk.start + start, chunk.start + start + length)
            done.append(replace(one, page=place.page, page_label=place.label))
            continue
        done.append(one)
        if not one.hit.from_tool:
            gone[one.hit.document] = None
    note = f"Deleted or replaced while this was answered: {', '.join(gone)}."
    return tuple(done), note if gone else ""
