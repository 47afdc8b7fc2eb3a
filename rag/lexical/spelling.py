"""Words of a question that no passage has, and the words that were probably meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.lexical.analyzers import Analyzer
from rag.lexical.clauses import find_term
from rag.lexical.expand import misspellings
from rag.lexical.segment import Segment


@dataclass(frozen=True, slots=True)
class Correction:
    """``question[start:end]`` should be a word of the index term ``term``.

    ``passages`` hold that term; ``key`` is one of them.
    """

    start: int
    end: int
    term: str
    passages: int
    key: int


def corrections(question: str, analyzer: Analyzer, segments: Sequence[Segment]) -> list[Correction]:
    """For every unknown term that has a near one, the best of those; in order, apart.

    Fewest edits count first (one, or two from eight characters on), then the same first letter,
    which is seldom mistyped (Pollock and Zamora 1984), then the number of passages.
    """
    telling = set(analyzer.query_tokens(question))
    found = list[Correction]()
    for term, start, end in analyzer.spans(question):
        known = find_term(term, segments)[1] > 0
        if known or term not in telling or (found and start < found[-1].end):
            continue
        best = min(_near(term, segments), default=None)
        if best is not None:
            *_, passages, meant = best
            found.append(Correction(start, end, meant, -passages, _holder(meant, segments)))
    return found


def _near(term: str, segments: Sequence[Segment]) -> Iterator[tuple[int, bool, int, str]]:
    """(edits, whether it begins otherwise, minus passages, term): the least is the best."""
    for meant, edits in misspellings(term, (each.spelling for each in segments)).items():
        passages = find_term(meant, segments)[1]
        if passages:
            yield edits, meant[0] != term[0], -passages, meant


def _holder(term: str, segments: Sequence[Segment]) -> int:
    """The key of a live passage that holds a term that some passage holds."""
    for segment, place in zip(segments, find_term(term, segments)[0], strict=True):
        if place >= 0:
            rows = segment.rows[segment.starts[place] : segment.starts[place + 1]]
            live = rows[segment.live[rows]]
            if len(live):
                return int(segment.keys[live[0]])
    raise LookupError(term)
