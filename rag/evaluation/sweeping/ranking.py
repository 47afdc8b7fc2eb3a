"""Rankings of many recipes from one table: fuse, break ties, then cut, as the pipeline does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

import numpy as np

from rag.evaluation.metrics import parse_metric
from rag.evaluation.sweeping.figures import QuestionFigures
from rag.evaluation.sweeping.table import CandidateTable
from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Calibrated, lift_to_certain, threshold_scores
from rag.retrieval.fusion import QDRANT_RRF, fused_scores
from rag.retrieval.languages import SHARE, may_lean
from rag.types import Floats, Integers, Mask, Scores


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
