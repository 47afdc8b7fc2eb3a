"""The only place that shows errors: what happened, why, and what to do; never a traceback.

Streamlit draws the output of a callback in a dialog or fragment at the top of the page, which
blanks the whole page: such messages wait for the next run.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import streamlit as st

from pages.components.shell.text import plain
from rag import TouchstoneError

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


log = logging.getLogger(__name__)


@contextmanager
def guard(*, in_dialog: bool = False) -> Iterator[None]:
    """Show whatever goes wrong inside; what follows the ``with`` block still runs.

    ``in_dialog`` is for callbacks of widgets in dialogs and fragments, which must not draw: the
    error waits for the next drawing of the page.
    """
    try:
        yield
        return
    except TouchstoneError as error:
        problem = error.message, error.hint
    except Exception:
        identity = uuid.uuid4().hex[:8]
        log.exception("Unexpected error, id %s.", identity)
        problem = f"Something unexpected happened, id {identity}.", "The log has the details."
    if in_dialog:
        later(partial(show_error, *problem))
    else:
        show_error(*problem)


def show_error(message: str, hint: str = "") -> None:
    """An error as the reader meets it: what happened and why, and what to do about it."""
    first, *listed = message.strip().splitlines()
    body = plain(first) if not hint else f"**{plain(first)}**  \n{plain(hint)}"
    for line in listed:
        body += f"\n- {plain(line.removeprefix('- '))}"
    st.error(body, icon=":material/error:")
