"""Selection and order of the results: the only place where threshold and top-k apply.

Copies of passages are collapsed, and what is new may come before the best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Calibrated, Candidates, Evidence, threshold_scores
from rag.retrieval.fusion import fused_scores, min_max, ranking, reread
from rag.retrieval.languages import leans_on_words
from rag.types import Keys, Mask, Order, Scores, Vectors

ROUNDING = 1e-6
"""How far the cosine of two equal texts may be from 1 in single precision."""

_BLOCK = 256


class Double(NamedTuple):
    """The passage at ``place`` says what the better one at ``of`` says: their ``cosine``."""

    place: int
    of: int
    cosine: float


class Nearness:
    """The cosines between candidates, read and computed only on demand.

    Rows of cosines are cached for callers that need them for many recipes. Don't share an instance
    between threads.
    """

    def __init__(self, keys: Keys, vectors: Callable[[Keys], Vectors]) -> None:
        self._keys = keys
        self._vectors = vectors
        self._rows: Vectors | None = None
        self._exact = np.empty((0, 0))
        self._cosines: dict[int, Scores] = {}

    def vectors(self, places: Order) -> Vectors:
        """The vectors of some candidates, shape (len(places), dimension)."""
        if self._rows is None:
            self._rows = self._vectors(self._keys)
        return self._rows[places]

    def cosines(self, place: int) -> Scores:
        """Return the cosines of all candidates to one, shape (n,)."""
        if place not in self._cosines:
            if not len(self._exact):
                self._exact = self.vectors(np.arange(len(self._keys))).astype(np.float64)
            self._cosines[place] = (self._exact * self._exact[place]).sum(axis=1)
        return self._cosines[place]


def doubles(rows: Vectors, limit: float) -> list[Double]:
    """Passages that are as near as ``limit`` to one before them that is not a double itself.

    ``rows`` (n, dimension) are unit vectors, best first; places count from 0. Of several before it
    the best is named.
    """
    same, is_double = list[Double](), np.zeros(len(rows), np.bool_)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        cosines = block @ rows[: start + len(block)].T
        near = np.tril(cosines >= limit - ROUNDING, start - 1)  # to those before
        for row in np.flatnonzero(near.any(axis=1)).tolist():
            position = start + row
            before = np.flatnonzero(near[row, :position] & ~is_double[:position])
            if len(before):
                is_double[position] = True
                same.append(Double(position, int(before[0]), float(cosines[row, before[0]])))
    return same


def diversify(
    places: Order, scores: Scores, nearness: Nearness, share: float, count: int
) -> tuple[Order, Scores]:
    """The first ``count`` of ``places`` by maximal marginal relevance, with their values.

    ``places`` (n,) of candidates and their ``scores`` (n,) are best first. Each next passage has
    the highest ``share * score - (1 - share) * (greatest cosine to those before it)``, scores
    stretched to [0, 1]; equal values go in the given order. Carbonell and Goldstein, "The Use of
    MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries", SIGIR 1998.
    """
    relevance = min_max(scores)
    nearest, free = np.zeros(len(scores)), np.ones(len(scores), np.bool_)
    picked, values = list[int](), list[float]()
    for _ in range(min(count, len(scores))):
        marginal = np.where(free, share * relevance - (1 - share) * nearest, -np.inf)
        best = int(np.argmax(marginal))
        picked.append(best)
        values.append(float(marginal[best]))
        free[best] = False
        cosines = nearness.cosines(int(places[best]))[places]
        nearest = cosines if len(picked) == 1 else np.maximum(nearest, cosines)
    return places[np.array(picked, np.intp)], np.array(values)


_NOTHING: Order = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True)
class Selection:
    """Positions of candidates by fate; each list is best first.

    ``order`` ranks all; ``below`` fell under the threshold, ``doubles`` say what a better one
    says, ``beyond`` came after top-k, ``kept`` are the results. ``scores`` and ``relevance``, shape
    (n,), are aligned with the candidates, not with ``order``; so is ``fused``, the score before
    reranking, None where nothing was fused. ``mmr`` has the values by which
    diversity chose, by position. ``refused`` are all, where the documents do not speak of the
    question: then the other lists are empty.
    """

    order: Order
    scores: Scores
    relevance: Scores
    below: Order
    beyond: Order
    kept: Order
    doubles: tuple[Double, ...] = ()
    mmr: Mapping[int, float] = field(default_factory=dict)
    refused: Order = field(default_factory=lambda: _NOTHING)
    fused: Scores | None = None


def select(
    candidates: Candidates,
    recipe: SearchRecipe,
    threshold: float | None,
    calibration: Calibrated | None = None,
    nearness: Nearness | None = None,
) -> Selection:
    """Ranks; drops all where the documents do not speak of the question; drops what is less
    relevant than ``threshold``, then what is said twice; then diversity reorders, and top-k cuts.

    ``threshold`` is the resolved value: the recipe's ``auto`` has become a number or None.
    Relevance is the cosine, or what ``calibration`` makes of the candidates; with ``exact_codes``
    a rare code of the question passes whatever its relevance, and so does what has no vector yet;
    with ``matched_words``, what has enough of its words reaches the default threshold. Recipes with
    ``duplicates`` or ``mmr`` need the ``nearness`` of the candidates.
    """
    threshold = resolved_threshold(candidates, recipe, threshold)
    fused = fused_scores(candidates, recipe)
    scores = reread(fused, candidates.rerank)
    relevance = candidates.cosine if calibration is None else calibration.probabilities(candidates)
    if candidates.topic is not None and candidates.topic.refused(recipe.refuse):
        order = ranking(candidates.keys, scores)
        nothing = _NOTHING, _NOTHING, _NOTHING
        return Selection(order, scores, relevance, *nothing, refused=order, fused=fused)
    rest = threshold, nearness, candidates, candidates.by_words
    selection = cut(candidates.keys, scores, relevance, recipe, *rest)
    return replace(selection, fused=fused)


def resolved_threshold(
    candidates: Candidates, recipe: SearchRecipe, threshold: float | None
) -> float | None:
    """The threshold for one question: none on a cosine where its words decide."""
    by_words = leans_on_words(candidates.lacking, recipe) and recipe.relevance == "cosine"
    return None if by_words else threshold


def cut(
    keys: Keys,
    scores: Scores,
    relevance: Scores,
    recipe: SearchRecipe,
    threshold: float | None,
    nearness: Nearness | None = None,
    evidence: Evidence | None = None,
    by_words: Mask | None = None,
) -> Selection:
    """``select`` for whatever has a score to be ranked by and a relevance, shape (n,).

    ``evidence`` says what else lets passages pass, None for nothing; ``by_words`` (n,) which lack a
    vector, None where none does.
    """
    order = ranking(keys, scores)
    passing = np.ones(len(order), np.bool_)
    if threshold is not None:
        passing = threshold_scores(relevance, evidence, recipe, by_words)[order] >= threshold
    below, same = order[~passing], tuple[Double, ...]()
    if recipe.duplicates is not None:
        same = _doubles(order[passing], recipe.duplicates, _needed(nearness))
        passing &= ~np.isin(order, [double.place for double in same])
    values: dict[int, float] = {}
    if recipe.mmr is not None:
        places = order[passing]
        picked, marginal = diversify(
            places, scores[places], _needed(nearness), recipe.mmr, recipe.top_k
        )
        values = dict(zip(picked.tolist(), marginal.tolist(), strict=True))
        order[passing] = np.concatenate([picked, places[~np.isin(places, picked)]])
    above = order[passing]
    return Selection(
        order=order,
        scores=scores,
        relevance=relevance,
        below=below,
        beyond=above[recipe.top_k :],
        kept=above[: recipe.top_k],
        doubles=same,
        mmr=values,
    )


def _doubles(places: Order, limit: float, nearness: Nearness) -> tuple[Double, ...]:
    """Doubles among the candidates at ``places`` (best first), by positions of candidates."""
    pairs = doubles(nearness.vectors(places), limit)
    return tuple(Double(int(places[a]), int(places[b]), cosine) for a, b, cosine in pairs)


def _needed(nearness: Nearness | None) -> Nearness:
    if nearness is None:
        raise ValueError("a recipe with duplicates or mmr needs the nearness of its candidates")
    return nearness
