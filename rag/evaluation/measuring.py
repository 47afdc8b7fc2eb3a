"""From judged rankings to the figures of a run: of every question, and their means.

Beside ranking metrics there are figures of evidence:

- ``nugget_recall@k`` is the share of the parts (nuggets) of an answer of which one of the first k
  hits has a label (Voorhees, Overview of the TREC 2003 Question Answering Track, as nugget recall,
  with all parts vital).
- ``misleading@k`` counts the hits among the first k that mislead.
- ``udcg@k`` is UDCG (Trappolini, Cuconasu, Filice, Maarek and Silvestri, Redefining Retrieval
  Evaluation in the Era of LLMs, arXiv 2510.21440) in its form without fitted parameters: the
  logistic function of the mean utility of k passages, 1 for a relevant one and -1/3 for one that
  misleads. Where the paper takes the probability that a model answers from a passage as its
  utility, here a person said that a passage is relevant or misleads. There is no discount by rank:
  a model reads all passages. As in precision, the mean divides by k. Without hits it is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp
from statistics import fmean
from types import MappingProxyType

from rag.evaluation import span_metrics
from rag.evaluation.judging import Judged
from rag.evaluation.metrics import MEASURES, Ranked, evaluate
from rag.evaluation.relevance import nuggets_of
from rag.types import MISLEADING
from rag.types.results import QuestionResult

SpanFigures = Mapping[str, Mapping[str, float]]
MISLEADING_WEIGHT = 1 / 3
"""What a misleading passage takes away, as a share of what a relevant one gives."""
_NEARLY_ONE = 0.995
"""A mean that two decimals show as 1."""
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
    depth = max(cutoffs)
    table = evaluate(
        Ranked.of([item.grades[:depth] for item in judged], [item.ideal for item in judged], depth),
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
    means |= span_metrics.means(spans) | _refusals(ranked)
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
    return _best("precision", relevant, k) if relevant else None


def highest_mean(metric: str, results: Sequence[QuestionResult]) -> float:
    """Return the highest mean that the labels allow, such as a recall at 1 of two passages."""
    return highest_of(metric, [result.relevant for result in results if result.relevant])


def highest_of(metric: str, relevant: Sequence[float]) -> float:
    """Return the same for questions with so many relevant passages each."""
    measure, _, k = metric.partition("@")
    highest = _best(measure, relevant, int(k)) if measure in MEASURES and relevant else 1.0
    return highest if highest < _NEARLY_ONE else 1.0


def _best(measure: str, relevant: Sequence[float], k: int) -> float:
    """The mean of a measure where all that is relevant comes first."""
    ideals = [[1] * int(count) for count in relevant]
    return float(MEASURES[measure](Ranked.of([best[:k] for best in ideals], ideals, k), k).mean())


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


def evidence_figures(
    ranked: Sequence[Judged], cutoffs: Sequence[int]
) -> dict[str, dict[str, float]]:
    """Figures by question id, of the judged questions that have them.

    Recall of parts is there for questions with named parts; what misleads is counted for all
    questions as soon as one label of any of them says so.
    """
    judged = [item for item in ranked if item.ideal]
    misleads = any(label.grade == MISLEADING for item in ranked for label in item.question.evidence)
    figures = {
        item.question.id: dict(_figures(item, cutoffs, misleads=misleads)) for item in judged
    }
    return {name: row for name, row in figures.items() if row}


def _figures(
    item: Judged, cutoffs: Sequence[int], *, misleads: bool
) -> Iterator[tuple[str, float]]:
    names = nuggets_of(item.question.evidence)
    for k in cutoffs:
        if names:
            nuggets = frozenset[str]().union(*item.nuggets[:k])
            yield f"nugget_recall@{k}", len(nuggets) / len(names)
        if misleads:
            yield f"misleading@{k}", float(item.grades[:k].count(MISLEADING))
            yield f"udcg@{k}", udcg(item.grades, k)


def udcg(grades: Sequence[int], k: int) -> float:
    """UDCG of the first k grades; 0 without hits, 1/2 where nothing is relevant or misleads."""
    hits = grades[:k]
    if not hits:
        return 0.0
    relevant, misleading = sum(grade > 0 for grade in hits), hits.count(MISLEADING)
    return 1 / (1 + exp(-(relevant - MISLEADING_WEIGHT * misleading) / k))
