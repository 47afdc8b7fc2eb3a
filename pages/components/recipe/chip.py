"""The recipe chip of the sidebar: what the working recipe changes; save it, or go back; a file."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.buttons import action_button, download_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from pages.components.shell.session import show, workspace
from pages.components.shell.text import plain
from rag import KnowledgeBase, Recipe


def recipe_chip(held: KnowledgeBase) -> None:
    """The name of the working recipe; a click shows what it changes, and names it."""
    working_recipe.settle(held)
    recipe, changes = working_recipe.working(held), working_recipe.differences(held)
    name = held.recipe_names.of(recipe)
    label = f"Recipe: {plain(name)}" + (" :orange-badge[modified]" if changes else "")
    with st.popover(label, icon=":material/tune:", type="tertiary", key="frame_recipe"):
        if changes:
            st.markdown("**Changed, not saved**")
            st.markdown("\n".join(_change(name, *pair) for name, pair in changes.items()))
            _conflict(held)
        else:
            st.caption(f"The saved recipe of {plain(held.name)}. Every page uses it.")
        _chip_buttons(held, changed=bool(changes))
        _name_field(held, recipe, name)
        with st.expander("As JSON", icon=":material/data_object:"):
            st.code(_as_json(recipe), language="json", height=240)


def _conflict(held: KnowledgeBase) -> None:
    """Asks which value stays of fields that somebody else changed too, and saved."""
    names = sorted(working_recipe.contested(held))
    if not names:
        return
    who = workspace().recipe_saver(held.id) or "Someone"
    st.warning(
        f"{plain(who)} saved other values meanwhile: {plain(', '.join(names))}. *Save* replaces "
        "them with yours; *Take theirs* keeps your other changes.",
        icon=":material/merge_type:",
    )
    take = working_recipe.take_theirs
    action_button("Take theirs", "frame_recipe_theirs", "call_merge", take, held)


_NAMED = "What the recipe is called on all pages. Empty: what is particular about it."


def _name_field(held: KnowledgeBase, recipe: Recipe, name: str) -> None:
    key = f"frame_recipe_name_{held.id}_{recipe.hash}"
    show(key, name)
    st.text_input(
        "Name",
        key=key,
        max_chars=80,
        on_change=guard(in_dialog=True)(_give_name),
        args=(held, recipe, key),
        **offered(held, "recipe_names.give", help=_NAMED),
    )


def _give_name(held: KnowledgeBase, recipe: Recipe, key: str) -> None:
    held.recipe_names.give(recipe, st.session_state[key])


def recipe_download(label: str, recipe: Recipe, key: str, **options: Any) -> None:
    """Hands out a recipe as a file."""
    options = {"mime": "application/json", "help": "For the command line: --recipe FILE."} | options
    name = f"recipe-{recipe.hash}.json"
    download_button(label, _as_json(recipe), name, key, "data_object", **options)


def _as_json(recipe: Recipe) -> str:
    return json.dumps(recipe.model_dump(mode="json"), indent=2)


def _change(name: str, saved: object, working: object) -> str:
    return f"- {plain(name)}: {plain(_shown(saved))} → **{plain(_shown(working))}**"


def _shown(value: object) -> str:
    return "off" if value is None else str(value)


def _chip_buttons(held: KnowledgeBase, *, changed: bool) -> None:
    with st.container(horizontal=True, gap="small"):
        kept = "Makes this the recipe of the knowledge base; earlier ones are kept."
        options = offered(held, "save_recipe", disabled=not changed, help=kept)
        drawn = working_recipe.saved(held)
        action_button("Save", "frame_recipe_save", "save", _save, held, drawn, **options)
        options = {"disabled": not changed, "help": "Back to the saved recipe."}
        action_button("Reset", "frame_recipe_reset", "undo", working_recipe.reset, held, **options)


def _save(held: KnowledgeBase, drawn: Recipe) -> None:
    working_recipe.save(held, drawn)
    st.toast("Recipe saved.", icon=":material/check:")
