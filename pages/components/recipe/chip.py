"""The recipe chip of the sidebar: what the working recipe changes; save it, or go back."""

from __future__ import annotations

import json

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.guard import guard
from pages.components.shell.text import plain
from rag import KnowledgeBase


def recipe_chip(held: KnowledgeBase) -> None:
    """The name of the working recipe; a click shows what it changes."""
    recipe, changes = working_recipe.working(held), working_recipe.differences(held)
    label = f"Recipe `{recipe.hash[:6]}`" + (" :orange-badge[modified]" if changes else "")
    with st.popover(label, icon=":material/tune:", type="tertiary", key="frame_recipe"):
        if changes:
            st.markdown("**Changed, not saved**")
            st.markdown("\n".join(_change(name, *pair) for name, pair in changes.items()))
        else:
            st.caption(f"The saved recipe of {plain(held.name)}. Every page uses it.")
        _chip_buttons(held, changed=bool(changes))
        with st.expander("As JSON", icon=":material/data_object:"):
            content = json.dumps(recipe.model_dump(mode="json"), indent=2)
            st.code(content, language="json", height=240)


def _change(name: str, saved: object, working: object) -> str:
    return f"- {plain(name)}: {plain(_shown(saved))} → **{plain(_shown(working))}**"


def _shown(value: object) -> str:
    return "off" if value is None else str(value)


def _chip_buttons(held: KnowledgeBase, *, changed: bool) -> None:
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Save",
            key="frame_recipe_save",
            icon=":material/save:",
            disabled=not changed,
            help="Makes this the recipe of the knowledge base; earlier ones are kept.",
            on_click=_save,
            args=(held,),
        )
        st.button(
            "Reset",
            key="frame_recipe_reset",
            icon=":material/undo:",
            disabled=not changed,
            help="Back to the saved recipe.",
            on_click=working_recipe.reset,
            args=(held,),
        )


def _save(held: KnowledgeBase) -> None:
    with guard():
        working_recipe.save(held)
        st.toast("Recipe saved.", icon=":material/check:")
