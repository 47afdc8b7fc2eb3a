"""Notes of a text, and the statements whose marks refer to them, as in "9 euros.¹"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answering.markup import unmarked
from rag.answering.statements.sentences import LONGEST_STATEMENT, NOTE_MARK, Statement
from rag.types import Document

BEFORE_NOTE = " … "
"""Between a statement and its notes."""
_MARK = re.compile(rf"(?<=\S)(?<!m)({NOTE_MARK})(?![\w*])")
"""A mark behind a word or sign; "m²" is a unit."""
_NOTE = re.compile(
    rf"^[ \t]*\\?(?P<mark>{NOTE_MARK}):?[ \t]*(?P<words>[^\W_].*(?:\n(?![ \t]*\\?{NOTE_MARK}).+)*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Footnote:
    """A note that begins at ``start`` of a document, on a ``page`` if it has any, with its mark."""

    start: int
    page: int | None
    mark: str
    words: str


def footnotes(document: Document) -> list[Footnote]:
    """The notes of a document. A star before several lines marks the items of a list."""
    notes = [
        Footnote(match.start(), document.page_at(match.start()), match["mark"], match["words"])
        for match in _NOTE.finditer(document.text)
    ]
    marks = Counter(note.mark for note in notes)
    return [note for note in notes if note.mark[0] != "*" or marks[note.mark] == 1]


def with_footnotes(
    statements: Sequence[Statement], offset: int, document: Document, notes: Sequence[Footnote]
) -> Iterator[Statement]:
    """Yield statements with the notes that their marks refer to.

    A note is the nearest one on the page of its mark, which may draw it first, or else the next one
    behind; one in Markdown has a name, and may stand anywhere. ``offset`` is where the passage of
    the statements begins in the document.
    """
    for one in statements:
        start = offset + one.start
        end = start + len(one.quote)
        own_notes = list[str]()
        for mark in dict.fromkeys(_MARK.findall(f"{one.quote} {one.text}")) if notes else ():
            page = document.page_at(start + max(one.quote.find(mark), 0))
            places = [
                (page is None or note.page != page, note.start < end, abs(note.start - end), note)
                for note in notes
                if note.mark == mark and not start <= note.start < end
            ]
            elsewhere, before, _, note = min(places, default=(True, True, 0, None))
            if note and not (elsewhere and before and mark[0] != "["):
                words = " ".join(unmarked(note.words).split())
                if 0 < len(words) <= LONGEST_STATEMENT:
                    own_notes.append(words if mark[0] == "[" else f"{mark} {words}")
        text = BEFORE_NOTE.join((one.text, *own_notes))
        yield replace(one, text=text, notes=tuple(own_notes))
