"""Rankings against labels: what was retrieved for each question, graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.evaluation.relevance import (
    Passage,
    best_grades,
    judged_by_document,
    misleading_chunks,
    nuggets_of,
    relevant_chunks,
)
from rag.types import MISLEADING, Keys, Question, Scores

Spans = Mapping[str, Sequence[tuple[int, int, int]]]
"""(key, start, end) of the passages of a build, by document id."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One question's ranking. ``ids`` are passages, or documents when it is judged by document.

    ``grades`` is aligned with ``ids``; ``ideal`` holds the grades of all relevant ones, best first.
    A misleading one has the grade -1. ``cut_rank`` is that of ``QuestionResult``.
    """

    question: Question
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    grades: tuple[int, ...]
    ideal: tuple[int, ...]
    cut_rank: int | None = None
    nuggets: tuple[frozenset[str], ...] = ()
    """The parts of the answer that each of ``ids`` has; empty where the labels name none."""

    @property
    def first_relevant(self) -> int | None:
        """The rank, from 1, of the first relevant one; None when none was retrieved."""
        return next((rank for rank, grade in enumerate(self.grades, start=1) if grade > 0), None)


class Judge:
    """A judge of rankings of one build. ``keys`` lists the passages of every document."""

    def __init__(self, spans: Spans, keys: Mapping[str, Keys]) -> None:
        self.spans = spans
        self._documents = list(keys)
        self._numbers = {name: number for number, name in enumerate(self._documents)}
        sizes = [len(chunk_keys) for chunk_keys in keys.values()]
        flat = np.concatenate([*keys.values(), np.empty(0, np.int64)])
        order = np.argsort(flat)
        self._keys = flat[order]
        self._owners = np.repeat(np.arange(len(sizes)), sizes)[order]

    def judge(self, question: Question, ranked: Keys, scores: Scores, depth: int) -> Judged:
        """The first ``depth`` of a ranking (best first), graded by the question's evidence."""
        if judged_by_document(question):
            ids, values = self._by_document(ranked, scores, depth)
        else:
            places = _first_places(ranked, depth)
            ids = [f"{key:016x}" for key in ranked[places].tolist()]
            values = scores[places].tolist()
        return self.regrade(question, ids, values)

    def regrade(self, question: Question, ids: Sequence[str], scores: Sequence[float]) -> Judged:
        """Grade an earlier ranking of passages or documents, by their ids."""
        return judged_units(question, ids, scores, self._rows(question), _lost_spans(question))

    def graded(self, question: Question, keys: Keys) -> tuple[Keys, npt.NDArray[np.int64]]:
        """Return the judged unit of each passage and the grade of that unit, both of shape (n,).

        A unit is the passage itself, or its document when the question is judged by document.
        """
        by_document = judged_by_document(question)
        if by_document:
            units = self._owners[np.searchsorted(self._keys, keys)]
            named = _relevant_documents(question).items()
            by_unit = {self._numbers[name]: grade for name, grade in named if name in self._numbers}
        else:
            units, by_unit = keys, relevant_chunks(question.evidence, self._rows(question))
        grades = np.zeros(len(keys), np.int64)
        for unit, grade in by_unit.items():
            grades[units == unit] = grade
        return units, grades

    def ideal(self, question: Question) -> tuple[int, ...]:
        """The grades of all that is relevant to a question, best first."""
        nothing = np.empty(0, np.int64), np.empty(0)
        return self.judge(question, *nothing, depth=1).ideal

    def _rows(self, question: Question) -> list[Passage]:
        """The passages of the documents that a question has labels in."""
        return [
            (key, document_id, start, end)
            for document_id in {item.document_id for item in question.evidence}
            for key, start, end in self.spans.get(document_id, ())
        ]

    def _by_document(
        self, ranked: Keys, scores: Scores, depth: int
    ) -> tuple[list[str], list[float]]:
        """A document stands where its best passage stands."""
        owners = self._owners[np.searchsorted(self._keys, ranked)]
        places = _first_places(owners, depth)
        names = [self._documents[owner] for owner in owners[places].tolist()]
        return names, scores[places].tolist()


def judged_units(
    question: Question,
    ids: Sequence[str],
    scores: Sequence[float],
    rows: Sequence[Passage],
    more: Sequence[int],
    *,
    all_passages: bool = True,
) -> Judged:
    """Grade a ranking of passages, or of documents when the question is judged by document.

    ``rows`` are the passages of the documents with labels, all of them or those that were returned
    (see ``relevant_chunks``). ``more`` has the grades of what is relevant and none of them.
    """
    if judged_by_document(question):
        grades = _relevant_documents(question)
        named = {item.document_id for item in question.evidence if item.grade == MISLEADING}
        misleading = named - _relevant_documents(question).keys()
    else:
        by_key = relevant_chunks(question.evidence, rows, all_passages=all_passages)
        grades = {f"{key:016x}": grade for key, grade in by_key.items()}
        keys = misleading_chunks(question.evidence, rows, all_passages=all_passages)
        misleading = {f"{key:016x}" for key in keys}
    return Judged(
        question=question,
        ids=tuple(ids),
        scores=tuple(scores),
        grades=tuple(grades.get(name, MISLEADING if name in misleading else 0) for name in ids),
        ideal=tuple(sorted([*grades.values(), *more], reverse=True)),
        nuggets=_nuggets(question, ids, rows, all_passages=all_passages),
    )


def _nuggets(
    question: Question, ids: Sequence[str], rows: Sequence[Passage], *, all_passages: bool
) -> tuple[frozenset[str], ...]:
    """The parts of the answer that each retrieved unit has."""
    names = nuggets_of(question.evidence)
    if not names:
        return ()
    parts = dict[str, set[str]]()
    for name in names:
        labels = [item for item in question.evidence if item.nugget == name]
        if judged_by_document(question):
            units = [item.document_id for item in labels if item.grade > 0]
        else:
            keys = relevant_chunks(labels, rows, all_passages=all_passages)
            units = [f"{key:016x}" for key in keys]
        for unit in units:
            parts.setdefault(unit, set()).add(name)
    return tuple(frozenset(parts.get(unit, ())) for unit in ids)


def _first_places(ranked: Keys, depth: int) -> npt.NDArray[np.intp]:
    """Return the sorted positions at which the first ``depth`` distinct keys first occur."""
    return np.sort(np.unique(ranked, return_index=True)[1])[:depth]


def _relevant_documents(question: Question) -> dict[str, int]:
    return {name: grade for name, grade in best_grades(question).items() if grade > 0}


def _lost_spans(question: Question) -> list[int]:
    """Grades of spans whose document is not here: relevant all the same, as in trec_eval."""
    if judged_by_document(question):
        return []  # the document is among the graded ones already
    return [item.grade for item in question.evidence if item.lost and item.grade > 0]
