"""Candidates of many questions, found by a thread while the page is there already."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import streamlit as st

from pages.components.shell.job_progress import POLL_SECONDS
from rag import Recipe, Tuner

AT_ONCE = 500
"""Questions whose candidates are found before the page is drawn: it takes about a second."""

_lock = threading.Lock()
_under_way: WeakKeyDictionary[Tuner, Fetch] = WeakKeyDictionary()


class Missing(NamedTuple):
    """Recipes whose candidates a tuner has not found yet."""

    tuner: Tuner
    recipes: Sequence[Recipe]


class Fetch:
    """The search for candidates that are missing; ``done`` of ``total`` questions so far."""

    def __init__(self, missing: Missing) -> None:
        self.done, self.total = 0, missing.tuner.questions
        self.error: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, args=missing, name="candidates", daemon=True
        )
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Return when it has ended."""
        self._thread.join()

    def _run(self, tuner: Tuner, recipes: Sequence[Recipe]) -> None:
        try:
            for recipe in recipes:
                tuner.fetch(recipe, self._tell)
        except Exception as error:  # the page raises it: here nobody would see it
            self.error = error

    def _tell(self, done: int, total: int) -> None:
        self.done, self.total = done, total


def fetch(missing: Missing) -> Fetch:
    """The search for what is missing, begun unless the tuner is at one; raises what ended it.

    All visitors of a question set follow the same one.
    """
    with _lock:
        current = _under_way.pop(missing.tuner, None)
        if current is not None and current.error is not None:
            raise current.error
        if current is None or not current.active:
            current = Fetch(missing)
        _under_way[missing.tuner] = current
        return current


def follow(missing: Missing) -> None:
    """Draw how far the search is, and the whole page again when it has ended."""
    _follow(fetch(missing))


@st.fragment(run_every=POLL_SECONDS)
def _follow(current: Fetch) -> None:
    if not current.active:
        st.rerun()
    share = current.done / max(current.total, 1)
    st.progress(share, f"Finding candidates, once: {current.done:,} of {current.total:,}")
