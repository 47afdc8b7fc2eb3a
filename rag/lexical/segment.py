"""One immutable piece of a lexical index: postings in compressed sparse rows, by term."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rag.lexical.analyzers import Analyzer
from rag.lexical.passage_rows import PassageRows
from rag.lexical.surfaces import Spelling, Surfaces, surface
from rag.types import Integers, Keys, Mask

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Segment(PassageRows):
    """Passages by words. ``rows[starts[t]:starts[t + 1]]`` are those that hold ``terms[t]``.

    ``lengths`` has shape (rows,); ``terms`` is sorted; ``counts`` says how often the term occurs
    in each of ``rows``. ``analyzers`` are the names of those that cut the passages. ``surfaces``
    are the words as they are written; None in what an earlier version saved.
    """

    lengths: Rows
    terms: list[str]
    starts: Integers
    rows: Rows
    counts: Rows
    analyzers: frozenset[str] = frozenset()
    surfaces: Surfaces | None = None

    @cached_property
    def tokens(self) -> int:
        """Number of terms in live passages, with repetitions."""
        return int(self.lengths[self.live].sum(dtype=np.int64))

    @cached_property
    def bytes(self) -> int:
        """About how much memory it takes."""
        arrays = sum(getattr(self, name).nbytes for name in _ARRAYS)
        words = 0 if self.surfaces is None else self.surfaces.bytes
        return int(arrays) + words + sum(map(sys.getsizeof, self.terms))

    @cached_property
    def spelling(self) -> Spelling:
        """The terms, prepared for finding misspellings."""
        return Spelling(self.terms)

    def term(self, text: str) -> int:
        """Position of a term, or -1."""
        at = bisect_left(self.terms, text)
        return at if at < len(self.terms) and self.terms[at] == text else -1

    def frequency(self, term: int) -> int:
        """Number of live passages that hold the term at this position."""
        rows = self.rows[self.starts[term] : self.starts[term + 1]]
        return len(rows) if self.is_complete else int(np.count_nonzero(self.live[rows]))

    def save(self, folder: Path) -> None:
        """Write one ``.npy`` file per array and ``terms.txt``, a term per line."""
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)
        (folder / "terms.txt").write_bytes("\n".join(self.terms).encode())
        if self.surfaces is not None:
            self.surfaces.save(folder)

    @classmethod
    def load(cls, folder: Path) -> Segment:
        """Read what ``save`` wrote. Raises OSError or ValueError for missing or damaged files."""
        try:
            return cls._read(folder)
        except EOFError as error:
            raise ValueError(f"{folder} holds an empty file") from error

    @classmethod
    def _read(cls, folder: Path) -> Segment:
        arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in _ARRAYS}
        text = (folder / "terms.txt").read_bytes().decode()
        terms, surfaces = text.split("\n") if text else [], Surfaces.load(folder)
        segment = cls(terms=terms, surfaces=surfaces, **arrays)
        if len(segment.starts) != len(segment.terms) + 1:
            raise ValueError("vocabulary and postings are of different builds")
        return segment


_ARRAYS = ("keys", "lengths", "live", "starts", "rows", "counts")


def build(analyzer: Analyzer, keys: Sequence[int], texts: Sequence[str]) -> Segment:
    """A segment of passages, in their order. Keys must be distinct."""
    words: dict[str, int] = _Numbers()
    numbers, lengths = array("i"), array("i")
    for text in texts:
        before = len(numbers)
        numbers.extend(map(words.__getitem__, analyzer.words(text)))
        lengths.append(len(numbers) - before)
    return _inverted(analyzer, np.array(keys, dtype=np.int64), words, numbers, lengths)


class _Numbers(dict[str, int]):
    """Counts words as they come: the n-th distinct one is n."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def _inverted(
    analyzer: Analyzer, keys: Keys, words: dict[str, int], numbers: array[int], lengths: array[int]
) -> Segment:
    """Postings from passages given as running word numbers."""
    terms: dict[str, int] = _Numbers()
    cut = [[terms[token[0]] for token in analyzer.word_tokens(word)] for word in words]
    word_numbers = (
        np.frombuffer(numbers, dtype=np.int32) if numbers else np.empty(0, dtype=np.int32)
    )
    word_rows = np.repeat(np.arange(len(keys)), np.array(lengths, dtype=np.int64))
    widths = np.array([len(tokens) for tokens in cut], dtype=np.int64)
    flat = np.array([term for tokens in cut for term in tokens], dtype=np.int64)
    firsts = np.concatenate(([0], np.cumsum(widths)))[:-1]
    rows = np.repeat(word_rows, widths[word_numbers])
    term_of = flat[ranges(firsts[word_numbers], widths[word_numbers])]
    ordered = sorted(terms)
    rank = np.empty(len(terms), dtype=np.int64)
    rank[[terms[term] for term in ordered]] = np.arange(len(terms))
    places = dict(zip(terms, rank.tolist(), strict=True))
    pairs, counts = np.unique(rank[term_of] * len(keys) + rows, return_counts=True)
    return Segment(
        keys=keys,
        lengths=np.bincount(rows, minlength=len(keys)).astype(np.int32),
        live=np.ones(len(keys), dtype=np.bool_),
        terms=ordered,
        starts=np.searchsorted(pairs, np.arange(len(terms) + 1) * len(keys)),
        rows=(pairs % max(1, len(keys))).astype(np.int32),
        counts=counts.astype(np.int32),
        analyzers=frozenset({analyzer.name}),
        surfaces=Surfaces.of(_written(analyzer, words, places)),
    )


def _written(
    analyzer: Analyzer, words: Iterable[str], places: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """Yield the surface forms of ``words`` with the places of their terms."""
    for word in words:
        for term, start, end in analyzer.word_tokens(word):
            written = surface(word[start:end])
            if written is not None:
                yield written, places[term]


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """One segment of the live passages of all, in order; terms without passages are gone."""
    everything = sorted(term for segment in segments for term in segment.terms)
    union = [term for term, _ in groupby(everything)]
    number = {term: i for i, term in enumerate(union)}
    places = [np.array([number[term] for term in s.terms], dtype=np.int64) for s in segments]
    widths = [_live_widths(segment) for segment in segments]
    total = np.zeros(len(union), dtype=np.int64)
    for place, width in zip(places, widths, strict=True):
        total[place] += width
    rows, counts = _scattered(segments, places, widths, total)
    used = total > 0
    return Segment(
        keys=np.concatenate([segment.keys[segment.live] for segment in segments]),
        lengths=np.concatenate([segment.lengths[segment.live] for segment in segments]),
        live=np.ones(sum(segment.size for segment in segments), dtype=np.bool_),
        terms=[union[i] for i in np.flatnonzero(used)],
        starts=np.concatenate(([0], np.cumsum(total[used]))),
        rows=rows,
        counts=counts,
        analyzers=frozenset().union(*(segment.analyzers for segment in segments)),
        surfaces=_merged_surfaces(segments, places, used),
    )


def _merged_surfaces(
    segments: Sequence[Segment], places: Sequence[Integers], used: Mask
) -> Surfaces | None:
    """Words whose terms are still ``used``; None where a segment does not know its words."""
    new_places = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    parts = [
        (segment.surfaces, new_places[place])
        for segment, place in zip(segments, places, strict=True)
        if segment.surfaces is not None
    ]
    return Surfaces.merged(parts) if len(parts) == len(segments) else None


def _scattered(
    segments: Sequence[Segment],
    places: Sequence[Integers],
    widths: Sequence[Integers],
    total: Integers,
) -> tuple[Rows, Rows]:
    """Rows and counts of a merge, every posting copied straight to its place: no sort."""
    rows = np.empty(int(total.sum()), dtype=np.int32)
    counts = np.empty_like(rows)
    cursor = np.concatenate(([0], np.cumsum(total)[:-1]))
    bases = accumulate((segment.size for segment in segments), initial=0)
    for segment, place, width, base in zip(segments, places, widths, bases, strict=False):
        target = ranges(cursor[place], width)
        live = slice(None) if segment.is_complete else segment.live[segment.rows]
        row_of = (np.cumsum(segment.live) - 1 + base).astype(np.int32)
        rows[target] = row_of[segment.rows[live]]
        counts[target] = segment.counts[live]
        cursor[place] += width
    return rows, counts


def _live_widths(segment: Segment) -> Integers:
    """Number of live passages by term, shape (terms,)."""
    if segment.is_complete:
        return np.diff(segment.starts)
    running = np.concatenate(([0], np.cumsum(segment.live[segment.rows])))
    return np.diff(running[segment.starts])


def ranges(starts: Integers, widths: Integers) -> Integers:
    """``starts[0], starts[0] + 1, ...`` for ``widths[0]`` numbers, then those of ``starts[1]``."""
    shift = starts - np.concatenate(([0], np.cumsum(widths)))[:-1]
    return np.arange(int(widths.sum())) + np.repeat(shift, widths)
