"""The frame's sidebar: the knowledge base, running jobs, and the recipe chip."""

from __future__ import annotations

import json

import streamlit as st

from pages.components import jobs_view, recipe_state
from pages.components.guard import guard
from pages.components.session import BASE, base, oldest, workspace
from pages.components.text import plain
from pages.components.wording import counted
from rag import BaseInfo, KnowledgeBase, Recipe

_CREATED = "frame_created"  # the base to choose at the next run; a drawn picker cannot be set
_GONE = "frame_gone"  # the base that was asked for and is not here, and the page that said so


def sidebar(page: str) -> None:
    """Draws the sidebar below the navigation, and over the page that a base is gone."""
    with st.sidebar, guard():
        bases = workspace().bases()
        _picker(bases, page)
        jobs_view.running_jobs()
        if bases:
            _recipe_chip(base())
    _gone_note(page)


def choose(name: str) -> None:
    """Makes a knowledge base the chosen one from the next run on."""
    st.session_state[_CREATED] = name


def _picker(bases: list[BaseInfo], page: str) -> None:
    names = [info.name for info in bases]
    _settle_choice(bases, page)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        if names:
            first = names.index(oldest(bases))
            st.selectbox("Knowledge base", names, first, key=BASE, bind="query-params")
        if st.button(
            "",
            key="frame_new",
            icon=":material/add:",
            help="New knowledge base",
            width="content" if names else "stretch",
        ):
            _new_base()
    chosen = next((info for info in bases if info.name == st.session_state.get(BASE)), None)
    if chosen is not None:
        sizes = counted(chosen.documents, "document"), counted(chosen.passages, "passage")
        st.caption(" · ".join(sizes))


def _settle_choice(bases: list[BaseInfo], page: str) -> None:
    """Follows a base that was just made; where the wanted one is not here, takes the oldest."""
    names = [info.name for info in bases]
    created = st.session_state.pop(_CREATED, None)
    chosen = st.session_state.get(BASE)
    wanted = chosen or st.query_params.get(BASE)
    if created in names:
        st.session_state[BASE] = created
    elif wanted and wanted not in names:
        st.session_state[_GONE] = (wanted, page)
        if chosen and names:
            st.session_state[BASE] = oldest(bases)
            st.rerun()  # without the click or the question: it was meant for another base


def _gone_note(page: str) -> None:
    """Stays until another page is opened."""
    name, said = st.session_state.get(_GONE) or ("", "")
    if said != page:
        st.session_state[_GONE] = None
        return
    st.warning(
        f"There is no knowledge base **{plain(name)}** here: it was renamed or deleted, or the "
        "link is from another machine. This page shows another one.",
        icon=":material/database_off:",
    )


@st.dialog("New knowledge base", icon=":material/library_add:")
def _new_base() -> None:
    st.caption("Documents, questions, runs and the recipe are kept apart for each one.")
    with st.form("frame_new_base", border=False):
        name = st.text_input("Name", max_chars=80, placeholder="For example: support articles")
        submitted = st.form_submit_button("Create", type="primary")
    if submitted:
        with guard():
            choose(workspace().create(name).name)
            st.rerun()


def _recipe_chip(held: KnowledgeBase) -> None:
    recipe, changes = recipe_state.working(held), recipe_state.differences(held)
    label = f"Recipe `{recipe.hash[:6]}`" + (" :orange-badge[modified]" if changes else "")
    with st.popover(label, icon=":material/tune:", type="tertiary", key="frame_recipe"):
        if changes:
            st.markdown("**Changed, not saved**")
            st.markdown("\n".join(_change(name, *pair) for name, pair in changes.items()))
        else:
            st.caption(f"The saved recipe of {plain(held.name)}. Every page uses it.")
        _chip_buttons(held, changed=bool(changes))
        with st.expander("As JSON", icon=":material/data_object:"):
            st.code(_as_json(recipe), language="json", height=240)


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
            on_click=recipe_state.reset,
            args=(held,),
        )


def _save(held: KnowledgeBase) -> None:
    with guard():
        recipe_state.save(held)
        st.toast("Recipe saved.", icon=":material/check:")


def _as_json(recipe: Recipe) -> str:
    return json.dumps(recipe.model_dump(mode="json"), indent=2)
