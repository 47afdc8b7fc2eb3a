"""Quality against what it costs: which recipes no other beats in both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag.evaluation.comparison import Comparison
from rag.experiments.tuning.what_if import WhatIf
from rag.recipe import Recipe
from rag.types import Trace

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
