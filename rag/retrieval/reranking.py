"""Another order of the first candidates: by a reranker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rag.protocols import Reranker
from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Candidates, SearchQuery
from rag.retrieval.corpus import Corpus
from rag.retrieval.fusion import fused_scores, ranking
from rag.retrieval.query_transforms import try_transform
from rag.retrieval.timeline import Timeline
from rag.types import Scores


def rerank_candidates(
    search_query: SearchQuery,
    candidates: Candidates,
    recipe: SearchRecipe,
    corpus: Corpus,
    timeline: Timeline,
) -> tuple[SearchQuery, Candidates]:
    """The candidates with the reranker's scores of their first ``recipe.rerank_depth``.

    It reads what is indexed, context and text: alike passages of two products differ only there.
    A reranker that fails changes nothing, and its stage says why.
    """
    count = len(candidates)
    first = ranking(candidates.keys, fused_scores(candidates, recipe))[: recipe.rerank_depth]
    passages = corpus.lookup([int(key) for key in candidates.keys[first]])
    positions = [int(position) for position in first if int(candidates.keys[position]) in passages]
    texts = [passages[int(candidates.keys[position])][0].indexed_text for position in positions]

    def read(reranker: Reranker) -> Scores:
        return reranker.scores(search_query.reading, texts) if texts else np.empty(0)

    scores = try_transform("rerank", corpus.reranker, read, "the order stays", timeline, count)
    if scores is None:
        return search_query, candidates
    timeline.passed("rerank", count, count, f"first {len(positions)} read by {recipe.rerank}")
    aligned = np.full(count, np.nan)
    aligned[positions] = scores
    return search_query, replace(candidates, rerank=aligned)
