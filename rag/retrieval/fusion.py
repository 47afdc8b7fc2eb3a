"""From candidates to one ranked list, and what each retriever contributed to a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import NOT_FOUND, Candidates
from rag.retrieval.languages import full_share
from rag.types import Hit, Keys, Mask, Order, Ranks, Scores, Trace

BY_WORDS = "by_words"
"""The part of a hit that only lexical search found: its vector is not stored yet."""


def fused_scores(candidates: Candidates, recipe: SearchRecipe) -> Scores:
    """The score by which each candidate is ranked, shape (n,).

    ``dense``: cosine. ``lexical``: BM25. ``hybrid``: the fusion of the recipe. Where a vector is
    not in yet, the words stand for both.
    """
    if recipe.mode == "dense":
        return candidates.dense_scores
    if recipe.mode == "lexical":
        return candidates.lexical_scores
    dense, words = line_ends(candidates, recipe)
    return recipe.dense_weight * dense + (1.0 - recipe.dense_weight) * words


def first_scores(candidates: Candidates, recipe: SearchRecipe) -> Scores:
    """The scores that rank candidates before a reranker: those of a learned fusion, if any."""
    learned = candidates.learned
    return fused_scores(candidates, recipe) if learned is None else learned


def line_ends(candidates: Candidates, recipe: SearchRecipe) -> tuple[Scores, Scores]:
    """Scores at the weights 1 and 0; in between they are on the line that joins the two.

    ``weighted``: min-max normalised scores (Bruch, Gai, Ingber: An Analysis of Fusion Functions
    for Hybrid Retrieval, TOIS 2023). ``rrf``: reciprocal ranks, 1 / (constant + rank) with ranks
    from 1, where a list that lacks a passage adds nothing (Cormack, Clarke, Büttcher: Reciprocal
    Rank Fusion, SIGIR 2009; with a weight of 0.5 the order is theirs). ``saturation``: the cosine
    as it is, and ``saturated`` BM25. No other candidate changes these, so scores of different
    questions compare.
    """
    by_words = candidates.by_words
    if recipe.fusion == "rrf":
        ranks = candidates.dense_rank, candidates.lexical_rank
        dense, words = (reciprocal(rank, recipe.rrf_k) for rank in ranks)
        dense = dense if by_words is None else np.where(by_words, words, dense)
    else:
        scores = candidates.dense_scores, candidates.lexical_scores
        dense, words = scaled_scores(*scores, by_words, recipe)
    return leaning(dense, words, full_share(candidates.lacking, recipe)), words


def scaled_scores(
    cosine: Scores, bm25: Scores, by_words: Mask | None, recipe: SearchRecipe
) -> tuple[Scores, Scores]:
    """Cosine and BM25 on the scales of ``weighted`` or ``saturation``.

    Where there is no cosine, BM25 stands for it.
    """
    if recipe.fusion == "saturation":
        words = saturated(bm25, recipe.bm25_pivot)
        return (cosine if by_words is None else np.where(by_words, words, cosine)), words
    return normalise_scores(cosine, bm25, by_words)


def saturated(bm25: Scores, pivot: float) -> Scores:
    """``bm25 / (bm25 + pivot)``, from 0 for no word in common towards 1."""
    return bm25 / (bm25 + pivot)


def normalise_scores(cosine: Scores, bm25: Scores, by_words: Mask | None) -> tuple[Scores, Scores]:
    """Both scores stretched to [0, 1]; where there is no cosine, that of BM25 stands for it."""
    if by_words is None:
        return min_max(cosine), min_max(bm25)
    near = words = min_max(bm25)
    near = near.copy()
    near[~by_words] = min_max(cosine[~by_words])
    return near, words


def leaning(dense: Scores, words: Scores, share: Scores | float) -> Scores:
    """Return the scores that the weight mixes with the lexical scores.

    These are the dense scores, or a ``share`` of them mixed with the lexical scores.
    """
    return share * dense + (1.0 - share) * words


def min_max(scores: Scores) -> Scores:
    """Scores stretched to [0, 1]; all zero when they do not differ."""
    if not len(scores):
        return scores
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def reciprocal(ranks: Ranks, constant: int) -> Scores:
    """1 / (constant + rank), ranks from 1; 0 where a passage has none."""
    return np.where(ranks == NOT_FOUND, 0.0, 1.0 / (constant + 1.0 + ranks))


def reread(fused: Scores, rerank: Scores | None) -> Scores:
    """Scores by which candidates are ranked after a reranker, shape (n,).

    What it has read has its score; the rest (NaN in ``rerank``) follows one below, at the distances
    that fusion gave it.
    """
    if rerank is None or np.isnan(rerank).all():
        return fused
    read = ~np.isnan(rerank)
    below = rerank[read].min() - 1.0 - fused[~read].max(initial=-np.inf)
    return np.where(read, rerank, fused + below)


def ranking(keys: Keys, scores: Scores) -> Order:
    """Positions of the candidates, best first; equal scores by key, so order is never chance."""
    return np.lexsort((keys, -scores))


_ENRICHED = {"dense": ("feedback", "expanded"), "bm25": ("feedback_bm25", "expanded_bm25")}


@dataclass(frozen=True, slots=True)
class ScoreContribution:
    """``dense + lexical`` is the score that fusion gave the passage."""

    dense: float
    lexical: float


def score_contributions(trace: Trace, recipe: SearchRecipe) -> Mapping[int, ScoreContribution]:
    """The parts of every candidate's score, by passage key; none where a learned fusion ranks."""
    hits = {hit.chunk.key: hit for hit in trace.candidates}
    if any("learned" in hit.parts for hit in hits.values()):
        return {}  # it has more parts than these two
    if recipe.mode == "dense":
        return {key: ScoreContribution(_score_in(hit, "dense"), 0.0) for key, hit in hits.items()}
    if recipe.mode == "lexical":
        return {key: ScoreContribution(0.0, _score_in(hit, "bm25")) for key, hit in hits.items()}
    language = trace.stage("language")
    weight = recipe.dense_weight if language is None else language.figures["dense_weight"]
    if recipe.fusion == "rrf":
        return {key: _reciprocal(hit, recipe, weight) for key, hit in hits.items()}
    by_words = np.array([BY_WORDS in hit.parts for hit in hits.values()], np.bool_)
    dense, words = scaled_scores(
        np.array([_score_in(hit, "dense") for hit in hits.values()]),
        np.array([_score_in(hit, "bm25") for hit in hits.values()]),
        by_words if by_words.any() else None,
        recipe,
    )
    return {
        key: ScoreContribution(weight * float(near), (1.0 - weight) * float(word))
        for key, near, word in zip(hits, dense, words, strict=True)
    }


def _score_in(hit: Hit, plain: str) -> float:
    """Return the score by which a retriever ranked a hit.

    This is the score for the enriched question if there was one.
    """
    names = _ENRICHED[plain]
    return next((hit.parts[name] for name in names if name in hit.parts), hit.parts[plain])


def _reciprocal(hit: Hit, recipe: SearchRecipe, dense: float) -> ScoreContribution:
    def part(name: str, weight: float) -> float:
        return weight / (recipe.rrf_k + hit.parts[name]) if name in hit.parts else 0.0

    near = "bm25_rank" if BY_WORDS in hit.parts else "dense_rank"
    return ScoreContribution(part(near, dense), part("bm25_rank", 1.0 - dense))
