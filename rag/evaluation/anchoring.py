"""Finding the words of a label in a text: as they are, white space aside, or nearly the same."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rag.types import Span

SIMILAR = 85.0
"""How alike a changed passage must be to its quote, in percent (partial ratio of its letters)."""
SHORTEST_SIMILAR = 24
"""Visible characters. Shorter quotes are all too much like something else."""
_SHORTEST_INSIDE_A_WORD = 8
_LONGEST_WORD = 40


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

    def find(self, quote: str, near: float = 0.0, *, similar: bool = True) -> Span | None:
        """The span of ``quote`` that is nearest to ``near``, or None.

        Tried in turn: the very words; the words with any white space between, also within them, as
        readers of documents differ in that; and, where ``similar`` are wanted, words alike by
        ``SIMILAR``. Occurrences that do not begin or end inside a word are preferred.
        """
        letters = "".join(quote.split())
        if not letters:
            return None
        spans = _occurrences(quote, self.text) or self._spaced(letters)
        if not spans:
            return self._similar(letters) if similar else None
        whole = [span for span in spans if self._is_whole(*span)]
        center = near * len(self.text)
        return min(whole or spans, key=lambda span: abs(span[0] - center))

    def _spaced(self, letters: str) -> list[Span]:
        spans = [self._outer(*span) for span in _occurrences(letters, self._letters)]
        if len(letters) >= _SHORTEST_INSIDE_A_WORD:
            return spans
        return [span for span in spans if self._is_whole(*span)]

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
    def _places(self) -> npt.NDArray[np.intp]:
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


def _occurrences(needle: str, text: str) -> list[Span]:
    spans, place = [], text.find(needle)
    while place >= 0:
        spans.append((place, place + len(needle)))
        place = text.find(needle, place + 1)
    return spans
