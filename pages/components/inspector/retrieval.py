"""Retrievals for the pages, remembered while documents and recipe stay what they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.components.shell.session import workspace
from rag import FederatedBase, FurtherBase, KnowledgeBase, Message, Question, Recipe, Trace

SUGGESTED = "suggested"
SUGGESTIONS = 4
_FAILED = "retrieval_failed"
PATIENCE = 30  # seconds until a step that failed is tried again
FRESH = 120  # seconds; what a service answers is not known to stay the same


def search(
    base: KnowledgeBase,
    question: str,
    recipe: Recipe,
    also: Sequence[FurtherBase] = (),
    said: Sequence[Message] = (),
    *,
    anew: bool = False,
) -> Trace:
    """The trace of a question. Raises TouchstoneError.

    ``said`` is the conversation before it. A trace in which a step failed is held for a moment, or
    every touch of a page would wait for a server that is down; ``anew`` tries again at once.
    """
    said = tuple(said) if recipe.search.rewrite else ()
    beside = workspace().beside(base.name, also)
    home = str(workspace().settings.home)
    held = [
        (str(each.weight), other.base.id, *state(other.base, other.recipe))
        for each, other in zip(also, beside, strict=True)
    ]
    place = (home, base.id, *state(base, recipe), said, *held)
    find = _trace
    if recipe.search.tools:
        tools = [tool for tool in workspace().tools.every() if tool.name in recipe.search.tools]
        find, place = _trace_with_tools, (*place, *(tool.model_dump_json() for tool in tools))
    failed = st.session_state.get(_FAILED)
    if failed is not None and not anew and failed.answers(question, place):
        return failed.trace
    trace = find(base, recipe, beside, said, question, place)
    if trace.failures:
        find.clear(base, recipe, beside, said, question, place)
        st.session_state[_FAILED] = _Failed(question, place, time.monotonic() + PATIENCE, trace)
    return trace


def state(base: KnowledgeBase, recipe: Recipe) -> tuple[int, str, str, str]:
    """What a recipe finds in a base depends on, besides the question."""
    by_probability = recipe.search.relevance == "probability"
    fitted = base.tuning.calibrator.fitted(recipe.index) if by_probability else None
    learned = fitted.digest if fitted else ""
    return base.version(), recipe.hash, base.let_through(recipe), learned


@dataclass(frozen=True, slots=True)
class _Failed:
    """The last search in which a step failed, held until a moment of the monotonic clock."""

    question: str
    place: tuple[object, ...]
    until: float
    trace: Trace

    def answers(self, question: str, place: tuple[object, ...]) -> bool:
        return (question, place) == (self.question, self.place) and time.monotonic() < self.until


@st.cache_data(max_entries=64, show_spinner=False)
def _trace(
    _base: KnowledgeBase,
    _recipe: Recipe,
    _beside: Sequence[FederatedBase],
    _said: Sequence[Message],
    question: str,
    place: tuple[object, ...],
) -> Trace:
    return _base.search(question, _recipe, _beside, _said)


@st.cache_data(max_entries=64, ttl=FRESH, show_spinner=False)
def _trace_with_tools(
    _base: KnowledgeBase,
    _recipe: Recipe,
    _beside: Sequence[FederatedBase],
    _said: Sequence[Message],
    question: str,
    place: tuple[object, ...],
) -> Trace:
    return _base.search(question, _recipe, _beside, _said)


def is_empty(base: KnowledgeBase) -> bool:
    """Whether there is nothing to ask about yet."""
    return not any(info.documents for info in workspace().bases() if info.name == base.name)


def suggestions(base: KnowledgeBase) -> list[str]:
    """A few questions worth asking: those tagged so, else the first of any set."""
    sets = tuple((found.name, str(found.changed)) for found in base.questions.every())
    return _suggestions(base, str(workspace().settings.home), base.id, sets)


@st.cache_data(max_entries=16, show_spinner=False)
def _suggestions(
    _base: KnowledgeBase, home: str, base_id: int, sets: tuple[tuple[str, str], ...]
) -> list[str]:
    questions = [item for name, _changed in sets for item in _base.questions.usable(name)]
    return [item.text for item in _chosen(questions)]


def _chosen(questions: list[Question]) -> list[Question]:
    tagged = [item for item in questions if SUGGESTED in item.tags]
    return (tagged or [item for item in questions if item.answerable])[:SUGGESTIONS]
