"""Tables that a Markdown file has as HTML, written as Markdown writes them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

from rag.readers.characters import LINE
from rag.readers.html.tables import table_rows
from rag.readers.markdown import FENCE
from rag.readers.tables import Grid, grid
from rag.types import Span

_OPENING = re.compile(r"^[ \t]*<table\b", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*<!--|-->", re.MULTILINE)
_CODE_BEFORE = re.compile(r"(?:\A|\n)(?![ \t]*(?:[-*+<]|\d{1,9}[.)]))[^\s].*\n[ \t]*\n\Z")
"""A paragraph of running text and an empty line: what is indented behind them is code."""
_LOOKED_AT = 1000
"""Characters before a table."""
_CODE_INDENT = ("    ", "\t")
_CLOSING = re.compile(r"</table\s*>", re.IGNORECASE)


def with_pipe_tables(text: str) -> str:
    """The text of a Markdown file with its HTML tables as pipe tables, where they have data.

    Headers of several rows are one row of labels.
    Tables within fenced code, and those that only place things on the page, stay as they are.
    """
    parts, done = list[str](), 0
    for start, end in _html_tables(text):
        table = _pipe_table(text[start:end])
        if table:
            parts += [text[done:start], "\n", table, "\n"]
            done = end
    return "".join([*parts, text[done:]])


def _html_tables(text: str) -> Iterator[Span]:
    opening = _OPENING.search(text)
    fences = _fenced(text) if opening else []
    silent = deque(sorted([*fences, *_comments(text, fences)]))
    while opening:
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            return
        while silent and silent[0][1] <= opening.start():
            silent.popleft()
        is_silent = bool(silent) and silent[0][0] <= opening.start()
        if not (is_silent or _is_indented_code(text, opening)):
            yield opening.start(), closing.end()
        opening = _OPENING.search(text, closing.end())


def _fenced(text: str) -> list[Span]:
    spans, fence, start = list[Span](), "", 0
    for line in LINE.finditer(text):
        content = line.group().strip()
        if fence and content.startswith(fence) and not content.strip(fence[0]):
            spans.append((start, line.end()))
            fence = ""
        elif not fence and (match := FENCE.match(line.group())):
            fence, start = match.group(1), line.start()
    return [*spans, (start, len(text))] if fence else spans


def _is_indented_code(text: str, opening: re.Match[str]) -> bool:
    before = text[max(opening.start() - _LOOKED_AT, 0) : opening.start()]
    return opening.group().startswith(_CODE_INDENT) and _CODE_BEFORE.search(before) is not None


def _comments(text: str, fences: Sequence[Span]) -> Iterator[Span]:
    start, code = -1, deque(fences)
    for mark in _COMMENT.finditer(text):
        while code and code[0][1] <= mark.start():
            code.popleft()
        if code and code[0][0] <= mark.start():
            continue
        if mark.group().endswith("<!--"):
            start = mark.start() if start < 0 else start
        elif start >= 0:
            yield start, mark.end()
            start = -1


def _pipe_table(markup: str) -> str:
    """A table as Markdown; "" where it has no rows of data."""
    from lxml import html

    tables = list(html.fragment_fromstring(markup, create_parent="div").iter("table"))
    table = table_rows(tables[0]) if len(tables) == 1 else None
    if table is None:
        return ""
    found = grid(table.rows, table.heads)
    rows = [line.split("\t") for line in found.lines]
    if not rows:
        return ""
    head, data = found.labels, rows[_header_rows(found, rows, table.heads or 0) :]
    width = max(len(head), *map(len, rows))
    above = [_line([title], width) for title in found.above]
    lines = [_line(row, width) for row in data]
    return "\n".join([*above, _line(head, width), _line(["---"] * width, width), *lines])


def _header_rows(found: Grid, rows: Sequence[Sequence[str]], heads: int) -> int:
    """Return the number of rows that the labels are made of, one or the ones that are joined."""
    if not found.labels:
        return 0
    is_one = list(found.labels[: len(rows[0])]) == rows[0]
    return 1 if is_one else max(heads - len(found.above), 2)


def _line(cells: Sequence[str], width: int) -> str:
    padded = [*cells, *[""] * (width - len(cells))]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in padded)} |"
