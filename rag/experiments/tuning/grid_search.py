"""The best recipe of a grid, and what it is worth on questions that had no part in the choice."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.evaluation.comparison import Comparison
from rag.evaluation.metrics import MEASURES, parse_metric
from rag.evaluation.pooling import open_hits
from rag.evaluation.pooling.difference import JudgedRankings
from rag.evaluation.run_intervals import graded, with_zeros
from rag.evaluation.selection import Selection, select
from rag.evaluation.splits import Split, SplitSelection, choose
from rag.experiments.runs.evaluator import deepened
from rag.experiments.tuning.candidates import passages_above
from rag.experiments.tuning.sweeper import Sweep, Sweeper
from rag.library.questions.trial_log import Attempt, TrialLog, name_of
from rag.recipe import Recipe
from rag.search.corpus import rule_with
from rag.services.services import Services
from rag.storage.runs import Trial
from rag.types import Floats, ProgressCallback


def with_open_hits(
    services: Services,
    sweeper: Sweeper,
    comparisons: Mapping[str, Comparison],
    recipe: Recipe,
    baseline: Recipe,
    on_progress: ProgressCallback,
) -> dict[str, Comparison]:
    """Comparisons of two recipes by metric, with what judging open hits could make of each.

    ``sweeper`` has the candidates of all questions; not to be shared between threads. Comparisons
    that labels leave undecided stay as they are, as do measures that rank no passages. Raises
    InvalidInput for tools.
    """
    decided = {
        name: comparison
        for name, comparison in comparisons.items()
        if name.partition("@")[0] in MEASURES
        and comparison.verdict_by_labels in ("better", "worse")
    }
    if not decided or recipe == baseline:
        return dict(comparisons)
    depth = max(parse_metric(name).k for name in decided)
    rankings, grades = list[list[tuple[str, ...]]](), list[list[dict[str, int]]]()
    for side in (recipe, baseline):
        search = deepened(side.search, depth)
        source = sweeper.source(side.index, on_progress)
        limit = rule_with(source.fitted, services.models, side.index, search).threshold
        search = search.model_copy(update={"threshold": limit})
        ranked = zip(source.questions, passages_above(source, search, on_progress), strict=True)
        rankings.append([source.judge.judge(question, *row, depth).ids for question, row in ranked])
        spans = source.judge.spans
        grades.append([with_zeros(*graded(question, spans)) for question in sweeper.questions])
    judged = {
        question.id: JudgedRankings(first, second, mine, other)
        for question, first, second, mine, other in zip(
            sweeper.questions, *rankings, *grades, strict=True
        )
        if any(grade > 0 for grade in mine.values())
    }
    same_cut = recipe.index.cut == baseline.index.cut
    return dict(comparisons) | open_hits.with_open_hits(
        decided, judged, sweeper.question_set.groups, same_cut=same_cut
    )


_EQUALS = 500  # so many of the best are looked at


@dataclass(frozen=True, slots=True)
class Best:
    """The result of a grid search: the best ``recipe`` on all questions, and the value of its lead.

    The recipe is the baseline itself if no recipe beats it. ``sweep`` has the metrics of all
    recipes. ``selection`` estimates the value of the choice by cross-validation. In a search on a
    split, ``sweep`` and the choice use the tuning questions alone, and ``selection`` uses the
    held-out questions. ``attempt`` describes the earlier looks.
    """

    recipe: Recipe
    baseline: Recipe
    sweep: Sweep
    selection: Selection | SplitSelection
    attempt: Attempt


def judged(services: Services, sweeper: Sweeper, sweep: Sweep, baseline: Recipe) -> Best:
    """Whether the best of a sweep that has scores by question beats the baseline beside it.

    ``sweeper`` is one of the whole set, whose ledger counts the look. Raises InvalidInput for too
    few questions.
    """
    if sweep.metric is None:
        raise ValueError("a sweep is judged by scores of every question")
    sides = plainest(sweep, sweep.metric, baseline), baseline
    return settle(services, sweeper, sweep, sides, sweep.metric, sweep.labelled, sweep.scores)


def settle(
    services: Services,
    sweeper: Sweeper,
    sweep: Sweep,
    sides: tuple[Recipe, Recipe],
    metric: str,
    questions: Sequence[str],
    scores: Floats,
    parts: Split | None = None,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> Best:
    """Decide between the best recipe of a sweep and the baseline, and log the trial.

    ``scores`` are figures by question, shape (recipes, questions), those of the baseline first.
    With ``parts``, the recipe was chosen on the tuning questions and the held-out ones decide.
    """
    recipe, baseline = sides
    searched = sweeper.question_set
    stored = searched.question_set
    divided = (stored.split_seed, stored.split_share) if parts else None
    # The same search where all its figures are the same.
    figures = hashlib.sha256(np.unique(np.round(scores, 9), axis=0).tobytes()).hexdigest()
    trial = Trial(
        family="search",
        look=name_of(divided, metric, *questions, figures),
        kind="search",
        metric=metric,
        alternatives=sweep.distinct,
        recipes=tuple(dict.fromkeys(recipe.hash for recipe in sides)),
        split_seed=divided[0] if divided else None,
        split_share=divided[1] if divided else None,
    )
    attempt = TrialLog(services.database, searched.base_id).note(searched.name, trial)
    groups, level = searched.groups, attempt.level
    selection: Selection | SplitSelection
    if parts is None:
        selection = select(
            metric,
            scores,
            questions,
            0,
            groups=groups,
            strata=searched.strata,
            alpha=level,
            tried=sweep.distinct,
        )
    else:
        selection = choose(metric, scores, questions, 0, parts, groups, level)
    by_labels = {metric: selection.comparison}
    judged_hits = with_open_hits(services, sweeper, by_labels, recipe, baseline, on_progress)
    return Best(
        recipe=recipe if selection.row else baseline,
        baseline=baseline,
        sweep=sweep,
        selection=replace(selection, tried=sweep.distinct, comparison=judged_hits[metric]),
        attempt=attempt,
    )


def plainest(sweep: Sweep, metric: str, baseline: Recipe) -> Recipe:
    """The best recipe that changes the fewest fields."""
    values = sweep.figures[:, sweep.names.index(metric)]
    best = np.flatnonzero(values >= values.max() - 1e-12)[:_EQUALS]
    recipes = (sweep.grid.recipe(number) for number in best.tolist())
    return min(recipes, key=lambda recipe: len(baseline.differences(recipe)))
