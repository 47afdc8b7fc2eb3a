"""Chunking of documents during ingestion, with little memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from rag.types import Chunk, Document, chunk_key


@dataclass(slots=True)
class Cutting:
    """Passages of one document in one cut, without their text, which the document holds."""

    document: Document
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    headings: list[str] = field(default_factory=list)
    pages: list[int | None] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, chunk: Chunk) -> None:
        self.starts.append(chunk.start)
        self.ends.append(chunk.end)
        self.headings.append(chunk.heading)
        self.pages.append(chunk.page)
        same = self.contexts and self.contexts[-1] == chunk.context  # of neighbours, kept once
        self.contexts.append(self.contexts[-1] if same else chunk.context)

    def chunks(self) -> Iterator[Chunk]:
        document = self.document
        for order, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            yield Chunk(
                key=chunk_key(document.id, start, end),
                document_id=document.id,
                start=start,
                end=end,
                text=document.text[start:end],
                order=order,
                heading=self.headings[order],
                page=self.pages[order],
                context=self.contexts[order],
            )


Cuttings = dict[tuple[str, str], Cutting]  # by document id and cut name
