"""The hits that two rankings differ by, and the order in which they are drawn for judging.

The difference in precision@k or DCG@k of two runs is a sum over the hits that they do not rank
alike: the weight of a hit, times whether it is relevant. Questions with the same ranking in both
add exactly 0 and need no label. The other hits are drawn without replacement. The size of a hit is
its weight times the standard deviation of its relevance, guessed from its ranks, since that gives
a sum of drawn terms the least variance (Neyman's allocation). A guess that is wrong costs labels
and never the validity of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from rag.evaluation.judge_next import OpenHit, Pair, Ranks, lot, ranked
from rag.types import Floats

MEASURES = ("dcg", "precision")
"""The measures that can be decided: their difference is a sum over single hits."""

_TOP_CHANCE = 0.5  # that a first hit is relevant, before anything is known
_LEAST_VARIANCE = 0.01  # of relevance, so that no hit is drawn too seldom
_TRUST = 6.0  # the likelihood ratio of a model's verdict
_NONE: Mapping[tuple[str, str], bool] = MappingProxyType({})


def worth(measure: str, k: int) -> Floats:
    """The worth of a relevant hit by rank, shape (k,)."""
    if measure == "precision":
        return np.full(k, 1.0 / k)
    return np.asarray(1.0 / np.log2(np.arange(2, k + 2)))


def drawn_hits(
    rankings: Mapping[str, Pair],
    judged: Mapping[str, Collection[str]],
    measure: str,
    k: int,
    seed: int,
    verdicts: Mapping[tuple[str, str], bool] = _NONE,
) -> list[OpenHit]:
    """Return hits in the order of judging: first those with a label, then the others as drawn.

    The order follows from ``seed``, questions and hits alone. ``verdicts`` has what a model says of
    a question's hit: it moves the guess, and the confidence sequence corrects it.
    """
    hits = []
    worths = worth(measure, k)
    for question, item, ranks in ranked(rankings, k):
        mine, theirs = (0.0 if rank is None else float(worths[rank - 1]) for rank in ranks)
        if mine != theirs:
            weight = (mine - theirs) / len(rankings)
            chance = _chance(ranks, verdicts.get((question, item)))
            deviation = math.sqrt(max(chance * (1.0 - chance), _LEAST_VARIANCE))
            hits.append(OpenHit(question, item, ranks, weight, chance, abs(weight) * deviation))
    labelled = [hit for hit in hits if hit.item in judged.get(hit.question_id, ())]
    places = {(hit.question_id, hit.item) for hit in labelled}
    rest = [hit for hit in hits if (hit.question_id, hit.item) not in places]
    rest.sort(key=lambda hit: _exponential(seed, hit) / hit.size)
    left = np.cumsum([hit.size for hit in reversed(rest)])[::-1]
    drawn = [
        replace(hit, probability=min(hit.size / total, 1.0))
        for hit, total in zip(rest, left.tolist(), strict=True)
    ]
    return [*labelled, *drawn]


def _chance(ranks: Ranks, verdict: bool | None) -> float:
    """A guess: less likely further down, more likely in both, and moved by what a model says."""
    missed = math.prod(1.0 - _TOP_CHANCE / math.sqrt(rank) for rank in ranks if rank)
    odds = (1.0 - missed) / missed
    if verdict is not None:
        odds *= _TRUST if verdict else 1.0 / _TRUST
    return odds / (1.0 + odds)


def _exponential(seed: int, hit: OpenHit) -> float:
    """An exponential variable: the smallest, divided by their sizes, are a draw by size."""
    return -math.log((int.from_bytes(lot(seed, hit)[:8], "big") + 0.5) / 2.0**64)


def drawn_columns(hits: Sequence[OpenHit]) -> tuple[Floats, Floats, Floats]:
    """Weights, sizes and chances of hits, each of shape (n,)."""
    rows = np.array([(hit.weight, hit.size, hit.chance) for hit in hits], np.float64)
    columns = rows.reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
