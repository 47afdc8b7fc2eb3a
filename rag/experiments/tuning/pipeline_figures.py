"""Recipes that arithmetic cannot follow, measured with the pipeline's own selection.

Their candidates are gathered once for all that differ only in how the list is cut, diversified and
cleared of copies; that costs what it costs. The figures are those of an evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rag.evaluation.sweeping import CandidateTable, QuestionFigures, measure
from rag.experiments.runs.evaluator import deepened
from rag.experiments.tuning.candidates import CandidateSource
from rag.recipe import SearchRecipe
from rag.retrieval import Candidates, select
from rag.retrieval.candidates import NOT_FOUND
from rag.types import Keys, ProgressCallback, Scores

_RANKED = SearchRecipe(mode="dense", threshold=None, refuse="off", candidates=2000)
"""Ranks a list that is ranked already."""


def pipeline_figures(
    source: CandidateSource,
    search: SearchRecipe,
    metrics: Sequence[str],
    *,
    deepest: int,
    as_shown: bool,
    with_context: bool,
    on_progress: ProgressCallback,
) -> QuestionFigures:
    """The figures of one recipe, as ``measure`` has them."""
    deep = search if as_shown else deepened(search, deepest)
    as_ranked = _RANKED.model_copy(update={"top_k": search.top_k})
    table = _ranked_table(source, deep, on_progress, with_context=with_context)
    width = table.inside.shape[1]
    figures = measure(table, [as_ranked], metrics, deepest=width, as_shown=as_shown)
    if deep.candidates == search.candidates or not with_context:
        return figures
    # What is shown goes no deeper than a search does.
    table = _ranked_table(source, search, on_progress, with_context=True)
    visible = measure(table, [as_ranked], metrics, as_shown=True)
    return replace(figures, shown=visible.shown, relevant=visible.relevant, tokens=visible.tokens)


def passages_above(
    source: CandidateSource, search: SearchRecipe, on_progress: ProgressCallback
) -> list[tuple[Keys, Scores]]:
    """All passages above the threshold, a number or None, for each question of a source.

    They have their scores, and are best first.
    """
    if search.threshold == "auto":
        raise ValueError("a threshold is resolved before recipes are measured")
    calibration = source.calibration if search.relevance == "probability" else None
    passages = []
    for candidates, nearness in source.by_question(search, on_progress):
        selection = select(candidates, search, search.threshold, calibration, nearness)
        places = np.concatenate([selection.kept, selection.beyond])
        passages.append((candidates.keys[places], selection.scores[places]))
    return passages


def _ranked_table(
    source: CandidateSource,
    search: SearchRecipe,
    on_progress: ProgressCallback,
    *,
    with_context: bool,
) -> CandidateTable:
    """The passages above the threshold, in an only list that ranks them as they are."""
    rows = []
    for keys, _ in passages_above(source, search, on_progress):
        places = np.arange(len(keys), dtype=np.int32)
        absent = np.full(len(keys), NOT_FOUND, np.int32)
        scores = -places.astype(np.float64)
        rows.append(Candidates(keys, scores, np.zeros(len(keys)), places, absent))
    return source.tabled(rows, with_context=with_context)
