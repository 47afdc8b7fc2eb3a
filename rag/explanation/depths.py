"""One passage at every depth that a search may have, many depths in one go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import NOT_FOUND, Candidates
from rag.retrieval.fusion import leaning
from rag.retrieval.languages import full_share
from rag.types import Integers, Mask, Ranks, Scores


@dataclass(frozen=True, slots=True)
class Depths:
    """The deepest candidates in the order in which they come up, and the passage in question.

    ``enters`` is the depth, from 1, at which a candidate comes up; the arrays of least and
    greatest scores, shape (most + 1,), are over what has come up at each depth. ``first`` is where
    the passage itself comes up, ``most`` the depth from which on nothing changes (what is up
    already may still come up in the other list).
    """

    search: SearchRecipe
    candidates: Candidates
    relevant: Mask
    own: int
    enters: Integers
    first: int
    most: int
    dense: tuple[Scores, Scores]
    words: tuple[Scores, Scores]

    @classmethod
    def of(cls, candidates: Candidates, search: SearchRecipe, relevant: Mask, own: int) -> Depths:
        """``own`` is the place of the passage among all that may be found."""
        enters = np.minimum(candidates.dense_rank, candidates.lexical_rank).astype(np.int64) + 1
        ranks = np.concatenate([candidates.dense_rank, candidates.lexical_rank])
        most = int(ranks[ranks != NOT_FOUND].max(initial=0)) + 1
        return cls(
            search,
            candidates,
            relevant,
            own,
            enters,
            int(enters[own]),
            most,
            _bounds(candidates.dense_scores, enters, most),
            _bounds(candidates.lexical_scores, enters, most),
        )

    def is_in(self, depths: Integers) -> Mask:
        """Whether the passage is among the results of a search of each depth, shape (depths,)."""
        if not self.relevant[self.own]:
            return np.zeros(len(depths), dtype=bool)
        scores = self._scores(np.minimum(depths, self.most)[:, None])
        mine, keys = scores[:, self.own : self.own + 1], self.candidates.keys
        ahead = (scores > mine) | ((scores == mine) & (keys < keys[self.own]))
        here = self.enters <= depths[:, None]
        places = np.count_nonzero(ahead & here & self.relevant, axis=1)
        return np.asarray((places < self.search.top_k) & here[:, self.own])

    def _scores(self, depths: Integers) -> Scores:
        """Fused scores, shape (depths, n); of use for what has come up at a depth."""
        candidates, search = self.candidates, self.search
        if search.mode == "dense":
            return np.broadcast_to(candidates.dense_scores, (len(depths), len(candidates)))
        if search.mode == "lexical":
            return np.broadcast_to(candidates.lexical_scores, (len(depths), len(candidates)))
        weight = search.dense_weight
        if search.fusion == "rrf":
            lists = (candidates.dense_rank, candidates.lexical_rank)
            dense, words = (_reciprocal(ranks, depths, search.rrf_k) for ranks in lists)
        else:
            dense = _stretched(candidates.dense_scores, self.dense, depths)
            words = _stretched(candidates.lexical_scores, self.words, depths)
        dense = leaning(dense, words, full_share(candidates.lacking, search))
        return weight * dense + (1.0 - weight) * words


def _bounds(scores: Scores, enters: Integers, most: int) -> tuple[Scores, Scores]:
    """Least and greatest score of what has come up at each depth from 0 on."""
    low, high = np.full(most + 1, np.inf), np.full(most + 1, -np.inf)
    np.minimum.at(low, enters, scores)
    np.maximum.at(high, enters, scores)
    return np.minimum.accumulate(low), np.maximum.accumulate(high)


def _stretched(scores: Scores, bounds: tuple[Scores, Scores], depths: Integers) -> Scores:
    """``min_max`` over what has come up at each depth."""
    low, high = (bound[depths] for bound in bounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high > low, (scores - low) / (high - low), 0.0)


def _reciprocal(ranks: Ranks, depths: Integers, constant: int) -> Scores:
    is_ranked = (ranks != NOT_FOUND) & (ranks < depths)
    return np.where(is_ranked, 1.0 / (constant + 1.0 + ranks), 0.0)
