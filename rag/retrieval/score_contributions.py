"""What each retriever contributed to the score of a passage, read from a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.fusion import min_max
from rag.types import Hit, Trace

_ENRICHED = {"dense": ("feedback", "expanded"), "bm25": ("feedback_bm25", "expanded_bm25")}


@dataclass(frozen=True, slots=True)
class ScoreContribution:
    """``dense + lexical`` is the score that fusion gave the passage."""

    dense: float
    lexical: float


def score_contributions(trace: Trace, recipe: SearchRecipe) -> Mapping[int, ScoreContribution]:
    """The parts of every candidate's score, by passage key."""
    held = {hit.chunk.key: hit for hit in trace.candidates}
    if recipe.mode == "dense":
        return {key: ScoreContribution(_asked(hit, "dense"), 0.0) for key, hit in held.items()}
    if recipe.mode == "lexical":
        return {key: ScoreContribution(0.0, _asked(hit, "bm25")) for key, hit in held.items()}
    if recipe.fusion == "rrf":
        return {key: _reciprocal(hit, recipe) for key, hit in held.items()}
    dense = min_max(np.array([_asked(hit, "dense") for hit in held.values()]))
    words = min_max(np.array([_asked(hit, "bm25") for hit in held.values()]))
    weight = recipe.dense_weight
    return {
        key: ScoreContribution(weight * float(near), (1.0 - weight) * float(word))
        for key, near, word in zip(held, dense, words, strict=True)
    }


def _asked(hit: Hit, plain: str) -> float:
    """What a retriever ranked by: of the enriched question where there was one."""
    names = _ENRICHED[plain]
    return next((hit.parts[name] for name in names if name in hit.parts), hit.parts[plain])


def _reciprocal(hit: Hit, recipe: SearchRecipe) -> ScoreContribution:
    def part(name: str, weight: float) -> float:
        return weight / (recipe.rrf_k + hit.parts[name]) if name in hit.parts else 0.0

    return ScoreContribution(
        part("dense_rank", recipe.dense_weight), part("bm25_rank", 1.0 - recipe.dense_weight)
    )
