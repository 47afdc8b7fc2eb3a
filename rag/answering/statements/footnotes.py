"""Notes of a text, and the statements whose marks refer to them, as in "9 euros.¹"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answering.markup import unmarked
from rag.answering.statements.sentences import LONGEST_STATEMENT, NOTE_MARK, Statement

_MARK = re.compile(rf"(?<=\S)(?<!m)({NOTE_MARK})(?![\w*])")
"""A mark behind a word or sign; "m²" is a unit."""
_NOTE = re.compile(
    rf"^[ \t]*\\?(?P<mark>{NOTE_MARK}):?[ \t]*(?P<words>[^\W_].*(?:\n(?![ \t]*\\?{NOTE_MARK}).+)*)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Footnote:
    """A note that begins at ``start`` of a document, with its mark."""

    start: int
    mark: str
    words: str


def footnotes(text: str) -> list[Footnote]:
    """The notes of a document. A star before several lines marks the items of a list."""
    notes = [
        Footnote(match.start(), match["mark"], match["words"]) for match in _NOTE.finditer(text)
    ]
    marks = Counter(note.mark for note in notes)
    return [note for note in notes if note.mark[0] != "*" or marks[note.mark] == 1]


def with_footnotes(
    statements: Sequence[Statement], offset: int, notes: Sequence[Footnote]
) -> Iterator[Statement]:
    """Yield statements with the notes that their marks refer to: the next ones behind them.

    ``offset`` is where the passage of the statements begins in the document.
    """
    for one in statements:
        behind = offset + one.start + len(one.quote)
        marks = dict.fromkeys(_MARK.findall(f"{one.quote} {one.text}")) if notes else ()
        texts = [one.text]
        for mark in marks:
            own = (note for note in notes if note.mark == mark and note.start >= behind)
            words = " ".join(unmarked(note.words).split()) if (note := next(own, None)) else ""
            if 0 < len(words) <= LONGEST_STATEMENT:
                texts.append(words if mark[0] == "[" else f"{mark} {words}")
        yield replace(one, text=" … ".join(texts))
