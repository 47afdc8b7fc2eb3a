"""What the metrics page reads and computes of a set and its runs, once for each state of both.

A run never changes once it is stored, but its figures are judged by the labels of today: a caller
names the version of the question set, and ``shared`` adds that of the documents.
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
    Plan,
    QuestionResult,
    QuestionSet,
    RunDifferences,
    TagFigures,
    UnjudgedShare,
)

Version: TypeAlias = tuple[int, int]


def version_of(questions: QuestionSet) -> Version:
    """What names the state of a question set; another set of the same name has another one."""
    return questions.id, questions.version


@shared_cache(16)
def intervals(base: KnowledgeBase, run_id: str, _version: Version) -> Mapping[str, Interval]:
    """The 95% interval of every mean of a run."""
    return base.run_figures.intervals(run_id)


@shared_cache(16)
def changes(
    base: KnowledgeBase, run_id: str, before_id: str, metrics: Sequence[str], _version: Version
) -> Mapping[str, Comparison]:
    """Metrics of a run against another one, corrected together."""
    return base.runs.changes(run_id, before_id, metrics)


@shared_cache(16)
def between(base: KnowledgeBase, run_id: str, before_id: str, _version: Version) -> RunDifferences:
    """What a run has otherwise than another one."""
    return base.runs.differences(run_id, before_id)


@shared_cache(16)
def unjudged(base: KnowledgeBase, run_id: str, _version: Version) -> UnjudgedShare | None:
    """What is open among the first hits of a run."""
    return base.run_figures.unjudged(run_id)


@shared_cache(16)
def by_tag(
    base: KnowledgeBase, run_id: str, names: Sequence[str], _version: Version
) -> Sequence[TagFigures]:
    """The figures of a run by tag of its questions."""
    return base.run_figures.by_tag(run_id, names)


@shared_cache(4)
def outcomes(base: KnowledgeBase, run_id: str) -> Sequence[QuestionResult]:
    """What happened to each question of a run, with the beginnings of their rankings."""
    return base.runs.results(run_id, depth=0)


@shared_cache(16)
def plan(base: KnowledgeBase, set_name: str, _runs: Sequence[str], _version: Version) -> Plan:
    """What a question set can show, going by its latest runs."""
    return base.run_figures.plan(set_name)


@shared_cache(16)
def named_like_documents(base: KnowledgeBase, set_name: str, _version: Version) -> int:
    """How many questions of a set have the name of a document as their id."""
    return base.evaluations.alike(set_name)


@shared_cache(16)
def lost_labels(
    base: KnowledgeBase, set_name: str, _version: Version
) -> Sequence[tuple[str, Label]]:
    """Labels of a set whose words no present document has, with the ids of their questions."""
    return base.questions.lost_labels(set_name)
