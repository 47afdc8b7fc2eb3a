"""A cache that lasts for one rerun of a page and is shared by the parts of the page."""

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
    """Return the value of ``read``, which is called once per rerun of the page for each ``name``.

    Callbacks and fragment reruns call ``read`` each time, because they follow changes.
    """
    cache: dict[Hashable, Value] | None = st.session_state.get(_READ)
    if cache is None:
        return read()
    if name not in cache:
        cache[name] = read()
    return cache[name]
