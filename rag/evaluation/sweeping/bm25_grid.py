"""Candidates for any k1 and b: postings are read once, then each pair of these is arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rag.evaluation.calibration import Calibration
from rag.evaluation.judging import Judge
from rag.evaluation.sweeping.deep import Deep
from rag.evaluation.sweeping.layout import By, Layout
from rag.evaluation.sweeping.pruning import Prepared
from rag.lexical import Postings
from rag.retrieval.candidates import NOT_FOUND
from rag.topic import Topic
from rag.types import Integers, Keys, Mask, Question, Ranks, Scores

Pair = tuple[float, float]
"""A value of k1 and one of b."""
Cosines = Callable[[Integers, Keys], Scores]
"""The cosines of questions, by number, with passages, by key: shape (n,)."""


class Bm25Grid:
    """All that questions can find: what matches their words, and what the vectors found."""

    def __init__(
        self,
        questions: Sequence[Question],
        postings: Postings,
        near: Sequence[Keys],
        judge: Judge,
        cosines: Cosines,
        calibration: Calibration | None = None,
        exact: Mask | None = None,
        word_relevance: Scores | None = None,
        topics: Sequence[Topic | None] = (),
        lacking: Sequence[str] = (),
    ) -> None:
        """``postings`` has the passages that are ``near`` (best first, by question) as well.

        ``exact`` says which of them hold a rare code of their question, None where none has any,
        ``word_relevance`` which relevance they have by their words, see ``Candidates``; ``topics``
        whether each question is on topic, ``lacking`` which of their languages the embedder does
        not know.
        """
        self._postings = postings
        self._cosines = cosines
        self._calibration = calibration
        self._exact, self._word_relevance = exact, word_relevance
        self._topics, self._lacking = tuple(topics), tuple(lacking)
        self._starts = np.searchsorted(postings.rows, np.arange(len(questions) + 1))
        parts = [
            postings.keys[begin:end]
            for begin, end in zip(self._starts[:-1], self._starts[1:], strict=True)
        ]
        self._dense_rank = np.full(len(postings.keys), NOT_FOUND, np.int32)
        for begin, keys, nearest in zip(self._starts, parts, near, strict=False):
            self._dense_rank[begin + np.searchsorted(keys, nearest)] = np.arange(len(nearest))
        graded = [judge.graded(item, keys) for item, keys in zip(questions, parts, strict=True)]
        self._unit = np.concatenate([units for units, _ in graded])
        self._grade = np.concatenate([grades for _, grades in graded])
        self._cosine = np.full(len(postings.keys), np.nan)  # until it is asked for

    def field(self, pairs: Collection[Pair], depth: int) -> Field:
        """Return the candidates that can be among the first ``depth`` of a retriever for ``pairs``.

        A passage is never among the first if its best score with any k1 and b in the range of
        ``pairs`` is less than a score that ``depth`` other passages always reach.
        """
        k1, b = ((min(values), max(values)) for values in zip(*pairs, strict=True))
        low, high = self._postings.bounds(k1, b)
        by_words = (high > 0) & (high >= self._bars(low, depth)[self._postings.rows])
        candidates = by_words | (self._dense_rank < depth)
        self._know_cosines(candidates)
        dense_rank = self._dense_rank[candidates]
        postings = self._postings.only(candidates)
        deep = Deep(
            questions=postings.queries,
            row=postings.rows,
            keys=postings.keys,
            cosine=self._cosine[candidates],
            bm25=np.zeros(len(dense_rank)),
            dense_rank=np.where(dense_rank < depth, dense_rank, NOT_FOUND).astype(np.int32),
            lexical_rank=np.full(len(dense_rank), NOT_FOUND, np.int32),
            unit=self._unit[candidates],
            grade=self._grade[candidates],
            exact=None if self._exact is None else self._exact[candidates],
            word_relevance=None
            if self._word_relevance is None
            else self._word_relevance[candidates],
            topics=self._topics,
            lacking=self._lacking,
        )
        return Field(deep, postings, depth, self._calibration)

    def _bars(self, scores: Scores, depth: int) -> Scores:
        """The score number ``depth`` of each question, 0 where there are fewer: (questions,)."""
        bars = np.zeros(len(self._starts) - 1)
        for row, (begin, end) in enumerate(zip(self._starts[:-1], self._starts[1:], strict=True)):
            if (last := end - begin - depth) > 0:
                bars[row] = np.partition(scores[begin:end], last)[last]
        return bars

    def _know_cosines(self, candidates: np.ndarray) -> None:
        new = np.flatnonzero(candidates & np.isnan(self._cosine))
        self._cosine[new] = self._cosines(self._postings.rows[new], self._postings.keys[new])


@dataclass(frozen=True)
class Field:
    """The candidates that both retrievers can rank first with several k1 and b, in one table.

    ``all_candidates`` contains all of them, without BM25 scores; ``postings`` computes the scores.
    """

    all_candidates: Deep
    postings: Postings
    depth: int
    calibration: Calibration | None = None
    _layouts: dict[By, Layout] = field(default_factory=dict, repr=False, compare=False)

    def deep(self, pair: Pair) -> tuple[Deep, Integers]:
        """The candidates of one pair, and their places in the table."""
        scores = self.postings.scores(*pair)
        ranks = _ranks(self._places, scores, self.depth)
        scored = replace(self.all_candidates, bm25=scores, lexical_rank=ranks)
        places = np.flatnonzero(scored.within("hybrid", self.depth))
        candidates = scored.at(places)
        if self.calibration is not None:
            candidates = replace(candidates, probability=self.calibration.probabilities(candidates))
        return candidates, places

    def prepared(self, pair: Pair) -> Prepared:
        """The same, ready to be swept over."""
        deep, places = self.deep(pair)

        def shared_layout(by: By) -> Layout | None:
            return self.layout(by).at(deep, places) if by.relevance == "cosine" else None

        return Prepared(deep, shared_layout)

    def layout(self, by: By) -> Layout:
        """Return the layout that all pairs share: cosines and codes do not depend on k1 and b."""
        if by not in self._layouts:
            self._layouts[by] = Layout.of(self.all_candidates, by)
        return self._layouts[by]

    @cached_property
    def _places(self) -> _Table:
        return _Table.of(self.postings.rows, self.postings.queries)


class _Table(NamedTuple):
    """Positions of values in a table with one row per question."""

    rows: Integers
    columns: Integers
    shape: tuple[int, int]

    @classmethod
    def of(cls, rows: Integers, questions: int) -> _Table:
        """From the numbers of the questions, in order."""
        sizes = np.bincount(rows, minlength=questions)
        columns = np.arange(len(rows)) - (np.cumsum(sizes) - sizes)[rows]
        return cls(rows, columns, (questions, int(sizes.max(initial=0))))

    def filled(self, values: Scores) -> Scores:
        """The table; where there is no value it is infinite."""
        table = np.full(self.shape, np.inf)
        table[self.rows, self.columns] = values
        return table


def _ranks(places: _Table, scores: Scores, depth: int) -> Ranks:
    """Places by falling score, equal ones by key, of those above 0 and among the first."""
    losses = -scores
    table = places.filled(losses)
    bars = np.full(len(table), np.inf)
    if table.shape[1] > depth:
        bars = np.partition(table, depth - 1, axis=1)[:, depth - 1]
    first = np.flatnonzero((losses <= bars[places.rows]) & (losses < 0))
    near = _Table.of(places.rows[first], len(table))
    order = _ordered(near.filled(losses[first]))
    number = np.empty(order.shape, np.int32)
    positions = np.broadcast_to(np.arange(order.shape[1], dtype=np.int32), order.shape)
    np.put_along_axis(number, order, positions, axis=1)
    columns = number[near.rows, near.columns]
    ranks = np.full(len(scores), NOT_FOUND, np.int32)
    ranks[first] = np.where(columns < depth, columns, NOT_FOUND)
    return ranks


def _ordered(table: Scores) -> Integers:
    """Columns by rising value, equal ones in their order; far sooner done where none are equal."""
    order = np.argsort(table, axis=1)
    ordered = np.take_along_axis(table, order, axis=1)
    is_tied = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] < np.inf)
    tied = np.flatnonzero(is_tied.any(axis=1))
    order[tied] = np.argsort(table[tied], axis=1, kind="stable")
    return order
