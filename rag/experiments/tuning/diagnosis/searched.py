"""All questions of a set, searched with one recipe: what each is shown, and its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.evaluation.judging import Judged
from rag.evaluation.measuring import measured
from rag.experiments.tuning.candidates import CandidateSource
from rag.recipe import Recipe
from rag.retrieval import Candidates, Nearness, Selection, select
from rag.types import Floats, Keys, Mask, Order, ProgressCallback, Question


@dataclass(frozen=True)
class Searched:
    """One question: its candidates, their fate, and the positions that fit into the prompt."""

    candidates: Candidates
    nearness: Nearness
    selection: Selection
    shown: Order
    judged: Judged

    @property
    def keys(self) -> Keys:
        """The passages in the prompt, best first."""
        return self.candidates.keys[self.shown]


def search_all(
    source: CandidateSource,
    questions: Sequence[Question],
    recipe: Recipe,
    threshold: float | None,
    on_progress: ProgressCallback,
) -> list[Searched]:
    """Search the ``questions`` of a source. ``threshold`` is the recipe's as a number."""
    search = recipe.search
    calibration = source.calibration if search.relevance == "probability" else None
    chosen = [
        (candidates, nearness, select(candidates, search, threshold, calibration, nearness))
        for candidates, nearness in source.by_question(search, on_progress)
    ]
    kept = [candidates.keys[selection.kept] for candidates, _, selection in chosen]
    source.tokens(np.unique(np.concatenate([np.empty(0, np.int64), *kept])))  # in one query
    budget = recipe.answer.context_tokens
    return [
        _judged(source, question, *parts, budget)
        for question, parts in zip(questions, chosen, strict=True)
    ]


def _judged(
    source: CandidateSource,
    question: Question,
    candidates: Candidates,
    nearness: Nearness,
    selection: Selection,
    budget: int,
) -> Searched:
    kept = selection.kept
    sizes = np.cumsum(source.tokens(candidates.keys[kept]))
    fitting = max(1, int(np.count_nonzero(sizes <= budget)))
    shown = kept[:fitting]
    judged = source.judge.judge(
        question, candidates.keys[shown], selection.scores[shown], max(len(shown), 1)
    )
    return Searched(candidates, nearness, selection, shown, judged)


def scores(searched: Sequence[Searched], k: int) -> Floats:
    """nDCG@k of what is shown, shape (questions,); of unanswerable ones 1 where nothing is."""
    results, _ = measured([item.judged for item in searched], [k])
    return np.array(
        [
            result.metrics.get(f"ndcg@{k}", 0.0)
            if result.answerable
            else float(not item.judged.ids)
            for result, item in zip(results, searched, strict=True)
        ]
    )


def have_ndcg(searched: Sequence[Searched], k: int) -> Mask:
    """Whether each question has an nDCG@k: a label that is relevant."""
    results, _ = measured([item.judged for item in searched], [k])
    return np.array([f"ndcg@{k}" in result.metrics for result in results], dtype=bool)
