"""Queries of lexical search with their options, as BM25 clauses over some segments.

Clauses say what counts for each query term, and how much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypedDict

import numpy as np

from rag.lexical.segment import Segment
from rag.lexical.surfaces import FUZZY_MOST, PREFIX_MOST, Kind, Variant, misspelt, prefix_variants
from rag.types import Integers, Scores

Query = str | Mapping[str, float]
"""A question as text, or index terms by how much each counts (1 is once in a question)."""


class Variants(TypedDict):
    """Options for index terms that match a query term besides the term itself."""

    fuzzy: bool
    prefix: bool


class Bm25Options(Variants):
    """The parameters of a BM25 score besides the words."""

    k1: float
    b: float


@dataclass(frozen=True, slots=True)
class TermCandidate:
    """An index term that counts for a query term.

    ``passages`` is its document frequency, ``boost`` what it can add to a score at most,
    ``places`` its position in each segment (-1: absent).
    """

    term: str
    kind: Kind
    weight: float
    passages: int
    idf: float
    boost: float
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """One distinct query term; a passage is credited with the best of ``candidates`` it holds.

    ``repeats`` says how often it stands in the query, or how much it counts in a weighted one.
    """

    term: str
    repeats: float
    candidates: tuple[TermCandidate, ...]


def inverse_document_frequency(passages: int, total: int) -> float:
    """Lucene's variant of the Robertson-Sparck Jones weight, which is never negative."""
    return math.log(1 + (total - passages + 0.5) / (passages + 0.5))


def clauses(
    terms: Mapping[str, float], segments: Sequence[Segment], *, fuzzy: bool, prefix: bool
) -> list[Clause]:
    """One clause per distinct term with its weight, in their order."""
    total = sum(segment.size for segment in segments)
    return [
        Clause(term, repeats, tuple(_candidates(term, repeats, segments, total, fuzzy, prefix)))
        for term, repeats in terms.items()
    ]


def _candidates(
    term: str, repeats: float, segments: Sequence[Segment], total: int, fuzzy: bool, prefix: bool
) -> Iterator[TermCandidate]:
    """The term itself, then its variants. A rare variant is not worth more than the term."""
    places, passages = find_term(term, segments)
    ceiling = inverse_document_frequency(passages, total)
    if passages:
        yield TermCandidate(term, "exact", 1.0, passages, ceiling, repeats * ceiling, places)
    variants = list[Variant]()
    if prefix:
        longer = prefix_variants(term, (segment.terms for segment in segments))
        variants += islice(_living(longer, segments), PREFIX_MOST)
    if fuzzy:
        seen = {variant.term for variant in variants}
        near = misspelt(term, (segment.spelling for segment in segments))
        others = (variant for variant in near if variant.term not in seen)
        variants += islice(_living(others, segments), FUZZY_MOST)
    for variant in variants:
        places, passages = find_term(variant.term, segments)
        idf = min(ceiling, inverse_document_frequency(passages, total))
        boost = repeats * variant.weight * idf
        yield TermCandidate(*variant, passages, idf, boost, places)


def _living(variants: Iterable[Variant], segments: Sequence[Segment]) -> Iterator[Variant]:
    """Variants that some passage still holds."""
    return (variant for variant in variants if find_term(variant.term, segments)[1])


def find_term(term: str, segments: Sequence[Segment]) -> tuple[tuple[int, ...], int]:
    """Position of a term in each segment, and the number of live passages that hold it."""
    places = tuple(segment.term(term) for segment in segments)
    pairs = zip(segments, places, strict=True)
    return places, sum(segment.frequency(place) for segment, place in pairs if place >= 0)


def length_damping(lengths: Scores, average: float, k1: float, b: float) -> Scores:
    """Return k1 * (1 - b + b * length / average length) for each passage.

    BM25 sets the frequency of a term in relation to this damping.
    """
    return k1 * (1 - b + b * lengths / average)


def segment_scores(parts: Sequence[Clause], segment: Segment, at: int, damping: Scores) -> Scores:
    """Scores of all rows of the segment numbered ``at``, shape (rows,); 0 where nothing matches.

    ``damping`` is k1 * (1 - b + b * length / average length), by row.
    """
    if all(len(clause.candidates) <= 1 for clause in parts):
        single = [candidate for clause in parts for candidate in clause.candidates]
        return _summed(single, segment, at, damping)
    scores = np.zeros(len(segment.keys))
    for clause in parts:
        best = np.zeros(len(segment.keys))
        for candidate in clause.candidates:
            candidate_scores = _summed([candidate], segment, at, damping)
            np.maximum(best, candidate_scores, out=best)
        scores += best
    return scores


def row_scores(
    parts: Sequence[Clause], segment: Segment, at: int, damping: Scores, rows: Integers
) -> Scores:
    """``segment_scores`` at a few ``rows``, to the last bit the same, without reading all."""
    scores = np.zeros(len(rows))
    for clause in parts:
        best = np.zeros(len(rows))
        for candidate in clause.candidates:
            if candidate.places[at] >= 0:
                row_scores = _at_rows(candidate, segment, at, damping, rows)
                np.maximum(best, row_scores, out=best)
        scores += best
    return scores


def _at_rows(
    candidate: TermCandidate, segment: Segment, at: int, damping: Scores, rows: Integers
) -> Scores:
    """Return the contribution of one term to each row; 0 for rows without the term."""
    part = slice(*segment.starts[candidate.places[at] : candidate.places[at] + 2])
    holders, counts = segment.rows[part], segment.counts[part]
    # Of the holders' own type: to search in another one would copy them all.
    places = np.minimum(np.searchsorted(holders, rows.astype(holders.dtype)), len(holders) - 1)
    is_match = holders[places] == rows
    times = counts[places[is_match]]
    scores = np.zeros(len(rows))
    scores[is_match] = candidate.boost * (times / (times + damping[rows[is_match]]))
    return scores


def _summed(
    candidates: Sequence[TermCandidate], segment: Segment, at: int, damping: Scores
) -> Scores:
    """Sum of the candidates' contributions by row, added up in their order."""
    present = [(c.places[at], c.boost) for c in candidates if c.places[at] >= 0]
    if not present:
        return np.zeros(len(segment.keys))
    slices = [slice(segment.starts[term], segment.starts[term + 1]) for term, _ in present]
    rows = np.concatenate([segment.rows[part] for part in slices])
    counts = np.concatenate([segment.counts[part] for part in slices])
    boosts = np.repeat([boost for _, boost in present], [s.stop - s.start for s in slices])
    scores: Scores = np.bincount(
        rows, boosts * (counts / (counts + damping[rows])), len(segment.keys)
    ).astype(np.float64, copy=False)
    return scores
