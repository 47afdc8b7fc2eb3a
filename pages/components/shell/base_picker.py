"""The knowledge base that this visitor looks at: picked in the sidebar, made, or gone."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.shell.buttons import filled_button
from pages.components.shell.cookies import base_cookie, last_base
from pages.components.shell.guard import guard
from pages.components.shell.permission import refusal
from pages.components.shell.session import (
    BASE,
    KEPT,
    QUESTION,
    base,
    bases,
    oldest,
    shared_cache,
    workspace,
)
from pages.components.shell.text import plain
from rag import BaseInfo, KnowledgeBase, counted

_CREATED = "frame_created"  # the base to choose at the next run; a drawn picker cannot be set
# Streamlit leaves its sidebar open over a narrow page, whatever is chosen or loaded there, and does
# not run again for another theme, whose colours charts and styles have from the server. A run that
# is under way ends first: it may be an answer, which another run would stop.
_FRAME = """
export default function ({ data, parentElement, setTriggerValue }) {
  const app = document.querySelector("[data-testid=stApp]");
  const scheme = () => getComputedStyle(app).colorScheme;
  parentElement.drawn ??= scheme();
  parentElement.watcher?.disconnect();
  parentElement.watcher = new MutationObserver(() => {
    if (scheme() === parentElement.drawn || app.dataset.testScriptState === "running") return;
    parentElement.drawn = scheme();
    setTriggerValue("theme", parentElement.drawn);
  });
  const attributeFilter = ["class", "data-test-script-state"];
  parentElement.watcher.observe(app, { attributeFilter });
  const before = document.body.dataset.place;
  document.body.dataset.place = data.place;
  if (data.cookie) document.cookie = data.cookie;
  const open = "[data-testid=stSidebarCollapseButton] button[aria-expanded=true]";
  if (before !== data.place && window.innerWidth < 768) document.querySelector(open)?.click();
  return () => parentElement.watcher.disconnect();
}
"""
_place = st.components.v2.component("sidebar_place", html="<span></span>", js=_FRAME)
_GONE = "frame_gone"  # the base that was asked for and is not here, and the page that said so


def choose(name: str) -> None:
    """Make a knowledge base the chosen one from the next run on."""
    st.session_state[_CREATED] = name


def base_picker(bases: list[BaseInfo], page: str) -> None:
    """The picker with the size of what is picked, and the way to a new knowledge base."""
    names = [info.name for info in bases]
    _settle_choice(bases, page)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        if names:
            first = names.index(oldest(bases).name)
            st.selectbox("Knowledge base", names, first, key=BASE, bind="query-params")
        if workspace().principal.link is None:
            new_base_button("frame_new", "New", width="content" if names else "stretch")
    chosen = next((info for info in bases if info.name == st.session_state.get(BASE)), None)
    if chosen is not None:
        chosen_base = base()
        out = 0 if refusal(chosen_base, "documents.documents") else _left_out(chosen_base)
        documents = counted(chosen.documents, "document") + (f" ({out:,} left out)" if out else "")
        st.caption(f"{documents} · {counted(chosen.passages, 'passage')}")


@shared_cache(64)
def _left_out(chosen: KnowledgeBase) -> int:
    """Count the documents that are left out of search."""
    return sum(info.left_out for info in chosen.documents.documents(chosen.recipe().index))


def close_sidebar(page: str) -> None:
    """Close the sidebar of a narrow window once a page is loaded or something else is chosen.

    Run the page again once another theme is chosen. Keep the knowledge base in a cookie, unless it
    is the one that a plain address shows anyway.
    """
    name, known = st.session_state.get(BASE, ""), bases()
    kept = "" if not known or name == oldest(known).name else name
    cookie = base_cookie(kept) if workspace().principal.link is None else ""
    data = {"place": f"{page} {name}", "cookie": cookie}
    _place(data=data, key="frame_place", height="content", on_theme_change=_redraw)


def _redraw() -> None:
    """Nothing: the run that follows has the colours of the theme."""


def new_base_button(key: str, label: str = "New knowledge base", **options: Any) -> None:
    """Open the dialog that makes a knowledge base."""
    explained = "Each knowledge base has its own documents, questions, runs and recipe."
    if st.button(label, key=key, icon=":material/add:", help=explained, **options):
        _new_base()


def _settle_choice(bases: list[BaseInfo], page: str) -> None:
    """Follow a base that was just made; where the wanted one is not here, take the oldest."""
    names = [info.name for info in bases]
    created = st.session_state.pop(_CREATED, None)
    chosen = st.session_state.get(BASE)
    requested = chosen or st.query_params.get(BASE)
    if created in names:
        st.session_state[BASE] = created
    elif requested and requested not in names:
        if chosen or requested != last_base(st.context.cookies):  # nobody asked for the last one
            st.session_state[_GONE] = (requested, page)
        if chosen and names:
            st.session_state[BASE] = oldest(bases).name
            st.session_state[KEPT] = st.session_state.get(QUESTION)
            st.rerun()  # without the click or the question: it was meant for another base


def gone_note(page: str) -> None:
    """Say that the wanted knowledge base is gone, until another page is opened."""
    name, page_of_note = st.session_state.get(_GONE) or ("", "")
    if page_of_note != page:
        st.session_state[_GONE] = None
        return
    st.warning(
        f"There is no knowledge base **{plain(name)}** here: it was renamed or deleted, or the "
        "link is from another machine. This page shows another one.",
        icon=":material/database_off:",
    )


@st.dialog("New knowledge base", icon=":material/library_add:")
def _new_base() -> None:
    st.caption("Each knowledge base has its own documents, questions, runs and recipe.")
    with st.form("frame_new_base", border=False):
        name = st.text_input("Name", max_chars=80, placeholder="For example: support articles")
        submitted = filled_button("Create", draw=st.form_submit_button)
    if submitted:
        with guard():
            choose(workspace().create(name).name)
            st.switch_page("documents.py", query_params={})
