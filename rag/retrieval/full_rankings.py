"""Both complete rankings of a question: the ranks of passages that a search did not retrieve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Ranking, SearchQuery, bm25_options, fetched_cosines
from rag.retrieval.corpus import Corpus


@dataclass(frozen=True, slots=True)
class FullRankings:
    """Both complete rankings, best first, ties by key; ``words`` has those with a BM25 above 0.

    Exact also where the vector index is approximate.
    """

    near: Ranking
    words: Ranking

    @classmethod
    def of(cls, search_query: SearchQuery, corpus: Corpus, search: SearchRecipe) -> FullRankings:
        """Rank every passage that the corpus allows."""
        keys = corpus.keys
        if corpus.allowed is not None:
            keys = np.intersect1d(keys, corpus.allowed)
        words = corpus.lexical.scores(search_query.words, keys, **bm25_options(search))
        near = fetched_cosines(search_query.vector, keys, corpus.dense)
        return cls(Ranking.best(keys, near), Ranking.best(keys[words > 0], words[words > 0]))


def true_rank(ranked: Ranking, key: int) -> int | None:
    """The rank of a passage, from 1; None where the ranking lacks the passage."""
    at = np.flatnonzero(ranked.keys == key)
    return int(at[0]) + 1 if len(at) else None
