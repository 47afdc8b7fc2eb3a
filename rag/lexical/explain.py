"""Evidence of a BM25 score: which words matched, and what each contributed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

import numpy as np

from rag.lexical.analyzers import Analyzer
from rag.lexical.clauses import Clause, TermCandidate
from rag.lexical.segment import Segment
from rag.lexical.surfaces import Kind


@dataclass(frozen=True, slots=True)
class TermMatch:
    """The contribution of one query term to the score of a passage.

    The contribution is ``repeats * weight * idf * tf / (tf + k1 * length factor)``. ``matched`` is
    the index term that the passage contains, and ``kind`` is its relation to the query's term.
    ``weight`` is 1 for an exact match. ``repeats`` is the frequency of the term in the query.
    ``passages`` (df) counts the passages that contain ``matched``. ``idf`` is the idf of
    ``matched``, but for a prefix or fuzzy match at most that of the query's own term.
    ``in_context`` is the part of ``tf`` that is in the context indexed with the passage and not in
    its text.
    """

    term: str
    matched: str
    kind: Kind
    weight: float
    repeats: float
    tf: int
    passages: int
    idf: float
    contribution: float
    in_context: int = 0

    @classmethod
    def best(
        cls, clause: Clause, segment: Segment, at: int, row: int, damping: float
    ) -> TermMatch | None:
        """The match that a row of the segment numbered ``at`` is credited with, if any."""
        matches = [
            cls(
                term=clause.term,
                matched=candidate.term,
                kind=candidate.kind,
                weight=candidate.weight,
                repeats=clause.repeats,
                tf=tf,
                passages=candidate.passages,
                idf=candidate.idf,
                contribution=candidate.boost * (tf / (tf + damping)),
            )
            for candidate in clause.candidates
            if (tf := _occurrences(candidate, segment, at, row))
        ]
        return max(matches, key=lambda match: match.contribution, default=None)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A BM25 score taken apart: the contributions of ``matches`` add up to ``score``.

    ``passages`` is the size of the index (N), lengths are in terms, ``length_factor`` is
    ``1 - b + b * length / average_length``. ``unmatched`` are query terms that the passage lacks.
    """

    key: int
    score: float
    k1: float
    b: float
    passages: int
    length: int
    average_length: float
    length_factor: float
    matches: tuple[TermMatch, ...]
    unmatched: tuple[str, ...]

    def with_context(self, context: str, analyzer: Analyzer) -> Explanation:
        """The same, with how often each match stands in the passage's ``context``."""
        there = Counter(term for term, _, _ in analyzer.spans(context))
        matches = (replace(match, in_context=there[match.matched]) for match in self.matches)
        return replace(self, matches=tuple(matches))


def _occurrences(candidate: TermCandidate, segment: Segment, at: int, row: int) -> int:
    place = candidate.places[at]
    if place < 0:
        return 0
    part = slice(segment.starts[place], segment.starts[place + 1])
    positions = np.flatnonzero(segment.rows[part] == row)
    return int(segment.counts[part][positions[0]]) if len(positions) else 0


def term_spans(analyzer: Analyzer, text: str, terms: Container[str]) -> list[tuple[int, int]]:
    """Return the character spans of some index terms in ``text``, disjoint and in order."""
    return _joined((start, end) for term, start, end in analyzer.spans(text) if term in terms)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap made one."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart
