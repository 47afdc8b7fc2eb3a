"""Labels find their words: in the documents that a file names, and in new versions of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote

from rag.evaluation.anchoring import Haystack
from rag.evaluation.formats.question_files import FileLabel
from rag.input_rules import composed
from rag.readers import SUPPORTED
from rag.storage import Connection, documents, labels, questions
from rag.storage.labels import FROM_FILE, Label
from rag.types import Document

_LOST_SHOWN, _LONGEST_SHOWN = 5, 60


def reanchor(
    connection: Connection,
    base_id: int,
    document: Document,
    replaced: str | None = None,
    length: int = 0,
) -> tuple[str, ...]:
    """Moves labels that lost their document into a new one of the same name.

    ``replaced`` is the id of the version that the document takes the place of, and ``length`` how
    many characters it had. A label whose words are not found is lost, until a document has them;
    returned are the quotes of those that this change lost. A document that was read again has the
    id of the version before: its labels are looked for before it is stored, and have none if lost.
    """
    adrift = labels.adrift(connection, base_id, spellings(document.name), replaced)
    if not adrift:
        return ()
    text = Haystack(document.text)
    moved: set[int] = set()
    lost = list[str]()
    for set_id, label in adrift:
        near = label.start / max(length or len(document.text), 1)
        span = _located(document, text, label, near)
        if span is not None:
            placed = _placed(label, document.name, document.id, text, span)
            if placed != label:
                labels.move(connection, placed)
                moved.add(set_id)
        elif replaced is not None and label.document_id == replaced:
            lost.append(label.quote)
            if replaced == document.id:
                labels.move(connection, replace(label, document_id=None))
                moved.add(set_id)
    questions.count_versions(connection, moved)
    return tuple(lost)


def lost_labels(quotes: Sequence[str]) -> str:
    """Describe the labels whose quotes are missing from a reread or replaced document."""
    texts = [" ".join(quote.split()) or "a whole document" for quote in quotes[:_LOST_SHOWN]]
    listed = ", ".join(
        f"“{textwrap.shorten(text, _LONGEST_SHOWN, placeholder='…')}”" for text in texts
    )
    more = f" and {len(quotes) - len(texts):,} more" if len(quotes) > len(texts) else ""
    return f"labels lost: {listed}{more}" if quotes else ""


def spellings(name: str) -> tuple[str, ...]:
    """Return the names of a document in files: as it is, and with its suffix removed or added."""
    stem, _dot, suffix = name.rpartition(".")
    if stem and suffix.lower() in SUPPORTED:
        return name, stem
    return name, *(f"{name}.{suffix}" for suffix in SUPPORTED)


def _located(
    outline: Document, text: Haystack, label: Label, near: float
) -> tuple[int, int | None] | None:
    """Return the span of a label in a document; ``outline`` does not need to contain the text."""
    if label.page is None:
        return text.locate(label.quote, label.start, label.end, near)
    page = next(
        (page_outline for page_outline in outline.pages if page_outline.number == label.page), None
    )
    if page is None:
        return None
    words = text.text[page.start : page.end]
    if label.quote:
        match = Haystack(words).find(label.quote)
        return (page.start + match[0], page.start + match[1]) if match else None
    start = page.start + len(words) - len(words.lstrip())
    end = page.start + len(words.rstrip())
    return (start, end) if start < end else None


def _placed(
    label: Label, name: str, document_id: str, text: Haystack, span: tuple[int, int | None]
) -> Label:
    """The label at a span; its quote is what stands there."""
    start, end = span
    quote = "" if end is None else text.text[start:end]
    return replace(
        label,
        document_name=name,
        document_id=document_id,
        start=start,
        end=end,
        quote=quote,
        page=None,
    )


class Anchors:
    """A finder of the labels of files in the documents of a base; each document is read once."""

    def __init__(self, connection: Connection, base_id: int) -> None:
        self._connection = connection
        self._base_id = base_id
        self._ids = documents.ids_by_name(connection, base_id)
        self._outlines: dict[str, Document] = {}
        self._texts: dict[str, Haystack] = {}
        self._spelt: dict[str, set[str]] = {}
        for name in self._ids:
            folders = name.split("/")
            for depth in range(len(folders)):  # files may name a document from a folder below
                for spelling in spellings("/".join(folders[depth:])):
                    self._spelt.setdefault(composed(spelling), set()).add(name)

    def of(self, file_labels: tuple[FileLabel, ...]) -> Iterator[Label]:
        """Labels as they are stored; lost ones without a document."""
        for label in file_labels:
            yield self.place(
                Label(
                    document_name=label.document,
                    document_id=None,
                    start=label.start or 0,
                    end=label.end,
                    grade=label.grade,
                    quote=label.quote,
                    page=label.page,
                    origin=FROM_FILE,
                    nugget=label.nugget,
                )
            )

    def occurrences(self, label: FileLabel) -> int:
        """Return in how many places of its document a label may be; 1 where its offsets tell."""
        name = self._name(label.document)
        if not label.quote or name not in self._ids or label.end is not None:
            return 1
        document_id = self._ids[name]
        text = self._text(document_id)
        if label.page is not None:
            pages = self._outline(document_id).pages
            words = [text.text[one.start : one.end] for one in pages if one.number == label.page]
            return Haystack("".join(words)).count(label.quote)
        return text.count(label.quote)

    def place(self, label: Label) -> Label:
        """A label where its words are now; without a document where they are nowhere."""
        name = self._name(label.document_name)
        lost = replace(label, document_name=name, document_id=None)
        return self._anchored(lost) if name in self._ids else lost

    def _name(self, file_name: str) -> str:
        """The document that a file means, by its name or the only one that it may stand for."""
        # Formats whose cells end at white space write it as %20.
        plain = unquote(file_name)
        for name in (file_name, plain, composed(plain)):
            if name in self._ids:
                return name
            if len(meant := self._spelt.get(name, ())) == 1:
                return next(iter(meant))
        return composed(file_name)

    def _anchored(self, stored: Label) -> Label:
        document_id = self._ids[stored.document_name]
        if not stored.quote and stored.end is None and stored.page is None:
            return replace(stored, document_id=document_id)
        text = self._text(document_id)
        near = stored.start / max(len(text.text), 1)
        span = _located(self._outline(document_id), text, stored, near)
        if span is None:
            return stored
        return _placed(stored, stored.document_name, document_id, text, span)

    def _outline(self, document_id: str) -> Document:
        if document_id not in self._outlines:
            outline = documents.outline(self._connection, self._base_id, document_id)
            self._outlines[document_id] = outline
        return self._outlines[document_id]

    def _text(self, document_id: str) -> Haystack:
        if document_id not in self._texts:
            document = documents.get(self._connection, self._base_id, document_id)
            self._texts[document_id] = Haystack(document.text)
        return self._texts[document_id]
