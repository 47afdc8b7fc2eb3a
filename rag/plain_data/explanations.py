"""Explanations of a retrieval as plain data. The shapes are a contract of CLI and API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag.explanation.attribution import Attribution
from rag.explanation.counterfactuals import Counterfactual
from rag.explanation.explainer import Explainer, Finding
from rag.explanation.recipe_comparison import RetrievalComparison
from rag.explanation.standing import Standing
from rag.runs.rankings import RankedPassage


def passage_data(
    explainer: Explainer,
    standing: Standing,
    changes: Sequence[Counterfactual],
    attribution: Attribution | None,
) -> dict[str, Any]:
    """One passage: where it stands, what would change that, and what carries its cosine."""
    return {
        "question": explainer.trace.question,
        "recipe": explainer.recipe.hash,
        **standing_data(standing),
        "changes": [_change(each) for each in changes],
        "attribution": _attribution(attribution) if attribution else None,
    }


def findings_data(
    explainer: Explainer,
    findings: Sequence[Finding],
    changes: Sequence[Sequence[Counterfactual]],
) -> dict[str, Any]:
    """Passages that were looked for; ``changes`` has what would change each."""
    return {
        "question": explainer.trace.question,
        "recipe": explainer.recipe.hash,
        "found": [
            {
                "match": each.match,
                **standing_data(each.standing),
                "gap": _gap(each),
                "changes": [_change(change) for change in found],
            }
            for each, found in zip(findings, changes, strict=True)
        ],
    }


def compared_data(found: RetrievalComparison) -> dict[str, Any]:
    """Two recipes on one question."""
    return {
        "question": found.sides.question,
        "overlap": found.overlap,
        "before": {"recipe": found.before.recipe, "hits": _side(found.sides.before)},
        "after": {"recipe": found.after.recipe, "hits": _side(found.sides.after)},
        "labels": [
            {
                "document": each.label.document_name,
                "quote": each.label.quote,
                "before": each.before,
                "after": each.after,
            }
            for each in found.labels
        ],
    }


def standing_data(found: Standing) -> dict[str, Any]:
    """Return the standing of a passage, or the reason for its elimination, as plain data."""
    figures = found.figures
    return {
        "chunk_id": found.chunk.id,
        "document": found.document,
        "page": found.chunk.page,
        "rank": found.hit.rank if found.hit else None,
        "lost": found.lost or None,
        "reason": found.reason,
        "steps": [
            {"stage": step.stage, "fate": step.outcome, "words": step.words} for step in found.steps
        ],
        "dense": figures.dense,
        "dense_rank": figures.dense_rank,
        "bm25": figures.bm25,
        "bm25_rank": figures.bm25_rank,
        "lacking": list(figures.lacking),
        "text": found.chunk.text,
        "context": found.chunk.context,
    }


def _change(each: Counterfactual) -> dict[str, Any]:
    return {
        "field": f"search.{each.field}",
        "enters": each.enters,
        "now": each.now,
        "value": each.value,
        "bound": each.bound,
        "falls_short": each.shorter,
        "exact": each.exact,
        "searches": each.searches,
        "words": each.words,
    }


def _gap(each: Finding) -> dict[str, Any] | None:
    gap = each.gap
    if gap is None:
        return None
    return {
        "last_shown": gap.last.chunk.id,
        "dense": gap.dense,
        "bm25": gap.bm25,
        "score": gap.score,
    }


def _attribution(found: Attribution) -> dict[str, Any]:
    def parts(name: str) -> list[dict[str, Any]]:
        return [
            {"start": part.start, "end": part.end, "text": part.text, "change": part.change}
            for part in getattr(found, name)
        ]

    return {
        "cosine": found.cosine,
        "sentences": parts("sentences"),
        "words": parts("words"),
        "context": found.context and {"text": found.context.text, "change": found.context.change},
        "embeddings": found.embeddings,
    }


def _side(places: Sequence[RankedPassage]) -> list[dict[str, Any]]:
    return [
        {
            "rank": place.rank,
            "chunk_id": place.chunk.id if place.chunk else None,
            "document": place.document,
            "score": place.score,
            "grade": place.grade,
            "other_rank": place.other,
        }
        for place in places
    ]
