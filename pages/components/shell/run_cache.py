"""What the parts of a page read alike is read once while the page is drawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import streamlit as st

_READ = "once_read"

Value = TypeVar("Value")


@contextmanager
def run_cache() -> Iterator[None]:
    """Inside of it ``once`` reads once. The frame puts it around the drawing of a whole page."""
    st.session_state[_READ] = {}
    try:
        yield
    finally:
        st.session_state.pop(_READ, None)


def cached_per_run(name: Hashable, read: Callable[[], Value]) -> Value:
    """What ``read`` gives, read the first time that a page asks for ``name`` while it is drawn.

    Callbacks, and fragments that are drawn by themselves, read each time: they come after changes.
    """
    known: dict[Hashable, Value] | None = st.session_state.get(_READ)
    if known is None:
        return read()
    if name not in known:
        known[name] = read()
    return known[name]
