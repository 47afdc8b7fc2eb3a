"""The whole corpus as each retriever ranks it: where a passage stands that nobody fetched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rag.lexical import LexicalIndex
from rag.protocols import VectorStore
from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Asked, Bm25Options, Found, bm25_options
from rag.types import Keys


@dataclass(frozen=True, slots=True)
class FullRankings:
    """Both complete rankings, best first, ties by key; ``words`` has those with a BM25 above 0.

    Exact also where the vector index is approximate.
    """

    near: Found
    words: Found

    @classmethod
    def of(
        cls,
        asked: Asked,
        dense: VectorStore,
        lexical: LexicalIndex,
        search: SearchRecipe,
        allowed: Keys | None = None,
    ) -> FullRankings:
        """Ranks everything that ``allowed`` lets through."""
        options: Bm25Options = bm25_options(search)
        # As many as there are: an approximate index, too, then scans all of its vectors.
        near = dense.search(asked.vector, max(len(dense), 1), allowed)
        words = lexical.search(asked.words, max(len(lexical), 1), allowed=allowed, **options)
        return cls(Found(*near), Found(*words))


def place(ranked: Found, key: int) -> tuple[int, float] | None:
    """Rank (from 1) and score of a passage; None where the ranking lacks it."""
    found = np.flatnonzero(ranked.keys == key)
    return (int(found[0]) + 1, float(ranked.scores[found[0]])) if len(found) else None
