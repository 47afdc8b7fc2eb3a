"""Curves around a recipe, one changed setting at a time, and quality against what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rag.evaluation.comparison import Comparison, compare
from rag.experiments.tuning.tuner import QuestionPart, Tuner
from rag.recipe import Recipe
from rag.types import Trace

WEIGHTS = tuple(step / 20 for step in range(21))
DEPTHS = tuple(range(1, 21))
_STEPS = 40


@dataclass(frozen=True)
class Curve:
    """Figures by name over ``x``; nan leaves a gap. ``at`` is the place of the peak: of nDCG@10, or
    of recall over thresholds. ``best`` compares that of nDCG@10 with the present recipe.
    """

    x: tuple[float, ...]
    lines: Mapping[str, list[float]]
    best: Comparison | None = None
    at: float = 0.0


@dataclass(frozen=True)
class ScoreMap:
    """Scores, shape (weights, thresholds), and that of the present recipe.

    The score of a question is nDCG@10; with ``refusals``, that of one without an answer is 1 where
    it is refused. ``best`` compares the best place with the present recipe, corrected for all
    places. ``at`` are its weight and threshold, None for no threshold. It may lie between the
    places of the map: on the finer steps of the two curves that cross at the present recipe.
    """

    weights: tuple[float, ...]
    thresholds: tuple[float, ...]
    scores: list[list[float]]
    now: float
    refusals: bool
    best: Comparison
    at: tuple[float, float | None]


@dataclass(frozen=True)
class WhatIf:
    """A recipe on a part of a question set. ``threshold`` is its own as a number."""

    tuner: Tuner
    recipe: Recipe
    part: QuestionPart
    threshold: float | None

    def varied(self, changes: Sequence[Mapping[str, Any]]) -> list[Recipe]:
        """The recipe with some search fields changed, once for every change, and as it is, last."""
        search = self.recipe.search
        changed = [search.model_copy(update=dict(fields)) for fields in (*changes, {})]
        return [self.recipe.model_copy(update={"search": search}) for search in changed]

    def named(self, comparison: Comparison) -> Comparison:
        """Return a comparison that names the part of the questions that it is on."""
        return comparison if self.part == "all" else replace(comparison, kind=self.part)

    def against_threshold(self) -> Curve:
        """Return precision, recall, and the rates of answers and refusals by threshold."""
        x = tuple(step / _STEPS for step in range(_STEPS + 1))
        recall = f"recall@{self.recipe.search.top_k}"
        recipes = self.varied([{"threshold": value} for value in x])[:-1]
        figures = self.tuner.figures(recipes, [recall], self.part, as_shown=True)
        names = ("shown_precision", recall, "answered", "correct_refusal")
        means = {name: figures.means(name) for name in names}
        # Where nothing comes back any more, nothing is left to see.
        end = min(int(np.count_nonzero(figures.above.any(axis=1))) + 2, len(x))
        lines = {name: row[:end].tolist() for name, row in means.items() if row is not None}
        return Curve(x[:end], lines, at=x[int(np.argmax(lines[recall]))])

    def best_threshold(self, threshold: float) -> Comparison:
        """Compare the recall of the best step of ``against_threshold`` with that of the recipe.

        Between two steps, recall is none of the values of the curve: questions come in or go.
        """
        recall = f"recall@{self.recipe.search.top_k}"
        recipes = self.varied([{"threshold": threshold}])
        figures = self.tuner.figures(recipes, [recall], self.part, as_shown=True)
        return self.named(figures.compare(recall, 0, 1, _STEPS + 1))

    def against_weight(self) -> Curve:
        """Metrics at every weight."""
        recipes = self.varied([{"dense_weight": value} for value in WEIGHTS])
        names = ("ndcg@10", "mrr@10", "recall@10")
        figures = self.tuner.figures(recipes, names, self.part)
        means = {name: figures.means(name) for name in names}
        lines = {name: row[:-1].tolist() for name, row in means.items() if row is not None}
        peak = int(np.argmax(lines["ndcg@10"]))
        compared = {"ndcg@10": figures.compare("ndcg@10", peak, len(WEIGHTS), len(WEIGHTS))}
        best = self.tuner.with_open_hits(compared, recipes[peak], self.recipe)["ndcg@10"]
        return Curve(WEIGHTS, lines, self.named(best), WEIGHTS[peak])

    def against_depth(self) -> Curve:
        """Metrics of the first k by their name without it, and the ``tokens`` that they take."""
        recipes = self.varied([{"top_k": k} for k in DEPTHS])[:-1]
        names = ("ndcg", "recall", "precision")
        at_k = [f"{name}@{k}" for name in names for k in DEPTHS]
        figures = self.tuner.figures(recipes, at_k, self.part, with_context=True)
        lines = {
            name: [float(figures.metrics[f"{name}@{k}"][0].mean()) for k in DEPTHS]
            for name in names
        }
        tokens = figures.means("context_tokens")
        return Curve(DEPTHS, {**lines, "tokens": [] if tokens is None else tokens.tolist()})

    def weight_and_threshold(self) -> ScoreMap:
        """A score that both matter for: nDCG@10, and a point for every right refusal."""
        weights, x = WEIGHTS[::2], tuple(step / 20 for step in range(17))
        places: list[dict[str, float]] = [
            *({"dense_weight": w, "threshold": t} for w in weights for t in x),
            *({"dense_weight": w} for w in WEIGHTS),
            *({"threshold": step / _STEPS} for step in range(_STEPS + 1)),
        ]
        recipes = self.varied(places)
        figures = self.tuner.figures(recipes, ["ndcg@10"], self.part)
        refused = figures.by_question("correct_refusal")
        parts = [figures.metrics["ndcg@10"], *([] if refused is None else [refused])]
        values = np.concatenate(parts, axis=1)
        scores = values.mean(axis=1)
        question_ids = [*figures.labelled, *(figures.refusable if refused is not None else ())]
        highest = int(np.argmax(scores[:-1]))
        top, here = (
            dict(zip(question_ids, values[place].tolist(), strict=True)) for place in (highest, -1)
        )
        best = compare("score", top, here, groups=figures.groups, picked_from=len(places))
        table = scores[: len(weights) * len(x)].reshape(len(weights), len(x)).tolist()
        weight = places[highest].get("dense_weight", self.recipe.search.dense_weight)
        threshold = places[highest].get("threshold", self.threshold)
        return ScoreMap(
            weights,
            x,
            table,
            float(scores[-1]),
            refused is not None,
            self.named(best),
            (weight, threshold),
        )


_DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
_LIMITS = (None, *(step / 20 for step in range(2, 17, 2)))
_WEIGHTS = tuple(step / 10 for step in range(11))
_MODES = ("lexical", "dense", "hybrid")
_COUNTS = (10, 20, 50, 100)
_QUALITY = "ndcg@10"

Search = Callable[[str, Recipe], Trace]


@dataclass(frozen=True)
class CostPoint:
    """Changed search fields: what they cost (mean tokens of context, or milliseconds), and the
    nDCG@10 of what is shown.
    """

    cost: float
    quality: float
    fields: Mapping[str, Any]


def pareto_front(points: Sequence[CostPoint]) -> list[CostPoint]:
    """Return the points that no other beats in both, from the cheapest to the best."""
    front: list[CostPoint] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.quality)):
        if not front or point.quality > front[-1].quality:
            front.append(point)
    return front


def cheapest(front: Sequence[CostPoint], quality: float) -> CostPoint | None:
    """The first of a front that is as good; None where none is."""
    return next((point for point in front if point.quality >= quality), None)


def by_tokens(of: WhatIf) -> list[CostPoint]:
    """Recipes of every depth, threshold and weight, by the tokens of context that they take."""
    mixed = of.recipe.search.mode == "hybrid"
    weights = [{"dense_weight": weight} for weight in _WEIGHTS] if mixed else [{}]
    return _measured(
        of,
        [
            {"top_k": k, "threshold": limit, **weight}
            for k in _DEPTHS
            for limit in _LIMITS
            for weight in weights
        ],
    )


def present(of: WhatIf) -> CostPoint:
    """The recipe as it is, by tokens."""
    search = of.recipe.search
    mix = {"dense_weight": search.dense_weight} if search.mode == "hybrid" else {}
    return _measured(of, [{"top_k": search.top_k, "threshold": of.threshold, **mix}])[0]


def _measured(of: WhatIf, changes: Sequence[Mapping[str, Any]]) -> list[CostPoint]:
    figures = of.tuner.figures(
        of.varied(changes)[:-1], [_QUALITY], of.part, as_shown=True, with_context=True
    )
    tokens, quality = figures.means("context_tokens"), figures.means(_QUALITY)
    both = np.stack([np.zeros(len(figures)) if row is None else row for row in (tokens, quality)])
    costs = zip(both.T.tolist(), changes, strict=True)
    return [CostPoint(cost, quality, fields) for (cost, quality), fields in costs]


def against_present(of: WhatIf, fields: Mapping[str, Any]) -> Comparison:
    """The quality of changed search fields against that of the recipe as it is."""
    figures = of.tuner.figures(of.varied([fields]), [_QUALITY], of.part, as_shown=True)
    return of.named(figures.compare(_QUALITY, 0, 1))


def search_times(of: WhatIf, search: Search, texts: Sequence[str]) -> list[float]:
    """Median milliseconds of real searches on this machine, by mode and number of candidates.

    Only what is done for a question takes time; how it is ranked and cut hardly does.
    """
    return [
        1000 * float(np.median([search(text, recipe).seconds for text in texts]))
        for recipe in of.varied(_timed())[:-1]
    ]


def by_time(of: WhatIf, milliseconds: Sequence[float]) -> list[CostPoint]:
    """Recipes with the times of ``search_times``, the present one last: it takes as long as that
    of its mode with about as many candidates.
    """
    changes, search = _timed(), of.recipe.search
    figures = of.tuner.figures(of.varied(changes), [_QUALITY], of.part, as_shown=True)
    means = figures.means(_QUALITY)
    values = [0.0] * len(figures) if means is None else means.tolist()
    points = [
        CostPoint(cost, quality, fields)
        for cost, quality, fields in zip(milliseconds, values[:-1], changes, strict=True)
    ]
    alike = [point for point in points if point.fields["mode"] == search.mode]
    near = min(alike, key=lambda point: abs(point.fields["candidates"] - search.candidates))
    fields = {"mode": search.mode, "candidates": search.candidates}
    return [*points, CostPoint(near.cost, values[-1], fields)]


def _timed() -> list[dict[str, Any]]:
    return [{"mode": mode, "candidates": count} for mode in _MODES for count in _COUNTS]
