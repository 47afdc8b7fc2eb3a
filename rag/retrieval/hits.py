"""Positions of candidates as hits, with every figure that they have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import NOT_FOUND, Candidates
from rag.retrieval.corpus import Lookup
from rag.retrieval.fusion import Order
from rag.retrieval.selection import Selection
from rag.types import Hit


class Hits:
    """Turns positions of candidates into hits, reading their passages in one go."""

    def __init__(
        self, candidates: Candidates, selection: Selection, recipe: SearchRecipe, lookup: Lookup
    ) -> None:
        self._candidates = candidates
        self._selection = selection
        self._recipe = recipe
        self._passages = lookup([int(key) for key in candidates.keys])
        self._rank = {int(place): rank for rank, place in enumerate(selection.order, start=1)}

    def of(self, places: Order) -> tuple[Hit, ...]:
        """The hits at some positions, without passages that were deleted meanwhile."""
        hits = (self.at(int(place)) for place in places)
        return tuple(hit for hit in hits if hit is not None)

    def at(self, place: int) -> Hit | None:
        """One hit; None when it was deleted since the index was read: it must not answer."""
        found = self._passages.get(int(self._candidates.keys[place]))
        if found is None:
            return None
        chunk, document = found
        return Hit(
            chunk=chunk,
            document=document,
            rank=self._rank[place],
            score=float(self._selection.scores[place]),
            relevance=float(self._selection.relevance[place]),
            parts=dict(self._parts(place)),
        )

    def _parts(self, place: int) -> Iterator[tuple[str, float]]:
        candidates, mode = self._candidates, self._recipe.mode
        yield "dense", float(candidates.cosine[place])
        if mode != "dense" or self._recipe.relevance == "probability":
            yield "bm25", float(candidates.bm25[place])
        enriched = "feedback" if self._recipe.feedback else "expanded"
        if candidates.near is not None:
            yield enriched, float(candidates.near[place])
        if candidates.words is not None:
            yield f"{enriched}_bm25", float(candidates.words[place])
        if mode == "hybrid":
            yield "fused", float(self._selection.fused[place])
        if candidates.rerank is not None and not np.isnan(candidates.rerank[place]):
            yield "rerank", float(candidates.rerank[place])
        if place in self._selection.mmr:
            yield "mmr", self._selection.mmr[place]
        ranks = {"dense_rank": candidates.dense_rank, "bm25_rank": candidates.lexical_rank}
        for name, found in ranks.items():
            if found[place] != NOT_FOUND:
                yield name, float(found[place] + 1)
