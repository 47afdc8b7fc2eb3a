"""Returned texts, located in our documents by their words, since ids of other systems differ.

An index of shingles finds the places of many texts that share letters with a text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

import numpy as np
import numpy.typing as npt

from rag.lexical.letters import Letters, letters_of
from rag.types import Span

SHINGLE = 12
"""Letters in a shingle: about two words."""
MOST_FINGERPRINTS = 1 << 23
"""At eight bytes each, 64 MB."""
_SHORTEST_WINDOW = 8
_BASE = np.uint32(0x01000193)
_MIXER = np.uint32(0x9E3779B1)

Hashes = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]


def shingle_hashes(letters: str) -> Hashes:
    """The hashes of all shingles of a text's letters, in their order."""
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), np.uint32)
    number = len(codes) - SHINGLE + 1
    if number <= 0:
        return np.empty(0, np.uint32)
    hashes = np.zeros(number, np.uint32)
    for offset in range(SHINGLE):
        hashes = hashes * _BASE + codes[offset : offset + number]
    hashes ^= hashes >> np.uint32(15)
    hashes *= _MIXER
    return hashes ^ (hashes >> np.uint32(13))


class Fingerprints:
    """Places of shingles in a sequence of texts, chosen by winnowing.

    Of the shingles in each window the one with the least hash is stored, so that a text that
    shares ``guaranteed`` letters with one of these texts shares a fingerprint with it. Windows grow
    with the texts, which bounds memory to ``MOST_FINGERPRINTS``.

    Source: Schleimer, Wilkerson, Aiken. Winnowing: local algorithms for document fingerprinting.
    SIGMOD 2003.
    """

    def __init__(self, texts: Iterable[str], length: int, most: int = MOST_FINGERPRINTS) -> None:
        """Read ``texts``, which together have about this number of letters (``length``)."""
        window = max(_SHORTEST_WINDOW, 2 * length // most)
        self.guaranteed = window + SHINGLE - 1
        self._window = window
        hashes, places, ends, total = list[Hashes](), list[Places](), list[int](), 0
        for letters in texts:
            all_hashes = shingle_hashes(letters)
            chosen = _winnowed(all_hashes, window)
            hashes.append(all_hashes[chosen])
            places.append(chosen + total)
            total += len(letters)
            ends.append(total)
        flat = np.concatenate([*hashes, np.empty(0, np.uint32)])
        order = np.argsort(flat, kind="stable")
        self._hashes = flat[order]
        joined = np.concatenate([*places, np.empty(0, np.int64)])[order]
        self._places = joined.astype(np.uint32 if total < 1 << 32 else np.int64)
        self._ends = np.array(ends, np.int64)
        self._starts = np.concatenate([np.zeros(1, np.int64), self._ends])

    def shared(self, hashes: Hashes, most: int) -> tuple[Places, Places, Places]:
        """Look fingerprints of a text up: the numbers of texts, places there, and places here.

        One that occurs more than ``most`` times is left out, unless all do.
        """
        chosen = _winnowed(hashes, self._window)
        hashes = hashes[chosen]
        first = np.searchsorted(self._hashes, hashes, "left")
        counts = np.searchsorted(self._hashes, hashes, "right") - first
        rare = counts <= most
        counts = np.where(rare, counts, 0) if (counts[rare] > 0).any() else np.minimum(counts, most)
        mine = np.repeat(np.arange(len(hashes)), counts)
        ordinal = np.arange(len(mine)) - (np.cumsum(counts) - counts)[mine]
        places = self._places[first[mine] + ordinal].astype(np.int64)
        texts = np.searchsorted(self._ends, places, "right")
        return texts, places - self._starts[texts], chosen[mine]


def _winnowed(hashes: Hashes, window: int) -> Places:
    """The places of the least hash of each window; of a shorter text the least of all."""
    if len(hashes) <= window:
        return np.array([hashes.argmin()] if len(hashes) else [], np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(hashes, window)
    return np.unique(windows.argmin(axis=1) + np.arange(len(windows)))


Method = Literal["exact", "normalised", "shingles", "ambiguous", "foreign"]

SIMILAR = 0.4
"""The least share of a text's shingles that stand together in the document it comes from."""
_CACHED = 1 << 23  # letters of documents, six bytes each
_MOST_PLACES = 64  # of a shingle that tells places apart
_MOST_EQUAL = 16  # places that are compared
_MOST_SIMILAR = 6
_SHIFT = 512  # letters that a document may have more or less within a text, as a footer of a page
_OFFSET = 1 << 30  # makes places before the start of a document positive
_CHANGED = 2 * SHINGLE  # letters at an end that may differ

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AlignedText:
    """The place of a returned text: ``text[start:end]`` of a document.

    ``similarity`` is the share of its shingles that stand there, 1 for the same letters. A text
    with several equally good places is ``ambiguous`` and has the first of them; a ``foreign`` one
    is in no document, and its ``document_id`` is "".
    """

    document_id: str
    start: int
    end: int
    method: Method
    similarity: float


@dataclass(frozen=True, slots=True)
class Source:
    """A document to find texts in; ``characters`` is the length of its text."""

    id: str
    name: str
    characters: int


@dataclass(frozen=True, slots=True)
class _Place:
    """``start`` and ``end`` count the letters of the document with this number."""

    document: int
    start: int
    end: int
    similarity: float = 1.0


class Aligner:
    """A finder of texts in the documents of one base; not for several threads at once.

    Texts are compared by their letters alone, so white space, Unicode forms, hyphenation,
    Markdown, HTML and cut ends make no difference. ``read`` returns the text of a document by its
    id. Some of the texts are kept in memory; the index of their shingles has a bound.
    """

    def __init__(self, sources: Iterable[Source], read: Callable[[str], str]) -> None:
        self._sources = list(sources)
        self._read = read
        self._cached: OrderedDict[int, tuple[str, Letters]] = OrderedDict()
        self._letters_cached = 0
        self._named: dict[str, set[int]] = {}
        for number, source in enumerate(self._sources):
            for name in _spellings(source.name):
                self._named.setdefault(name, set()).add(number)
        self._characters = sum(source.characters for source in self._sources)
        numbers = range(len(self._sources))
        self._fingerprints = Fingerprints(
            (self._document(number)[1].text for number in numbers), self._characters
        )

    def align(self, text: str, title: str = "", names: Iterable[str] = ()) -> AlignedText:
        """Locate a text.

        ``title`` and ``names``, such as a file in its metadata, decide between documents that have
        the text alike. A text of less than about four words is looked for in the documents of
        these names alone, where the base is too large to be read for it.
        """
        wanted = letters_of(text)
        named = self._documents_named(title, *names)
        if whole := self._preferred(self._whole(wanted, named), named):
            start, end, method = self._span_of_whole(text, wanted, whole[0])
            return self._aligned(whole[0], start, end, "ambiguous" if len(whole) > 1 else method)
        similar = self._preferred(self._similar(wanted), named)
        if not similar:
            return AlignedText("", 0, 0, "foreign", 0.0)
        words, letters = self._document(similar[0].document)
        start, end = _with_punctuation(words, *letters.span(similar[0].start, similar[0].end))
        method = "ambiguous" if len(similar) > 1 else "shingles"
        return self._aligned(similar[0], start, end, method)

    def _aligned(self, place: _Place, start: int, end: int, method: Method) -> AlignedText:
        document_id = self._sources[place.document].id
        return AlignedText(document_id, start, end, method, place.similarity)

    def _documents_named(self, *names: str) -> set[int]:
        spellings = (spelling for name in names for spelling in _spellings(name))
        return set[int]().union(*(self._named.get(name, ()) for name in spellings))

    def _preferred(self, places: list[_Place], named: set[int]) -> list[_Place]:
        return [place for place in places if place.document in named] or places

    def _span_of_whole(self, text: str, wanted: Letters, place: _Place) -> tuple[int, int, Method]:
        words, letters = self._document(place.document)
        start, end = letters.span(place.start, place.end)
        stripped = text.strip()
        before = int(wanted.places[0]) - (len(text) - len(text.lstrip()))
        if words.startswith(stripped, max(start - before, 0)):
            return start - before, start - before + len(stripped), "exact"
        return *_with_punctuation(words, start, end), "normalised"

    def _whole(self, wanted: Letters, named: set[int]) -> list[_Place]:
        """Return the places where all letters of a text stand in their order."""
        length = len(wanted.text)
        if length < self._fingerprints.guaranteed:
            everything = range(len(self._sources)) if self._characters <= _CACHED else ()
            return self._scanned(wanted.text, list(dict.fromkeys([*sorted(named), *everything])))
        texts, places, mine = self._fingerprints.shared(shingle_hashes(wanted.text), _MOST_PLACES)
        # Of a text that many documents have alike, the named ones might not be among the compared.
        candidates = _most_frequent(texts, places - mine)
        return self._scanned(wanted.text, sorted(named)) or [
            _Place(document, start, start + length)
            for document, start in sorted(candidates)
            if self._document(document)[1].text.startswith(wanted.text, start)
        ]

    def _scanned(self, letters: str, numbers: Sequence[int]) -> list[_Place]:
        """Return the places of a text in some documents, without its fingerprints."""
        places = list[_Place]()
        for number in numbers if letters else ():
            text = self._document(number)[1].text
            start = text.find(letters)
            while start >= 0 and len(places) < _MOST_EQUAL:
                places.append(_Place(number, start, start + len(letters)))
                start = text.find(letters, start + 1)
        return places

    def _similar(self, wanted: Letters) -> list[_Place]:
        """Return the places that share the most of a text's shingles, if these are enough."""
        hashes = shingle_hashes(wanted.text)
        texts, places, mine = self._fingerprints.shared(hashes, _MOST_PLACES)
        candidates = [
            self._place(number, start, wanted.text, hashes)
            for number, start in _neighbourhoods(texts, places - mine, mine)
        ]
        best = max((place.similarity for place in candidates), default=0.0)
        equal = {place for place in candidates if place.similarity == best >= SIMILAR}
        return sorted(equal, key=lambda place: (place.document, place.start))

    def _place(self, number: int, start: int, wanted: str, hashes: Hashes) -> _Place:
        """Return the place of a document that a text has if it begins at about ``start``."""
        letters = self._document(number)[1].text
        first = max(start - _SHIFT, 0)
        there = shingle_hashes(letters[first : max(start + 2 * _SHIFT + len(wanted), 0)])
        shared = chained(common_runs(hashes, there))
        if not shared:
            return _Place(number, 0, 0, 0.0)
        head, tail = shared[0], shared[-1]
        # Words that differ at an end belong to the place; a title before the text doesn't.
        before, after = head.start, len(hashes) - tail.start - tail.length
        begins = first + head.place - (before if before <= _CHANGED else 0)
        ends = first + tail.place + tail.length + SHINGLE - 1
        ends += after if after <= _CHANGED else 0
        similarity = sum(run.length for run in shared) / len(hashes)
        return _Place(number, max(begins, 0), min(ends, len(letters)), similarity)

    def _document(self, number: int) -> tuple[str, Letters]:
        """Return a document's text and letters, cached."""
        if number in self._cached:
            self._cached.move_to_end(number)
            return self._cached[number]
        text = self._read(self._sources[number].id)
        self._cached[number] = text, letters_of(text)
        self._letters_cached += len(text)
        while self._letters_cached > _CACHED and len(self._cached) > 1:
            _, (dropped, _) = self._cached.popitem(last=False)
            self._letters_cached -= len(dropped)
        return self._cached[number]


def _spellings(name: str) -> Iterator[str]:
    """Generate what a name of a document is compared by: with and without folders and suffix."""
    path = PurePath(name)
    spelt = (letters_of(form).text for form in {name, path.name, path.stem})
    return (form for form in spelt if form)


def _most_frequent(texts: _Numbers, starts: _Numbers) -> list[Span]:
    """Return the most frequent pairs of a text and a start."""
    pairs, counts = np.unique(texts << 40 | (starts & (1 << 40) - 1), return_counts=True)
    best = pairs[np.argsort(-counts, kind="stable")[:_MOST_EQUAL]]
    return [(int(pair >> 40), int(pair & (1 << 40) - 1)) for pair in best]


def _neighbourhoods(texts: _Numbers, starts: _Numbers, mine: _Numbers) -> list[Span]:
    """Return texts and rough starts that share many shingles, with half of the best at least."""
    halves = np.concatenate([starts, starts + _SHIFT // 2]) // _SHIFT + _OFFSET
    shifted = np.repeat(np.array([0, 1]), len(starts))
    which, members = np.unique(
        (np.tile(texts, 2) << 40) | (halves << 1) | shifted, return_inverse=True
    )
    counts = np.bincount(np.unique(members << 32 | np.tile(mine, 2)) >> 32)
    if not len(counts):
        return []
    best = np.argsort(-counts, kind="stable")[:_MOST_SIMILAR]
    return [
        (int(which[place] >> 40), int((which[place] & (1 << 40) - 1) // 2 - _OFFSET) * _SHIFT)
        for place in best
        if counts[place] * 2 >= counts[best[0]]
    ]


def _with_punctuation(words: str, start: int, end: int) -> Span:
    """Widen a span by the punctuation that touches it."""
    while start and not (words[start - 1].isalnum() or words[start - 1].isspace()):
        start -= 1
    while end < len(words) and not (words[end].isalnum() or words[end].isspace()):
        end += 1
    return start, end


_SHORTEST = 8  # shingles in succession: less is a phrase that anybody writes
_MOST_OCCURRENCES = 4  # of a shingle within the text
_MOST_RUNS = 200


@dataclass(frozen=True, slots=True)
class Run:
    """``length`` shingles in succession, from ``start`` in one text and ``place`` in the other."""

    start: int
    place: int
    length: int

    @property
    def shift(self) -> int:
        """The letters by which the second text is ahead."""
        return self.place - self.start


def common_runs(hashes: Hashes, there: Hashes) -> list[Run]:
    """The longest runs of shingles that ``there`` has in common with ``hashes``, longest first."""
    order = np.argsort(hashes, kind="stable")
    first = np.searchsorted(hashes[order], there, "left")
    counts = np.searchsorted(hashes[order], there, "right") - first
    counts[counts > _MOST_OCCURRENCES] = 0
    places = np.repeat(np.arange(len(there)), counts)
    ordinal = np.arange(len(places)) - (np.cumsum(counts) - counts)[places]
    starts = order[first[places] + ordinal]
    sorting = np.lexsort((starts, places - starts))
    starts, places = starts[sorting], places[sorting]
    shifts = places - starts
    breaks = np.flatnonzero((np.diff(starts) != 1) | (np.diff(shifts) != 0)) + 1
    begins = np.concatenate([[0], breaks])
    lengths = np.diff(np.concatenate([begins, [len(starts)]]))
    longest = np.argsort(-lengths, kind="stable")[:_MOST_RUNS]
    return [
        Run(int(starts[begins[run]]), int(places[begins[run]]), int(lengths[run]))
        for run in longest
        if lengths[run] >= _SHORTEST
    ]


def chained(runs: Sequence[Run]) -> list[Run]:
    """The longest run and those before and after it in both texts, next to each other, in order."""
    if not runs:
        return []
    longest = max(runs, key=lambda run: run.length)
    return [*reversed(_following(longest, runs, -1)), longest, *_following(longest, runs, 1)]


def _following(run: Run, runs: Sequence[Run], direction: int) -> list[Run]:
    """Return the nearest runs one after another; a backward ``direction`` is -1."""
    chain = list[Run]()
    while True:
        beyond = [(_gap(run, other, direction), other) for other in runs]
        near = [(gap, other.start, other) for gap, other in beyond if gap is not None]
        if not near:
            return chain
        run = min(near, key=lambda item: item[:2])[2]
        chain.append(run)


def _gap(run: Run, other: Run, direction: int) -> int | None:
    """Return how far ``other`` is beyond a run in both texts; None where it isn't."""
    before, after = (run, other) if direction > 0 else (other, run)
    start, place = after.start - before.start, after.place - before.place
    if min(start, place) < before.length:
        return None
    return start - before.length + abs(start - place)
