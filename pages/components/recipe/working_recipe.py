"""The working recipe: one for each knowledge base in a session, the same on every page.

It starts as the saved recipe with what the URL says otherwise. Widgets change it through
``change``; ``reset`` and ``save`` end the difference from the saved one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from rag import InvalidRecipe, KnowledgeBase, Recipe

STATE = "recipe_working"
_PAGE, _FRESH = "recipe_page", "recipe_fresh"
CUT, THRESHOLD, BUILD, TOOLS = "cut", "threshold", "build", "tools"
AUTO, SET, OFF = "Auto", "Set", "Off"

# The URL's parameter, which is also the key of its widget, and the recipe field behind it.
PARAMETERS: Mapping[str, str] = {
    "mode": "search.mode",
    "k": "search.top_k",
    "by": "search.relevance",
    "w": "search.dense_weight",
    "candidates": "search.candidates",
    "fusion": "search.fusion",
    "rrf": "search.rrf_k",
    "k1": "search.k1",
    "b": "search.b",
    "fuzzy": "search.fuzzy",
    "prefix": "search.prefix",
    "spelling": "search.spelling",
    "rewrite": "search.rewrite",
    "expansions": "search.expansions",
    "hyde": "search.hyde",
    "feedback": "search.feedback",
    "feedback_weight": "search.feedback_weight",
    "feedback_terms": "search.feedback_terms",
    "rerank": "search.rerank",
    "depth": "search.rerank_depth",
    "batch": "search.rerank_batch",
    "copies": "search.duplicates",
    "mmr": "search.mmr",
    "in_documents": "search.documents",
    "in_types": "search.types",
    "in_tags": "search.tags",
    "in_pages": "search.pages",
    "in_after": "search.after",
    "in_before": "search.before",
    "in_heading": "search.heading",
    "show": "search.context",
    "around": "search.neighbours",
    "join": "search.merge",
    "order": "search.order",
    "provider": "answer.provider",
    "model": "answer.model",
    "temperature": "answer.temperature",
    "length": "answer.max_tokens",
    "context": "answer.context_tokens",
}


_CHOICES = (
    *("search.mode", "search.fusion", "search.relevance"),
    *("search.context", "search.order"),
)


@dataclass(frozen=True, slots=True)
class _Held:
    """A working recipe, and the saved one that it started from."""

    saved: Recipe
    working: Recipe


def working(base: KnowledgeBase) -> Recipe:
    """The recipe that this visitor works with now."""
    saved, held = base.recipe(), _all().get(base.id)
    if held is None:
        return _hold(base, saved, _with_url(base, saved))
    if held.saved != saved and held.working == held.saved:
        return _hold(base, saved, saved)  # saved elsewhere, and nothing of ours is lost
    return _hold(base, saved, held.working)


def change(base: KnowledgeBase, changes: Mapping[str, Any]) -> Recipe:
    """Changes fields by dotted name. Raises InvalidRecipe and changes nothing then."""
    return replace(base, working(base).with_fields(changes))


def replace(base: KnowledgeBase, recipe: Recipe) -> Recipe:
    """Makes ``recipe`` the working one."""
    return _hold(base, base.recipe(), recipe)


def reset(base: KnowledgeBase) -> None:
    """Back to the saved recipe."""
    replace(base, base.recipe())


def save(base: KnowledgeBase) -> None:
    """Makes the working recipe the saved one."""
    recipe = working(base)
    base.save_recipe(recipe)
    replace(base, recipe)


def differences(base: KnowledgeBase) -> dict[str, tuple[Any, Any]]:
    """Fields in which the working recipe differs, by dotted name: (saved, working)."""
    return base.recipe().differences(working(base))


def enter(page: str) -> None:
    """Notes which page runs. The frame calls it before each one."""
    if st.session_state.get(_PAGE) != page:
        st.session_state[_PAGE] = page
        st.session_state[_FRESH] = True


def fresh() -> bool:
    """Whether the widgets of the recipe are about to be drawn first on a page."""
    return bool(st.session_state.get(_FRESH, True))


def drawn() -> None:
    """Notes that the widgets of the recipe stand on this page."""
    st.session_state[_FRESH] = False


def _all() -> dict[int, _Held]:
    held: dict[int, _Held] = st.session_state.setdefault(STATE, {})
    return held


def _hold(base: KnowledgeBase, saved: Recipe, recipe: Recipe) -> Recipe:
    _all()[base.id] = _Held(saved, recipe)
    return recipe


def _with_url(base: KnowledgeBase, recipe: Recipe) -> Recipe:
    """``recipe`` with the URL's parameters; what does not make sense is left out."""
    found = _from_url(base, st.query_params.to_dict())
    if tools := [name for name in st.query_params.get_all(TOOLS) if name]:
        found["search.tools"] = tools
    for name, value in found.items():
        try:
            recipe = recipe.with_fields({name: value})
        except InvalidRecipe:
            continue
    return recipe


def _from_url(base: KnowledgeBase, parameters: Mapping[str, str]) -> dict[str, Any]:
    found = {
        field: _READ.get(name, _value)(parameters[name])
        for name, field in PARAMETERS.items()
        if parameters.get(name)
    }
    for field in _CHOICES:
        if field in found:
            found[field] = str(found[field]).lower()
    found.update(_threshold(parameters))
    found.update(_build(base, parameters.get(BUILD, "")))
    return found


def _threshold(parameters: Mapping[str, str]) -> dict[str, Any]:
    how, value = parameters.get(CUT, ""), parameters.get(THRESHOLD, "")
    if how in (AUTO, OFF):
        return {"search.threshold": "auto" if how == AUTO else None}
    return {"search.threshold": _value(value)} if value else {}


def _build(base: KnowledgeBase, build_hash: str) -> dict[str, Any]:
    """The index part of a build that is complete; a link may name one that is gone."""
    for build in base.documents.builds() if build_hash else []:
        if build.hash == build_hash and not base.documents.missing(build.recipe):
            return {f"index.{key}": value for key, value in build.recipe.model_dump().items()}
    return {}


def names(text: str) -> list[str]:
    """``a, b`` as a list."""
    return [part for each in text.split(",") if (part := each.strip())]


def optional(text: str) -> float | None:
    """A number, or None for ``Off``. Raises ValueError for anything else."""
    return None if text == OFF else float(text)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


_LISTS = ("in_documents", "in_types", "in_tags")
_TEXTS = ("in_pages", "in_after", "in_before", "in_heading")
_READ: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(_LISTS, names),
    **dict.fromkeys(_TEXTS, str),
    "rerank": lambda text: None if text == OFF else text,
    **dict.fromkeys(("copies", "mmr"), lambda text: None if text == OFF else _value(text)),
}
