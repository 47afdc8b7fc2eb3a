"""Breakpoints of single recipe fields, computed from candidate arrays alone.

A breakpoint is the value at which a passage enters or leaves the results. A passage is in the
results if its relevance reaches the threshold and fewer than top-k relevant candidates rank before
it. Each function moves one field and returns its nearest breakpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import NOT_FOUND, Calibrated, Candidates, threshold_scores
from rag.retrieval.fusion import (
    LIST_SCALES,
    QDRANT_RRF,
    divided_reciprocal,
    fused_scores,
    leaning,
    line_ends,
    on_list_scale,
    scaled_scores,
)
from rag.retrieval.languages import full_share
from rag.types import Integers, Mask, Ranks, Scores

Field = Literal["dense_weight", "refuse", "threshold", "top_k", "candidates"]
LEAST_THRESHOLD, MOST_THRESHOLD = -1.0, 1.0
MOST_TOP_K = 1000
MOST_CANDIDATES = 2000
ENDS: Mapping[Field, tuple[float, float]] = {
    "dense_weight": (0.0, 1.0),
    "refuse": (0.0, 1.0),
    "threshold": (LEAST_THRESHOLD, MOST_THRESHOLD),
    "top_k": (1, MOST_TOP_K),
    "candidates": (1, MOST_CANDIDATES),
}
WHOLE: frozenset[Field] = frozenset({"top_k", "candidates"})
NARROWEST = 1e-9
"""Ranges of the weight below this are not told apart: rounding decides inside of them."""
_ROWS = 64


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Values of a field at which the passage's fate is the other one: from ``near`` to ``far``.

    ``near`` is the end that is closer to the present value; equal ends are a single value. An end
    need not belong to the range itself.
    """

    near: float
    far: float


@dataclass(frozen=True, slots=True)
class Case:
    """One passage in one retrieval.

    ``candidates`` are those of the retrieval as it is; ``deep`` are those of the greatest depth
    that a recipe may ask for. ``threshold`` is resolved: a number, or None for none.
    """

    key: int
    search: SearchRecipe
    threshold: float | None
    candidates: Candidates
    deep: Candidates
    calibration: Calibrated | None = None

    def relevance(self, candidates: Candidates) -> Scores:
        """Return the values that the threshold is compared with, shape (n,)."""
        calibration = self.calibration
        relevance = (
            candidates.cosine if calibration is None else calibration.probabilities(candidates)
        )
        return threshold_scores(relevance, candidates, self.search, candidates.by_words)

    def relevant(self, candidates: Candidates) -> Mask:
        """Return a mask of the candidates that reach the threshold, shape (n,)."""
        if self.threshold is None:
            return np.ones(len(candidates), dtype=bool)
        return np.asarray(self.relevance(candidates) >= self.threshold)

    @property
    def refused(self) -> bool:
        """Whether the question is off-topic: then nothing is returned."""
        topic = self.candidates.topic
        return topic is not None and topic.refused(self.search.refuse)

    @property
    def is_in(self) -> bool:
        """Whether the passage is among the results as things are."""
        return not self.refused and self.would_be_in

    @property
    def would_be_in(self) -> bool:
        """Whether it is among them where the question is not refused."""
        own = position(self.candidates, self.key)
        scores = fused_scores(self.candidates, self.search)
        return own is not None and _is_in(
            self.candidates, scores, self.relevant(self.candidates), own, self.search.top_k
        )


def position(candidates: Candidates, key: int) -> int | None:
    """Return the position of a passage in arrays sorted by key; None if it is not a candidate."""
    at = int(np.searchsorted(candidates.keys, key))
    return at if at < len(candidates) and candidates.keys[at] == key else None


def before(candidates: Candidates, scores: Scores, own: int) -> Mask:
    """Return a mask of the candidates that rank before a candidate.

    These have a higher score, or the same score and a lower key.
    """
    mine = scores[own]
    return np.asarray(
        (scores > mine) | ((scores == mine) & (candidates.keys < candidates.keys[own]))
    )


def _is_in(candidates: Candidates, scores: Scores, relevant: Mask, own: int, top_k: int) -> bool:
    if not relevant[own]:
        return False
    return int(np.count_nonzero(before(candidates, scores, own) & relevant)) < top_k


def by_top_k(case: Case) -> Breakpoint | None:
    """Moves ``top_k``."""
    own = position(case.candidates, case.key)
    relevant = case.relevant(case.candidates)
    if own is None or not relevant[own]:
        return None
    scores = fused_scores(case.candidates, case.search)
    rank = int(np.count_nonzero(before(case.candidates, scores, own) & relevant)) + 1
    if case.search.top_k >= rank:
        return Breakpoint(rank - 1, 1) if rank > 1 else None
    return Breakpoint(rank, MOST_TOP_K) if rank <= MOST_TOP_K else None


def by_refuse(case: Case) -> Breakpoint | None:
    """Move the limit of ``refuse``: all passages go, or come, where it passes the probability."""
    topic = case.candidates.topic
    if topic is None or not case.would_be_in:
        return None
    if case.refused:
        return Breakpoint(topic.probability, 0.0)
    return Breakpoint(topic.probability, 1.0) if topic.probability < 1 else None


def by_threshold(case: Case) -> Breakpoint | None:
    """Moves ``threshold``: a passage is in from just above a lower bound up to its relevance.

    Below the lower bound too many better ranked candidates pass as well.
    """
    candidates, own = case.candidates, position(case.candidates, case.key)
    if own is None:
        return None
    relevance = case.relevance(candidates)
    scores = fused_scores(candidates, case.search)
    rivals = np.sort(relevance[before(candidates, scores, own)])[::-1]
    top_k, mine = case.search.top_k, float(relevance[own])
    lower = float(rivals[top_k - 1]) if len(rivals) >= top_k else -np.inf
    if lower >= mine:
        return None
    return _threshold_crossing(case, lower, mine)


def _threshold_crossing(case: Case, lower: float, mine: float) -> Breakpoint | None:
    now = LEAST_THRESHOLD if case.threshold is None else case.threshold
    if now > mine:
        return Breakpoint(mine, max(lower, LEAST_THRESHOLD)) if mine >= LEAST_THRESHOLD else None
    if now <= lower:
        return Breakpoint(lower, min(mine, MOST_THRESHOLD)) if lower < MOST_THRESHOLD else None
    ways = [Breakpoint(mine, MOST_THRESHOLD)] if mine < MOST_THRESHOLD else []
    ways += [Breakpoint(lower, LEAST_THRESHOLD)] if lower > LEAST_THRESHOLD else []
    return min(ways, key=lambda way: abs(way.near - now), default=None)


def by_weight(case: Case) -> Breakpoint | None:
    """Moves ``dense_weight``: scores are lines in it, so ranks change only where lines cross."""
    candidates, own = case.candidates, position(case.candidates, case.key)
    if case.search.mode != "hybrid" or own is None or not case.relevant(candidates)[own]:
        return None
    dense, words = line_ends(candidates, case.search)
    cuts = _crossings(dense, words, own)
    middles = (cuts[1:] + cuts[:-1]) / 2
    probes = np.concatenate([[0.0], middles, [1.0]])
    lows = np.concatenate([[0.0], cuts[:-1], [1.0]])
    highs = np.concatenate([[0.0], cuts[1:], [1.0]])
    is_in = _counts(case, dense, words, own, probes) < case.search.top_k
    return _nearest(lows, highs, is_in != case.is_in, case.search.dense_weight)


def _crossings(dense: Scores, words: Scores, own: int) -> Scores:
    """0, the weights at which another line crosses that of ``own``, 1; ascending."""
    at_one, at_zero = dense - dense[own], words - words[own]
    slope = at_one - at_zero
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = -at_zero / slope
    inside = np.sort(weights[(slope != 0) & (weights > NARROWEST) & (weights < 1 - NARROWEST)])
    apart = np.ones(len(inside), dtype=bool)
    apart[1:] = np.diff(inside) > NARROWEST
    return np.concatenate([[0.0], inside[apart], [1.0]])


def _counts(
    case: Case, dense: Scores, words: Scores, own: int, probes: Scores
) -> npt.NDArray[np.intp]:
    """Count the relevant candidates before ``own`` at each weight, as a search computes it."""
    keys = case.candidates.keys
    relevant, is_first = case.relevant(case.candidates), keys < keys[own]
    counts = []
    for start in range(0, len(probes), _ROWS):
        weight = probes[start : start + _ROWS, None]
        scores = weight * dense + (1.0 - weight) * words
        mine = scores[:, own : own + 1]
        ahead = ((scores > mine) | ((scores == mine) & is_first)) & relevant
        counts.append(np.count_nonzero(ahead, axis=1))
    return np.concatenate(counts)


def _nearest(lows: Scores, highs: Scores, flipped: Mask, now: float) -> Breakpoint | None:
    """The run of flipped ranges that is nearest to ``now``."""
    ways = []
    for first, last in _runs(flipped):
        low, high = float(lows[first]), float(highs[last])
        ways.append(Breakpoint(low, high) if low >= now else Breakpoint(high, low))
    return min(ways, key=lambda way: abs(way.near - now), default=None)


def _runs(flags: Mask) -> Iterator[tuple[int, int]]:
    """First and last index of every stretch of True."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    firsts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    yield from ((int(first), int(end) - 1) for first, end in zip(firsts, ends, strict=True))


def by_candidates(case: Case) -> Breakpoint | None:
    """Moves ``candidates``: a search of another depth normalises over other passages."""
    now, was_in = case.search.candidates, case.is_in
    own = position(case.deep, case.key)
    if own is None or not case.relevant(case.deep)[own]:
        return None
    depths = Depths.of(case.deep, case.search, case.relevant(case.deep), own)
    first = 1 if was_in else depths.first
    nearest = sorted(range(first, depths.most + 1), key=lambda depth: abs(depth - now))
    for start in range(0, len(nearest), _ROWS):
        block = np.array(nearest[start : start + _ROWS])
        flipped = block[depths.is_in(block) != was_in]
        if len(flipped):
            depth = int(flipped[0])
            last = _last(depths, depth, 1 if depth > now else -1, was_in)
            return Breakpoint(depth, MOST_CANDIDATES if last == depths.most else last)
    return None


def _last(depths: Depths, depth: int, step: int, was_in: bool) -> int:
    """The last depth in a row, going on by ``step``, at which the fate is still the other one."""
    end = depths.most if step > 0 else 1
    row = np.arange(depth + step, end + step, step)
    for start in range(0, len(row), _ROWS):
        block = row[start : start + _ROWS]
        back = block[depths.is_in(block) == was_in]
        if len(back):
            return int(back[0]) - step
    return end


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
        lists = (candidates.dense_rank, candidates.lexical_rank)
        if search.fusion == QDRANT_RRF:
            near, worded = (np.where(ranks < depths, ranks, NOT_FOUND) for ranks in lists)
            return divided_reciprocal(near, worded, candidates, search)
        if search.fusion == "rrf":
            dense, words = (_reciprocal(ranks, depths, search.rrf_k) for ranks in lists)
        elif search.fusion == "saturation":
            scores = candidates.dense_scores, candidates.lexical_scores
            ends = scaled_scores(*scores, candidates.by_words, search)
            dense, words = (np.broadcast_to(end, (len(depths), len(end))) for end in ends)
        elif (least := LIST_SCALES.get(search.fusion)) is not None:
            dense, words = (self._list_scores(part, least, depths) for part in (0, 1))
            if candidates.by_words is not None:
                dense = np.where(candidates.by_words, words, dense)
        else:
            dense = _stretched(candidates.dense_scores, self.dense, depths)
            words = _stretched(candidates.lexical_scores, self.words, depths)
        dense = leaning(dense, words, full_share(candidates.lacking, search))
        return weight * dense + (1.0 - weight) * words

    def _list_scores(self, part: int, least: float, depths: Integers) -> Scores:
        """``stretched_list`` at each depth; ``part`` is 0 for the cosines, 1 for BM25."""
        candidates = self.candidates
        scores = (candidates.dense_scores, candidates.lexical_scores)[part]
        ranks = (candidates.dense_rank, candidates.lexical_rank)[part].astype(np.int64)
        low, high = (bound[depths] for bound in _bounds(scores, ranks + 1, self.most))
        return on_list_scale(scores, ranks < depths, low, high, least)


def _bounds(scores: Scores, enters: Integers, most: int) -> tuple[Scores, Scores]:
    """Least and greatest score of what has come up at each depth from 0 on."""
    low, high = np.full(most + 1, np.inf), np.full(most + 1, -np.inf)
    up = enters <= most
    np.minimum.at(low, enters[up], scores[up])
    np.maximum.at(high, enters[up], scores[up])
    return np.minimum.accumulate(low), np.maximum.accumulate(high)


def _stretched(scores: Scores, bounds: tuple[Scores, Scores], depths: Integers) -> Scores:
    """``min_max`` over what has come up at each depth."""
    low, high = (bound[depths] for bound in bounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high > low, (scores - low) / (high - low), 0.0)


def _reciprocal(ranks: Ranks, depths: Integers, constant: int) -> Scores:
    is_ranked = (ranks != NOT_FOUND) & (ranks < depths)
    return np.where(is_ranked, 1.0 / (constant + 1.0 + ranks), 0.0)
