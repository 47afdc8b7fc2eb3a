"""Verdicts of tuning that judging open hits could turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.evaluation.comparison import Comparison
from rag.evaluation.metrics import MEASURES, parse_metric
from rag.evaluation.pooling.difference import JudgedRankings
from rag.evaluation.pooling.open_hits import with_open_hits
from rag.evaluation.run_intervals import graded, with_zeros
from rag.experiments.runs.evaluator import deepened
from rag.experiments.tuning.pipeline_figures import passages_above
from rag.experiments.tuning.sweeper import Sweeper
from rag.recipe import Recipe
from rag.search.threshold import rule_with
from rag.services.services import Services
from rag.types import ProgressCallback


@dataclass(frozen=True)
class OpenHitsReader:
    """A reader of the rankings of two recipes where labels decide between them.

    ``sweeper`` has the candidates of all questions; not to be shared between threads.
    """

    services: Services
    sweeper: Sweeper

    def with_open_hits(
        self,
        comparisons: Mapping[str, Comparison],
        recipe: Recipe,
        baseline: Recipe,
        on_progress: ProgressCallback,
    ) -> dict[str, Comparison]:
        """Comparisons of two recipes by metric, with what judging open hits could make of each.

        Those that labels leave undecided stay as they are, as do measures that rank no passages.
        Raises InvalidInput for tools.
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
        # Both rankings of each question that has a relevant label, by id
        ours, theirs = (self._ranked(side, depth, on_progress) for side in (recipe, baseline))
        grades, others = (self._grades(side) for side in (recipe, baseline))
        judged = {
            question.id: JudgedRankings(first, second, mine, other)
            for question, first, second, mine, other in zip(
                self.sweeper.questions, ours, theirs, grades, others, strict=True
            )
            if any(grade > 0 for grade in mine.values())
        }
        same_cut = recipe.index.cut == baseline.index.cut
        return dict(comparisons) | with_open_hits(
            decided, judged, self.sweeper.question_set.groups, same_cut=same_cut
        )

    def _ranked(
        self, recipe: Recipe, depth: int, on_progress: ProgressCallback
    ) -> list[tuple[str, ...]]:
        search = deepened(recipe.search, depth)
        source = self.sweeper.source(recipe.index, on_progress)
        limit = rule_with(source.fitted, self.services.models, recipe.index, search).threshold
        search = search.model_copy(update={"threshold": limit})
        ranked = zip(source.questions, passages_above(source, search, on_progress), strict=True)
        return [source.judge.judge(question, *row, depth).ids for question, row in ranked]

    def _grades(self, recipe: Recipe) -> Sequence[Mapping[str, int]]:
        spans = self.sweeper.source(recipe.index).judge.spans
        return [with_zeros(*graded(question, spans)) for question in self.sweeper.questions]
