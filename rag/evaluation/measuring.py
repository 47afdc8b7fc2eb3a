"""From judged rankings to the figures of a run: of every question, and their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from types import MappingProxyType

from rag.evaluation import retrieved_text
from rag.evaluation.evidence_figures import evidence_figures
from rag.evaluation.judging import Judged
from rag.evaluation.metrics import MEASURES, Ranked, evaluate
from rag.results import QuestionResult

SpanFigures = Mapping[str, Mapping[str, float]]
_NO_SPANS: SpanFigures = MappingProxyType({})


def measured(
    ranked: Sequence[Judged], cutoffs: Sequence[int], spans: SpanFigures = _NO_SPANS
) -> tuple[list[QuestionResult], dict[str, float]]:
    """Results by question, and means over all judged questions.

    ``spans`` has figures by question id that some questions have besides; their means are over
    those questions.
    """
    judged = [item for item in ranked if item.ideal]
    names = [f"{name}@{k}" for name in MEASURES for k in cutoffs] if judged else []
    table = evaluate(
        Ranked.of([item.grades for item in judged], [item.ideal for item in judged], max(cutoffs)),
        names,
    )
    rows = {
        item.question.id: {name: float(table[name][row]) for name in names}
        for row, item in enumerate(judged)
    }
    means = {name: float(table[name].mean()) for name in names}
    results = [
        _result(item, {**rows.get(item.question.id, {}), **spans.get(item.question.id, {})})
        for item in ranked
    ]
    means |= retrieved_text.means(spans) | _refusals(ranked)
    return with_figures(results, means, evidence_figures(ranked, cutoffs))


def _refusals(ranked: Sequence[Judged]) -> dict[str, float]:
    """Return the rates of empty results: correct (unanswerable) and false (answerable) refusals."""
    empty = {True: list[bool](), False: list[bool]()}
    for item in ranked:
        empty[item.question.answerable].append(not item.ids)
    names = {False: "correct_refusal", True: "false_refusal"}
    return {
        names[answerable]: sum(refused) / len(refused)
        for answerable, refused in empty.items()
        if refused and empty[False]
    }


def _result(item: Judged, metrics: dict[str, float]) -> QuestionResult:
    question = item.question
    return QuestionResult(
        question_id=question.id,
        text=question.text,
        tags=question.tags,
        answerable=question.answerable,
        metrics=metrics,
        ranking=tuple(zip(item.ids, item.scores, item.grades, strict=True)),
        first_relevant=item.first_relevant,
        found=sum(grade > 0 for grade in item.grades),
        relevant=len(item.ideal),
        cut_rank=item.cut_rank,
    )


def precision_ceiling(results: Sequence[QuestionResult], k: int) -> float | None:
    """Return the highest precision at k that these questions allow; None without labels.

    A question with two relevant passages cannot have more than two of five.
    """
    relevant = [result.relevant for result in results if result.relevant]
    return fmean(min(count, k) / k for count in relevant) if relevant else None


def with_figures(
    results: Sequence[QuestionResult],
    means: Mapping[str, float],
    beside: Mapping[str, Mapping[str, float]],
) -> tuple[list[QuestionResult], dict[str, float]]:
    """Results and means with further figures by question id."""
    merged = [
        replace(result, metrics={**result.metrics, **beside.get(result.question_id, {})})
        for result in results
    ]
    by_name: dict[str, list[float]] = {}
    for result in results:
        for name, value in beside.get(result.question_id, {}).items():
            by_name.setdefault(name, []).append(value)
    return merged, {**means, **{name: fmean(values) for name, values in by_name.items()}}
