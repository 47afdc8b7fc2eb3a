"""Retrievals for the pages, remembered while documents and recipe stay what they are."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.session import workspace
from rag import Also, Beside, KnowledgeBase, Question, Recipe, Trace

SUGGESTED = "suggested"
SUGGESTIONS = 4
FRESH = 120  # seconds; what a service answers is not known to stay the same


def search(base: KnowledgeBase, question: str, recipe: Recipe, also: Sequence[Also] = ()) -> Trace:
    """The trace of a question. Raises TouchstoneError."""
    beside = workspace().beside(base.name, also)
    home = str(workspace().settings.home)
    held = [
        (str(each.weight), other.base.id, other.base.version(), other.recipe.hash)
        for each, other in zip(also, beside, strict=True)
    ]
    place = (home, base.id, base.version(), recipe.hash, *held)
    if not recipe.search.tools:
        return _trace(base, recipe, beside, question, place)
    tools = [tool for tool in workspace().tools.every() if tool.name in recipe.search.tools]
    defined = tuple(tool.model_dump_json() for tool in tools)
    return _trace_with_tools(base, recipe, beside, question, (*place, defined))


@st.cache_data(max_entries=64, show_spinner=False)
def _trace(
    _base: KnowledgeBase,
    _recipe: Recipe,
    _beside: Sequence[Beside],
    question: str,
    place: tuple[object, ...],
) -> Trace:
    return _base.search(question, _recipe, _beside)


@st.cache_data(max_entries=64, ttl=FRESH, show_spinner=False)
def _trace_with_tools(
    _base: KnowledgeBase,
    _recipe: Recipe,
    _beside: Sequence[Beside],
    question: str,
    place: tuple[object, ...],
) -> Trace:
    return _base.search(question, _recipe, _beside)


def is_empty(base: KnowledgeBase) -> bool:
    """Whether there is nothing to ask about yet."""
    return not any(info.documents for info in workspace().bases() if info.name == base.name)


def suggestions(base: KnowledgeBase) -> list[str]:
    """A few questions worth asking: those tagged so, else the first of any set."""
    sets = tuple((found.name, found.version) for found in base.lab.question_sets())
    return _suggestions(base, str(workspace().settings.home), base.id, sets)


@st.cache_data(max_entries=16, show_spinner=False)
def _suggestions(
    _base: KnowledgeBase, home: str, base_id: int, sets: tuple[tuple[str, int], ...]
) -> list[str]:
    questions = [item for name, _version in sets for item in _base.lab.questions(name)]
    return [item.text for item in _chosen(questions)]


def _chosen(questions: list[Question]) -> list[Question]:
    tagged = [item for item in questions if SUGGESTED in item.tags]
    return (tagged or [item for item in questions if item.answerable])[:SUGGESTIONS]
