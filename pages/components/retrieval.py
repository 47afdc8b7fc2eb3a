"""Retrievals for the pages, remembered while documents and recipe stay what they are."""

from __future__ import annotations

import streamlit as st

from pages.components.session import workspace
from rag import KnowledgeBase, Question, Recipe, Trace

SUGGESTED = "suggested"
SUGGESTIONS = 4


def search(base: KnowledgeBase, question: str, recipe: Recipe) -> Trace:
    """The trace of a question. Raises TouchstoneError."""
    home = str(workspace().settings.home)
    return _trace(base, recipe, question, home, base.id, base.version(), recipe.hash)


@st.cache_data(max_entries=64, show_spinner=False)
def _trace(
    _base: KnowledgeBase,
    _recipe: Recipe,
    question: str,
    home: str,
    base_id: int,
    version: int,
    recipe_hash: str,
) -> Trace:
    return _base.search(question, _recipe)


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
