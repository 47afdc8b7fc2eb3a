"""Questions that rise and fall together: of one source, of nearly the same words, or as told.

A passage that is easy to find is easy for every question about it, so such questions are not
independent: statistics count a group as one observation, and a split keeps it on one side.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.splits import Split, split
from rag.library.questions.similar_sets import components, similar_sets
from rag.storage import Connection
from rag.storage import questions as question_rows
from rag.storage.questions import QuestionSet
from rag.types import Question

ALONE = "-"
"""The group of a question that is in none, whatever its source and words."""

SAME_WORDS = 0.8
"""The share of common words from which questions are nearly the same."""
_SAME_SOURCES = 0.5
_ENOUGH = 30  # groups: with as many, tests have hardly less power than with any number
_STRETCH = 300  # characters, a paragraph: what any cut finds or misses as one
_WORD = re.compile(r"\w+")

Source = tuple[str, int]
"""A document and the number of a stretch of it; -1 for all of it."""


def groups_of(questions: Sequence[Question]) -> dict[str, str]:
    """The group of every question that shares one, by its id.

    A group that somebody gave is taken as it is. Otherwise questions are of one group where at
    least half of the sources of their labels, or four fifths of their words, are the same. A
    source is a document. Few documents would make so few groups that nothing could be decided:
    where there are fewer than thirty, it is a stretch of a document. Found groups are named after
    their first question.
    """
    groups = {item.id: item.group for item in questions if item.group not in ("", ALONE)}
    free = [item for item in questions if not item.group]
    if free:
        labels = _components(free)
        first = {label: place for place, label in reversed(list(enumerate(labels)))}
        sizes = np.bincount(labels)
        groups |= {
            item.id: f"as {free[first[label]].id}"
            for item, label in zip(free, labels, strict=True)
            if sizes[label] > 1
        }
    return groups


def split_questions(questions: Sequence[Question], share: float, seed: int) -> Split:
    """The split of a set: groups stay whole; tags and answerability are on both sides alike.

    Raises InvalidInput as ``split`` does.
    """
    return split(
        [item.id for item in questions],
        share,
        seed,
        groups=groups_of(questions),
        strata=strata_of(questions),
    )


def strata_of(questions: Iterable[Question]) -> dict[str, Hashable]:
    """Return the stratum of each question by id: whether it is answerable, and its tags.

    A split divides every stratum alike.
    """
    return {item.id: (item.answerable, item.tags) for item in questions}


def _components(questions: Sequence[Question]) -> list[int]:
    texts = [frozenset(_WORD.findall(item.text.casefold())) for item in questions]
    words = similar_sets(texts, SAME_WORDS)
    documents = [_documents(item) for item in questions]
    sources = similar_sets(documents, _SAME_SOURCES)
    if len(set(sources[list(map(bool, documents))].tolist())) < _ENOUGH:
        stretches = _stretches(questions)
        sources = similar_sets([stretches[item.id] for item in questions], _SAME_SOURCES)
    count = len(questions)
    links = zip(words.tolist(), (sources + 2 * count).tolist(), strict=True)
    return [int(number) for number in components(links, 4 * count)[words]]


def _documents(question: Question) -> frozenset[Source]:
    return frozenset((item.document_id, -1) for item in question.evidence if item.grade > 0)


def _stretches(questions: Sequence[Question]) -> dict[str, frozenset[Source]]:
    """Sources by question, where documents are taken apart after ``_STRETCH`` characters."""
    labels = [
        (item.document_id, item.start, question.id)
        for question in questions
        for item in question.evidence
        if item.grade > 0 and item.end is not None
    ]
    sources: dict[str, set[Source]] = {
        question.id: {
            (item.document_id, -1)
            for item in question.evidence
            if item.grade > 0 and item.end is None
        }
        for question in questions
    }
    document, begin, number = "", 0, 0
    for name, start, question_id in sorted(labels):
        if name != document or start > begin + _STRETCH:
            document, begin, number = name, start, number + 1
        sources[question_id].add((name, number))
    return {key: frozenset(question_sources) for key, question_sources in sources.items()}


@dataclass(frozen=True)
class QuestionSnapshot:
    """A question set with its usable questions, read in one transaction.

    A label that somebody adds meanwhile changes nothing of what rests on a snapshot.
    """

    base_id: int
    question_set: QuestionSet
    questions: Sequence[Question]

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.question_set.name

    @cached_property
    def groups(self) -> Mapping[str, str]:
        """The group of every question that shares one, by its id."""
        return groups_of(self.questions)

    @cached_property
    def strata(self) -> Mapping[str, Hashable]:
        """The stratum of every question by its id."""
        return strata_of(self.questions)

    @cached_property
    def parts(self) -> Split | None:
        """The split of the set; None for one that is too small to be split."""
        share, seed = self.question_set.split_share, self.question_set.split_seed
        try:
            return split_questions(self.questions, share, seed)
        except InvalidInput:
            return None


def read_questions(connection: Connection, base_id: int, set_name: str) -> QuestionSnapshot:
    """Read a question set with its usable questions. Raises NotFound."""
    question_set = question_rows.get_question_set(connection, base_id, set_name)
    questions = question_rows.usable(connection, base_id, question_set.id)
    return QuestionSnapshot(base_id, question_set, questions)
