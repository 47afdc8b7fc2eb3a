"""A flat layout of the matches of many queries.

With it, BM25 with other values of k1 and b is arithmetic on arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rag.lexical.clauses import Clause, length_damping
from rag.lexical.segment import Rows, Segment
from rag.types import Integers, Keys, Mask, Scores

Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Postings:
    """The passages that match some queries, by query, then key, with all that decides their score.

    ``rows`` and ``keys`` (passages,) are numbers of queries, and keys. ``places`` (matches,) tells
    which of the passages holds a query's term or its variants. ``boosts`` and ``kinds``
    (postings,) are what one term can add to a score at most, and the number of its count and of the
    passage's length in ``counts`` and ``lengths`` (kinds,): few of these differ. ``firsts``
    (matches,) is the first posting of each match, None where it has no other.
    """

    queries: int
    average_length: float
    rows: Integers
    keys: Keys
    places: Integers
    boosts: Scores
    kinds: Integers
    counts: Scores
    lengths: Scores
    firsts: Integers | None = None

    def scores(self, k1: float, b: float) -> Scores:
        """Return the scores of all passages for these parameters.

        They are equal to the scores of a search to the last bit.
        """
        damped = length_damping(self.lengths, self.average_length, k1, b)
        saturated = self.counts / (self.counts + damped)
        values = self.boosts * saturated[self.kinds]
        if self.firsts is not None and len(values):
            # The best of each match's postings, added up in the order of the query's terms.
            values = np.maximum.reduceat(values, self.firsts)
        summed = np.bincount(self.places, values, len(self.keys))
        return summed.astype(np.float64, copy=False)


class _Matches(NamedTuple):
    """Postings of one query in the order of its terms; those of one match stand together."""

    keys: Keys
    counts: Integers
    lengths: Integers
    boosts: Scores
    is_first: Mask

    @classmethod
    def joined(cls, parts: Sequence[_Matches]) -> _Matches:
        """Join the entries of all ``parts``, one after the other."""
        return cls(
            keys=_joined([part.keys for part in parts], np.int64),
            counts=_joined([part.counts for part in parts], np.int64),
            lengths=_joined([part.lengths for part in parts], np.int64),
            boosts=_joined([part.boosts for part in parts], np.float64),
            is_first=_joined([part.is_first for part in parts], np.bool_),
        )


def laid_out(
    queries: Sequence[Sequence[Clause]],
    beside: Sequence[Keys],
    segments: Sequence[Segment],
    allowed: Keys | None,
    average_length: float,
) -> Postings:
    """The postings of queries, each given as its clauses.

    ``beside`` has passages of each query that are to be there, matching or not; ``allowed``
    restricts what matches, None for no limit.
    """
    usable = [
        None if allowed is None and segment.is_complete else segment.usable(allowed)
        for segment in segments
    ]
    pieces = [
        _Matches.joined([_of_clause(clause, segments, usable) for clause in parts])
        for parts in queries
    ]
    keys = [np.union1d(piece.keys, also) for piece, also in zip(pieces, beside, strict=True)]
    sizes = np.array([len(part_keys) for part_keys in keys], np.int64)
    starts = np.cumsum(sizes) - sizes
    places = [
        start + np.searchsorted(part_keys, piece.keys)
        for start, part_keys, piece in zip(starts, keys, pieces, strict=True)
    ]
    matches = _Matches.joined(pieces)
    width = int(matches.lengths.max(initial=0)) + 1
    distinct, kinds = np.unique(matches.counts * width + matches.lengths, return_inverse=True)
    first = np.flatnonzero(matches.is_first)
    return Postings(
        queries=len(pieces),
        average_length=average_length,
        rows=np.repeat(np.arange(len(keys)), sizes),
        keys=_joined(keys, np.int64),
        places=_joined(places, np.int64)[first],
        boosts=matches.boosts,
        kinds=kinds,
        counts=(distinct // width).astype(np.float64),
        lengths=(distinct % width).astype(np.float64),
        firsts=None if len(first) == len(kinds) else first,
    )


def _of_clause(
    clause: Clause, segments: Sequence[Segment], usable: Sequence[Mask | None]
) -> _Matches:
    pieces = list(_pieces(clause, segments, usable))
    keys = _joined([segment.keys[rows] for segment, rows, _, _ in pieces], np.int64)
    lengths = _joined([segment.lengths[rows] for segment, rows, _, _ in pieces], np.int64)
    counts = _joined([counts for _, _, counts, _ in pieces], np.int64)
    boosts = np.repeat([boost for *_, boost in pieces], [len(rows) for _, rows, _, _ in pieces])
    if len(clause.candidates) > 1:
        order = np.argsort(keys, kind="stable")
        keys, counts, lengths, boosts = (
            column[order] for column in (keys, counts, lengths, boosts)
        )
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    return _Matches(keys, counts, lengths, boosts, is_first)


def _pieces(
    clause: Clause, segments: Sequence[Segment], usable: Sequence[Mask | None]
) -> Iterator[tuple[Segment, Rows, Rows, float]]:
    """Rows of a segment, the counts there, and the boost, by candidate and segment."""
    for candidate in clause.candidates:
        for segment, place, may in zip(segments, candidate.places, usable, strict=True):
            if place >= 0:
                part = slice(*segment.starts[place : place + 2])
                rows, counts = segment.rows[part], segment.counts[part]
                if may is not None:
                    rows, counts = rows[may[rows]], counts[may[rows]]
                yield segment, rows, counts, candidate.boost


def _joined(parts: Sequence[npt.NDArray[Any]], kind: type[Kind]) -> npt.NDArray[Kind]:
    return np.concatenate([np.empty(0, kind), *parts]).astype(kind, copy=False)
