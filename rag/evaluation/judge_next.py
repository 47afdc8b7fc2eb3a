"""The next hits to judge: the unjudged hits with the most influence on a comparison, or a sample.

A third purpose, deciding between two runs, has its order in ``rag.evaluation.deciding``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from types import MappingProxyType

Pair = tuple[Sequence[str], Sequence[str]]
"""The ids that two runs retrieved for a question, best first; the second may be empty."""
Ranks = tuple[int | None, int | None]

_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OpenHit:
    """A hit to judge. Ranks are from 1, None where a run does not have it among its first k.

    ``weight`` is what an end of the interval of the difference in nDCG@k moves by on this question
    when it is judged; for a decision, what the mean difference, first minus second, changes by if
    the hit is relevant. Decisions alone draw by the others: ``chance`` is the guess of the hit's
    relevance, ``size`` what the draw is proportional to, and ``probability`` that of its draw among
    all that were left, 1 for a hit that had a label before.
    """

    question_id: str
    item: str
    ranks: Ranks
    weight: float
    chance: float = 0.0
    size: float = 0.0
    probability: float = 1.0


def judge_next(
    rankings: Mapping[str, Pair],
    judged: Mapping[str, Collection[str]],
    k: int,
    ideals: Mapping[str, float] = _NONE,
) -> list[OpenHit]:
    """Unjudged hits among the first k, those that narrow the interval of the difference most first.

    Where two rankings are compared by DCG, judging a hit that both have at the same rank decides
    nothing, and one that only the first has at the top decides most: its weight is the difference
    of its discounts, in units of the ideal DCG@k of its question (``ideals``, by question; 1 where
    nothing relevant is known). Choosing judgements by such weights is the minimal test collection
    of Carterette, Allan and Sitaraman (SIGIR 2006). With one ranking it is the discount. Ties keep
    the order of questions, then of ranks; hits of no weight come last.
    """
    hits = []
    for question, item, ranks in ranked(rankings, k):
        if item not in judged.get(question, ()):
            mine, theirs = (0.0 if rank is None else 1.0 / log2(1 + rank) for rank in ranks)
            weight = abs(mine - theirs) / (ideals.get(question) or 1.0)
            hits.append(OpenHit(question, item, ranks, weight))
    return sorted(hits, key=lambda hit: hit.weight, reverse=True)


def ranked(rankings: Mapping[str, Pair], k: int) -> Iterator[tuple[str, str, Ranks]]:
    """Each question with each of its first k hits and its ranks in both runs."""
    for question, pair in rankings.items():
        first, second = ({item: rank for rank, item in enumerate(ids[:k], start=1)} for ids in pair)
        for item in {**first, **second}:
            yield question, item, (first.get(item), second.get(item))


def sample_next(
    rankings: Mapping[str, Pair], judged: Mapping[str, Collection[str]], k: int
) -> list[OpenHit]:
    """The same hits in an order drawn at random: any beginning of it is a random sample of all.

    The place of a hit depends on question and hit alone, so a sample that was begun goes
    on as if it had not been interrupted.
    """
    hits = judge_next(rankings, judged, k)
    return sorted(hits, key=lambda hit: lot(0, hit))


def lot(seed: int, hit: OpenHit) -> bytes:
    """32 bytes drawn for a hit, the same at each call."""
    return hashlib.sha256(f"{seed}\0{hit.question_id}\0{hit.item}".encode()).digest()
