"""Many recipes measured at once, on candidates that were fetched once.

Rankings of many recipes from one table, and their figures, question by question.

They are fused, ties are broken, then they are cut, as the pipeline does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import compress
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rag.evaluation.comparison import Comparison, Groups, clusters_of, compare, compare_pairs
from rag.evaluation.intervals import Interval, mean_intervals
from rag.evaluation.judging import Judge
from rag.evaluation.measuring import highest_of
from rag.evaluation.metrics import Ranked, evaluate, parse_metric
from rag.evaluation.relevance import judged_by_document
from rag.recipe import Mode, Refuse, SearchRecipe
from rag.retrieval.candidates import (
    NOT_FOUND,
    Calibrated,
    Candidates,
    lift_to_certain,
    threshold_scores,
)
from rag.retrieval.fusion import QDRANT_RRF, fused_scores
from rag.retrieval.languages import SHARE, may_lean
from rag.retrieval.topic import Topic
from rag.types import Floats, Integers, Mask, Question, Ranks, Scores

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


CONTEXT = "context_tokens"


@dataclass(frozen=True)
class QuestionFigures:
    """Results of some recipes, question by question.

    ``metrics`` maps names to values, shape (recipes, labelled), for the questions with the ids
    ``labelled``. The others have shape (recipes, questions): the number of passages above the
    threshold (``above``), the number that a search shows at top-k (``shown``), how many of these
    are ``relevant``, and how many ``tokens`` they have, 0 where they were not counted.
    ``questions`` are the ids of all questions, and ``groups`` are the clusters of questions that
    rise and fall together.
    ``answerable``: shape (questions,). ``highest`` has the highest means that the labels allow.
    """

    questions: tuple[str, ...]
    labelled: tuple[str, ...]
    metrics: Mapping[str, Floats]
    answerable: Mask
    above: Floats
    shown: Floats
    relevant: Floats
    tokens: Floats
    groups: Groups = field(default_factory=dict)
    highest: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        questions: Sequence[Question],
        ideals: Sequence[Sequence[int]],
        metrics: Sequence[str],
        gains: Floats,
        groups: Groups,
        **counts: Floats,
    ) -> QuestionFigures:
        """From the grades of what came back by rank, shape (recipes, questions, depth).

        ``counts`` are ``above``, ``shown``, ``relevant`` and ``tokens``.
        """
        labelled = [place for place, grades in enumerate(ideals) if grades]
        best = Ranked.of([()] * len(labelled), [ideals[place] for place in labelled], depth=0)
        own = np.take(gains, labelled, axis=1)  # in C order: means add up as those of one recipe
        relevant = best.relevant.tolist()
        return cls(
            questions=tuple(question.id for question in questions),
            labelled=tuple(questions[place].id for place in labelled),
            metrics=evaluate(Ranked(own, best.ideal, best.relevant), metrics),
            answerable=np.array([question.answerable for question in questions], np.bool_),
            groups=groups,
            highest={name: highest_of(name, relevant) for name in metrics},
            **counts,
        )

    def __len__(self) -> int:
        """Number of recipes."""
        return len(self.above)

    def means(self, name: str) -> Floats | None:
        """A figure of every recipe, shape (recipes,); None where no question has it.

        Besides the metrics: ``answered`` (answerable questions for which anything comes back),
        ``false_refusal`` and ``correct_refusal`` (answerable and unanswerable ones for which
        nothing does), ``shown_precision`` (the relevant share of all passages shown; nan without
        any) and ``context_tokens``.
        """
        if name == "shown_precision":
            totals = self.shown.sum(axis=1)
            shares: Floats = np.full(len(totals), np.nan)
            np.divide(self.relevant.sum(axis=1), totals, out=shares, where=totals > 0)
            return shares
        values = self.by_question(name)
        return None if values is None else np.asarray(values.mean(axis=1))

    def by_question(self, name: str) -> Floats | None:
        """A figure by recipe and those questions that have it; None where none has."""
        match name:
            case "answered":
                values = (self.above > 0)[:, self.answerable].astype(np.float64)
            case "false_refusal":
                values = (self.above == 0)[:, self.answerable].astype(np.float64)
            case "correct_refusal":
                values = (self.above == 0)[:, ~self.answerable].astype(np.float64)
            case _ if name == CONTEXT:
                return self.tokens
            case _:
                values = self.metrics[name]
        return values if values.shape[1] else None

    @property
    def refusable(self) -> Sequence[str]:
        """The questions that should be refused."""
        return self._ids("correct_refusal")

    def _ids(self, name: str) -> Sequence[str]:
        """The questions that have a figure."""
        match name:
            case "answered" | "false_refusal":
                chosen = self.answerable
            case "correct_refusal":
                chosen = ~self.answerable
            case _ if name == CONTEXT:
                return self.questions
            case _:
                return self.labelled
        return [self.questions[place] for place in np.flatnonzero(chosen).tolist()]

    def _of(self, name: str, recipe: int) -> dict[str, float] | None:
        """A figure of one recipe by question; None where none has it."""
        values = self.by_question(name)
        if values is None:
            return None
        return dict(zip(self._ids(name), values[recipe].tolist(), strict=True))

    def intervals(self, names: Iterable[str]) -> dict[str, Interval]:
        """The 95% intervals of means of the first recipe, for figures in [0, 1] that it has."""
        by_name = {}
        for name in names:
            values = self.by_question(name)
            if values is not None:
                clusters = clusters_of(self._ids(name), self.groups)
                by_name[name] = Interval(*mean_intervals(values[0], clusters).tolist())
        return by_name

    def changes(self, names: Iterable[str], other: QuestionFigures) -> dict[str, Comparison]:
        """From the first recipe of ``other``, of the same questions, to the first of these.

        Figures that are shown together are corrected together.
        """
        pairs = [
            (name, ours, theirs)
            for name in names
            if (ours := self._of(name, 0)) is not None
            and (theirs := other._of(name, 0)) is not None
        ]
        comparisons = compare_pairs(pairs, groups=self.groups)
        return {
            comparison.metric: comparison.within(self.highest.get(comparison.metric, 1.0))
            for comparison in comparisons
        }

    def compare(self, name: str, recipe: int, other: int, picked_from: int = 1) -> Comparison:
        """Two of the recipes in one metric, question by question.

        One that was picked for its mean is corrected for all that it was ``picked_from``.
        """
        mine, theirs = self._of(name, recipe) or {}, self._of(name, other) or {}
        found = compare(name, mine, theirs, groups=self.groups, picked_from=picked_from)
        return found.within(self.highest.get(name, 1.0))


def rank(table: CandidateTable, search: SearchRecipe) -> Integers:
    """The columns of each question, best first, equal scores by key; what only fills is last."""
    share = np.where(table.unknown & may_lean(search), SHARE, 1.0)
    scores = fused_scores(table.candidates, search, share)
    return np.argsort(np.where(table.inside, -scores, np.inf), axis=1, kind="stable")


def compared(
    table: CandidateTable, search: SearchRecipe, calibration: Calibrated | None = None
) -> Scores:
    """Values that a threshold is compared with: at least 1 where it does not apply.

    Raises ValueError for probabilities without a calibration.
    """
    relevance = table.candidates.cosine
    if search.relevance == "probability":
        if calibration is None:
            raise ValueError("candidates without a calibration have no probability")
        relevance = calibration.probabilities(table.candidates)
    relevance = threshold_scores(relevance, table.candidates, search)
    if may_lean(search) and search.relevance == "cosine":
        relevance = lift_to_certain(relevance, table.unknown)
    return np.where(table.inside, relevance, -np.inf)


def measure(
    table: CandidateTable,
    recipes: Sequence[SearchRecipe],
    metrics: Sequence[str],
    *,
    deepest: int = 0,
    as_shown: bool = False,
    calibration: Calibrated | None = None,
) -> QuestionFigures:
    """Figures, question by question, of recipes that share the candidates of a table.

    Their thresholds are numbers, or None for no limit: ``auto`` was resolved before. Metrics look
    down the ranking above the threshold, as deep as an evaluation that asks for the ``deepest``;
    ``as_shown`` cuts it at top-k before, and a search asks for no more than it does.
    """
    depth = max(parse_metric(name).k for name in metrics)
    shape = len(recipes), len(table.questions)
    gains = np.zeros((*shape, depth))
    above, shown, relevant, tokens = (np.zeros(shape) for _ in range(4))
    refused = {search.refuse: table.refused(search.refuse) for search in recipes}
    by_document, within = table.by_document, cache(table.within)
    for candidates, numbers in _alike(recipes, 0 if as_shown else deepest):
        search = recipes[numbers[0]]
        part = within(search.mode, candidates)
        order = rank(part, search)
        relevance = np.take_along_axis(compared(part, search, calibration), order, axis=1)
        reach = np.take_along_axis(part.reach(search.mode), order, axis=1)
        unit, grade, lengths = (
            np.take_along_axis(column, order, axis=1)
            for column in (part.unit, part.grade, part.tokens)
        )
        for number in numbers:
            search = recipes[number]
            passing = _above(relevance, search.threshold) & ~refused[search.refuse][:, None]
            kept = _first(passing & (reach < search.candidates), search.top_k)
            counted = _first_of_units(kept if as_shown else passing, unit, by_document)
            gains[number] = _gains(counted, grade, depth)
            above[number] = np.count_nonzero(passing, axis=1)
            shown[number] = np.count_nonzero(kept, axis=1)
            relevant[number] = np.count_nonzero(kept & (grade > 0), axis=1)
            tokens[number] = np.where(kept, lengths, 0).sum(axis=1)
    counts = {"above": above, "shown": shown, "relevant": relevant, "tokens": tokens}
    return QuestionFigures.of(table.questions, table.ideals, metrics, gains, table.groups, **counts)


def _alike(recipes: Sequence[SearchRecipe], deepest: int) -> Iterator[tuple[int, list[int]]]:
    """Yield what recipes that rank alike ask each retriever for, and their numbers.

    One retriever alone goes as deep as it is asked. Fields that a recipe does not use do not count.
    """
    groups: dict[tuple[int, tuple[object, ...]], list[int]] = {}
    for number, search in enumerate(recipes):
        candidates, fused = max(search.candidates, deepest), tuple[object, ...]()
        if search.mode == "hybrid":
            candidates = search.candidates
            constant = search.rrf_k if search.fusion in ("rrf", QDRANT_RRF) else search.bm25_pivot
            fused = search.fusion, search.dense_weight, constant, search.other_languages
        compared_by = search.relevance, search.exact_codes, search.matched_words
        ranking = search.mode, *fused, *compared_by
        groups.setdefault((candidates, ranking), []).append(number)
    for (candidates, _), numbers in groups.items():
        yield candidates, numbers


def _above(relevance: Scores, threshold: float | Literal["auto"] | None) -> Mask:
    if threshold == "auto":
        raise ValueError("a threshold is resolved before recipes are measured")
    return relevance > -np.inf if threshold is None else relevance >= threshold


def _first(passing: Mask, count: int) -> Mask:
    """The first ``count`` of each row."""
    return passing & (np.cumsum(passing, axis=1, dtype=np.int32) <= count)


def _first_of_units(counted: Mask, unit: Integers, rows: Integers) -> Mask:
    """Of some ``rows`` only the first passage of each unit: a document counts once."""
    if not len(rows):
        return counted
    some, columns = np.nonzero(counted[rows])
    units = unit[rows][some, columns]
    first = np.full((len(rows), int(unit.max()) + 1), counted.shape[1])
    np.minimum.at(first, (some, units), columns)
    counted = counted.copy()
    counted[rows[some], columns] = first[some, units] == columns
    return counted


def _gains(counted: Mask, grade: Integers, depth: int) -> Floats:
    """The grades of the first ``depth`` that count, by rank, shape (questions, depth)."""
    rows, columns = np.nonzero(counted & (grade > 0))
    ranks = np.cumsum(counted, axis=1, dtype=np.int32)[rows, columns] - 1
    inside = ranks < depth
    gains = np.zeros((len(counted), depth))
    gains[rows[inside], ranks[inside]] = grade[rows, columns][inside]
    return gains
