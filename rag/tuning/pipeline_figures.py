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
    shown: SearchRecipe | None = None,
) -> Floats:
    """The figures of one ranking under every cut, shape (cuts, names and columns of ``of``).

    ``shown`` adds the mean tokens of the passages shown: by that recipe, which goes as deep as a
    search does.
    """
    cutoffs = sorted({parse_metric(name).k for name in of.metrics})
    gathered = source.gathered(search, on_progress)
    found = list(zip(gathered.candidates, gathered.nearness, strict=True))
    visible = source.gathered(shown, on_progress) if shown else gathered
    in_view = list(zip(visible.candidates, visible.nearness, strict=True))
    rows, known = [], dict[Cut, list[float]]()
    for cut in cuts:
        if cut not in known:
            results, means = _measured(source, search, cut, of, cutoffs, found)
            tokens = [_tokens(source, shown, cut, in_view)] if shown else []
            apart = [
                results[number].metrics[of.apart] for number in of.columns.tolist() if of.apart
            ]
            known[cut] = [*(means[name] for name in of.names), *tokens, *apart]
        rows.append(known[cut])
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
    found = source.by_question(search, on_progress)
    return [
        source.judge.judge(
            question,
            *_ranking(candidates, _chosen(source, search, cut, candidates, nearness), False),
            depth,
        )
        for question, (candidates, nearness) in zip(questions, found, strict=True)
    ]


def _measured(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    of: Arithmetic,
    cutoffs: Sequence[int],
    found: Sequence[tuple[Candidates, Nearness]],
) -> tuple[list[QuestionResult], dict[str, float]]:
    ranked = []
    for question, (candidates, nearness) in zip(of.questions, found, strict=True):
        wanted = search.model_copy(update={"top_k": cut.top_k}) if of.as_shown else search
        chosen = _chosen(source, wanted, cut, candidates, nearness)
        keys, scores = _ranking(candidates, chosen, of.as_shown)
        ranked.append(source.judge.judge(question, keys, scores, max(cutoffs)))
    return measured(ranked, cutoffs)


def _tokens(
    source: CandidateSource,
    search: SearchRecipe,
    cut: Cut,
    found: Sequence[tuple[Candidates, Nearness]],
) -> float:
    wanted, total = search.model_copy(update={"top_k": cut.top_k}), 0
    for candidates, nearness in found:
        kept = _chosen(source, wanted, cut, candidates, nearness).kept
        total += int(source.tokens(candidates.keys[kept]).sum())
    return total / len(found)


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
