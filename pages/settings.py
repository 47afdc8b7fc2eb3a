"""Which models answer, and where is the data kept?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.components.settings.data_locations import shown_database, size
from pages.components.settings.providers import providers_view
from pages.components.settings.tools import tools_view
from pages.components.shell.base_picker import choose
from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.session import base as chosen_base
from pages.components.shell.session import oldest, workspace
from pages.components.shell.text import plain
from pages.components.shell.wording import counted
from rag import KnowledgeBase, Settings


def _storage(settings: Settings) -> None:
    st.subheader("Where the data is kept", divider="gray")
    with st.grid(2, min_column_width=320):
        home, database = plain(str(settings.home)), plain(shown_database(settings.database_url))
        _tile("Home", home, f"{size(settings.home)} · `TOUCHSTONE_HOME`")
        _tile("Database", database, "`TOUCHSTONE_DATABASE_URL`")
        _tile("Largest file", f"{settings.max_upload_mb:,} MB", "`TOUCHSTONE_MAX_UPLOAD_MB`")
        private = "may be fetched" if settings.allow_private_urls else "are never fetched"
        _tile("Addresses in the private network", private, "`TOUCHSTONE_ALLOW_PRIVATE_URLS`")


def _caches() -> None:
    """How often a question or a search was known already, since the server started."""
    st.subheader("Remembered", divider="gray")
    st.caption("What is asked again is answered from memory, until the documents change.")
    with st.grid(2, min_column_width=320):
        for cache in workspace().caches():
            asked = cache.hits + cache.misses
            rate = f"{cache.rate:.0%} of {asked:,} from memory" if asked else "nobody asked yet"
            _tile(cache.name, rate, f"{cache.held:,} held, each for an hour at most")


def _tile(label: str, value: str, note: str) -> None:
    with st.container(border=True, gap="xsmall", height="stretch"):
        st.caption(label)
        st.markdown(f"**{value}**")
        st.caption(note)


def _knowledge_base(base: KnowledgeBase) -> None:
    st.subheader("Knowledge base", divider="gray")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(base.name)}** {_held(base)}", width="stretch")
        with st.popover("Rename", icon=":material/edit:", key="settings_rename"):
            name = st.text_input("New name", base.name, key="settings_name", max_chars=80)
            useless = name.strip() in ("", base.name)
            rename = partial(_rename, base.name, name)
            action_button("Rename", "settings_rename_really", "", rename, disabled=useless)
        if st.button("Delete", key="settings_delete", icon=":material/delete:"):
            _confirm_delete(base)


def _held(base: KnowledgeBase) -> str:
    held = (
        counted(len(base.documents.documents(base.recipe().index)), "document"),
        counted(len(base.documents.builds()), "build"),
        counted(len(base.questions.every()), "question set"),
        counted(len(base.runs.every()), "run"),
    )
    return ":gray[" + " · ".join(held) + "]"


@st.dialog("Delete this knowledge base?", icon=":material/delete:")
def _confirm_delete(base: KnowledgeBase) -> None:
    if not any(info.name == base.name for info in workspace().bases()):
        st.rerun()  # deleted: by the button below, or in another tab
    st.markdown(
        f"**{plain(base.name)}** goes with everything in it, for good: {_held(base)}, all labels "
        "and conversations."
    )
    typed = st.text_input(f"Type {plain(base.name)} to confirm", key="settings_delete_name")
    st.button(
        "Delete for good",
        key="settings_delete_really",
        type="primary",
        disabled=typed.strip() != base.name,
        on_click=_delete,
        args=(base.name,),
    )


def _rename(name: str, new: str) -> None:
    workspace().rename(name, new)
    choose(new.strip())


def _delete(name: str) -> None:
    with guard(in_dialog=True):
        workspace().delete(name)
        left = workspace().bases()
        if left:
            choose(oldest(left))


st.title("Settings")
with guard():
    st.subheader("Models", divider="gray")
    st.caption("Nothing needs to be set: search and quotes work on this machine without a key.")
    providers_view()
with guard():
    st.subheader("HTTP tools", divider="gray")
    tools_view()
with guard():
    _storage(workspace().settings)
with guard():
    _caches()
with guard():
    _knowledge_base(chosen_base())
