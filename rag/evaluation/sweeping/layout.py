"""The layout shared by all families of recipes: candidates by relevance, and their units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rag.evaluation.sweeping.deep import Deep
from rag.recipe import Relevance, SearchRecipe
from rag.retrieval.candidates import counts_words, lift_to_certain, lift_to_words
from rag.retrieval.languages import may_lean
from rag.types import Integers, Scores


class By(NamedTuple):
    """The value that a threshold is compared with, and the passages that pass in any case.

    These are passages with rare codes (``exact_codes``), and passages for a question in a language
    that the embedder does not know, which is ranked ``by_words``. Passages with ``matched_words``
    reach the default threshold.
    """

    relevance: Relevance = "cosine"
    exact_codes: bool = False
    by_words: bool = False
    matched_words: bool = False

    @classmethod
    def of(cls, search: SearchRecipe) -> By:
        """Return the comparison of a search recipe."""
        return cls(search.relevance, search.exact_codes, may_lean(search), counts_words(search))


@dataclass(frozen=True, slots=True)
class Layout:
    """Candidates prepared for being laid out in pools.

    Shape (candidates,): ``relevance`` is what a threshold is compared with; ``order`` sorts by
    question, then falling relevance; ``unit`` is the number of the relevant unit that a candidate
    belongs to, or -1. Units are numbered by question; shape (units,): ``unit_rows`` are their
    questions, ``unit_slots`` their numbers there, ``unit_grades`` their grades. ``earlier`` and
    ``later`` are the pairs of candidates of one unit, relevant or not, by question.
    """

    deep: Deep
    relevance: Scores
    order: Integers
    unit: Integers
    unit_rows: Integers
    unit_slots: Integers
    unit_grades: Integers
    earlier: Integers
    later: Integers

    @classmethod
    def of(cls, deep: Deep, by: By) -> Layout:
        """Raise ValueError for probabilities where there is no calibration."""
        relevance = _relevance(deep, by)
        order = np.lexsort((-relevance, deep.row))
        by_relevance = np.empty(len(order), np.int64)
        by_relevance[order] = np.arange(len(order))
        units = np.lexsort((by_relevance, deep.unit, deep.row))
        pairs = [np.stack(pair) for pair in siblings(deep.row, deep.unit, units)]
        earlier, later = np.concatenate([*pairs, np.empty((2, 0), np.int64)], axis=1)
        by_row = np.argsort(deep.row[earlier], kind="stable")
        relevant = units[deep.grade[units] > 0]
        is_first = _changes(deep.row[relevant]) | _changes(deep.unit[relevant])
        unit = np.full(len(order), -1)
        unit[relevant] = np.cumsum(is_first) - 1
        first = relevant[is_first]
        rows = deep.row[first]
        sizes = np.bincount(rows, minlength=deep.questions)
        return cls(
            deep=deep,
            relevance=relevance,
            order=order,
            unit=unit,
            unit_rows=rows,
            unit_slots=np.arange(len(rows)) - (np.cumsum(sizes) - sizes)[rows],
            unit_grades=deep.grade[first],
            earlier=earlier[by_row],
            later=later[by_row],
        )

    def at(self, deep: Deep, places: Integers) -> Layout:
        """The same for some of the candidates, which ``deep`` has: by rising place."""
        number = np.full(len(self.order), -1)
        number[places] = np.arange(len(places))
        order, earlier, later = number[self.order], number[self.earlier], number[self.later]
        both = (earlier >= 0) & (later >= 0)
        return replace(
            self,
            deep=deep,
            relevance=self.relevance[places],
            order=order[order >= 0],
            unit=self.unit[places],
            earlier=earlier[both],
            later=later[both],
        )


def siblings(
    rows: Integers, units: Integers, order: Integers
) -> Iterator[tuple[Integers, Integers]]:
    """All pairs of candidates of one unit: (earlier, later), some at a time.

    ``order`` sorts by question, then unit, then what is early.
    """
    rows, units = rows[order], units[order]
    for gap in range(1, len(order)):
        same = np.flatnonzero((rows[gap:] == rows[:-gap]) & (units[gap:] == units[:-gap]))
        if not len(same):
            break
        yield order[same], order[same + gap]


def _relevance(deep: Deep, by: By) -> Scores:
    relevance = deep.cosine if by.relevance == "cosine" else deep.probability
    if relevance is None:
        raise ValueError("candidates without a calibration have no probability")
    if by.matched_words:
        relevance = lift_to_words(relevance, deep.word_relevance)
    if by.exact_codes:
        relevance = lift_to_certain(relevance, deep.exact)
    if by.by_words and by.relevance == "cosine":  # a cosine is at most 1, and so is a threshold
        relevance = np.where(deep.unknown, relevance + 2.0, relevance)
    return relevance


def _changes(values: Integers) -> Integers:
    """Whether each value differs from the one before; the first does."""
    return np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]
