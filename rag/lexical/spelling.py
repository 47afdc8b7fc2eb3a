"""Words of a question that no passage has, and the words that were probably meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rag.lexical.analyzers import Analyzer
from rag.lexical.clauses import find_term
from rag.lexical.segment import Segment
from rag.lexical.surfaces import misspellings


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


class Meant(NamedTuple):
    """An index term that another was probably meant to be; ``key`` is one of its ``passages``."""

    term: str
    passages: int
    key: int


def corrections(
    question: str, analyzer: Analyzer, meant: Callable[[str], Meant | None]
) -> list[Correction]:
    """For every term that should be another, what ``meant`` says it should be; in order, apart."""
    telling = set(analyzer.query_tokens(question))
    accepted = list[Correction]()
    for term, start, end in analyzer.spans(question):
        if term in telling and not (accepted and start < accepted[-1].end):
            better = meant(term)
            if better is not None:
                accepted.append(Correction(start, end, *better))
    return accepted


def nearest_term(term: str, segments: Sequence[Segment]) -> Meant | None:
    """Return the probable correction of an unknown term; None if it is known, or nothing is near.

    Candidates are ranked by the number of edits (one, or two from eight characters on), then by the
    same first letter, which is seldom mistyped (Pollock and Zamora 1984), then by the number of
    passages.
    """
    if find_term(term, segments)[1]:
        return None
    best = min(_near(term, segments), default=None)
    return None if best is None else Meant(best[3], -best[2], _holder(best[3], segments))


def _near(term: str, segments: Sequence[Segment]) -> Iterator[tuple[int, bool, int, str]]:
    """(edits, whether it begins otherwise, minus passages, term): the least is the best."""
    for meant, edits in misspellings(term, (segment.spelling for segment in segments)).items():
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
