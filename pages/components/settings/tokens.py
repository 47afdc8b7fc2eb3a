"""Tokens of the API: make one, see it once, revoke it."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import confirm_button, filled_button
from pages.components.shell.guard import guard
from pages.components.shell.session import draft_key, draft_stored, workspace
from pages.components.shell.text import plain
from rag import SCOPES, TokenRow

_SHOWN = "tokens_shown"  # the token that was just made, until the next run
_LIVES = {"30 days": 30, "90 days": 90, "1 year": 365, "for ever": None}


def tokens_view() -> None:
    """All tokens that let somebody in, and a form for a new one."""
    st.caption(
        "Programs use the API with a token. The page shows it only once, because the server "
        "stores only a digest."
    )
    valid_tokens = [row for row in workspace().tokens.list_all() if row.valid]
    for row in valid_tokens:
        _row(row)
    if not valid_tokens:
        st.markdown("No tokens yet.")
    if secret := st.session_state.pop(_SHOWN, ""):
        st.success("Copy the token now.", icon=":material/key:")
        st.code(secret, language=None, wrap_lines=True)
    _new()


def _row(row: TokenRow) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
        until = f"until {row.expires:%Y-%m-%d}" if row.expires else "for ever"
        used = f"used {row.used:%Y-%m-%d}" if row.used else "never used"
        scopes = plain(", ".join(row.scopes))
        st.markdown(f"**{plain(row.name)}** :gray[{scopes} · {until} · {used}]", width="stretch")
        if st.button("Revoke", key=f"tokens_revoke_{row.id}", icon=":material/delete:"):
            _confirm(row)


def _new() -> None:
    with st.form("tokens_form"):
        key = draft_key("tokens", "tokens_name")
        name = st.text_input("Name", key=key, placeholder="What is it for?")
        st.caption("What it allows")
        with st.container(gap="xsmall"):
            scopes = [scope for scope in SCOPES if _allows(scope)]
        life = st.selectbox("Valid", list(_LIVES), index=1, key="tokens_life")
        submitted = filled_button("Make a token", draw=st.form_submit_button)
    if submitted:
        with guard():
            secret, _ = workspace().tokens.create(name, scopes, _LIVES[life])
            st.session_state[_SHOWN] = secret
            draft_stored("tokens")
            st.rerun()


def _allows(scope: str) -> bool:
    key = draft_key("tokens", f"tokens_scope_{scope}")
    return st.checkbox(f"**{scope}**: {SCOPES[scope]}", scope == "read", key=key)


@st.dialog("Revoke this token?", icon=":material/delete:")
def _confirm(row: TokenRow) -> None:
    st.markdown(f"Programs with the token **{plain(row.name)}** lose access at once.")
    confirm_button("Revoke", "tokens_revoke_really", workspace().tokens.revoke, row.id)
