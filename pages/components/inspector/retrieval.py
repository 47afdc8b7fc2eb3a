"""Retrievals for the pages; what is known of earlier ones, the knowledge base remembers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.components.shell.session import bases, question_sets, shared_cache, workspace
from rag import FurtherBase, KnowledgeBase, Message, Question, Recipe, Trace

SUGGESTED = "suggested"
SUGGESTIONS = 4
_FAILED = "retrieval_failed"
PATIENCE = 30  # seconds until a step that failed is tried again


def search(
    base: KnowledgeBase,
    question: str,
    recipe: Recipe,
    also: Sequence[FurtherBase] = (),
    history: Sequence[Message] = (),
    *,
    anew: bool = False,
) -> Trace:
    """The trace of a question. Raises TouchstoneError.

    ``history`` is the conversation before it. A trace in which a step failed is kept for a moment,
    or every touch of a page would wait for a server that is down; ``anew`` tries again at once.
    """
    beside = workspace().beside(base.name, also)
    history = tuple(history)
    request = base.state(recipe, beside), question, history
    failed = st.session_state.get(_FAILED)
    if failed is not None and not anew and failed.answers(request):
        return failed.trace
    trace = base.search(question, recipe, beside, history)
    if trace.failures:
        st.session_state[_FAILED] = _Failed(request, time.monotonic() + PATIENCE, trace)
    return trace


@dataclass(frozen=True, slots=True)
class _Failed:
    """The last search in which a step failed, held until a moment of the monotonic clock."""

    request: tuple[object, ...]
    until: float
    trace: Trace

    def answers(self, request: tuple[object, ...]) -> bool:
        return request == self.request and time.monotonic() < self.until


def is_empty(base: KnowledgeBase) -> bool:
    """Whether there is nothing to ask about yet."""
    return not any(info.documents for info in bases() if info.name == base.name)


def suggestions(base: KnowledgeBase) -> list[str]:
    """A few questions worth asking: those tagged so, else the first of any set.

    Those are left out that the newest run of their set fails, or the newest one that scored
    answers, and those that this visitor got a doubtful or refused answer to; unless that leaves
    none.
    """
    newest = base.runs.newest_runs()
    sets = tuple(
        (item.name, str(item.changed), newest.get(item.name, ())) for item in question_sets(base)
    )
    return _suggestions(base, sets, tuple(base.conversations.unsure()))


@shared_cache(16)
def _suggestions(
    base: KnowledgeBase, sets: tuple[tuple[str, str, tuple[str, ...]], ...], unsure: tuple[str, ...]
) -> list[str]:
    questions, passing = list[Question](), list[Question]()
    for name, _changed, run_ids in sets:
        of_set = base.questions.usable(name)
        fails = base.runs.failing_questions(run_ids)
        questions += of_set
        passing += [item for item in of_set if item.id not in fails and item.text not in unsure]
    return [item.text for item in (_chosen(passing) or _chosen(questions))[:SUGGESTIONS]]


def _chosen(questions: list[Question]) -> list[Question]:
    tagged = [item for item in questions if SUGGESTED in item.tags]
    return tagged or [item for item in questions if item.answerable]
