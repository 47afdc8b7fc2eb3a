"""Span metrics of graded rankings: how much of the labelled text came back, and how little else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rag.evaluation.judging import Judged
from rag.evaluation.span_metrics import MEASURES, Span, measured_by_span, span_scores


def span_names(cutoffs: Sequence[int]) -> list[str]:
    """``span_recall@5`` and the like, for every cutoff."""
    return [f"{name}@{k}" for name in MEASURES for k in cutoffs]


def ranked_keys(ranked: Sequence[Judged]) -> list[int]:
    """Keys of the passages whose places the span metrics of these rankings need, ascending."""
    return sorted({int(name, 16) for item in ranked if _by_span(item) for name in item.ids})


def span_figures(
    ranked: Sequence[Judged], places: Mapping[int, Span], cutoffs: Sequence[int]
) -> dict[str, dict[str, float]]:
    """Span metrics by question id, in characters, of the questions whose labels are spans.

    ``places`` has the spans of ``ranked_keys``; a passage that is gone counts as no text.
    """
    names = span_names(cutoffs)
    figures: dict[str, dict[str, float]] = {}
    for item in filter(_by_span, ranked):
        keys = (int(name, 16) for name in item.ids)
        spans = [places.get(key, ("", 0, 0)) for key in keys]
        scores = span_scores(item.question.evidence, spans)
        figures[item.question.id] = {name: float(scores.at(name)) for name in names}
    return figures


def means(figures: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Means over the questions that have these figures, by name; empty without any."""
    rows = list(figures.values())
    names = rows[0] if rows else ()
    return {name: float(np.mean([row[name] for row in rows])) for name in names}


def _by_span(item: Judged) -> bool:
    """A question that no passage of the build can answer is left out of all means alike."""
    return bool(item.ideal) and measured_by_span(item.question)
