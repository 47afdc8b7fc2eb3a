"""The text of a document with a passage marked and in view; its tables and headings as such.

An element of its own, because a native container cannot be scrolled to a place in it. The text
enters the page as text nodes, never as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import streamlit as st

from pages.components.source.table import marked_lines
from rag import Document

MOST = 120_000  # characters sent to the browser; of longer documents a window around the passage
KINDS = ("passage", "quote")
# Ends a full line, not a paragraph, nor an entry of a list.
_WRAPPED = re.compile(r"(?<=[^\n]{55})\n(?=[^\n])(?!\d{1,3}[.)]\s|[-*•]\s)")

Block = dict[str, Any]

_SCRIPT = """
const drawn = (tag, kind, words) => {
  const node = document.createElement(tag);
  node.className = kind;
  if (words !== undefined) node.textContent = words;
  return node;
};
const pieces = (block) =>
  block.pieces.map(([words, kind]) => drawn(kind ? "mark" : "span", kind, words));
const row = (cells, tag, kind) => {
  const line = drawn("tr", kind);
  line.append(...cells.map((words) => drawn(tag, "", words)));
  return line;
};
const draw = {
  text: (block) => pieces(block),
  heading: (block) => {
    const title = drawn("div", `heading level${block.level}`);
    title.setAttribute("role", "heading");
    title.setAttribute("aria-level", block.level);
    title.append(...pieces(block));
    return [title];
  },
  table: (block) => {
    const head = drawn("thead", ""), body = drawn("tbody", ""), table = drawn("table", "");
    head.append(...block.head.map((cells) => row(cells, "th", "")));
    body.append(...block.rows.map(([cells, kind]) => row(cells, "td", kind)));
    table.append(head, body);
    const wide = drawn("div", "wide");
    wide.append(table);
    return [wide];
  },
};
export default function ({ parentElement, data }) {
  const box = parentElement.querySelector(".text");
  box.style.height = `${data.height}px`;
  if (box.shown === data.shown) return;
  box.shown = data.shown;
  box.replaceChildren(...data.blocks.flatMap((block) => draw[block.kind](block)));
  const mark = box.querySelector(".passage, .quote");
  requestAnimationFrame(() => {
    if (!mark) return;
    const below = mark.getBoundingClientRect().top - box.getBoundingClientRect().top;
    box.scrollTop = Math.max(box.scrollTop + below - box.clientHeight / 5, 0);
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
mark { color: inherit; }
mark.passage, tr.passage { background: color-mix(in srgb, #1689c9 24%, transparent); }
mark.quote, tr.quote {
  background: color-mix(in srgb, #f2b705 42%, transparent);
  text-decoration: underline; text-underline-offset: 0.2em;
}
.heading { font-weight: 600; font-size: 1.05em; margin: 0.8rem 0 0.2rem; }
.heading.level1 { font-size: 1.3em; }
.heading.level2 { font-size: 1.15em; }
.wide { overflow-x: auto; margin: 0.4rem 0; }
table { border-collapse: collapse; line-height: 1.4; overflow-wrap: normal; }
th, td {
  border: 1px solid var(--st-border-color); padding: 0.2rem 0.5rem;
  text-align: left; vertical-align: top;
}
"""
_HTML = '<div class="text" role="region" tabindex="0" aria-label="Text of the document"></div>'

_element = st.components.v2.component("source_text", html=_HTML, css=_STYLE, js=_SCRIPT)


def whole_text(document: Document, marks: Sequence[tuple[int, int]], height: int) -> None:
    """Draws a document's text, scrolled to its first mark; the second one is marked within it."""
    first, last = window(len(document.text), marks[0])
    drawn = blocks(document, marks, first, last)
    _element(
        data={"blocks": drawn, "shown": f"{document.id}:{marks}", "height": height},
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


def blocks(
    document: Document, marks: Sequence[tuple[int, int]], first: int, last: int
) -> list[Block]:
    """``text[first:last]`` as blocks to draw, in order.

    A ``heading`` has ``level`` and ``pieces``, without the signs that Markdown makes it by; a
    ``table`` has ``head``, rows of cells, and ``rows``, pairs of cells and the kind of mark that
    the row has; ``text`` has ``pieces``.
    """
    drawn, at = list[Block](), first
    for start, end, block in sorted(
        [*_headings(document, marks, first, last), *_tables(document, marks, first, last)],
        key=itemgetter(0),
    ):
        if start >= at:
            drawn += [*_text(document.text, marks, at, start), block]
            at = end
    return [*drawn, *_text(document.text, marks, at, last)]


def _text(text: str, marks: Sequence[tuple[int, int]], first: int, last: int) -> Iterator[Block]:
    """The text between two blocks, without the blank lines around it."""
    between = text[first:last].strip("\n")
    if between:
        low = text.index(between, first)
        yield {"kind": "text", "pieces": pieces(text, marks, low, low + len(between))}


def _headings(
    document: Document, marks: Sequence[tuple[int, int]], first: int, last: int
) -> Iterator[tuple[int, int, Block]]:
    """Headings that are lines of the text: where each begins and ends, and its block."""
    text = document.text
    for heading in document.headings:
        end = _line_end(text, heading.start)
        title = _title(text[heading.start : end])
        underline = text[end + 1 : _line_end(text, end + 1)].strip()
        low = text.index(title, heading.start)
        if first <= heading.start and end <= last and title:
            words = pieces(text, marks, low, low + len(title))
            if underline and set(underline) in ({"="}, {"-"}):
                end = _line_end(text, end + 1)
            yield heading.start, end, {"kind": "heading", "level": heading.level, "pieces": words}


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _title(line: str) -> str:
    """A heading's words without the number signs that Markdown puts around them."""
    words = line.strip()
    if not words.startswith("#"):
        return words
    words = words.lstrip("#")
    closed = words.rstrip("#")
    return (closed if closed.endswith((" ", "\t")) else words).strip()


def _tables(
    document: Document, marks: Sequence[tuple[int, int]], first: int, last: int
) -> Iterator[tuple[int, int, Block]]:
    """Tables: where each begins and ends, and its block. One that a window cuts is left as text."""
    for table in document.tables:
        if first <= table.start and table.end <= last:
            lines = document.text[table.start : table.end].split("\n")
            above = table.header_rows(lines)
            head = [line.split("\t") for line in lines[:above]]
            if not head and any(table.labels):
                head = [list(table.labels)]
            kinds = dict[int, str]()
            for kind, (start, end) in zip(KINDS, marks, strict=False):
                if start < table.end and end > table.start:
                    touched = marked_lines(lines, (start - table.start, end - table.start))
                    kinds |= dict.fromkeys(touched, kind)
            rows = [(line.split("\t"), kinds.get(row, "")) for row, line in enumerate(lines)]
            block: Block = {"kind": "table", "head": head, "rows": rows[above:]}
            yield table.start, table.end, block


def pieces(
    text: str, marks: Sequence[tuple[int, int]], first: int, last: int
) -> list[tuple[str, str]]:
    """``text[first:last]`` cut at its marks, each piece with its kind, "" for what is unmarked.

    Lines that end because the paper did are joined.
    """
    one_line = _WRAPPED.sub(" ", text[first:last])  # as long as before
    passage, quote = marks[0], marks[1] if len(marks) > 1 else (marks[0][1],) * 2
    inner = (min(max(edge, first), last) for edge in (passage[0], *quote, passage[1]))
    edges = [0, *(edge - first for edge in inner), last - first]
    kinds = ("", KINDS[0], KINDS[1], KINDS[0], "")
    cut = zip(edges[:-1], edges[1:], kinds, strict=True)
    return [(one_line[start:end], kind) for start, end, kind in cut if end > start]
