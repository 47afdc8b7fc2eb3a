"""Candidates of all questions, fetched once and deep, as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.evaluation.judging import Judge
from rag.recipe import Mode, Refuse
from rag.retrieval.candidates import NOT_FOUND, Calibrated, Candidates
from rag.topic import Topic
from rag.types import Integers, Keys, Mask, Question, Ranks, Scores


@dataclass(frozen=True, slots=True)
class Deep:
    """Candidates of all questions, by question, then key; all arrays have shape (candidates,).

    ``row`` is the place of the question. ``unit`` names what is judged: the passage itself, or its
    document for questions that are judged by document; ``grade`` is that unit's. ``probability`` is
    there where a calibration was given, ``exact`` where a question has a rare code,
    ``word_relevance`` where a passage has enough of the words of its question. The other
    columns are those of ``Candidates``. ``topics`` has, by question, whether the documents speak
    of it; it is empty where nobody was asked. ``lacking`` has those of ``Candidates``, by question;
    it is empty where there are none.
    """

    questions: int
    row: Integers
    keys: Keys
    cosine: Scores
    bm25: Scores
    dense_rank: Ranks
    lexical_rank: Ranks
    unit: Integers
    grade: Integers
    probability: Scores | None = None
    exact: Mask | None = None
    word_relevance: Scores | None = None
    topics: tuple[Topic | None, ...] = ()
    lacking: tuple[str, ...] = ()

    def refused(self, refuse: Refuse) -> Mask:
        """Return a mask of the questions that a recipe refuses, shape (questions,)."""
        if not self.topics:
            return np.zeros(self.questions, np.bool_)
        return np.array([topic is not None and topic.refused(refuse) for topic in self.topics])

    @property
    def unknown(self) -> Mask:
        """A mask of candidates whose question is in a language unknown to the embedder."""
        if not any(self.lacking):
            return np.zeros(len(self.row), np.bool_)
        return np.array([bool(code) for code in self.lacking], np.bool_)[self.row]

    def within(self, mode: Mode, candidates: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the hits of a mode that asks each retriever for ``candidates``."""
        near, words = self.dense_rank < candidates, self.lexical_rank < candidates
        return {"dense": near, "lexical": words, "hybrid": near | words}[mode]

    def candidates(self, mode: Mode, depth: int) -> list[Candidates]:
        """The candidates of each question that a recipe of that mode finds ``depth`` deep."""
        candidates = self.at(np.flatnonzero(self.within(mode, depth)))
        ends = np.searchsorted(candidates.row, np.arange(self.questions + 1))
        return [
            Candidates(
                keys=candidates.keys[at],
                cosine=candidates.cosine[at],
                bm25=candidates.bm25[at],
                dense_rank=_at_most(candidates.dense_rank[at], depth),
                lexical_rank=_at_most(candidates.lexical_rank[at], depth),
                exact=None if candidates.exact is None else candidates.exact[at],
                word_relevance=None
                if candidates.word_relevance is None
                else candidates.word_relevance[at],
                topic=candidates.topics[number] if candidates.topics else None,
                lacking=candidates.lacking[number] if candidates.lacking else "",
            )
            for number, at in enumerate(map(slice, ends[:-1], ends[1:]))
        ]

    def only(self, chosen: npt.NDArray[np.bool_]) -> Deep:
        """The candidates of some questions; ``chosen`` has shape (questions,)."""
        rows = (np.cumsum(chosen) - 1)[self.row]
        narrowed = replace(
            self,
            questions=int(np.count_nonzero(chosen)),
            row=rows,
            topics=tuple(compress(self.topics, chosen)),
            lacking=tuple(compress(self.lacking, chosen)),
        )
        return narrowed.at(np.flatnonzero(chosen[self.row]))

    def at(self, inside: Integers) -> Deep:
        """Some of the candidates, by rising place."""
        columns: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        del columns["questions"], columns["topics"], columns["lacking"]
        arrays = {name: column[inside] for name, column in columns.items() if column is not None}
        return replace(self, **arrays)


def flattened(
    questions: Sequence[Question],
    candidates: Sequence[Candidates],
    judge: Judge,
    calibration: Calibrated | None = None,
) -> Deep:
    """The candidates of all questions (one or more) with their grades, as one table."""
    graded = [
        judge.graded(question, candidate.keys)
        for question, candidate in zip(questions, candidates, strict=True)
    ]
    sizes = [len(candidate) for candidate in candidates]
    return Deep(
        questions=len(questions),
        row=np.repeat(np.arange(len(sizes)), sizes),
        keys=np.concatenate([candidate.keys for candidate in candidates]),
        cosine=np.concatenate([candidate.cosine for candidate in candidates]),
        bm25=np.concatenate([candidate.bm25 for candidate in candidates]),
        dense_rank=np.concatenate([candidate.dense_rank for candidate in candidates]),
        lexical_rank=np.concatenate([candidate.lexical_rank for candidate in candidates]),
        unit=np.concatenate([units for units, _ in graded]),
        grade=np.concatenate([grades for _, grades in graded]),
        probability=None
        if calibration is None
        else np.concatenate([calibration.probabilities(candidate) for candidate in candidates]),
        exact=_joined([candidate.exact for candidate in candidates], sizes, fill=False),
        word_relevance=_joined(
            [candidate.word_relevance for candidate in candidates], sizes, fill=-1.0
        ),
        topics=tuple(candidate.topic for candidate in candidates),
        lacking=tuple(candidate.lacking for candidate in candidates),
    )


def _at_most(ranks: Ranks, depth: int) -> Ranks:
    return np.where(ranks < depth, ranks, NOT_FOUND)


def _joined(
    columns: Sequence[npt.NDArray[Any] | None], sizes: Sequence[int], fill: float
) -> npt.NDArray[Any] | None:
    """Columns of all questions as one; ``fill`` stands where a question has none."""
    dtype = next((column.dtype for column in columns if column is not None), None)
    if dtype is None:
        return None
    return np.concatenate(
        [
            np.full(size, fill, dtype) if column is None else column
            for column, size in zip(columns, sizes, strict=True)
        ]
    )
