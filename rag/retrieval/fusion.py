"""From candidates to one ranked list, and what each retriever contributed to a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import NOT_FOUND, Candidates
from rag.retrieval.languages import dense_weight, full_share
from rag.types import Hit, Keys, Mask, Order, Ranks, Scores, Trace

BY_WORDS = "by_words"
"""The part of a hit that only lexical search found: its vector is not stored yet."""
QDRANT_RRF = "qdrant_rrf"
"""The fusion of Qdrant's RRF with weights: they divide the ranks."""


LIST_SCALES: Mapping[str, float] = MappingProxyType(
    {"elasticsearch_linear": 0.0, "opensearch_min_max": 0.001, "weaviate_relative_score": 0.0}
)
"""The fusions of engines that stretch each list alone, with the score of the last in a list: the
retriever ``linear`` with ``minmax`` of Elasticsearch, the normalization ``min_max`` of OpenSearch,
``relativeScoreFusion`` of Weaviate."""


def fused_scores(
    candidates: Candidates, recipe: SearchRecipe, share: Scores | float | None = None
) -> Scores:
    """The score by which each candidate is ranked, shape (n,), or (questions, n) for several.

    ``dense``: cosine. ``lexical``: BM25. ``hybrid``: the fusion of the recipe. Where a vector is
    not in yet, the words stand for both. ``share`` is what the vectors keep of their weight, None
    for ``full_share`` of the candidates' language.
    """
    if recipe.mode == "dense":
        return candidates.dense_scores
    if recipe.mode == "lexical":
        return candidates.lexical_scores
    if recipe.fusion == QDRANT_RRF:
        lists = candidates.dense_rank, candidates.lexical_rank
        return divided_reciprocal(*lists, candidates, recipe, share)
    dense, words = line_ends(candidates, recipe, share)
    return recipe.dense_weight * dense + (1.0 - recipe.dense_weight) * words


def divided_reciprocal(
    dense_rank: Ranks,
    lexical_rank: Ranks,
    candidates: Candidates,
    recipe: SearchRecipe,
    share: Scores | float | None = None,
) -> Scores:
    """1 / (constant + rank / weight) of both lists, as Qdrant fuses with weights.

    Not linear in the weight, unlike the other fusions.
    """
    share = full_share(candidates.lacking, recipe) if share is None else share
    weight = recipe.dense_weight * share
    dense = reciprocal(dense_rank, recipe.rrf_k, weight)
    if candidates.by_words is not None:
        stand_in = reciprocal(lexical_rank, recipe.rrf_k, weight)
        dense = np.where(candidates.by_words, stand_in, dense)
    return dense + reciprocal(lexical_rank, recipe.rrf_k, 1.0 - weight)


def line_ends(
    candidates: Candidates, recipe: SearchRecipe, share: Scores | float | None = None
) -> tuple[Scores, Scores]:
    """Scores at the weights 1 and 0; in between they are on the line that joins the two.

    ``weighted``: min-max normalised scores (Bruch, Gai, Ingber: An Analysis of Fusion Functions
    for Hybrid Retrieval, TOIS 2023). ``rrf``: reciprocal ranks, 1 / (constant + rank) with ranks
    from 1, where a list that lacks a passage adds nothing (Cormack, Clarke, Büttcher: Reciprocal
    Rank Fusion, SIGIR 2009; with a weight of 0.5 the order is theirs). ``saturation``: the cosine
    as it is, and ``saturated`` BM25. No other candidate changes these, so scores of different
    questions compare. For the others, see ``LIST_SCALES``.
    """
    by_words = candidates.by_words
    if recipe.fusion == "rrf":
        ranks = candidates.dense_rank, candidates.lexical_rank
        dense, words = (reciprocal(rank, recipe.rrf_k) for rank in ranks)
        dense = dense if by_words is None else np.where(by_words, words, dense)
    elif (least := LIST_SCALES.get(recipe.fusion)) is not None:
        dense, words = (
            stretched_list(scores, ranks != NOT_FOUND, least)
            for scores, ranks in (
                (candidates.dense_scores, candidates.dense_rank),
                (candidates.lexical_scores, candidates.lexical_rank),
            )
        )
        dense = dense if by_words is None else np.where(by_words, words, dense)
    else:
        scores = candidates.dense_scores, candidates.lexical_scores
        dense, words = scaled_scores(*scores, by_words, recipe)
    share = full_share(candidates.lacking, recipe) if share is None else share
    return leaning(dense, words, share), words


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


def stretched_list(scores: Scores, listed: Mask, least: float) -> Scores:
    """Scores of all candidates on the scale of an engine, which sees those of one list."""
    low = scores.min(axis=-1, keepdims=True, initial=np.inf, where=listed)
    high = scores.max(axis=-1, keepdims=True, initial=-np.inf, where=listed)
    return on_list_scale(scores, listed, low, high, least)


def on_list_scale(
    scores: Scores, listed: Mask, low: Scores | float, high: Scores | float, least: float
) -> Scores:
    """Stretch the scores of a list from ``low`` and ``high`` to 0 and 1.

    The last passages have the score ``least``, and what the list lacks has 0. Where the scores of
    a list do not differ, all have 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        stretched = (scores - low) / (high - low)
    stretched = np.where(stretched == 0.0, least, stretched)
    return np.where(listed, np.where(np.greater(high, low), stretched, 1.0), 0.0)


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
    """The scores of each question stretched to [0, 1]; all zero when they do not differ."""
    low = scores.min(axis=-1, keepdims=True, initial=np.inf)
    high = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    stretched: Scores = np.zeros_like(scores)
    np.divide(scores - low, high - low, out=stretched, where=high > low)
    return stretched


def reciprocal(ranks: Ranks, constant: int, divisor: Scores | float = 1.0) -> Scores:
    """1 / (constant + rank / divisor), ranks from 1; 0 where a passage has none."""
    with np.errstate(divide="ignore"):
        return np.where(ranks == NOT_FOUND, 0.0, 1.0 / (constant + (1.0 + ranks) / divisor))


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


def describe_fusion(recipe: SearchRecipe, lacking: str) -> str:
    """Return the note on the fusion of a question whose language the embedder may be lacking."""
    if recipe.mode != "hybrid":
        return "one retriever, nothing to fuse"
    weight = dense_weight(lacking, recipe)
    if recipe.fusion == "rrf":
        return f"reciprocal ranks, constant {recipe.rrf_k}, {weight:.2f} on dense"
    if recipe.fusion == "saturation":
        return f"cosine and saturated BM25, pivot {recipe.bm25_pivot:g}, {weight:.2f} on dense"
    if recipe.fusion == QDRANT_RRF:
        return f"ranks divided by weight, constant {recipe.rrf_k}, {weight:.2f} on dense"
    if recipe.fusion in LIST_SCALES:
        return f"each list stretched alone ({recipe.fusion}), {weight:.2f} on dense"
    return f"weighted, {weight:.2f} on dense"


_ENRICHED = {"dense": ("feedback", "expanded"), "bm25": ("feedback_bm25", "expanded_bm25")}


@dataclass(frozen=True, slots=True)
class ScoreContribution:
    """``dense + lexical`` is the score that fusion gave the passage."""

    dense: float
    lexical: float


def score_contributions(trace: Trace, recipe: SearchRecipe) -> Mapping[int, ScoreContribution]:
    """The parts of every candidate's score, by passage key."""
    hits = {hit.chunk.key: hit for hit in trace.candidates}
    if recipe.mode == "dense":
        return {key: ScoreContribution(_score_in(hit, "dense"), 0.0) for key, hit in hits.items()}
    if recipe.mode == "lexical":
        return {key: ScoreContribution(0.0, _score_in(hit, "bm25")) for key, hit in hits.items()}
    language = trace.stage("language")
    weight = recipe.dense_weight if language is None else language.figures["dense_weight"]
    if recipe.fusion in ("rrf", QDRANT_RRF):
        return {key: _reciprocal(hit, recipe, weight) for key, hit in hits.items()}
    by_words = np.array([BY_WORDS in hit.parts for hit in hits.values()], np.bool_)
    near = np.array([_score_in(hit, "dense") for hit in hits.values()])
    bm25 = np.array([_score_in(hit, "bm25") for hit in hits.values()])
    if (least := LIST_SCALES.get(recipe.fusion)) is not None:
        dense, words = (
            stretched_list(
                scores, np.array([name in hit.parts for hit in hits.values()], np.bool_), least
            )
            for scores, name in ((near, "dense_rank"), (bm25, "bm25_rank"))
        )
        dense = np.where(by_words, words, dense)
    else:
        dense, words = scaled_scores(near, bm25, by_words if by_words.any() else None, recipe)
    return {
        key: ScoreContribution(weight * float(one), (1.0 - weight) * float(other))
        for key, one, other in zip(hits, dense, words, strict=True)
    }


def _score_in(hit: Hit, plain: str) -> float:
    """Return the score by which a retriever ranked a hit.

    This is the score for the enriched question if there was one.
    """
    names = _ENRICHED[plain]
    return next((hit.parts[name] for name in names if name in hit.parts), hit.parts[plain])


def _reciprocal(hit: Hit, recipe: SearchRecipe, dense: float) -> ScoreContribution:
    def part(name: str, weight: float) -> float:
        if name not in hit.parts or weight == 0.0:
            return 0.0
        if recipe.fusion == QDRANT_RRF:
            return 1.0 / (recipe.rrf_k + hit.parts[name] / weight)
        return weight / (recipe.rrf_k + hit.parts[name])

    near = "bm25_rank" if BY_WORDS in hit.parts else "dense_rank"
    return ScoreContribution(part(near, dense), part("bm25_rank", 1.0 - dense))
