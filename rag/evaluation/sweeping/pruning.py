"""Candidates that cannot come among the first of any recipe, left out before thousands of them.

A candidate *trails* another that is clearly ahead of it in the lists of both retrievers: whatever
the weight, the fusion and the depth, it is ranked after it, and whatever the threshold, it goes
before it (a probability never falls where cosine and BM25 rise; one with a rare code of the
question, which any threshold lets pass, or with its words instead of a near vector, is always
kept). One that trails ``limit`` others is never among the first ``limit``. Leaving all of those out
changes no rank below ``limit``: what they trail stays, and is enough to count (the k-skyband of
Papadias et al., Progressive Skyline Computation in Database Systems, TODS 2005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rag.evaluation.sweeping.deep import Deep
from rag.evaluation.sweeping.layout import By, Layout, siblings
from rag.retrieval.candidates import NOT_FOUND
from rag.types import Integers, Mask

Ranks = npt.NDArray[np.int16]
_Scores = npt.NDArray[np.float64]

MARGIN = 1e-9
"""Cosines and BM25 scores that differ by less may be fused to equal ones by rounding."""

SMALLEST_WEIGHT = 1e-4
"""With less weight on one of the lists, what differs only there may tie."""

_MOST_RIVALS = 255
_LAST = 1e300  # after every negated score


class Leading(NamedTuple):
    """False where a candidate cannot matter, shape (candidates,).

    ``mixed`` holds for recipes that give weight to both lists, ``single`` for all others but
    reciprocal ranks: there, passages that the list with all the weight lacks are tied.
    """

    mixed: Mask
    single: Mask


def leading(deep: Deep, limit: int, by_unit: bool) -> Leading:
    """Return the candidates that can be among the first ``limit``.

    With ``by_unit``, ranks count documents for questions judged by document. A passage is then also
    dropped if it trails one of its own document. Otherwise ranks count passages.
    """
    sizes = np.bincount(deep.row, minlength=deep.questions)
    at = deep.row, np.arange(len(deep.row)) - (np.cumsum(sizes) - sizes)[deep.row]
    shape = len(sizes), max(int(sizes.max(initial=0)), 1)
    near, words = _places(at, shape, deep.cosine), _places(at, shape, deep.bm25)
    own = near.own[at], words.own[at]
    if not (_agree(deep.dense_rank, own[0]) and _agree(deep.lexical_rank, own[1])):
        everything = np.ones(len(deep.row), dtype=np.bool_)
        return Leading(everything, everything)  # an approximate index: nothing is certain
    units = deep.unit if by_unit else deep.keys
    order = np.lexsort((own[0] + own[1], units, deep.row))
    rivals = _rivals(deep.row, units, order, own, shape, 2 * limit + 20)
    single = _leading(at, near, words, rivals, limit)
    # Without a word in common, being ahead in the other list is enough.
    clear_near, clear_words = near.ahead[at], words.ahead[at]
    clear_mixed = np.where(deep.bm25 > 0, clear_words, shape[1]).astype(np.int16)
    words.ahead[at] = clear_mixed
    mixed = _leading(at, near, words, rivals, limit)
    for one, two in siblings(deep.row, units, order):
        nearer = own[0][one] < clear_near[two]
        single[two[nearer & (own[1][one] < clear_words[two])]] = False
        mixed[two[nearer & (own[1][one] < clear_mixed[two])]] = False
    lifted = _lifted(deep)
    return Leading(mixed | lifted, single | lifted)


def _lifted(deep: Deep) -> Mask:
    """Return a mask of the candidates that may pass a threshold that those ahead do not."""
    lifted = np.zeros(len(deep.row), np.bool_) if deep.exact is None else deep.exact
    return lifted if deep.word_relevance is None else lifted | (deep.word_relevance > deep.cosine)


def _leading(
    at: tuple[Integers, Integers], near: _Places, words: _Places, rivals: Ranks, limit: int
) -> Mask:
    counts = np.zeros(near.own.shape, np.uint8)  # there are not more rivals than fit
    for first, second in rivals:
        counts += ((first < near.ahead) & (second < words.ahead)).view(np.uint8)
    leading: Mask = counts[at] < limit
    return leading


class _Places(NamedTuple):
    """Places in the list of one retriever, and how many are clearly ahead: (questions, width)."""

    own: Ranks
    ahead: Ranks


def _places(at: tuple[Integers, Integers], shape: tuple[int, int], scores: _Scores) -> _Places:
    """From the ``scores`` (candidates,) that stand ``at`` these rows and columns."""
    table = np.full(shape, _LAST)
    table[at] = -scores
    order = np.argsort(table, axis=1, kind="stable")  # equal scores stay in the order of keys
    is_apart = np.diff(np.take_along_axis(table, order, axis=1), axis=1, prepend=-_LAST) > MARGIN
    number = np.arange(shape[1])
    places = _Places(np.empty(shape, np.int16), np.empty(shape, np.int16))
    np.put_along_axis(places.own, order, np.broadcast_to(number, shape), axis=1)
    ahead = np.maximum.accumulate(np.where(is_apart, number, 0), axis=1)
    np.put_along_axis(places.ahead, order, ahead, axis=1)
    return places


def _agree(ranks: npt.NDArray[np.int32], places: Ranks) -> bool:
    """Whether a retriever found what is best, in that order."""
    has = ranks != NOT_FOUND
    return np.array_equal(ranks[has], places[has])


def _rivals(
    rows: Integers,
    units: Integers,
    order: Integers,
    places: tuple[Ranks, Ranks],
    shape: tuple[int, int],
    number: int,
) -> Ranks:
    """``places`` (candidates,) in both lists of the strongest candidates, one of a unit.

    ``order`` sorts by question, then unit, then strength. Shape (rivals, 2, questions, 1); a place
    that nothing trails where a question has no more of them.
    """
    is_best = (np.diff(rows[order], prepend=-1) != 0) | (np.diff(units[order], prepend=-1) != 0)
    best = order[is_best]
    best = best[np.lexsort((places[0][best] + places[1][best], rows[best]))]
    sizes = np.bincount(rows[best])
    turns = np.arange(len(best)) - (np.cumsum(sizes) - sizes)[rows[best]]
    table = np.full((min(number, shape[1], _MOST_RIVALS), 2, shape[0], 1), shape[1], np.int16)
    best, turns = best[turns < len(table)], turns[turns < len(table)]
    for side, own in enumerate(places):
        table[turns, side, rows[best], 0] = own[best]
    return table


class Prepared:
    """Candidates with lazily computed layouts, cached for the next sweep."""

    def __init__(
        self, deep: Deep, shared_layout: Callable[[By], Layout | None] = lambda _by: None
    ) -> None:
        """``shared_layout`` gives the layouts that need not be computed."""
        self.deep = deep
        self._shared_layout = shared_layout
        self._layouts: dict[By, Layout] = {}
        self._leading: dict[tuple[int, bool], Leading] = {}

    def layout(self, by: By) -> Layout:
        """The candidates in the order of their relevance. Raises ValueError, see ``Layout``."""
        if by not in self._layouts:
            self._layouts[by] = self._shared_layout(by) or Layout.of(self.deep, by)
        return self._layouts[by]

    def leading(self, limit: int, by_unit: bool) -> Leading:
        """The candidates that matter, see ``pruning``."""
        place = limit, by_unit
        if place not in self._leading:
            self._leading[place] = leading(self.deep, limit, by_unit)
        return self._leading[place]
