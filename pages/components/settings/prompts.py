"""The wording of prompts of the knowledge base that is open: shown, changed, reset."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import action_button, filled_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from pages.components.shell.session import base as chosen_base
from pages.components.shell.text import plain
from pages.components.shell.wording import ago
from rag import PROMPTS, KnowledgeBase, counted


def prompts_view() -> None:
    """One prompt at a time, with its versions and what was changed."""
    base = chosen_base()
    st.caption(
        f"The prompts for answers in {plain(base.name)}. Touchstone replaces the names in "
        "braces for each question. An answer keeps the version of the prompt that it was "
        "made with."
    )
    name = st.selectbox("Prompt", list(PROMPTS), format_func=_title, key="prompt_name")
    wording, versions = base.prompts.wording(), base.prompts.versions(name)
    key = f"prompt_text_{base.id}_{name}_{len(versions)}"
    text, persistence = (
        wording.text(name),
        "session",
    )  # a look at another prompt or page drops nothing
    st.text_area("Text", text, key=key, height=320, max_chars=20_000, persist_state=persistence)
    with st.container(horizontal=True, vertical_alignment="center"):
        if filled_button("Save the prompt", **offered(base, "prompts.save", key="prompt_save")):
            _save(base, name, key)
        if name in wording.edited:
            reset, options = base.prompts.reset, offered(base, "prompts.reset")
            action_button("Reset", "prompt_reset", "restart_alt", reset, name, **options)
        st.caption(f"In use: {plain(wording.version(name))}")
    if name in wording.edited:
        st.code(base.prompts.changes(name), language="diff", wrap_lines=True)
    if versions:
        with st.expander(counted(len(versions), "earlier change"), icon=":material/history:"):
            for at, version in enumerate(versions):
                size = "reset" if not version.text else f"{len(version.text):,} characters"
                st.caption(f"{ago(version.created)}: {size}")
                if version.text and at:
                    label, bring = "Bring back", f"prompt_back_{name}_{len(versions) - at}"
                    save, options = base.prompts.save, offered(base, "prompts.save")
                    action_button(label, bring, "undo", save, name, version.text, **options)


@guard()
def _save(base: KnowledgeBase, name: str, key: str) -> None:
    base.prompts.save(name, st.session_state[key])
    st.rerun()


def _title(name: str) -> str:
    return f"{PROMPTS[name].title} ({name})"
