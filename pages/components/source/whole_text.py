"""The text of a document with a passage marked and in view.

An element of its own, because a native container cannot be scrolled to a place in it. The text
enters the page as text nodes, never as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from rag import Document

MOST = 120_000  # characters sent to the browser; of longer documents a window around the passage
KINDS = ("passage", "quote")
_WRAPPED = re.compile(r"(?<=[^\n]{55})\n(?=[^\n])")  # ends a full line, not a paragraph
_SCRIPT = """
export default function ({ parentElement, data }) {
  const box = parentElement.querySelector(".text");
  box.style.height = `${data.height}px`;
  if (box.shown === data.shown) return;
  box.shown = data.shown;
  box.replaceChildren(...data.pieces.map(([words, kind]) => {
    const piece = document.createElement(kind ? "mark" : "span");
    piece.className = kind;
    piece.textContent = words;
    return piece;
  }));
  const mark = box.querySelector("mark");
  requestAnimationFrame(() => {
    if (mark) box.scrollTop = Math.max(mark.offsetTop - box.clientHeight / 5, 0);
  });
}
"""
_STYLE = """
.text {
  position: relative; overflow-y: auto; box-sizing: border-box; padding: 0.8rem 1rem;
  white-space: pre-wrap; tab-size: 6; overflow-wrap: anywhere; line-height: 1.6;
  font-family: var(--st-font);
  color: var(--st-text-color); border: 1px solid var(--st-border-color);
  border-radius: var(--st-base-radius);
}
mark { color: inherit; background: color-mix(in srgb, #1689c9 24%, transparent); }
mark.quote {
  background: color-mix(in srgb, #f2b705 42%, transparent);
  text-decoration: underline; text-underline-offset: 0.2em;
}
"""
_HTML = '<div class="text" role="region" tabindex="0" aria-label="Text of the document"></div>'

_element = st.components.v2.component("source_text", html=_HTML, css=_STYLE, js=_SCRIPT)


def whole_text(document: Document, marks: Sequence[tuple[int, int]], height: int) -> None:
    """Draws a document's text, scrolled to its first mark; the second one is marked within it."""
    first, last = window(len(document.text), marks[0])
    cut = pieces(document.text, marks, first, last)
    _element(
        data={"pieces": cut, "shown": f"{document.id}:{marks}", "height": height},
        key="source_text",
    )
    if last - first < len(document.text):
        st.caption(
            f"Characters {first + 1:,} to {last:,} of {len(document.text):,}. "
            "The steps above go on from passage to passage."
        )


def window(length: int, mark: tuple[int, int]) -> tuple[int, int]:
    """The part of a text of some length that is shown around a mark: all of it where it fits."""
    first = min(max(mark[0] - MOST // 2, 0), max(length - MOST, 0))
    return first, min(max(first + MOST, mark[1]), length)


def pieces(
    text: str, marks: Sequence[tuple[int, int]], first: int, last: int
) -> list[tuple[str, str]]:
    """``text[first:last]`` cut at its marks, each piece with its kind, "" for what is unmarked.

    Lines that end because the paper did are joined.
    """
    shown = _WRAPPED.sub(" ", text[first:last])  # as long as before
    passage, quote = marks[0], marks[1] if len(marks) > 1 else (marks[0][1],) * 2
    edges = [0, *(edge - first for edge in (passage[0], *quote, passage[1])), last - first]
    kinds = ("", KINDS[0], KINDS[1], KINDS[0], "")
    cut = zip(edges[:-1], edges[1:], kinds, strict=True)
    return [(shown[start:end], kind) for start, end, kind in cut if end > start]
