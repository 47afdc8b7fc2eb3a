"""A passage in its document: what stands before it and after it, with the passage marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.components.text import plain, tinted
from rag import Chunk, Document, KnowledgeBase, Recipe

BEFORE, AFTER = 320, 1600  # characters of the document shown on either side of the passage
WALK = "walk"  # the URL's parameter: how many passages on from the one that was opened
PASSAGE, QUOTE = "blue-background", "yellow-background"
_WRAPPED = re.compile(r"(?<=[^\n]{55})\n(?=[^\n])")  # ends a full line, not a paragraph


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look: a span of a document, and the words in it that matter most."""

    document_id: str
    start: int
    end: int
    quote: str = ""


def source_view(base: KnowledgeBase, recipe: Recipe, place: Place, height: int = 520) -> None:
    """Draws the document around a place, with buttons to the passages before and after it."""
    document = base.library.document(place.document_id)
    chunks = base.library.chunks(place.document_id, recipe.index)
    at = _order(chunks, place)
    walked = _walked()
    now = min(max(at + walked, 0), len(chunks) - 1) if at is not None else None
    seen = place
    if now is not None and walked:
        seen = Place(place.document_id, chunks[now].start, chunks[now].end)
    _header(document, seen, chunks, now, at)
    with st.container(height=height, border=True):
        st.markdown(around(document.text, seen))


def forget_walk() -> None:
    """Back to the passage itself; call it when another one is opened."""
    st.query_params.pop(WALK, None)


def _walked() -> int:
    try:
        return int(st.query_params.get(WALK, "0"))
    except ValueError:
        return 0


def _order(chunks: Sequence[Chunk], place: Place) -> int | None:
    """The passage of this build that holds the middle of the place, if any does."""
    middle = (place.start + place.end) // 2
    for order, chunk in enumerate(chunks):
        if chunk.start <= middle < max(chunk.end, chunk.start + 1):
            return order
    return None


def _header(
    document: Document, place: Place, chunks: Sequence[Chunk], now: int | None, at: int | None
) -> None:
    page, heading = document.page_at(place.start), document.heading_at(place.start)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        where = f" · page {page}" if page is not None else ""
        st.markdown(f"**{plain(document.name)}**{where}")
        if now is not None and at is not None:
            _step("Previous passage", ":material/arrow_upward:", now - 1, at, len(chunks))
            _step("Next passage", ":material/arrow_downward:", now + 1, at, len(chunks))
    count = f"passage {now + 1} of {len(chunks)}" if now is not None else ""
    st.caption(" · ".join(part for part in (plain(heading), count) if part))


def _step(label: str, icon: str, target: int, at: int, count: int) -> None:
    st.button(
        "",
        icon=icon,
        help=label,
        key=f"source_{label}",
        type="tertiary",
        disabled=not 0 <= target < count,
        on_click=_walk,
        args=(target - at,),
    )


def _walk(steps: int) -> None:
    if steps:
        st.query_params[WALK] = str(steps)
    else:
        forget_walk()


def around(text: str, place: Place) -> str:
    """Markdown of the text around a place: the passage tinted, its quote in another tint."""
    first, last = _from(text, place.start), _to(text, place.end)
    at = text.find(place.quote, place.start, place.end) if place.quote else -1
    quote = (at, at + len(place.quote)) if at >= 0 else (place.end, place.end)
    shown = _WRAPPED.sub(" ", text[first:last])
    cuts = [0, *(edge - first for edge in (place.start, *quote, place.end)), last - first]
    tints = ("", PASSAGE, QUOTE, PASSAGE, "")
    pieces = [
        (shown[start:end], tint)
        for start, end, tint in zip(cuts[:-1], cuts[1:], tints, strict=True)
    ]
    before, after = "… " if first else "", " …" if last < len(text) else ""
    return tinted([(before, ""), *pieces, (after, "")])


def _from(text: str, start: int) -> int:
    first = max(start - BEFORE, 0)
    blank = text.find("\n", first, start)
    return first if not first or blank < 0 else blank + 1


def _to(text: str, end: int) -> int:
    last = min(end + AFTER, len(text))
    blank = text.rfind("\n", end, last)
    return last if last == len(text) or blank < 0 else blank
