"""Alignment of the characters of a document's page with those of the printed page.

The document's text was cleaned (hyphens joined, ligatures resolved, blocks in another order). The
page's characters are as in the file, with their positions. Both are folded to comparable letters
and aligned: first in order, by the longest common subsequence, then the moved text, by the longest
runs that are still free, then single words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq

from rag.types import Span

Places = npt.NDArray[np.int64]
"""Index of the page's character by character of the text, -1 where there is none; shape (n,)."""

MOST_CHARACTERS = 30_000  # of a page; the aligner's memory grows with the square
_SHORTEST = 5  # folded characters; shorter runs on their own agree by chance
_NEAR = 3  # a short run counts when it stands this close to a long one in both texts
_SHORT_WORD = 4  # a word of so few characters is found whole or not at all
_MOST_SEARCHES = 300
_TAKEN = "\x00"


@dataclass(frozen=True, slots=True)
class _Run:
    text: int
    page: int
    length: int


def align(text: str, page: str) -> Places:
    """For each character of ``text`` its index in ``page``, or -1. No index occurs twice.

    White space, hyphens and case do not count. Without moved blocks the indices increase.
    """
    text, page = text[:MOST_CHARACTERS], page[:MOST_CHARACTERS]
    (letters, origins), (signs, targets) = _folded(text), _folded(page)
    positions = np.full(len(letters), -1, np.int64)
    for run in _in_order(letters, signs):
        positions[run.text : run.text + run.length] = np.arange(run.page, run.page + run.length)
    words = _words(text, origins)
    _release_torn(words, positions)
    _extend(letters, signs, words, positions)
    _place_moved(letters, signs, positions)
    _place_words(letters, signs, words, _words(page, targets), positions)
    places = np.full(len(text), -1, np.int64)
    aligned = np.flatnonzero(positions >= 0)
    places[origins[aligned]] = targets[positions[aligned]]
    return _unique(places)


def _folded(text: str) -> tuple[str, Places]:
    """The characters that count, folded, and for each the index it comes from."""
    letters, origins = list[str](), list[int]()
    for index, character in enumerate(text):
        for letter in unicodedata.normalize("NFKD", character).casefold():
            if _counts(letter):
                letters.append(letter)
                origins.append(index)
    return "".join(letters), np.asarray(origins, np.int64)


def _counts(letter: str) -> bool:
    # Hyphens come and go at line ends; accents are a character of their own in some files;
    # controls and U+FFFE are pdfium's marks.
    kind = unicodedata.category(letter)
    return kind[0] not in "ZCM" and kind != "Pd" and letter != "\u2212"


def _in_order(letters: str, signs: str) -> Iterator[_Run]:
    runs = [
        _Run(block.a, block.b, block.size)
        for block in LCSseq.editops(letters, signs).as_matching_blocks()
        if block.size
    ]
    for place, run in enumerate(runs):
        if run.length >= _SHORTEST or letters == signs or _leans(runs, place):
            yield run


def _leans(runs: Sequence[_Run], place: int) -> bool:
    """Whether a short run stands right beside a long one, as around a misread letter."""
    run = runs[place]
    before = ((one, _gap(one, run)) for one in runs[max(place - 1, 0) : place])
    after = ((one, _gap(run, one)) for one in runs[place + 1 : place + 2])
    return any(one.length >= _SHORTEST and gap <= _NEAR for one, gap in chain(before, after))


def _gap(one: _Run, next_one: _Run) -> int:
    return max(next_one.text - one.text - one.length, next_one.page - one.page - one.length)


def _words(text: str, origins: Places) -> list[Span]:
    """Words, cut at white space, as spans of folded characters; words of none are left out."""
    edges = [match.span() for match in re.finditer(r"\S+", text)]
    spans = np.searchsorted(origins, np.asarray(edges, np.int64).reshape(-1, 2))
    return [(first, last) for first, last in spans.tolist() if last > first]


def _release_torn(words: Sequence[Span], positions: Places) -> None:
    """Free what of a word lies away from the rest of it, and short words found only in part.

    In the folded texts a word stands in one piece, also where a line ends within it.
    """
    for first, last in words:
        places = positions[first:last]
        if (places >= 0).all() and places[-1] - places[0] == last - first - 1:
            continue
        aligned = np.flatnonzero(places >= 0)
        torn = np.flatnonzero(np.abs(np.diff(places[aligned])) > _NEAR) + 1
        pieces = np.split(aligned, torn)
        largest = max(pieces, key=len)
        largest_places = places[largest]
        places[:] = -1
        if last - first > _SHORT_WORD or len(largest) == last - first:
            places[largest] = largest_places


def _extend(letters: str, signs: str, words: Sequence[Span], positions: Places) -> None:
    """Fill ``positions`` for the rest of a word beside what was found, where the page has it."""
    used = np.zeros(len(signs), dtype=bool)
    used[positions[positions >= 0]] = True
    for first, last in words:
        steps = [(index, 1) for index in range(first + 1, last)]
        steps += [(index, -1) for index in range(last - 2, first - 1, -1)]
        for index, step in steps:
            place = positions[index - step] + step
            if positions[index] >= 0 or positions[index - step] < 0 or not 0 <= place < len(signs):
                continue
            if not used[place] and signs[place] == letters[index]:
                positions[index], used[place] = place, True


def _place_moved(letters: str, signs: str, positions: Places) -> None:
    """Fill ``positions`` for runs that stand elsewhere on the page, the longest of a gap first."""
    free = list(signs)
    for index in positions[positions >= 0]:
        free[index] = _TAKEN
    waiting = list(_gaps(positions))
    for _ in range(_MOST_SEARCHES):
        while waiting and waiting[-1][1] - waiting[-1][0] < _SHORTEST:
            waiting.pop()
        if not waiting:
            return
        first, last = waiting.pop()
        run = _longest(letters[first:last], "".join(free))
        if run.length >= _SHORTEST:
            start = first + run.text
            positions[start : start + run.length] = np.arange(run.page, run.page + run.length)
            free[run.page : run.page + run.length] = _TAKEN * run.length
            waiting += [(first, start), (start + run.length, last)]


def _place_words(
    letters: str, signs: str, words: Sequence[Span], page_words: Sequence[Span], positions: Places
) -> None:
    """Fill ``positions`` for words that both texts have left over, like ones in the same order."""
    used = np.zeros(len(signs), dtype=bool)
    used[positions[positions >= 0]] = True
    unused: dict[str, deque[int]] = defaultdict(deque)
    for first, last in page_words:
        if not used[first:last].any():
            unused[signs[first:last]].append(first)
    for first, last in words:
        waiting = unused.get(letters[first:last])
        if waiting and (positions[first:last] < 0).all():
            start = waiting.popleft()
            positions[first:last] = np.arange(start, start + last - first)


def _gaps(positions: Places) -> Iterator[tuple[int, int]]:
    missing = np.concatenate([[False], positions < 0, [False]])
    edges = np.flatnonzero(missing[1:] != missing[:-1])
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _longest(gap_text: str, free: str) -> _Run:
    at = free.find(gap_text)
    if at >= 0:
        return _Run(0, at, len(gap_text))
    matcher = SequenceMatcher(None, free, gap_text, autojunk=False)
    match = matcher.find_longest_match(0, len(free), 0, len(gap_text))
    return _Run(match.b, match.a, match.size)


def _unique(places: Places) -> Places:
    """A ligature on the page stands for several letters; the first of them keeps it."""
    _, first = np.unique(places, return_index=True)
    unique = np.full(len(places), -1, np.int64)
    unique[first] = places[first]
    return unique
