"""Candidates of a shallower search, cut from those of a deep one."""

import numpy as np

from rag.retrieval import Candidates
from rag.retrieval.candidates import NOT_FOUND, Ranks


def at_depth(deep: Candidates, depth: int) -> Candidates:
    """The candidates of a search that takes ``depth`` passages from each retriever."""
    kept = (deep.dense_rank < depth) | (deep.lexical_rank < depth)
    return Candidates(
        deep.keys[kept],
        deep.cosine[kept],
        deep.bm25[kept],
        _cut(deep.dense_rank[kept], depth),
        _cut(deep.lexical_rank[kept], depth),
        exact=None if deep.exact is None else deep.exact[kept],
        word_relevance=None if deep.word_relevance is None else deep.word_relevance[kept],
    )


def _cut(ranks: Ranks, depth: int) -> Ranks:
    return np.where(ranks < depth, ranks, NOT_FOUND).astype(np.int32)
