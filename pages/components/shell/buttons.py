"""Buttons that several pages have: a download, and the last word of a dialog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.components.shell.guard import guard


def download_button(
    label: str,
    data: str | Callable[[], str | bytes],
    file_name: str,
    key: str,
    icon: str = "download",
    **options: Any,
) -> None:
    """Hands out a file, made when it is asked for where ``data`` is a function."""
    st.download_button(
        label,
        data=data,
        file_name=file_name,
        key=key,
        icon=f":material/{icon}:",
        on_click="ignore",
        **options,
    )


def confirm_button(label: str, key: str, act: Callable[..., object], *given: Any) -> None:
    """The primary button of a dialog: calls ``act`` and closes; what goes wrong shows after it."""
    act = guard(in_dialog=True)(act)
    if st.button(label, key=key, type="primary", on_click=act, args=given):
        st.rerun()
