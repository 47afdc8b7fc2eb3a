"""Recipes that arithmetic cannot follow, measured with the pipeline's own selection.

Their candidates are gathered once for all that differ only in how the list is cut, diversified and
cleared of copies; that costs what it costs. The figures are those of an evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag.evaluation.judging import Judged
from rag.evaluation.measuring import measured
from rag.evaluation.metrics import parse_metric
from rag.evaluation.sweeping import Arithmetic, Cut
from rag.recipe import SearchRecipe
from rag.results import QuestionResult
from rag.retrieval import Candidates, Nearness, Selection, select
from rag.tuning.candidates import CandidateSource
from rag.types import Floats, Keys, ProgressCallback, Question, Scores


def pipeline_figures(
    source: CandidateSource,
    search: SearchRecipe,
    cuts: Sequence[Cut],
    of: Arithmetic,
    on_progress: ProgressCallback,
    displayed: SearchRecipe | None = None,
) -> Floats:
    """The figures of one ranking under every cut, shape (cuts, names and columns of ``of``).

    ``displayed`` adds the mean tokens of the passages shown: by that recipe, which goes as deep
    as a search does.
    """
    cutoffs = sorted({parse_metric(name).k for name in of.metrics})
    gathered = source.gathered(search, on_progress)
    candidates = list(zip(gathered.candidates, gathered.nearness, strict=True))
    visible = source.gathered(displayed, on_progress) if displayed else gathered
    in_view = list(zip(visible.candidates, visible.nearness, strict=True))
    rows, by_cut = [], dict[Cut, list[float]]()
    for cut in cuts:
        if cut not in by_cut:
            results, means = _measured(source, search, cut, of, cutoffs, candidates)
            tokens = [_tokens(source, displayed, cut, in_view)] if displayed else []
            apart = [
                results[number].metrics[of.apart] for number in of.columns.tolist() if of.apart
            ]
            by_cut[cut] = [*(means[name] for name in of.names), *tokens, *apart]
        rows.append(by_cut[cut])
    return np.array(rows)


def ranked(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    questions: Sequence[Question],
    depth: int,
    on_progress: ProgressCallback,
) -> list[Judged]:
    """The first ``depth`` above the threshold for each of the source's ``questions``, graded."""
    gathered = source.by_question(search, on_progress)
    return [
        source.judge.judge(
            question,
            *_ranking(candidates, _chosen(source, search, cut, candidates, nearness), False),
            depth,
        )
        for question, (candidates, nearness) in zip(questions, gathered, strict=True)
    ]


def _measured(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    of: Arithmetic,
    cutoffs: Sequence[int],
    by_question: Sequence[tuple[Candidates, Nearness]],
) -> tuple[list[QuestionResult], dict[str, float]]:
    ranked = []
    for question, (candidates, nearness) in zip(of.questions, by_question, strict=True):
        narrowed = search.model_copy(update={"top_k": cut.top_k}) if of.as_shown else search
        chosen = _chosen(source, narrowed, cut, candidates, nearness)
        keys, scores = _ranking(candidates, chosen, of.as_shown)
        ranked.append(source.judge.judge(question, keys, scores, max(cutoffs)))
    return measured(ranked, cutoffs)


def _tokens(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    by_question: Sequence[tuple[Candidates, Nearness]],
) -> float:
    narrowed, total = search.model_copy(update={"top_k": cut.top_k}), 0
    for candidates, nearness in by_question:
        positions = _chosen(source, narrowed, cut, candidates, nearness).kept
        total += int(source.tokens(candidates.keys[positions]).sum())
    return total / len(by_question)


def _chosen(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    candidates: Candidates,
    nearness: Nearness | None,
) -> Selection:
    search = search.model_copy(update={"refuse": cut.refuse})
    calibration = source.calibration if search.relevance == "probability" else None
    return select(candidates, search, cut.threshold, calibration, nearness)


def _ranking(candidates: Candidates, chosen: Selection, as_shown: bool) -> tuple[Keys, Scores]:
    """Everything above the threshold, best first, or what of it is shown."""
    parts = [chosen.kept] if as_shown else [chosen.kept, chosen.beyond]
    places = np.concatenate(parts)
    return candidates.keys[places], chosen.scores[places]
