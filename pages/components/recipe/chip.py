"""The recipe chip of the sidebar: what the working recipe changes; save, reset, export."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.buttons import action_button, download_button
from pages.components.shell.guard import guard
from pages.components.shell.session import allowed, cached_per_run, offered, workspace
from pages.components.shell.text import plain
from rag import EXPORT_TARGETS, KnowledgeBase, Recipe, RecipeExportData


def recipe_chip(base: KnowledgeBase) -> None:
    """The name of the working recipe; a click shows what it changes, and names it."""
    working_recipe.settle(base)
    recipe, changes = working_recipe.working(base), working_recipe.differences(base)
    name = base.runs.recipe_name(recipe)
    # Both in one line of the sidebar: the icon says what it is.
    label = f"{plain(name)} :orange-badge[modified]" if changes else f"Recipe: {plain(name)}"
    with st.popover(label, icon=":material/tune:", type="tertiary", key="frame_recipe"):
        if changes:
            st.markdown("**Changed, not saved**")
            st.markdown("\n".join(_change(name, *pair) for name, pair in changes.items()))
            _conflict(base)
        else:
            st.caption(f"This is the saved recipe of {plain(base.name)}. All pages use it.")
        _chip_buttons(base, changed=bool(changes))
        _name_field(base, recipe, name)
        with st.expander("As JSON", icon=":material/data_object:"):
            # The colours of Streamlit's JSON have less contrast than 4.5:1.
            st.code(_as_json(recipe), language=None, height=240)
        recipe_export(base, recipe)


def _conflict(base: KnowledgeBase) -> None:
    """Ask which value stays of fields that somebody else changed too, and saved."""
    names = sorted(working_recipe.contested(base))
    if not names:
        return
    who = workspace().recipe_saver(base.id) or "Someone"
    st.warning(
        f"{plain(who)} saved other values meanwhile: {plain(', '.join(names))}. *Save* replaces "
        "them with yours; *Take theirs* keeps your other changes.",
        icon=":material/merge_type:",
    )
    take = working_recipe.take_theirs
    action_button("Take theirs", "frame_recipe_theirs", "call_merge", take, base)


_NAMED = "The name of the recipe on all pages. If empty, the name lists its main settings."


def _name_field(base: KnowledgeBase, recipe: Recipe, name: str) -> None:
    # The default, which each run sends: the browser has no field for it before the popover opens.
    # A new name makes a new field, as a default does not change the value of one.
    key = f"frame_recipe_name_{base.id}_{recipe.hash}_{name}"
    st.text_input(
        "Name",
        name,
        key=key,
        max_chars=80,
        on_change=guard(in_dialog=True)(_give_name),
        args=(base, recipe, key),
        **offered(base, "runs.name_recipe", help=_NAMED),
    )


def _give_name(base: KnowledgeBase, recipe: Recipe, key: str) -> None:
    base.runs.name_recipe(recipe, st.session_state[key])
    # An emptied field whose recipe keeps its name is not a new one.
    st.session_state[key] = base.runs.recipe_name(recipe)


def recipe_download(label: str, recipe: Recipe, key: str, **options: Any) -> None:
    """Hand out a recipe as a file."""
    options = {"mime": "application/json", "help": "For the command line: --recipe FILE."} | options
    name = f"recipe-{recipe.hash}.json"
    download_button(label, _as_json(recipe), name, key, "data_object", **options)


def _as_json(recipe: Recipe) -> str:
    return json.dumps(recipe.model_dump(mode="json"), indent=2)


def _change(name: str, saved: object, working: object) -> str:
    return f"- {plain(name)}: {plain(_shown(saved))} → **{plain(_shown(working))}**"


def _shown(value: object) -> str:
    return "off" if value is None else str(value)


def _chip_buttons(base: KnowledgeBase, *, changed: bool) -> None:
    with st.container(horizontal=True, gap="small"):
        hint = "Saves this as the recipe of the knowledge base. Earlier recipes are kept."
        options = offered(base, "recipes.save", disabled=not changed, help=hint)
        drawn = working_recipe.saved(base)
        action_button("Save", "frame_recipe_save", "save", _save, base, drawn, **options)
        options = {"disabled": not changed, "help": "Restores the saved recipe."}
        action_button("Reset", "frame_recipe_reset", "undo", working_recipe.reset, base, **options)


def _save(base: KnowledgeBase, drawn: Recipe) -> None:
    working_recipe.save(base, drawn)
    st.toast("Recipe saved.", icon=":material/check:")


_NAMES = {
    "qdrant": "Qdrant",
    "pgvector": "PostgreSQL with pgvector",
    "elasticsearch": "Elasticsearch",
    "opensearch": "OpenSearch",
    "langchain": "LangChain (Python)",
    "llama_index": "LlamaIndex (Python)",
}


def recipe_export(base: KnowledgeBase, recipe: Recipe) -> None:
    """Draw the choice of an engine; the export is written when the reader opens it."""
    opened = st.expander(
        "For another engine", icon=":material/ios_share:", key="recipe_export", on_change="rerun"
    )
    if opened.open:
        with opened, guard():
            _exported(base, recipe)


def _exported(base: KnowledgeBase, recipe: Recipe) -> None:
    if not allowed(base, "recipes.export"):
        return
    target = st.selectbox(
        "Engine", list(EXPORT_TARGETS), format_func=_NAMES.__getitem__, key="recipe_export_target"
    )
    export = cached_per_run(
        ("recipe export", base.id, recipe.hash, target),
        lambda: base.recipes.export(recipe, target),
    )
    exact, total = export.count("exact"), len(export.fields)
    st.caption(f"{exact} of {total} fields give the same results there. The others:")
    with st.container(height=200):
        st.markdown("\n".join(_inexact(export)))
    download_button("Download", export.text, export.file_name, "recipe_export_file")


def _inexact(export: RecipeExportData) -> list[str]:
    return [
        f"- {plain(field.name)}, {field.fidelity}: {plain(field.reason)}"
        for field in export.fields
        if field.fidelity != "exact"
    ]
