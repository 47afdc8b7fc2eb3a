"""Tables in which rows are picked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

import streamlit as st

PINNED_WIDTH = 220  # a phone shows more beside it; Streamlit pins no more than 60% of the width
TEXT_WIDTH = 300  # of a first column of sentences, which a phone shows as a whole
LARGE_WIDTH = 400  # what Streamlit calls large
_CHARACTER = 7  # pixels
_WRAPPING = 66  # pixels of a row with three lines; Streamlit wraps text in rows of more than 64
_LINE = 20  # pixels of a further one
_MOST_LINES = 6


def row_height(texts: Iterable[str], width: int) -> int | None:
    """Return the height of rows in which ``texts`` wrap; None if they fit a column of ``width``."""
    longest = max((len(text) for text in texts), default=0)
    lines = min(ceil(longest * _CHARACTER / width), _MOST_LINES)
    return _WRAPPING + max(lines - 3, 0) * _LINE if lines > 1 else None


def pick_rows(
    rows: Sequence[Mapping[str, object]],
    key: str,
    first: Sequence[int],
    mode: str = "multi-row",
    on_select: Any = "rerun",
    **options: Any,
) -> list[int]:
    """Draw a table that comes up with the rows ``first`` picked; return the picked ones."""
    # With another default it would be another table, and what was picked gone. A table that the
    # last run did not draw is another one anyway: it comes up as it did before, or with ``first``.
    if key not in st.session_state and first:
        st.session_state[f"{key}_default"] = first
    default = st.session_state.setdefault(f"{key}_default", first)
    event = st.dataframe(
        rows,
        key=key,
        hide_index=True,
        on_select=on_select,
        selection_mode=(mode, "single-cell"),
        selection_default={"selection": {"rows": default}},
        placeholder="–",
        **options,
    )
    return picked_rows(event)


def picked_rows(event: Any) -> list[int]:
    """The rows of a table's state that are ticked, or that were clicked anywhere."""
    return event.selection.rows or [row for row, _ in event.selection.cells]
