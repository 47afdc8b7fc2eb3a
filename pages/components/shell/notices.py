"""Messages of callbacks in dialogs and fragments, kept in session state until the next rerun.

Streamlit draws the output of such a callback at the top of the page, which blanks the whole page.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

_WAITING = "notices_waiting"


def later(draw: Callable[[], object]) -> None:
    """Keep something to draw for the next time that ``notices`` is called."""
    st.session_state.setdefault(_WAITING, []).append(draw)


def notices() -> bool:
    """Draw what was kept, once; return whether there was anything."""
    waiting = st.session_state.pop(_WAITING, [])
    for draw in waiting:
        draw()
    return bool(waiting)
