"""Explanations for the pages, remembered while documents and recipe stay what they are."""

from __future__ import annotations

import streamlit as st

from pages.components.inspector import retrieval
from pages.components.shell.session import workspace
from rag import (
    Attribution,
    Compared,
    Counterfactual,
    Explainer,
    Finding,
    KnowledgeBase,
    Located,
    Recipe,
    Standing,
    Trace,
)

_ATTRIBUTIONS = "inspector_attributions"
_MOST_ATTRIBUTIONS = 32

_State = tuple[str, int, int, str, str]


def standing(base: KnowledgeBase, trace: Trace, recipe: Recipe, key: int) -> Standing:
    """Where a passage stands. Raises TouchstoneError."""
    return _standing(base, recipe, trace, trace.question, key, _state(base, recipe), recipe.hash)


def changes(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, key: int
) -> tuple[Counterfactual, ...]:
    """What would change that. Raises TouchstoneError."""
    return _changes(base, recipe, trace, trace.question, key, _state(base, recipe), recipe.hash)


def find(base: KnowledgeBase, trace: Trace, recipe: Recipe, text: str) -> list[Finding]:
    """The passages that hold a text. Raises TouchstoneError."""
    state = _state(base, recipe)
    explainer = _explainer(base, recipe, trace, trace.question, state, recipe.hash)
    return explainer.findings(_located(explainer, text, state, recipe.index.hash))


def in_document(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, document_id: str
) -> list[Finding]:
    """The best placed passages of a document. Raises TouchstoneError."""
    return _explainer(
        base, recipe, trace, trace.question, _state(base, recipe), recipe.hash
    ).in_document(document_id)


def compare(
    base: KnowledgeBase, question: str, before: Recipe, after: Recipe, set_name: str | None
) -> Compared:
    """Two recipes on one question. Raises TouchstoneError."""
    versions = {item.name: str(item.changed) for item in base.questions.every()}
    labels = (set_name, versions.get(set_name or ""))
    states = (_state(base, before), _state(base, after))
    return _compare(base, before, after, question, labels, states, (before.hash, after.hash))


def attribution(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, key: int, *, wanted: bool
) -> Attribution | None:
    """What carries the cosine: what is known, or, where ``wanted``, computed with its progress.

    Whatever this visitor does meanwhile ends the work. Raises TouchstoneError.
    """
    held: dict[object, Attribution] = st.session_state.setdefault(_ATTRIBUTIONS, {})
    place = (_state(base, recipe), recipe.index.hash, trace.question, key)
    if place not in held and wanted:
        bar = st.progress(0.0, "Leaving out one part at a time …")
        found = _explainer(
            base, recipe, trace, trace.question, _state(base, recipe), recipe.hash
        ).attribution(
            key, lambda done, total: bar.progress(done / total, f"{done} of {total} texts embedded")
        )
        bar.empty()
        while len(held) >= _MOST_ATTRIBUTIONS:
            held.pop(next(iter(held)))
        held[place] = found
    return held.get(place)


def _state(base: KnowledgeBase, recipe: Recipe) -> _State:
    version, _recipe, let_through, learned = retrieval.state(base, recipe)
    return str(workspace().settings.home), base.id, version, let_through, learned


@st.cache_resource(max_entries=4, show_spinner=False)
def _explainer(
    _base: KnowledgeBase, _recipe: Recipe, _trace: Trace, question: str, state: _State, recipe: str
) -> Explainer:
    """Shared by what one view asks: it holds the whole corpus as ranked for one question."""
    return _base.explain(question, _recipe, _trace)


@st.cache_data(max_entries=64, show_spinner=False)
def _standing(
    _base: KnowledgeBase,
    _recipe: Recipe,
    _trace: Trace,
    question: str,
    key: int,
    state: _State,
    recipe: str,
) -> Standing:
    return _explainer(_base, _recipe, _trace, question, state, recipe).standing(key)


@st.cache_data(max_entries=64, show_spinner=False)
def _changes(
    _base: KnowledgeBase,
    _recipe: Recipe,
    _trace: Trace,
    question: str,
    key: int,
    state: _State,
    recipe: str,
) -> tuple[Counterfactual, ...]:
    return _explainer(_base, _recipe, _trace, question, state, recipe).changes(key)


@st.cache_data(max_entries=32, show_spinner=False)
def _located(_explainer: Explainer, text: str, state: _State, index: str) -> list[Located]:
    return _explainer.locate(text)


@st.cache_data(max_entries=32, show_spinner=False)
def _compare(
    _base: KnowledgeBase,
    _before: Recipe,
    _after: Recipe,
    question: str,
    labels: tuple[str | None, str | None],
    states: tuple[_State, _State],
    recipes: tuple[str, str],
) -> Compared:
    return _base.compare(question, _before, _after, labels[0])
