"""Past interactions and their effect on answers."""

from __future__ import annotations

import streamlit as st

from pages.components.memory.benefit import benefit
from pages.components.memory.interactions import interactions
from pages.components.recipe import working_recipe
from rag import KnowledgeBase, counted

SEARCH = "about"  # the URL's parameter
PAGE = 20
_MORE = "memory_more"


def memory(base: KnowledgeBase) -> None:
    """Draw the past interactions, a search for them, and what the recipe makes of them."""
    total = base.memory.count()
    if not total:
        st.markdown(
            "This tab lists every question with its answer. A language model can get the most "
            "similar ones as examples. You have not asked anything yet."
        )
        st.page_link("chat.py", label="Ask something", icon=":material/forum:")
        return
    _use(base)
    text = st.text_input(
        "Search by meaning",
        key=SEARCH,
        bind="query-params",
        placeholder="A question, or what it was about",
        icon=":material/search:",
    )
    if text.strip():
        interactions(base, base.memory.search(text, working_recipe.working(base), limit=PAGE))
        return
    most = st.session_state.get(_MORE, PAGE)
    st.caption(f"{counted(total, 'interaction')}, the newest first")
    interactions(base, base.memory.every(limit=most))
    if total > most and st.button(
        "Show more", key="memory_show_more", icon=":material/expand_more:"
    ):
        st.session_state[_MORE] = most + PAGE
        st.rerun()


def _use(base: KnowledgeBase) -> None:
    """Whether the recipe uses any of it, and where that is changed."""
    recipe = working_recipe.working(base)
    answer = recipe.answer
    if not answer.memory:
        note = (
            "The recipe gives none of these to the model. Set *Past interactions as examples* "
            "under *Answers* in the recipe panel of Chat."
        )
    else:
        note = (
            f"The recipe gives the model up to {counted(answer.memory, 'interaction')} that "
            "have an answer, are similar enough, and whose sources are unchanged."
        )
    st.caption(f":material/psychology: {note}")
    benefit(base, recipe)
