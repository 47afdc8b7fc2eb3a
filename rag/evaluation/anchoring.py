"""Finding the words of a label in a text: as they are, without layout, or nearly the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rag.answering.statements.sentences import statements
from rag.answering.words import content_words
from rag.lexical.letters import MARKUP, Letters, letters_of
from rag.types import Span

SIMILAR = 85.0
"""How alike a changed passage must be to its quote, in percent (partial ratio of its letters)."""
SHORTEST_SIMILAR = 24
"""Visible characters. Shorter quotes are all too much like something else."""
_SHORTEST_INSIDE_A_WORD = 8
_LONGEST_WORD = 40
_MARKS = "|*`\\"
"""Bars of tables, emphasis, code and escapes of Markdown: people copy a text with or without."""
_DROPPED = np.array(
    [code for code in range(0x3001) if chr(code).isspace() or chr(code) in _MARKS], np.uint32
)
_INSIDE = re.compile(r"(?<=\w)[*`\\](?=\w)")
"""A mark that says something: "2*3" is not "23"."""
_RULE = re.compile(r"^[|:\- \t]+$", re.MULTILINE)  # below the labels of a table, or empty


_ADDRESS = re.compile(r"\(https?://[^\s()]{1,2000}\)")  # pages show it behind the words of a link
_ROW = re.compile(r"^[^\n\t]*\t.*", re.MULTILINE)
_CELL = " · "
"""Between the cells of a row where pages show it with the labels of its columns."""
_FIGURE = re.compile(r"(?:(?<!\w)[-−–]|(?<=\d )[-−–] )?\d+(?:[.,:/]\d+)*|[€£$¥%‰°±]")
_BORDERS = "|<>"
_Places = npt.NDArray[np.intp]


class Haystack:
    """A text in which several quotes are looked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    def locate(
        self, quote: str, start: int | None, end: int | None, near: float = 0.0
    ) -> tuple[int, int | None] | None:
        """Return the span of a label: its old offsets if they still match, else its quote's span.

        Without ``quote`` and ``end``, the span is the whole text, (0, None). ``near`` is the
        expected position, from 0 (start) to 1 (end of the text). Returns None if the text does not
        contain the quote.
        """
        if not quote and end is None:
            return 0, None
        if start is not None and end is not None and 0 <= start < end <= len(self.text):
            here = self.text[start:end]
            if here == quote or (not quote and here.strip()):
                return start, end
        return self.find(quote, near)

    def count(self, quote: str) -> int:
        """Return how often a quote occurs, with any white space between its words."""
        letters = "".join(quote.split())
        spans = self._located(letters, self._letters, self._places) if letters else []
        return sum(self._is_whole(*span) for span in spans)

    def find(self, quote: str, near: float = 0.0, *, similar: bool = True) -> Span | None:
        """The span of ``quote`` that is nearest to ``near``, or None.

        Tried in turn: the very words; the words with any white space between, also within them, as
        readers of documents differ in that; the same without the marks of tables and emphasis on
        either side; the words as pages show them, as in ``_displayed``; and, where ``similar`` are
        wanted, words alike by ``SIMILAR``. Occurrences that do not begin or end inside a word are
        preferred.
        """
        letters = "".join(quote.split())
        if not letters:
            return None
        spans = (
            _occurrences(quote, self.text)
            or self._located(letters, self._letters, self._places)
            or self._located("".join(quote[place] for place in _bare_places(quote)), *self._bare)
            or self._displayed(quote)
        )
        if not spans:
            return self._similar(letters) if similar else None
        whole = [span for span in spans if self._is_whole(*span)]
        center = near * len(self.text)
        return min(whole or spans, key=lambda span: abs(span[0] - center))

    def _located(self, letters: str, reduced: str, places: _Places) -> list[Span]:
        """The spans of letters in a reduced text, whose characters are at ``places``."""
        spans = [
            (int(places[start]), int(places[end - 1]) + 1)
            for start, end in (_occurrences(letters, reduced) if letters else [])
        ]
        if len(letters) >= _SHORTEST_INSIDE_A_WORD:
            return spans
        return [span for span in spans if self._is_whole(*span)]

    def _displayed(self, quote: str) -> list[Span]:
        """The spans of words that have the letters and figures of a quote as pages show it.

        Pages show no targets of links and no tags, set quotation marks and dashes in their own
        way, and name the columns in a row of a table.
        """
        for words in _as_stored(quote):
            letters, figures = letters_of(words).text, _figures(words)
            spans = [
                self._with_marks(*self._shown.span(start, end))
                for start, end in (_occurrences(letters, self._shown.text) if letters else [])
            ]
            if len(letters) < _SHORTEST_INSIDE_A_WORD:
                spans = [span for span in spans if self._is_whole(*span)]
            # Without punctuation, 1.5 is 15.
            spans = [span for span in spans if _figures(self.text[slice(*span)]) == figures]
            if spans:
                return spans
        return []

    def _with_marks(self, start: int, end: int) -> Span:
        """Widen a span by the marks at its ends that belong to no other word."""
        before, after = start, end
        while before and self._is_mark(before - 1):
            before -= 1
        while after < len(self.text) and self._is_mark(after):
            target = MARKUP.match(self.text, after) if self.text[after] == "(" else None
            after = target.end() if target else after + 1
        return (
            start if before and self.text[before - 1].isalnum() else before,
            end if self.text[after : after + 1].isalnum() else after,
        )

    def _is_mark(self, offset: int) -> bool:
        character = self.text[offset]
        return not (character.isalnum() or character.isspace() or character in _BORDERS)

    def _similar(self, letters: str) -> Span | None:
        from rapidfuzz import fuzz
        from rapidfuzz.distance import Indel

        if min(len(letters), len(self._letters)) < SHORTEST_SIMILAR:
            return None
        if len(letters) >= len(self._letters):
            alike = fuzz.ratio(letters, self._letters) >= SIMILAR
            return self._outer(0, len(self._letters)) if alike else None
        alignment = fuzz.partial_ratio_alignment(letters, self._letters, score_cutoff=SIMILAR)
        if alignment is None:
            return None
        # The alignment is as long as the quote; what it has too much or lacks at its ends is told
        # by the first and the last letters that agree.
        start, end = alignment.dest_start, alignment.dest_end
        same = Indel.opcodes(letters, self._letters[start:end]).as_matching_blocks()
        first, last = same[0], same[-2]  # the last one is empty
        start += max(first.b - first.a, 0)
        missing = len(letters) - last.a - last.size
        end -= max(end - alignment.dest_start - last.b - last.size - missing, 0)
        return self._to_words(*self._outer(start, end))

    @cached_property
    def _letters(self) -> str:
        return "".join(self.text.split())

    @cached_property
    def _shown(self) -> Letters:
        return letters_of(self.text)

    @cached_property
    def _bare(self) -> tuple[str, _Places]:
        """The visible characters without marks, and their positions in the text."""
        places = _bare_places(self.text)
        return "".join(map(self.text.__getitem__, places)), places

    @cached_property
    def _places(self) -> _Places:
        """Return the position of each visible character in the text."""
        return np.array([match.start() for match in re.finditer(r"\S", self.text)], np.intp)

    def _outer(self, start: int, end: int) -> Span:
        """A span of visible characters as one of the text."""
        return int(self._places[start]), int(self._places[end - 1]) + 1

    def _is_whole(self, start: int, end: int) -> bool:
        return not (self._is_inside(start) or self._is_inside(end))

    def _is_inside(self, offset: int) -> bool:
        around = self.text[max(offset - 1, 0) : offset + 1]
        return 0 < offset < len(self.text) and around.isalnum()

    def _to_words(self, start: int, end: int) -> Span:
        """The span, widened to where words begin and end, unless that is far (as in Chinese)."""
        starts = (start - step for step in range(_LONGEST_WORD))
        ends = (end + step for step in range(_LONGEST_WORD))
        first = next((place for place in starts if not self._is_inside(place)), start)
        return first, next((place for place in ends if not self._is_inside(place)), end)


def find_quote(text: str, quote: str) -> Span | None:
    """The span of a quote in a text, white space and what pages show otherwise aside."""
    return Haystack(text).find(quote, similar=False)


def nearest_words(text: str, quote: str) -> Span:
    """The span of a quote in a text; else that of the most similar sentence or row of a table."""
    if span := Haystack(text).find(quote):
        return span
    *_, cells = _as_stored(quote)  # the labels of columns are the words of another row
    telling = content_words(cells)
    sentences = (
        (statement.start, statement.start + len(statement.quote)) for statement in statements(text)
    )
    rows = [line.span() for line in _ROW.finditer(text)]
    spans = [*rows, *(span for span in sentences if "\t" not in text[slice(*span)])]
    whole = len(text) - len(text.lstrip()), max(len(text.rstrip()), 1)
    return max(
        spans or [whole],
        key=lambda span: (len(telling & content_words(text[slice(*span)])), -span[0]),
    )


def _as_stored(quote: str) -> Iterator[str]:
    """Generate what a quote from a page may read in its document."""
    yield quote
    if "](" not in quote and _ADDRESS.search(quote):
        yield _ADDRESS.sub(" ", quote)
    if _CELL in quote:
        cells = (cell for line in quote.splitlines() for cell in line.split(_CELL))
        yield " | ".join(cell.partition(": ")[2] or cell for cell in cells)


def _figures(text: str) -> list[str]:
    """Return the numbers of a text with their signs and units, in order."""
    shown = MARKUP.sub(" ", text)
    return [re.sub("[-−–] ?", "-", figure) for figure in _FIGURE.findall(shown)]


def _bare_places(text: str) -> _Places:
    """The places of the visible characters of a text that are no marks."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    visible = ~np.isin(codes, _DROPPED)
    for match in _INSIDE.finditer(text):
        visible[match.start()] = True
    for match in _RULE.finditer(text):
        if {"|", "-"} <= set(match.group()):
            visible[match.start() : match.end()] = False
    return np.flatnonzero(visible)


def _occurrences(needle: str, text: str) -> list[Span]:
    spans, place = [], text.find(needle)
    while place >= 0:
        spans.append((place, place + len(needle)))
        place = text.find(needle, place + 1)
    return spans
