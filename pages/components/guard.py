"""The only place that shows errors: what happened, why, and what to do; never a traceback."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.components.text import plain
from rag import TouchstoneError

log = logging.getLogger(__name__)


@contextmanager
def guard() -> Iterator[None]:
    """Shows whatever goes wrong inside; what follows the ``with`` block still runs."""
    try:
        yield
    except TouchstoneError as error:
        show_error(error.message, error.hint)
    except Exception:
        identity = uuid.uuid4().hex[:8]
        log.exception("Unexpected error, id %s.", identity)
        show_error(f"Something unexpected happened, id {identity}.", "The log has the details.")


def show_error(message: str, hint: str = "") -> None:
    """An error as the reader meets it: what happened and why, and what to do about it."""
    body = plain(message) if not hint else f"**{plain(message)}**  \n{plain(hint)}"
    st.error(body, icon=":material/error:")
