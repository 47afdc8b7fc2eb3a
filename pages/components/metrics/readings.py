"""Cached reads and metrics of a question set and its runs, by the state of both.

A stored run never changes, but its metrics depend on the current labels. A caller passes the
version of the question set, and ``shared_cache`` adds the state of the documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pages.components.shell.session import shared_cache
from rag import (
    Comparison,
    Interval,
    KnowledgeBase,
    Label,
    LabelledQuestion,
    Plan,
    QuestionResult,
    QuestionSet,
    RunDifferences,
    TagFigures,
    UnjudgedShare,
    judged_by_document,
)

Version: TypeAlias = tuple[int, int]


def version_of(questions: QuestionSet) -> Version:
    """The id and version of a question set; another set of the same name has another id."""
    return questions.id, questions.version


@shared_cache(16)
def intervals(base: KnowledgeBase, run_id: str, _version: Version) -> Mapping[str, Interval]:
    """The 95% interval of every mean of a run."""
    return base.runs.intervals(run_id)


@shared_cache(16)
def changes(
    base: KnowledgeBase, run_id: str, before_id: str, metrics: Sequence[str], _version: Version
) -> Mapping[str, Comparison]:
    """Metrics of a run against another one, corrected together."""
    return base.runs.changes(run_id, before_id, metrics)


@shared_cache(16)
def between(base: KnowledgeBase, run_id: str, before_id: str, _version: Version) -> RunDifferences:
    """The differences between a run and an earlier one."""
    return base.runs.differences(run_id, before_id)


@shared_cache(16)
def unjudged(base: KnowledgeBase, run_id: str, _version: Version) -> UnjudgedShare | None:
    """The share of passages without a judgement among the first hits of a run."""
    return base.runs.unjudged(run_id)


@shared_cache(16)
def by_tag(
    base: KnowledgeBase, run_id: str, names: Sequence[str], _version: Version
) -> Sequence[TagFigures]:
    """The figures of a run by tag of its questions."""
    return base.runs.by_tag(run_id, names)


@shared_cache(4)
def outcomes(base: KnowledgeBase, run_id: str, depth: int = 0) -> Sequence[QuestionResult]:
    """The results of all questions of a run, with rankings of ``depth``."""
    return base.runs.results(run_id, depth)


@shared_cache(4)
def answer_figures(base: KnowledgeBase, run_id: str) -> Mapping[str, Mapping[str, float]]:
    """The metrics of all questions of a run, by question id."""
    return {one.question_id: one.metrics for one in base.runs.results(run_id, 0)}


@shared_cache(16)
def plan(base: KnowledgeBase, set_name: str, _runs: Sequence[str], _version: Version) -> Plan:
    """The power analysis of a question set, based on its latest runs."""
    return base.runs.plan(set_name)


@shared_cache(16)
def named_like_documents(base: KnowledgeBase, set_name: str, _version: Version) -> int:
    """The number of questions of a set whose id is the name of a document."""
    return base.runs.alike(set_name)


@shared_cache(16)
def lost_labels(
    base: KnowledgeBase, set_name: str, _version: Version
) -> Sequence[tuple[str, Label]]:
    """Labels of a set whose words no present document has, with the ids of their questions."""
    return base.questions.lost_labels(set_name)


@shared_cache(64)
def label_count(base: KnowledgeBase, set_name: str, _version: Version) -> int:
    """The number of labels of a set."""
    return sum(len(question.labels) for question in base.questions.labelled(set_name))


@shared_cache(64)
def expected_answers(base: KnowledgeBase, set_name: str, _version: Version) -> int:
    """The number of questions of a set that have an expected answer."""
    return sum(bool(question.answer) for question in base.questions.labelled(set_name))


@shared_cache(64)
def document_labels(base: KnowledgeBase, set_name: str, _version: Version) -> int:
    """The number of labels that name a whole document, if most questions are judged by them."""
    questions = [item for item in base.questions.usable(set_name) if item.evidence]
    by_document = sum(map(judged_by_document, questions))
    if 2 * by_document <= len(questions):
        return 0
    return sum(label.end is None for item in questions for label in item.evidence)


@shared_cache(64)
def without_labels(
    base: KnowledgeBase, set_name: str, _version: Version
) -> Sequence[LabelledQuestion]:
    """The questions of a set that documents answer and that have no relevant label yet."""
    return [
        question
        for question in base.questions.labelled(set_name)
        if question.answerable and not any(label.grade > 0 for label in question.labels)
    ]


@shared_cache(64)
def placed_questions(base: KnowledgeBase, set_name: str, _version: Version) -> int:
    """The number of answerable questions with a relevant label that a present document holds."""
    lost = {label.id for _, label in base.questions.lost_labels(set_name)}
    return sum(
        question.answerable
        and any(label.grade > 0 and label.id not in lost for label in question.labels)
        for question in base.questions.labelled(set_name)
    )
