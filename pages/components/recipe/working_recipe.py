"""The working recipe: one for each knowledge base in a session, the same on every page.

It starts as the saved recipe with what the URL says otherwise. Widgets change it through
``change``; ``reset`` and ``save`` end the difference from the saved one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st

from rag import AnswerRecipe, InvalidRecipe, KnowledgeBase, Recipe, SearchRecipe

STATE = "recipe_working"
_PAGE, _FRESH, _UNFOLDED = "recipe_page", "recipe_fresh", "recipe_unfolded"
CUT, THRESHOLD, BUILD = "cut", "threshold", "build"
AUTO, SET, OFF = "Auto", "Set", "Off"
UNTIL_SAVED = "Every page works with it until it is saved or reset in the sidebar."

# The URL's parameter, which is also the key of its widget, and the recipe field behind it.
PARAMETERS: Mapping[str, str] = {
    "mode": "search.mode",
    "k": "search.top_k",
    "by": "search.relevance",
    "codes": "search.exact_codes",
    "refuse": "search.refuse",
    "languages": "search.other_languages",
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
    "tools": "search.tools",
    "show": "search.context",
    "around": "search.neighbours",
    "join": "search.merge",
    "order": "search.order",
    "provider": "answer.provider",
    "model": "answer.model",
    "draws_on": "answer.mode",
    "tool_calls": "answer.tool_calls",
    "may_call": "answer.tools",
    "temperature": "answer.temperature",
    "length": "answer.max_tokens",
    "context": "answer.context_tokens",
    "memory": "answer.memory",
}

# The JSON schema of each of these fields.
FIELDS: Mapping[str, Mapping[str, Any]] = {
    f"{part}.{name}": schema
    for part, model in (("search", SearchRecipe), ("answer", AnswerRecipe))
    for name, schema in model.model_json_schema()["properties"].items()
}


@dataclass(frozen=True, slots=True)
class _Held:
    """A working recipe, and the saved one that it started from."""

    saved: Recipe
    working: Recipe


def settle(base: KnowledgeBase) -> None:
    """Reads the saved recipe, once in each run: others may have saved another one meanwhile."""
    stored, held = base.recipe(), _all().get(base.id)
    if held is None:
        _hold(base, stored, _with_url(base, stored))
    elif held.saved != stored:  # where nothing of ours is lost, theirs is taken
        _hold(base, stored, stored if held.working == held.saved else held.working)


def working(base: KnowledgeBase) -> Recipe:
    """The recipe that this visitor works with now."""
    return _settled(base).working


def saved(base: KnowledgeBase) -> Recipe:
    """The recipe of the knowledge base, as it was when this run of the page began."""
    return _settled(base).saved


def change(base: KnowledgeBase, changes: Mapping[str, Any]) -> Recipe:
    """Changes fields by dotted name. Raises InvalidRecipe and changes nothing then."""
    return replace(base, working(base).with_fields(changes))


def replace(base: KnowledgeBase, recipe: Recipe) -> Recipe:
    """Makes ``recipe`` the working one."""
    return _hold(base, saved(base), recipe)


def reset(base: KnowledgeBase) -> None:
    """Back to the saved recipe."""
    replace(base, saved(base))


def save(base: KnowledgeBase) -> None:
    """Makes the working recipe the saved one."""
    recipe = working(base)
    base.save_recipe(recipe)
    _hold(base, recipe, recipe)


def differences(base: KnowledgeBase) -> dict[str, tuple[Any, Any]]:
    """Fields in which the working recipe differs, by dotted name: (saved, working)."""
    held = _settled(base)
    return held.saved.differences(held.working)


def enter(page: str) -> None:
    """Notes which page runs. The frame calls it before each one."""
    if st.session_state.get(_PAGE) != page:
        st.session_state[_PAGE] = page
        st.session_state[_FRESH] = True
        st.session_state[_UNFOLDED] = set()


def fresh() -> bool:
    """Whether the widgets of the recipe are about to be drawn first on a page."""
    return bool(st.session_state.get(_FRESH, True))


def drawn() -> None:
    """Notes that the widgets of the recipe stand on this page."""
    st.session_state[_FRESH] = False


def needed(base: KnowledgeBase, part: Collection[str], *, opened: bool) -> bool:
    """Whether the widgets of some parameters have to be drawn: a part that nobody opened is left
    out, as it would be most of what drawing a page costs.

    Only its widget keeps a parameter in the address, so where one of them is not the saved one, or
    the address has it, they are drawn; and once they were, until another page is opened.
    """
    unfolded: set[str] = st.session_state.setdefault(_UNFOLDED, set())
    changed = differences(base)
    if opened or any(key in st.query_params or PARAMETERS[key] in changed for key in part):
        unfolded.update(part)
    return not unfolded.isdisjoint(part)


def _settled(base: KnowledgeBase) -> _Held:
    if base.id not in _all():
        settle(base)
    return _all()[base.id]


def _all() -> dict[int, _Held]:
    held: dict[int, _Held] = st.session_state.setdefault(STATE, {})
    return held


def _hold(base: KnowledgeBase, saved: Recipe, recipe: Recipe) -> Recipe:
    _all()[base.id] = _Held(saved, recipe)
    return recipe


def _with_url(base: KnowledgeBase, recipe: Recipe) -> Recipe:
    """``recipe`` with the URL's parameters; what does not make sense is left out."""
    for field, value in _from_url(base).items():
        with suppress(InvalidRecipe):
            recipe = recipe.with_fields({field: value})
    return recipe


def _from_url(base: KnowledgeBase) -> dict[str, Any]:
    changes = {
        field: _read(field, texts)
        for name, field in PARAMETERS.items()
        if any(texts := st.query_params.get_all(name))
    }
    return changes | _threshold() | _build(base, st.query_params.get(BUILD, ""))


def _read(field: str, texts: Sequence[str]) -> Any:
    """A field's value as the URL has it; only a list may stand there more than once."""
    schema, text = FIELDS[field], texts[-1]
    match schema.get("type"):
        case "array":
            return [name for part in texts for name in names(part)]
        case "string":
            return text.lower() if "enum" in schema else text
    return None if text == OFF else read_value(text)


def _threshold() -> dict[str, Any]:
    how, value = st.query_params.get(CUT, ""), st.query_params.get(THRESHOLD, "")
    if how in (AUTO, OFF):
        return {"search.threshold": "auto" if how == AUTO else None}
    return {"search.threshold": read_value(value)} if value else {}


def _build(base: KnowledgeBase, build_hash: str) -> dict[str, Any]:
    """The index part of a build that is complete; a link may name one that is gone."""
    for build in base.documents.builds() if build_hash else []:
        if build.hash == build_hash and not base.documents.missing(build.recipe):
            return {f"index.{key}": value for key, value in build.recipe.model_dump().items()}
    return {}


def names(text: str) -> list[str]:
    """``a, b`` as a list."""
    return [name for part in text.split(",") if (name := part.strip())]


def read_values(text: str) -> list[Any]:
    """Values as people write them: ``0.4, 0.6``, ``weighted, rrf``, ``null``."""
    return [read_value(name) for name in names(text)]


def read_value(text: str) -> Any:
    """A recipe field's value as people write it: JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
