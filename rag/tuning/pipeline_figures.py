"""Recipes that arithmetic cannot follow, measured with the pipeline's own selection.

Their candidates are gathered once for all that differ only in how the list is cut, diversified and
cleared of copies; that costs what it costs. The figures are those of an evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rag.evaluation.judging import Judged
from rag.evaluation.sweeping import CandidateTable, Cut, QuestionFigures, measure
from rag.recipe import SearchRecipe
from rag.retrieval import Candidates, select
from rag.retrieval.candidates import NOT_FOUND
from rag.runs.evaluator import deepened
from rag.tuning.candidates import CandidateSource
from rag.types import Keys, ProgressCallback, Scores

_RANKED = SearchRecipe(mode="dense", candidates=2000)  # ranks a list that is ranked already


def pipeline_figures(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    metrics: Sequence[str],
    *,
    deepest: int,
    as_shown: bool,
    with_context: bool,
    on_progress: ProgressCallback,
) -> QuestionFigures:
    """The figures of one recipe, as ``measure`` has them."""
    search = search.model_copy(update={"top_k": cut.top_k})
    deep = search if as_shown else deepened(search, deepest)
    as_ranked = _RANKED, cut._replace(threshold=None, refuse="off")
    table = _ranked_table(source, deep, cut, on_progress, with_context=with_context)
    figures = measure(table, [as_ranked], metrics, deepest=table.inside.shape[1], as_shown=as_shown)
    if deep.candidates == search.candidates or not with_context:
        return figures
    # What is shown goes no deeper than a search does.
    table = _ranked_table(source, search, cut, on_progress, with_context=True)
    visible = measure(table, [as_ranked], metrics, as_shown=True)
    return replace(figures, shown=visible.shown, relevant=visible.relevant, tokens=visible.tokens)


def ranked(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    depth: int,
    on_progress: ProgressCallback,
) -> list[Judged]:
    """The first ``depth`` above the threshold for each question of a source, graded."""
    passages = _passages(source, search, cut, on_progress)
    return [
        source.judge.judge(question, keys, scores, depth)
        for question, (keys, scores) in zip(source.questions, passages, strict=True)
    ]


def _passages(
    source: CandidateSource, search: SearchRecipe, cut: Cut, on_progress: ProgressCallback
) -> list[tuple[Keys, Scores]]:
    """All passages above the threshold for each question, best first, and their scores."""
    search = search.model_copy(update={"refuse": cut.refuse})
    calibration = source.calibration if search.relevance == "probability" else None
    passages = []
    for candidates, nearness in source.by_question(search, on_progress):
        selection = select(candidates, search, cut.threshold, calibration, nearness)
        places = np.concatenate([selection.kept, selection.beyond])
        passages.append((candidates.keys[places], selection.scores[places]))
    return passages


def _ranked_table(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    on_progress: ProgressCallback,
    *,
    with_context: bool,
) -> CandidateTable:
    """The passages above the threshold, which their scores and their only list rank as they are."""
    rows = []
    for keys, _ in _passages(source, search, cut, on_progress):
        places = np.arange(len(keys), dtype=np.int32)
        absent = np.full(len(keys), NOT_FOUND, np.int32)
        rows.append(
            Candidates(keys, -places.astype(np.float64), np.zeros(len(keys)), places, absent)
        )
    return source.tabled(rows, with_context=with_context)
