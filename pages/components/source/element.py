"""The element that shows a document: text, headings, code and tables, scrolled to a mark.

An element of its own, because a native container cannot be scrolled to a place in it. The text
enters the page as text nodes, never as HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

KINDS = ("passage", "quote")

Piece = tuple[str, str]
"""Words, and their classes parted by blanks: a mark of ``KINDS``, styles; "" for plain words."""

Cell = list[Piece]

Block = dict[str, Any]

_NARROW = 14  # characters: no column gets narrower than that, unless its cells are shorter

_SCRIPT = """
const drawn = (tag, kind, words) => {
  const node = document.createElement(tag);
  node.className = kind;
  if (words !== undefined) node.textContent = words;
  return node;
};
const piece = ([words, kind]) =>
  drawn(/\\b(passage|quote)\\b/.test(kind) ? "mark" : "span", kind, words);
const pieces = (block) => block.pieces.map(piece);
const titled = (block) =>
  (block.head.at(-1) ?? []).map((cell) => cell.map(([words]) => words).join(""));
const row = (block, cells, tag, kind) => {
  const line = drawn("tr", kind), labels = tag === "td" ? titled(block) : [];
  line.setAttribute("role", "row");
  line.append(...cells.map((words, column) => {
    const numbered = block.numbered && column === 0;
    const cell = drawn(numbered ? "th" : tag, numbered ? "number" : "");
    cell.setAttribute("role", tag === "th" ? "columnheader" : numbered ? "rowheader" : "cell");
    cell.style.minWidth = `${block.widths[column] ?? 0}ch`;
    if (labels[column]) cell.dataset.label = labels[column];
    cell.append(...words.filter(([shown]) => shown).map(piece));
    return cell;
  }));
  if (/\\b(passage|quote)\\b/.test(kind)) line.setAttribute("aria-current", "true");
  return line;
};
const draw = {
  text: (block) => pieces(block),
  code: (block) => {
    const code = drawn("pre", "block");
    code.append(...pieces(block));
    return [code];
  },
  heading: (block) => {
    const title = drawn("div", `heading level${block.level}`);
    title.setAttribute("role", "heading");
    title.setAttribute("aria-level", block.level);
    title.append(...pieces(block));
    return [title];
  },
  table: (block) => {
    const head = drawn("thead", ""), body = drawn("tbody", ""), table = drawn("table", "");
    head.append(...block.head.map((cells) => row(block, cells, "th", "")));
    body.append(...block.rows.map(([cells, kind]) => row(block, cells, "td", kind)));
    for (const part of [head, body]) part.setAttribute("role", "rowgroup");
    table.setAttribute("role", "table");
    table.append(head, body);
    const wide = drawn("div", "wide");
    wide.append(table);
    return [wide];
  },
};
// Tables that are too wide show each row as a list of its cells, which keep their roles.
const fit = (box) => {
  const tables = [...box.querySelectorAll(".wide")];
  tables.forEach((wide) => wide.classList.remove("stacked"));
  const wider = tables.filter((wide) => wide.scrollWidth > wide.clientWidth + 1);
  wider.forEach((wide) => wide.classList.add("stacked"));
};
const refit = (box) => {
  box.resizes?.disconnect();
  let width = box.clientWidth;
  fit(box);
  box.resizes = new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    fit(box);
  });
  box.resizes.observe(box);
};
export default function ({ parentElement, data }) {
  const box = parentElement.querySelector(".text");
  box.style.height = `${data.height}px`;
  if (box.shown === data.shown) return;
  box.shown = data.shown;
  box.replaceChildren(...data.blocks.flatMap((block) => draw[block.kind](block)));
  refit(box);
  const mark = box.querySelector(".quote") ?? box.querySelector(".passage");
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
mark { color: inherit; background: none; }
mark.passage, tr.passage { background: color-mix(in srgb, #1689c9 24%, transparent); }
mark.quote, tr.quote { background: color-mix(in srgb, #f2b705 42%, transparent); }
mark.quote { text-decoration: underline; text-underline-offset: 0.2em; }
tr.quote > :first-child { box-shadow: inset 3px 0 0 currentColor; }
.heading { font-weight: 600; font-size: 1.05em; margin: 0.8rem 0 0.2rem; }
.heading.level1 { font-size: 1.3em; }
.heading.level2 { font-size: 1.15em; }
.strong { font-weight: 600; }
.emphasis { font-style: italic; }
.code, .block { font-family: var(--st-code-font); font-size: 0.9em; }
.block {
  margin: 0.4rem 0; padding: 0.4rem 0.6rem; white-space: pre-wrap;
  border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius);
}
.address { font-size: 0.85em; }
.address::before { content: " ("; }
.address::after { content: ")"; }
.wide { overflow-x: auto; margin: 0.4rem 0; }
table { border-collapse: collapse; line-height: 1.4; min-width: 100%; }
th, td {
  border: 1px solid var(--st-border-color); padding: 0.2rem 0.5rem;
  text-align: left; vertical-align: top; box-sizing: content-box;
}
th.number { font-weight: 400; white-space: nowrap; opacity: 0.75; }
tr.passage .number, tr.quote .number { opacity: 1; font-weight: 600; }
.stacked table, .stacked tbody, .stacked tr, .stacked td, .stacked tbody th { display: block; }
.stacked thead {
  position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden;
}
.stacked tr {
  border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius);
  padding: 0.3rem 0.6rem; margin-bottom: 0.4rem;
}
.stacked tr.quote { box-shadow: inset 3px 0 0 currentColor; }
.stacked tr.quote > :first-child { box-shadow: none; }
.stacked td, .stacked th { border: 0; padding: 0.05rem 0; min-width: 0 !important; }
.stacked td:empty { display: none; }
.stacked td[data-label]::before { content: attr(data-label) ": "; font-weight: 600; }
"""
_HTML = '<div class="text" role="region" tabindex="0" aria-label="Text of the document"></div>'

_element = st.components.v2.component("source_text", html=_HTML, css=_STYLE, js=_SCRIPT)


def draw_blocks(drawn: Sequence[Block], shown: str, height: int) -> None:
    """Draw blocks; those of another ``shown`` scroll to their first mark.

    A ``heading`` has ``level`` and ``pieces``; ``text`` and ``code`` have ``pieces``; a ``table``
    is what ``table_block`` makes.
    """
    data = {"blocks": list(drawn), "shown": shown, "height": height}
    _element(data=data, key="source_text")


def table_block(
    head: list[list[Cell]], rows: list[tuple[list[Cell], str]], *, numbered: bool = False
) -> Block:
    """A table: ``rows`` are pairs of cells and the mark that the row has, "" for none.

    ``numbered``: the first column numbers the rows. Cells wrap, but no column gets so narrow that
    its words would stand letter by letter: where they do not fit, each row is a list of its cells.
    """
    widths = list[int]()
    for cells in [*head, *(cells for cells, _ in rows)]:
        widths += [0] * (len(cells) - len(widths))
        for column, cell in enumerate(cells):
            widths[column] = max(widths[column], sum(len(words) for words, _ in cell))
    narrow = [min(width, _NARROW) for width in widths]
    return {"kind": "table", "head": head, "rows": rows, "widths": narrow, "numbered": numbered}
