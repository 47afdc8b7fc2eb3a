"""Rows of tables as statements: each for itself, whole, and with the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.answering.languages import pattern
from rag.answering.markup import unmarked, unmarked_cell
from rag.types import Document, Span, Table

BETWEEN = " · "
_RULE = frozenset("|:-")
_TITLE = re.compile(r"[^\W_].{0,78}[^\s.!?;,…]")
_TOTAL = pattern("totals")
"""The name of a row that may stand for all blocks of a table."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that says something: ``document.text[start:end]``, its cells flat and in order."""

    start: int
    end: int
    cells: tuple[str, ...]
    labels: tuple[str, ...]
    caption: str
    block: str = ""
    """The title of the rows that it is one of, as a row of one cell above them has it."""

    @property
    def name(self) -> str:
        """The first cell that is not empty: what the row is about."""
        return next(filter(None, self.cells))

    @property
    def text(self) -> str:
        """``"Code: CV-118 · Meaning: Rotor not recognised"``, as it reads without the table."""
        return BETWEEN.join(filter(None, (self.block, named_cells(self.cells, self.labels))))


def named_cells(cells: tuple[str, ...], labels: tuple[str, ...]) -> str:
    """Cells with the labels of their columns, empty ones left out."""
    padded = (*labels, *[""] * (len(cells) - len(labels)))
    named = (
        f"{label.rstrip(':')}: {cell}" if label else cell
        for label, cell in zip(padded, cells, strict=False)
        if cell
    )
    return BETWEEN.join(named)


def rows_within(document: Document, span: Span) -> Iterator[Row]:
    """The rows that a span of a document holds something of, each whole, beyond the span too.

    Rows that only hold labels are none, and neither are those with a single cell of several: they
    say nothing, and part a table. The rows of a group, whose first cell is empty, have the words of
    the row that begins the group there. Where such a row is the title of rows that have names of
    their own, they have it as their block.
    """
    # In a PDF, a row of one cell may be the second line of the row above.
    has_titles = document.media_type != "application/pdf"
    for table in tables_within(document, span):
        # Under labels, a row of one cell may lack its value.
        are_titled = has_titles and not table.labels
        group = block = ""
        for start, end in body(document, table):
            if start >= span[1]:
                break
            cells = _cells(document.text[start:end])
            is_single = sum(map(bool, cells)) == 1
            if is_single:
                block = cells[0] if are_titled and _TITLE.fullmatch(cells[0]) else ""
            elif group and not cells[0]:
                block = ""  # the name of the rows
            if max(len(cells), len(table.labels)) > 1 and is_single:
                group = cells[0] or group
            elif end > span[0]:
                named = cells if cells[0] else (group, *cells[1:])
                titled = "" if is_single or _TOTAL.match(cells[0]) else block
                labels = _plain(table.labels)
                yield Row(start, end, _plain(named), labels, table.caption, unmarked_cell(titled))
            if cells[0] and not is_single:
                group = ""


def readable_text(document: Document, span: Span) -> str:
    """Return the text of a span; rows of tables whole, and with the names of their columns."""
    pieces, at = list[str](), span[0]
    for table in tables_within(document, span):
        pieces.append(document.text[at : max(table.start, at)].strip())
        pieces += (
            row.text
            for row in rows_within(document, (max(table.start, span[0]), span[1]))
            if row.start < table.end
        )
        at = min(table.end, span[1])
    if at == span[0]:
        return document.text[at : span[1]]
    pieces.append(document.text[at : span[1]].strip())
    return "\n".join(filter(None, pieces)) or document.text[span[0] : span[1]]


def tables_within(document: Document, span: Span) -> list[Table]:
    """The tables that a span of a document holds something of."""
    return [table for table in document.tables if table.start < span[1] and table.end > span[0]]


def body(document: Document, table: Table) -> list[Span]:
    """Return the spans of a table's rows, without the header rows."""
    lines = list(_lines(document.text, table))
    heads = 0
    for start, end in lines:
        if not _is_head(_cells(document.text[start:end]), table.labels):
            break
        heads += 1
    return lines[heads:] if heads < len(lines) else lines


def _lines(text: str, table: Table) -> Iterator[Span]:
    start = table.start
    while start < table.end:
        stop = text.find("\n", start, table.end)
        end = table.end if stop < 0 else stop
        line = text[start:end]
        if any(_cells(line)):
            yield start + len(line) - len(line.lstrip(" ")), start + len(line.rstrip())
        start = end + 1


def _cells(line: str) -> tuple[str, ...]:
    """The cells of a row: parted by tabs, or as Markdown has them; none for a rule."""
    if line.lstrip().startswith("|") and "\t" not in line:
        inside = line.strip().strip("|").split("|")
        return (
            ()
            if set("".join(line.split())) <= _RULE
            else tuple(_flat(unmarked(cell)) for cell in inside)
        )
    return tuple(map(_flat, line.split("\t")))


def _plain(cells: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_flat(unmarked_cell(cell)) for cell in cells)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _is_head(cells: tuple[str, ...], labels: tuple[str, ...]) -> bool:
    """Whether a row only holds what the labels are made of."""
    words = [set(label.split()) for label in labels]
    return all(any(set(cell.split()) <= word_set for word_set in words) for cell in cells if cell)
