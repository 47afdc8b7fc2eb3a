"""Questions that rise and fall together: of one source, of nearly the same words, or as told.

A passage that is easy to find is easy for every question about it, so such questions are not
independent: statistics count a group as one observation, and a split keeps it on one side.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.splits import Split, split
from rag.storage import Connection
from rag.storage import questions as question_rows
from rag.storage.questions import QuestionSet
from rag.types import Integers, Question

_BLOCK = 200_000  # pairs that are compared at once: some 20 MB


def similar_sets(sets: Sequence[frozenset[Hashable]], least: float) -> Integers:
    """The number of its chain for each set: neighbours have a Jaccard similarity of ``least``.

    Equal sets are of one chain; empty sets are alone.

    Two sets of ``a`` and ``b`` members that share ``o`` or more have one in common among the
    ``a - o + 1`` rarest members of the one and the ``b - o + 1`` rarest of the other: the filter of
    Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins in data cleaning"
    (ICDE 2006). Only such pairs are compared, a block at a time, and none that a chain joins
    already. A word of 64 bits for each set rules most of them out: no more of its bits differ than
    members do.
    """
    distinct = list(dict.fromkeys(filter(None, sets)))
    place = {members: row for row, members in enumerate(distinct)}
    chains = _Chains(distinct, least).numbers()
    alone = iter(range(len(distinct), len(distinct) + len(sets)))
    return np.array(
        [chains[place[members]] if members else next(alone) for members in sets], np.int64
    )


def _components(one: Integers, other: Integers, count: int) -> Integers:
    """The number of its connected component for each of ``count`` things, linked by two arrays."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    links = csr_matrix((np.ones(len(one), np.bool_), (one, other)), shape=(count, count))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


class _Chains:
    """Different sets, none of them empty: a row each, its members from the rarest on."""

    def __init__(self, distinct: Sequence[frozenset[Hashable]], least: float) -> None:
        from scipy.sparse import csr_matrix

        counts = Counter(member for members in distinct for member in members)
        rank = {member: at for at, (member, _) in enumerate(reversed(counts.most_common()))}
        members = [rank[member] for row in distinct for member in row]
        ends = np.cumsum([0, *map(len, distinct)])
        shape = len(distinct), max(len(rank), 1)
        self._table = csr_matrix((np.ones(len(members), np.int32), members, ends), shape=shape)
        self._table.sort_indices()
        self._sizes = np.diff(ends)
        bits = np.uint64(1) << (self._table.indices % 64).astype(np.uint64)
        self._bits = np.bitwise_xor.reduceat(bits, ends[:-1]) if distinct else bits
        self._least = least
        self._numbers = np.arange(len(distinct))

    def numbers(self) -> Integers:
        """The number of its chain for each row."""
        sizes = np.unique(self._sizes).tolist()
        for size in sizes:
            for larger in sizes:
                if self._least * larger - 1e-9 <= size <= larger:
                    self._join(size, larger)
        return self._numbers

    def _join(self, size: int, larger: int) -> None:
        """Join rows of ``size`` members with similar ones of ``larger``."""
        shared = math.ceil((self._least * (size + larger) - 1e-9) / (1 + self._least))
        ones, others = (np.flatnonzero(self._sizes == number) for number in (size, larger))
        table = self._rarest(ones, size - shared + 1)
        turned = self._rarest(others, larger - shared + 1).T.tocsr()
        for begin, end in _blocks(table @ np.diff(turned.indptr)):
            if len(set(self._numbers[np.append(ones[begin:end], others)].tolist())) > 1:
                pairs = (table[begin:end] @ turned).tocoo()
                self._compare(ones[begin:end][pairs.row], others[pairs.col], shared)

    def _compare(self, one: Integers, other: Integers, shared: int) -> None:
        """Join each row of ``one`` with that of ``other`` where they have enough in common."""
        apart = self._numbers[one] != self._numbers[other]
        one, other = one[apart], other[apart]
        different = self._sizes[one] + self._sizes[other] - 2 * shared
        near = np.bitwise_count(self._bits[one] ^ self._bits[other]) <= different
        one, other = one[near], other[near]
        common = self._table[one].multiply(self._table[other]).sum(axis=1)
        close = np.asarray(common).ravel() >= shared
        if close.any():
            links = self._numbers[one[close]], self._numbers[other[close]]
            self._numbers = _components(*links, len(self._numbers))[self._numbers]

    def _rarest(self, rows: Integers, count: int) -> Any:
        """The ``count`` rarest members of rows of one size."""
        from scipy.sparse import csr_matrix

        size = int(self._sizes[rows[0]])
        members = self._table[rows].indices.reshape(-1, size)[:, :count].ravel()
        ends = np.arange(len(rows) + 1) * count
        shape = len(rows), self._table.shape[1]
        return csr_matrix((np.ones(len(members), np.int32), members, ends), shape=shape)


def _blocks(pairs: Integers) -> Iterator[tuple[int, int]]:
    """Begin and end of blocks of rows that are in so many pairs each."""
    most, begin = np.cumsum(pairs), 0
    while begin < len(pairs):
        done = most[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(most, done + _BLOCK, "right")))
        yield begin, end
        begin = end


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
        texts = [frozenset(_WORD.findall(item.text.casefold())) for item in free]
        words = similar_sets(texts, SAME_WORDS)
        documents = [
            frozenset((label.document_id, -1) for label in item.evidence if label.grade > 0)
            for item in free
        ]
        sources = similar_sets(documents, _SAME_SOURCES)
        if len(set(sources[list(map(bool, documents))].tolist())) < _ENOUGH:
            stretches = _stretches(free)
            sources = similar_sets([stretches[item.id] for item in free], _SAME_SOURCES)
        # What is joined by words or by sources, each kind with numbers of its own
        count = len(free)
        labels = _components(words, sources + 2 * count, 4 * count)[words].tolist()
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
