"""A document's text with its passages drawn in alternating tints."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import streamlit as st

from pages.components.shell.text import tinted
from pages.components.shell.wording import shown_context
from rag import Chunk

_TINTS = ("blue-background", "gray-background")
_SHARED = "orange-background"  # text that two neighbours have in common
_PASSAGES_SHOWN = 12
_CHARACTERS_SHOWN = 12_000

Piece = tuple[str, str]


def draw_passages(text: str, chunks: Sequence[Chunk], key: str) -> None:
    """Draw a window of passages with a pager; ``text`` is the whole document."""
    pages = windows(chunks)
    if len(pages) > 1:
        number = st.pagination(len(pages), key=key) or 1
        page = pages[min(number, len(pages)) - 1]
    else:
        page = pages[0] if pages else []
    with st.container(height=560, border=True):
        st.markdown(_body(text, page))


def windows(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Passages in groups that a browser draws at once."""
    groups: list[list[Chunk]] = []
    for chunk in chunks:
        full = not groups or len(groups[-1]) == _PASSAGES_SHOWN
        if full or chunk.end - groups[-1][0].start > _CHARACTERS_SHOWN:
            groups.append([])
        groups[-1].append(chunk)
    return groups


def _body(text: str, chunks: Sequence[Chunk]) -> str:
    parts = []
    for start, end, orders in segments(chunks):
        cut = min(end, start + _CHARACTERS_SHOWN)
        numbers = "".join(_head(chunk) for chunk in chunks if chunk.start == start)
        parts.append(numbers + tinted([(text[start:cut], _tint(orders))]))
        if cut < end:
            parts.append(f"\n\n:gray[… {end - cut:,} more characters of this passage]\n\n")
    return "".join(parts)


def _head(chunk: Chunk) -> str:
    """The number of a passage, and what is indexed with it."""
    number = f":gray-badge[{chunk.order + 1}] "
    if not chunk.context:
        return number
    around = shown_context(chunk.context)
    return f"\n\n{number}:small[:gray[Indexed with: {around}]]\n\n"


def _tint(orders: Sequence[int]) -> str:
    if not orders:
        return ""
    return _SHARED if len(orders) > 1 else _TINTS[orders[0] % len(_TINTS)]


def segments(chunks: Sequence[Chunk]) -> list[tuple[int, int, list[int]]]:
    """(start, end, orders of the passages that hold it), from the first start to the last end."""
    bounds = sorted({edge for chunk in chunks for edge in (chunk.start, chunk.end)})
    return [
        (start, end, [chunk.order for chunk in chunks if chunk.start <= start < chunk.end])
        for start, end in itertools.pairwise(bounds)
    ]
