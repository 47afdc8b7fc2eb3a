"""Buttons and dialogs that several pages have: what acts, what chooses, what downloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec

import streamlit as st

from pages.components.shell.guard import guard, notices


def filled_button(label: str, *, draw: Callable[..., bool] = st.button, **options: Any) -> bool:
    """The one primary button of a page or dialog; returns whether it was pressed."""
    return draw(label, type="primary", **options)


def action_button(
    label: str, key: str, icon: str, act: Callable[..., object], *arguments: Any, **options: Any
) -> None:
    """Call ``act`` with what is given; what goes wrong is said on the page."""
    sign = f":material/{icon}:" if icon else None
    options = {"key": key, "icon": sign, "on_click": guard()(act), "args": arguments} | options
    if options.get("type") == "primary":
        del options["type"]
        filled_button(label, **options)
    else:
        st.button(label, **options)


def switch(label: str, choices: Sequence[str], key: str, **options: Any) -> str:
    """One of a few choices, at first the first; ``key`` is the URL's parameter as well."""
    options = {"default": choices[0], "required": True, "bind": "query-params"} | options
    return str(st.segmented_control(label, choices, key=key, **options))


def tabs(views: Mapping[str, Callable[[], object]], key: str) -> None:
    """Draw tabs by their labels, and of the views the open one; ``key`` is the URL's parameter."""
    drawn = st.tabs(list(views), key=key, on_change="rerun", bind="query-params")
    for tab, view in zip(drawn, views.values(), strict=True):
        if tab.open:
            with tab, guard():
                view()


def download_button(
    label: str,
    data: str | Callable[[], str | bytes],
    file_name: str,
    key: str,
    icon: str = "download",
    **options: Any,
) -> None:
    """Hand out a file, made when it is asked for where ``data`` is a function."""
    st.download_button(
        label,
        data=data,
        file_name=file_name,
        key=key,
        icon=f":material/{icon}:",
        on_click="ignore",
        **options,
    )


_OPEN = "dialog_open"
Arguments = ParamSpec("Arguments")


def dialog(
    title: str, **options: Any
) -> Callable[[Callable[Arguments, None]], Callable[Arguments, None]]:
    """``st.dialog``, which ``redraw`` leaves open. Its dismissal draws the page again."""

    def decorated(draw: Callable[Arguments, None]) -> Callable[Arguments, None]:
        drawn = st.dialog(title, on_dismiss="rerun", **options)(draw)

        @wraps(draw)
        def opened(*args: Arguments.args, **named: Arguments.kwargs) -> None:
            st.session_state[_OPEN] = True
            drawn(*args, **named)

        return opened

    return decorated


def no_dialog() -> None:
    """Note that a run of the whole page has begun, which closes the dialog that was open."""
    st.session_state[_OPEN] = False


def redraw() -> None:
    """Draw the whole page again because work ended, once no dialog is open.

    That run would close a dialog, with what was typed or chosen in it. Call this from a fragment
    that draws itself again.
    """
    if not st.session_state.get(_OPEN):
        st.rerun()


def confirm_button(
    label: str,
    key: str,
    act: Callable[..., object],
    *arguments: Any,
    draw: Callable[..., bool] = st.button,
) -> None:
    """The primary button of a dialog: calls ``act`` and closes the dialog.

    What goes wrong is said in the dialog, which stays open with all that was typed.
    """
    done = f"{key}_done"
    pressed = filled_button(
        label, draw=draw, key=key, on_click=_attempt, args=(done, act, *arguments)
    )
    if pressed and st.session_state.pop(done, False):
        st.rerun()
    if pressed:
        notices()


def _attempt(done: str, act: Callable[..., object], *arguments: Any) -> None:
    """Call ``act`` and note whether it went well, for the drawing of the dialog."""
    st.session_state[done] = False
    with guard(in_dialog=True):
        act(*arguments)
        st.session_state[done] = True
