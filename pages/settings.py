"""The Settings page: models, tools, members, data locations and caches."""

from __future__ import annotations

import streamlit as st

from pages.components.recipe.local_models import local_servers_view
from pages.components.runs.next_step import page_title
from pages.components.settings.account import account_view, people_view
from pages.components.settings.audit import audit_log
from pages.components.settings.data_locations import shown_database, size
from pages.components.settings.members import links_view, members_view
from pages.components.settings.prompts import prompts_view
from pages.components.settings.providers import providers_view
from pages.components.settings.tokens import tokens_view
from pages.components.settings.tools import tools_view
from pages.components.shell.buttons import tabs
from pages.components.shell.guard import guard
from pages.components.shell.session import base, bases, workspace
from pages.components.shell.text import plain
from rag import VERSION, Settings, counted, percent


def _storage(settings: Settings) -> None:
    st.header("Data locations", divider="gray")
    with st.grid(2, min_column_width=320):
        home, database = plain(str(settings.home)), plain(shown_database(settings.database_url))
        _tile("Home", home, f"{size(settings.home)} · `TOUCHSTONE_HOME`")
        _tile("Database", database, "`TOUCHSTONE_DATABASE_URL`")
        _tile("Largest file", f"{settings.max_upload_mb:,} MB", "`TOUCHSTONE_MAX_UPLOAD_MB`")
        private = "can be fetched" if settings.allow_private_urls else "are never fetched"
        _tile("Private network addresses", private, "`TOUCHSTONE_ALLOW_PRIVATE_URLS`")


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


def settings() -> None:
    """Draw the settings that the visitor may see, section by section."""
    principal = workspace().principal
    with guard():
        st.header("Models", divider="gray")
        st.caption(
            "Search and quotes work on this machine without a key. Set up a provider "
            "to use a language model."
        )
        local_servers_view()
        providers_view()
    if principal.administrator:
        with guard():
            st.header("HTTP tools", divider="gray")
            tools_view()
    if bases():
        with guard():
            st.header("Prompts", divider="gray")
            prompts_view()
        if not principal.local:
            with guard():
                st.header("Members", divider="gray")
                members_view()
        if workspace().role_in(base().id) == "owner":
            with guard():
                st.header("Sharing by link", divider="gray")
                links_view()
    with guard():
        st.header("Tokens", divider="gray")
        tokens_view()
    if not principal.local:
        with guard():
            st.header("Your account", divider="gray")
            account_view()
    if principal.administrator:
        if not principal.local:
            with guard():
                st.header("People", divider="gray")
                people_view()
        with guard():
            _storage(workspace().settings)
        with guard():
            _caches()


with guard():
    page_title("Settings", "settings")
    st.caption(f"Touchstone {VERSION}")
with guard():
    if workspace().principal.local:
        settings()
    else:  # alone on this machine, nothing is logged
        tabs({"Settings": settings, "Audit log": audit_log}, "settings")
