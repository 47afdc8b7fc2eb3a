"""What to judge next: the unjudged hits on which a comparison of two rankings hangs most."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log2

Pair = tuple[Sequence[str], Sequence[str]]
"""The ids that two runs retrieved for a question, best first; the second may be empty."""


@dataclass(frozen=True, slots=True)
class OpenHit:
    """An unjudged hit. Ranks are from 1, None where a run does not have it among its first k.

    ``weight`` is what the difference of DCG@k would change by if it were relevant, with grade 1.
    """

    question_id: str
    item: str
    ranks: tuple[int | None, int | None]
    weight: float


def judge_next(
    rankings: Mapping[str, Pair], judged: Mapping[str, Collection[str]], k: int
) -> list[OpenHit]:
    """Unjudged hits among the first k, those that could change the difference most first.

    Where two rankings are compared by DCG, judging a hit that both have at the same rank decides
    nothing, and one that only the first has at the top decides most: its weight is the difference
    of its discounts. Choosing judgements by such weights is the minimal test collection of
    Carterette, Allan and Sitaraman (SIGIR 2006). With one ranking the weight is the discount. Ties
    keep the order of questions, then of ranks; hits of no weight come last.
    """
    found = [
        _open_hit(question, item, ranks)
        for question, pair in rankings.items()
        for item, ranks in _ranks(pair, k).items()
        if item not in judged.get(question, ())
    ]
    return sorted(found, key=lambda hit: hit.weight, reverse=True)


def _ranks(pair: Pair, k: int) -> dict[str, tuple[int | None, int | None]]:
    first, second = ({item: rank for rank, item in enumerate(ids[:k], start=1)} for ids in pair)
    return {item: (first.get(item), second.get(item)) for item in {**first, **second}}


def _open_hit(question: str, item: str, ranks: tuple[int | None, int | None]) -> OpenHit:
    mine, theirs = (0.0 if rank is None else 1.0 / log2(1 + rank) for rank in ranks)
    return OpenHit(question, item, ranks, abs(mine - theirs))
