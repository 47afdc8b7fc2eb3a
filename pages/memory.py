"""The Memory page: past interactions and their effect on answers."""

from __future__ import annotations

import streamlit as st

from pages.components.memory.benefit import benefit
from pages.components.memory.interactions import interactions
from pages.components.recipe import working_recipe
from pages.components.shell.guard import guard
from pages.components.shell.session import base as chosen_base
from rag import KnowledgeBase, counted

SEARCH = "about"  # the URL's parameter
PAGE = 20
_MORE = "memory_more"


def main() -> None:
    """The page."""
    base = chosen_base()
    st.title("Memory")
    total = base.memory.count()
    if not total:
        st.markdown(
            "Every question that was asked is remembered here with what became of it. A language "
            "model can be shown the most similar ones as examples. Nothing was asked yet."
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
    if answer.provider == "extractive":
        note = (
            "Answers are quotes, made without a language model: memory cannot change them. Choose "
            "a provider under Answers, beside the chat, to use it."
        )
    elif not answer.memory:
        note = (
            "The recipe shows none of these to the model. Set *Past interactions as examples* "
            "under Answers, beside the chat."
        )
    else:
        note = (
            f"The recipe shows the model up to {counted(answer.memory, 'interaction')} that "
            "were answered, are similar enough, and whose sources are unchanged."
        )
    st.caption(f":material/psychology: {note}")
    benefit(base, recipe)


with guard():
    main()
