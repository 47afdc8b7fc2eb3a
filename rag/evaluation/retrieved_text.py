"""Span metrics of graded rankings: how much of the labelled text came back, and how little else.

In characters they are named ``span_recall@5`` and the like, in tokens ``token_recall@5``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rag.evaluation.judging import Judged
from rag.evaluation.span_metrics import (
    MEASURES,
    Ruler,
    Span,
    by_characters,
    measured_by_span,
    span_scores,
)

_CHARACTERS, _TOKENS = "span_", "token_"
_GONE: Span = ("", 0, 0)


def in_tokens(metrics: Iterable[str]) -> bool:
    """Whether any of these metrics counts the tokens of spans."""
    return any(name.startswith(_TOKENS) for name in metrics)


def ranked_keys(ranked: Sequence[Judged]) -> list[int]:
    """Keys of the passages whose places the span metrics of these rankings need, ascending."""
    return sorted({int(name, 16) for item in ranked if _by_span(item) for name in item.ids})


def span_figures(
    ranked: Sequence[Judged],
    places: Mapping[str, Span],
    cutoffs: Sequence[int],
    tokens: Ruler | None = None,
) -> dict[str, dict[str, float]]:
    """Span metrics by question id, of the questions whose labels are spans.

    ``places`` has the spans of ranked passages by id; one that is gone counts as no text. In
    characters, and with a ruler for ``tokens`` in these too.
    """
    rulers = {_CHARACTERS: by_characters} | ({_TOKENS: tokens} if tokens else {})
    figures: dict[str, dict[str, float]] = {}
    for item in filter(_by_span, ranked):
        spans = [places.get(name, _GONE) for name in item.ids]
        figures[item.question.id] = {
            f"{prefix}{name.removeprefix(_CHARACTERS)}": value
            for prefix, ruler in rulers.items()
            for name, value in _at_cutoffs(item, spans, cutoffs, ruler).items()
        }
    return figures


def _at_cutoffs(
    item: Judged, spans: Sequence[Span], cutoffs: Sequence[int], ruler: Ruler
) -> dict[str, float]:
    scores = span_scores(item.question.evidence, spans, ruler)
    names = [f"{name}@{k}" for name in MEASURES for k in cutoffs]
    return {name: float(scores.at(name)) for name in names}


def means(figures: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Means over the questions that have these figures, by name; empty without any."""
    rows = list(figures.values())
    names = rows[0] if rows else ()
    return {name: float(np.mean([row[name] for row in rows])) for name in names}


def _by_span(item: Judged) -> bool:
    """A question that no passage of the build can answer is left out of all means alike."""
    return bool(item.ideal) and measured_by_span(item.question)
