"""Selection and order of the results: the only place where threshold and top-k apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Calibrated, Candidates, Evidence, threshold_scores
from rag.retrieval.diversity import Double, Nearness, diversify, doubles
from rag.retrieval.fusion import fused_scores, ranking, reread
from rag.retrieval.languages import leans_on_words
from rag.types import Keys, Mask, Order, Scores

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
