"""The part of a sentence that says what a figure is about."""

from __future__ import annotations

import re

from rag.types import Span

LONGEST = 160
"""Characters of a sentence around a figure that are shown."""
_OF_FIGURES = ("_", ".", ",")
"""Before digits that are the rest of a longer figure: the 5 of "2.5"."""
_BETWEEN = re.compile(r"(?<=[,;:.!?])\s")


def clause_of(text: str, figure: str) -> str:
    """Return the clause that has a figure; the whole text if the figure is written otherwise."""
    at = _position(text, figure)
    if at is None:
        return text
    return next(text[start:end] for start, end in _clauses(text) if at < end)


def words_around(text: str, figure: str) -> str:
    """Return the clauses around a figure, as many as fit into ``LONGEST`` characters.

    Those before the figure come first, as they say what it is about. Text that is left out leaves
    an ellipsis. Words may stand between the number and its unit: ten or more days. Without the
    number in the text, its beginning is shown.
    """
    at = _position(text, figure)
    if at is None:
        at = _position(text, figure.partition(" ")[0]) or 0
    spans = _clauses(text)
    number = next((n for n, (_, end) in enumerate(spans) if at < end), 0)
    start, end = spans[number]
    if end - start > LONGEST:
        start, end = _within(text, (start, end), at)
    for earlier, _ in reversed(spans[:number]):
        if end - earlier > LONGEST:
            break
        start = earlier
    for _, later in spans[number + 1 :]:
        if later - start > LONGEST:
            break
        end = later
    before, after = "… " if start else "", " …" if end < len(text) else ""
    return f"{before}{text[start:end]}{after}"


def _position(text: str, figure: str) -> int | None:
    at = text.find(figure) if figure else -1
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(figure) :][:1]
        if not (before.isalnum() or before in _OF_FIGURES or after.isdigit()):
            return at
        at = text.find(figure, at + 1)
    return None


def _clauses(text: str) -> list[Span]:
    ends = [match.start() for match in _BETWEEN.finditer(text)]
    return list(zip([0, *(end + 1 for end in ends)], [*ends, len(text)], strict=True))


def _within(text: str, clause: Span, at: int) -> Span:
    """Return the part of a long clause around a position, from word to word."""
    start, end = clause
    if at - start > LONGEST // 2:
        start = text.find(" ", at - LONGEST // 2, at) + 1 or at
    if end - start > LONGEST:
        last = text.rfind(" ", at, start + LONGEST)
        end = last if last > at else start + LONGEST
    return start, end
