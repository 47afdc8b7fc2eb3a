"""The first cause by which one question fails: the same, with the same fix, at every door."""

from __future__ import annotations

from dataclasses import dataclass

from rag.recipe import Recipe
from rag.services import Services
from rag.storage import questions as question_rows
from rag.tuning.diagnosis.causes import CAUSES
from rag.tuning.diagnosis.examining import Examination
from rag.tuning.diagnosis.finding import Finding
from rag.tuning.state import read_measured
from rag.tuning.sweeper import Sweeper
from rag.types import Assessment, Trace


@dataclass(frozen=True, slots=True)
class FirstCause:
    """The first cause that a check finds, and what helps against it."""

    finding: Finding
    advice: str

    @property
    def title(self) -> str:
        """The cause in words."""
        return CAUSES[self.finding.cause].title


def labelled_in(services: Services, base_id: int, text: str) -> dict[str, str]:
    """Return the question sets that have a question with labels, and its id in each."""
    with services.database.read() as connection:
        return {
            found.name: question.id
            for found in question_rows.list_question_sets(connection, base_id)
            for question in question_rows.usable(connection, base_id, found.id)
            if question.text == text and (question.evidence or not question.answerable)
        }


def examined(
    services: Services, base_id: int, set_name: str, question_id: str, recipe: Recipe
) -> Finding | None:
    """Examine one question as a diagnosis of its set does; None if it passes."""
    question_set, _ = read_measured(services, base_id, set_name, recipe)
    sweeper = Sweeper(services, question_set, {question_id})
    failed = Examination(services, base_id, sweeper, recipe).failed(lambda _done, _total: None)
    return failed[0].finding if failed else None


def as_answered(trace: Trace, assessment: Assessment | None) -> Finding | None:
    """Return why a question without labels got no answer without doubt; None if it got one."""
    refused, below = trace.stage("refuse"), trace.stage("threshold")
    if refused is not None and refused.dropped and not trace.hits:
        evidence = refused.note.partition(": ")[2]
        return Finding("refused", f"The question was refused as off-topic: {evidence}.")
    if below is not None and below.dropped and not trace.hits:
        relevance = max(drop.hit.relevance for drop in below.dropped)
        limit = trace.threshold or 0.0
        figures = {"relevance": relevance, "threshold": limit}
        evidence = (
            f"The most relevant passage has {relevance:.3f}, below the threshold of {limit:.3f}."
        )
        return Finding("threshold", evidence, figures)
    if assessment is not None and assessment.state == "doubtful":
        return Finding("doubted", assessment.reason)
    return None
