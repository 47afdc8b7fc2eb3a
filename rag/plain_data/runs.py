"""Runs as plain data. The shapes are a contract of CLI and API."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean
from typing import Any

from rag.results import QuestionResult, Run
from rag.storage.quality.answers import RunAnswer
from rag.types import Cost


def measured_data(run: Run) -> dict[str, Any]:
    """Return the metrics of a run as plain data."""
    return {
        "run": run.id,
        "recipe": run.recipe.hash,
        "set": run.question_set,
        "questions": run.questions,
        "metrics": dict(run.metrics),
    }


def result_data(result: QuestionResult) -> dict[str, Any]:
    """Return the result of one question of a run as plain data."""
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


def answers_spent_data(given: Collection[RunAnswer]) -> dict[str, Any]:
    """Return the mean seconds, the total tokens and costs of answers, and those of their judge."""
    return {
        "seconds": fmean(each.seconds for each in given) if given else None,
        "tokens": sum(each.tokens for each in given),
        "cost": _costs([each.price for each in given]),
        "judge_tokens": sum(each.judge_tokens for each in given),
        "judge_cost": _costs([each.judge_price for each in given]),
    }


def _costs(costs: Sequence[Cost | None]) -> dict[str, Any]:
    """Money by currency, and of how many answers it is not known."""
    known = [each for each in costs if each is not None]
    currencies = sorted({each.currency for each in known})
    sums = {
        name: sum(each.amount for each in known if each.currency == name) for name in currencies
    }
    return {"known": sums, "not_known": len(costs) - len(known)}
