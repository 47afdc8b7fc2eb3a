"""Candidates of all questions, fetched once and deep, as one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import compress
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.evaluation.comparison import Groups
from rag.evaluation.judging import Judge
from rag.evaluation.relevance import judged_by_document
from rag.recipe import Mode, Refuse
from rag.retrieval.candidates import NOT_FOUND, Candidates
from rag.retrieval.topic import Topic
from rag.types import Integers, Mask, Question, Ranks

_COLUMNS = ("keys", "cosine", "bm25", "dense_rank", "lexical_rank")


@dataclass(frozen=True, slots=True)
class CandidateTable:
    """Candidates with their grades: a row for each question, all arrays (questions, width).

    ``candidates`` has the columns of ``Candidates``, in the order of keys. Short rows are filled up
    with copies of their first candidate, which change no least and no greatest score; ``inside`` is
    False there. ``unit`` numbers within a row what is judged: the passages, or their documents
    where the question is judged by document; ``grade`` is that unit's. ``ideals`` has, by question,
    the grades of all that is relevant, best first. ``topics`` says, by question, whether the
    documents speak of it, and ``lacking`` in which language that the embedder does not know it is.
    ``tokens`` has the lengths of the candidates, 0 where they were not counted; questions of one of
    the ``groups`` rise and fall together.
    """

    questions: Sequence[Question]
    ideals: Sequence[Sequence[int]]
    candidates: Candidates
    inside: Mask
    unit: Integers
    grade: Integers
    tokens: Integers
    topics: Sequence[Topic | None]
    lacking: Sequence[str]
    groups: Groups

    @classmethod
    def of(
        cls,
        questions: Sequence[Question],
        candidates: Sequence[Candidates],
        judge: Judge,
        groups: Groups | None = None,
    ) -> CandidateTable:
        """The candidates of each question with their grades."""
        sizes = np.array([len(row) for row in candidates])
        inside = np.arange(max(sizes.max(initial=0), 1)) < sizes[:, None]
        graded = [
            _numbered(judge, question, row)
            for question, row in zip(questions, candidates, strict=True)
        ]
        table = cls(
            questions=questions,
            ideals=[judge.ideal(question) for question in questions],
            candidates=_joined(candidates, inside),
            inside=inside,
            unit=_filled([units for units, _ in graded], inside),
            grade=_filled([grades for _, grades in graded], inside),
            tokens=np.zeros(inside.shape, np.int64),
            topics=[row.topic for row in candidates],
            lacking=[row.lacking for row in candidates],
            groups=groups or {},
        )
        return table.taken(inside)

    def refused(self, refuse: Refuse) -> Mask:
        """Return a mask of the questions that a recipe refuses, shape (questions,)."""
        return np.array(
            [topic is not None and topic.refused(refuse) for topic in self.topics], np.bool_
        )

    @property
    def unknown(self) -> Mask:
        """The questions in a language that the embedder does not know, shape (questions, 1)."""
        return np.array([[bool(code)] for code in self.lacking], np.bool_).reshape(-1, 1)

    @property
    def by_document(self) -> Integers:
        """The places of the questions that are judged by document."""
        return np.flatnonzero([judged_by_document(question) for question in self.questions])

    def reach(self, mode: Mode) -> Ranks:
        """The best rank of each candidate in the lists of a mode, from 0."""
        near, words = self.candidates.dense_rank, self.candidates.lexical_rank
        return {"dense": near, "lexical": words, "hybrid": np.minimum(near, words)}[mode]

    def mask(self, mode: Mode, depth: int) -> Mask:
        """Return a mask of what a mode finds that asks each retriever for ``depth``."""
        return self.inside & (self.reach(mode) < depth)

    def within(self, mode: Mode, depth: int) -> CandidateTable:
        """The candidates that a mode finds that asks each retriever for ``depth``."""
        table = self.taken(self.mask(mode, depth))
        ranks = (table.candidates.dense_rank, table.candidates.lexical_rank)
        near, words = (np.where(rank < depth, rank, NOT_FOUND) for rank in ranks)
        candidates = replace(table.candidates, dense_rank=near, lexical_rank=words)
        return replace(table, candidates=candidates)

    def taken(self, chosen: Mask) -> CandidateTable:
        """Some of the candidates, the others left out."""
        sizes = np.count_nonzero(chosen, axis=1)
        inside = np.arange(max(sizes.max(initial=0), 1)) < sizes[:, None]
        columns = np.zeros(inside.shape, np.int64)
        columns[inside] = np.nonzero(chosen)[1]
        columns = np.where(inside, columns, columns[:, :1])
        return replace(
            self,
            candidates=_each(
                self.candidates, lambda column: np.take_along_axis(column, columns, axis=1)
            ),
            inside=inside,
            unit=np.take_along_axis(self.unit, columns, axis=1),
            grade=np.take_along_axis(self.grade, columns, axis=1),
            tokens=np.take_along_axis(self.tokens, columns, axis=1),
        )

    def only(self, chosen: Mask) -> CandidateTable:
        """Some of the questions; ``chosen`` has shape (questions,)."""
        return CandidateTable(
            questions=list(compress(self.questions, chosen)),
            ideals=list(compress(self.ideals, chosen)),
            candidates=_each(self.candidates, itemgetter(chosen)),
            inside=self.inside[chosen],
            unit=self.unit[chosen],
            grade=self.grade[chosen],
            tokens=self.tokens[chosen],
            topics=list(compress(self.topics, chosen)),
            lacking=list(compress(self.lacking, chosen)),
            groups=self.groups,
        )

    def flat(self, chosen: Mask) -> Candidates:
        """Some of the candidates, question by question, arrays of shape (n,)."""
        return _each(self.candidates, itemgetter(chosen))

    def by_question(self) -> list[Candidates]:
        """The candidates of each question, as a search gathers them."""
        flat = self.flat(self.inside)
        ends = np.cumsum(np.count_nonzero(self.inside, axis=1)).tolist()
        parts = map(slice, [0, *ends], ends)
        return [
            replace(_each(flat, itemgetter(part)), topic=topic, lacking=lacking)
            for part, topic, lacking in zip(parts, self.topics, self.lacking, strict=True)
        ]


def _numbered(judge: Judge, question: Question, row: Candidates) -> tuple[Integers, Integers]:
    units, grades = judge.graded(question, row.keys)
    return np.unique(units, return_inverse=True)[1], grades


def _joined(candidates: Sequence[Candidates], inside: Mask) -> Candidates:
    """The rows of one table; evidence that only some rows have is absent from the others."""
    fills = {"exact": False, "word_relevance": -1.0}
    columns = dict[str, Any]()
    for name in (*_COLUMNS, *fills):
        rows = [getattr(row, name) for row in candidates]
        if any(row is not None for row in rows):
            fill = fills.get(name, 0)
            parts = [
                np.full(len(row), fill) if part is None else part
                for row, part in zip(candidates, rows, strict=True)
            ]
            columns[name] = _filled(parts, inside)
    return Candidates(**columns)


def _filled(parts: Sequence[npt.NDArray[Any]], inside: Mask) -> npt.NDArray[Any]:
    values = np.concatenate(parts)
    table = np.zeros(inside.shape, values.dtype)
    table[inside] = values
    return table


def _each(candidates: Candidates, change: Callable[[npt.NDArray[Any]], Any]) -> Candidates:
    """The same change of every column."""
    columns = {field.name: getattr(candidates, field.name) for field in fields(candidates)}
    arrays = {name: part for name, part in columns.items() if isinstance(part, np.ndarray)}
    return replace(candidates, **{name: change(column) for name, column in arrays.items()})
