"""The address at which each page was left, for the Back button of the browser."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import Page
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.components.shell.session import BASE

_PAGE, _ADDRESSES = "left_page", "left_addresses"


def restore_address(page: Page) -> None:
    """Return to the address at which a page was left, if the browser's Back reached it bare.

    When a visitor leaves a page, Streamlit takes the parameters of its widgets out of the address
    before the next page has its own. The history then has an entry of the page without them.
    """
    before, st.session_state[_PAGE] = st.session_state.get(_PAGE), page.url_path
    context = get_script_run_ctx()
    back = context is not None and context.is_history_navigation and before != page.url_path
    left = st.session_state.get(_ADDRESSES, {}).get(_key(page))
    if back and left and not st.query_params.keys() - {BASE}:
        for name in left.keys() & st.session_state.keys() - {"q"}:
            del st.session_state[name]  # the widget takes its value from the address
        base = st.query_params.get_all(BASE)
        st.switch_page(page, query_params=left | ({BASE: base} if base else {}))


def note_address(page: Page) -> None:
    """Note the address of a page that is drawn."""
    names = {name: st.query_params.get_all(name) for name in st.query_params if name != BASE}
    st.session_state.setdefault(_ADDRESSES, {})[_key(page)] = names


def _key(page: Page) -> tuple[str, str]:
    return page.url_path, st.query_params.get(BASE, "")
