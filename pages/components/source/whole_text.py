"""The text of a document, or the rows of its table, with a passage marked and in view."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter

import streamlit as st

from pages.components.source.element import KINDS, Block, Cell, Piece, draw_blocks, table_block
from rag import Document, Table, fenced_code, styled_words, without_attributes

SHOWN = 60  # rows at a time
MARK = "▶"
_TABLES = {
    "text/csv",
    "text/tab-separated-values",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.oasis.opendocument.spreadsheet",
}


def is_table(document: Document) -> bool:
    """Whether a document is a table, or a workbook of them."""
    return document.media_type in _TABLES and bool(document.tables)


def table_rows(document: Document, marks: Sequence[tuple[int, int]], height: int) -> None:
    """Draw the rows around a passage, with a pager to all others of its table.

    ``marks`` has the spans of the passage and, where there are any, of the words quoted from it.
    """
    passage = marks[0]
    table = _table(document, passage[0])
    lines = document.text[table.start : table.end].split("\n")
    names = names_of(table, lines)
    above = table.header_rows(lines)
    kinds = row_kinds(lines, table.start, marks)
    kinds = {index - above: kind for index, kind in kinds.items() if index >= above}
    lines = lines[above:]
    parts = -(-len(lines) // SHOWN)
    first = 0
    if parts > 1:
        key = f"source_rows_{document.id[:8]}_{passage[0]}"
        home = min(kinds, default=0) // SHOWN + 1
        first = SHOWN * (st.pagination(parts, default=home, max_visible_pages=5, key=key) - 1)
    visible = lines[first : first + SHOWN]
    rows = [
        (
            _numbered_row(first + index, line, len(names), first + index in kinds),
            kinds.get(first + index, ""),
        )
        for index, line in enumerate(visible)
    ]
    head = [[("", "")], *([(name, "")] for name in names)]
    drawn = table_block([head], rows, numbered=True)
    draw_blocks([drawn], f"{document.id}:{marks}:{first}", height)
    st.caption(
        f"Rows {first + 1:,} to {first + len(visible):,} of {len(lines):,}; "
        f"{MARK} marks the passage."
    )


def _table(document: Document, offset: int) -> Table:
    """The table that holds an offset, else the next one below it, else the last."""
    below = (table for table in document.tables if table.end > offset)
    return next(below, document.tables[-1])


def marked_lines(lines: Sequence[str], passage: tuple[int, int]) -> list[int]:
    """Indices of the lines that a span (offsets into the joined lines) touches."""
    starts = [0, *accumulate(len(line) + 1 for line in lines)][:-1]
    first = max(bisect.bisect_right(starts, max(passage[0], 0)) - 1, 0)
    last = bisect.bisect_left(starts, passage[1])
    return list(range(first, max(last, first)))


def row_kinds(lines: Sequence[str], start: int, marks: Sequence[tuple[int, int]]) -> dict[int, str]:
    """The marks of the lines of a table that begins at ``start``, by their index."""
    end = start + sum(len(line) + 1 for line in lines) - 1
    kinds = dict[int, str]()
    for number, mark in enumerate(marks):
        if mark[0] < end and mark[1] > start:
            touched = marked_lines(lines, (mark[0] - start, mark[1] - start))
            kinds |= dict.fromkeys(touched, KINDS[min(number, 1)])
    return kinds


def names_of(table: Table, lines: Sequence[str]) -> list[str]:
    """A name for each column: its label, or its number where it has none of its own."""
    width = max((line.count("\t") + 1 for line in lines), default=1)
    names = list[str]()
    for number in range(max(width, len(table.labels))):
        label = table.labels[number] if number < len(table.labels) else ""
        names.append(label if label and label not in names else str(number + 1))
    return names


def _numbered_row(index: int, line: str, width: int, marked: bool) -> list[Cell]:
    """The cells of a row after its number, as many as the table has columns."""
    number = f"{MARK} {index + 1}" if marked else str(index + 1)
    cells = line.split("\t")
    return [[(words, "")] for words in (number, *cells, *[""] * (width - len(cells)))]


MOST = 120_000  # characters sent to the browser; of longer documents a window around the passage
# read as Markdown
_MARKUP = {
    *("text/markdown", "text/html", "text/x-rst", "text/asciidoc", "text/x-code"),
    *("application/yaml", "application/toml"),
    *("application/epub+zip", "application/rtf", "application/x-ipynb+json", "message/rfc822"),
    "application/vnd.oasis.opendocument.text",
}
# Ends a full line, not a paragraph, nor an entry of a list.
_WRAPPED = re.compile(r"(?<=[^\n]{55})\n(?=[^\n])(?!\s*(?:\d{1,3}[.)]|[-*+•])\s)")


def whole_text(document: Document, marks: Sequence[tuple[int, int]], height: int) -> None:
    """Draw a document's text, scrolled to its first mark; the second one is marked within it."""
    first, last = window(len(document.text), marks[0])
    draw_blocks(blocks(document, marks, first, last), f"{document.id}:{marks}", height)
    if last < len(document.text) or first > 0:
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
    """``text[first:last]`` as blocks to draw, in order, without the signs of Markdown."""
    drawn, at = list[Block](), first
    for start, end, block in sorted(
        [*_headings(document, marks, first, last), *_tables(document, marks, first, last)],
        key=itemgetter(0),
    ):
        if start >= at:
            drawn += [*_text(document, marks, at, start), block]
            at = end
    return [*drawn, *_text(document, marks, at, last)]


def _text(
    document: Document, marks: Sequence[tuple[int, int]], first: int, last: int
) -> Iterator[Block]:
    """The text between two blocks, without the blank lines around it, and its blocks of code."""
    at = first
    code = fenced_code(document.text[first:last]) if document.media_type in _MARKUP else ()
    for (start, end), (low, high) in code:
        yield from _paragraphs(document, marks, at, first + start)
        inside = marked_pieces(document.text, marks, first + low, first + high)
        yield {"kind": "code", "pieces": inside}
        at = first + end
    yield from _paragraphs(document, marks, at, last)


def _paragraphs(
    document: Document, marks: Sequence[tuple[int, int]], first: int, last: int
) -> Iterator[Block]:
    between = document.text[first:last].strip("\n")
    if between:
        low = document.text.index(between, first)
        yield {"kind": "text", "pieces": _words(document, marks, low, low + len(between))}


def _words(
    document: Document, marks: Sequence[tuple[int, int]], first: int, last: int
) -> list[Piece]:
    """``text[first:last]`` in pieces, without the marks of Markdown if it is any."""
    if document.media_type not in _MARKUP:
        return pieces(document.text, marks, first, last)
    tagged = document.media_type == "text/markdown"
    return [
        (words, f"{kind} {styles}".strip())
        for start, end, styles in styled_words(document.text[first:last], tagged=tagged)
        for words, kind in pieces(document.text, marks, first + start, first + end)
    ]


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
            words = _words(document, marks, low, low + len(title))
            if underline and set(underline) in ({"="}, {"-"}):
                end = _line_end(text, end + 1)
            yield heading.start, end, {"kind": "heading", "level": heading.level, "pieces": words}


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _title(line: str) -> str:
    """A heading's words without the number signs and attributes that Markdown puts around them."""
    words = line.strip()
    if not words.startswith("#"):
        return words
    words = without_attributes(words.lstrip("#"))
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
            head = lines[:above]
            if not head and any(table.labels):
                head = ["\t".join(table.labels)]
            kinds = row_kinds(lines, table.start, marks)
            rows = [(_cells(document, line), kinds.get(row, "")) for row, line in enumerate(lines)]
            block = table_block([_cells(document, line) for line in head], rows[above:])
            yield table.start, table.end, block


def _cells(document: Document, line: str) -> list[Cell]:
    cells = line.split("\t")
    if document.media_type not in _MARKUP:
        return [[(cell, "")] for cell in cells]
    return [
        [(cell[start:end], styles) for start, end, styles in styled_words(cell)] for cell in cells
    ]


def pieces(text: str, marks: Sequence[tuple[int, int]], first: int, last: int) -> list[Piece]:
    """``text[first:last]`` cut at its marks, each piece with its kind, "" for what is unmarked.

    Lines that end because the paper did are joined.
    """
    one_line = _WRAPPED.sub(" ", text[first:last])  # as long as before
    return _cut(one_line, marks, first)


def marked_pieces(
    text: str, marks: Sequence[tuple[int, int]], first: int, last: int
) -> list[Piece]:
    """``text[first:last]`` cut at its marks, every line as it stands."""
    return _cut(text[first:last], marks, first)


def _cut(text: str, marks: Sequence[tuple[int, int]], first: int) -> list[Piece]:
    """A part of a text that begins at the offset ``first`` of it, cut at the marks of all."""
    clamped = (min(max(edge - first, 0), len(text)) for mark in marks for edge in mark)
    edges = sorted({0, len(text), *clamped})

    def kind(at: int) -> str:
        covering = [number for number, (low, high) in enumerate(marks) if low <= at < high]
        return KINDS[min(covering[-1], 1)] if covering else ""

    return [(text[start:end], kind(first + start)) for start, end in pairwise(edges)]
