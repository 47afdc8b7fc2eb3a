"""Runs as plain data. The shapes are a contract of CLI and API."""

from __future__ import annotations

from typing import Any

from rag.results import QuestionResult, Run


def measured_data(run: Run) -> dict[str, Any]:
    """What a run measured."""
    return {
        "run": run.id,
        "recipe": run.recipe.hash,
        "set": run.question_set,
        "questions": run.questions,
        "metrics": dict(run.metrics),
    }


def result_data(result: QuestionResult) -> dict[str, Any]:
    """What happened to one question of a run."""
    return {
        "id": result.question_id,
        "question": result.text,
        "tags": list(result.tags),
        "answerable": result.answerable,
        "metrics": dict(result.metrics),
        "first_relevant": result.first_relevant,
        "found": result.found,
        "relevant": result.relevant,
    }
