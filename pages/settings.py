"""The Settings page: models, tools, members, data locations and caches."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.components.recipe.local_models import local_servers_view
from pages.components.runs.next_step import page_title
from pages.components.settings.audit import audit_log
from pages.components.settings.members import (
    account_view,
    links_view,
    members_view,
    people_view,
    tokens_view,
)
from pages.components.settings.providers import prompts_view, providers_view, state_view
from pages.components.settings.tools import tools_view
from pages.components.shell.buttons import tabs
from pages.components.shell.guard import guard
from pages.components.shell.session import bases, chosen_base, workspace
from pages.components.shell.text import plain, shown_database, size
from rag import VERSION, counted, percent


def _storage() -> None:
    """Draw where data is kept, and what the caches save."""
    settings = workspace().settings
    with st.grid(2, min_column_width=320):
        home, database = plain(str(settings.home)), plain(shown_database(settings.database_url))
        _tile("Home", home, f"{size(settings.home)} · `TOUCHSTONE_HOME`")
        _tile("Database", database, "`TOUCHSTONE_DATABASE_URL`")
        _tile("Largest file", f"{settings.max_upload_mb:,} MB", "`TOUCHSTONE_MAX_UPLOAD_MB`")
        private = "can be fetched" if settings.allow_private_urls else "are never fetched"
        _tile("Private network addresses", private, "`TOUCHSTONE_ALLOW_PRIVATE_URLS`")
    with guard():
        _caches()


def _caches() -> None:
    """Draw the hit rates of the caches since the server started."""
    st.header("Caches", divider="gray")
    st.caption("Repeated questions are answered from the cache until the documents change.")
    with st.grid(2, min_column_width=320):
        for cache in workspace().caches():
            lookups = cache.hits + cache.misses
            rate = (
                f"{percent(cache.rate)} of {lookups:,} from the cache"
                if lookups
                else ("no lookups yet")
            )
            _tile(
                cache.name,
                rate,
                f"{counted(cache.entries, 'cached value')}, kept for up to an hour",
            )


def _tile(label: str, value: str, note: str) -> None:
    with st.container(border=True, gap="xsmall", height="stretch"):
        st.caption(label)
        st.markdown(f"**{value}**")
        st.caption(note)


def _models() -> None:
    with guard():
        state_view()
    local_servers_view()
    providers_view()
    if workspace().principal.administrator:
        with guard():
            st.header("HTTP tools", divider="gray")
            tools_view()


def _access() -> None:
    """Draw members, links, tokens and people, as far as the visitor may see them."""
    principal = workspace().principal
    sections: dict[str, Callable[[], None]] = {}
    if bases():
        if not principal.local:
            sections["Members"] = members_view
        if workspace().role_in(chosen_base().id) == "owner":
            sections["Sharing by link"] = links_view
    sections["Tokens"] = tokens_view
    if not principal.local:
        sections["Your account"] = account_view
        if principal.administrator:
            sections["People"] = people_view
    for title, view in sections.items():
        with guard():
            st.header(title, divider="gray")
            view()


def settings() -> None:
    """Draw the tabs that the visitor may see."""
    principal = workspace().principal
    views: dict[str, Callable[[], None]] = {"Models": _models}
    if bases():
        views["Prompts"] = prompts_view
    views["Access"] = _access
    if principal.administrator:
        views["Storage"] = _storage
    if not principal.local:  # alone on this machine, nothing is logged
        views["Audit log"] = audit_log
    tabs(views, "settings")
    st.caption(f"Touchstone {VERSION}")


with guard():
    page_title("Settings", "settings")
with guard():
    settings()
