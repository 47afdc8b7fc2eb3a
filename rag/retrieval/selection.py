"""Which candidates come back, in which order: the one place where threshold and top-k apply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rag.recipe import SearchRecipe
from rag.retrieval.candidates import Calibrated, Candidates
from rag.retrieval.fusion import Order, fused_scores, ranking
from rag.types import Scores


@dataclass(frozen=True, slots=True)
class Selection:
    """Positions of candidates by fate; each list is best first.

    ``order`` ranks all; ``below`` fell under the threshold, ``beyond`` came after top-k, ``kept``
    are the results. ``scores`` and ``relevance``, shape (n,), are aligned with the candidates, not
    with ``order``.
    """

    order: Order
    scores: Scores
    relevance: Scores
    below: Order
    beyond: Order
    kept: Order


def select(
    candidates: Candidates,
    recipe: SearchRecipe,
    threshold: float | None,
    calibration: Calibrated | None = None,
) -> Selection:
    """Ranks, then drops what is less relevant than ``threshold``, then cuts at top-k.

    ``threshold`` is the resolved value: the recipe's ``auto`` has become a number or None.
    Relevance is the cosine, or what ``calibration`` makes of the candidates.
    """
    scores = fused_scores(candidates, recipe)
    order = ranking(candidates.keys, scores)
    relevance = candidates.cosine if calibration is None else calibration.probabilities(candidates)
    relevant = (
        np.ones(len(order), dtype=bool) if threshold is None else relevance[order] >= threshold
    )
    above = order[relevant]
    return Selection(
        order=order,
        scores=scores,
        relevance=relevance,
        below=order[~relevant],
        beyond=above[recipe.top_k :],
        kept=above[: recipe.top_k],
    )
