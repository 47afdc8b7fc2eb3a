"""Rows of tables as lines of cells that tabs part, and the labels of their columns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Row = Sequence[str]
YEAR = re.compile(r"(?:fy|gj)?\s*(?:19|20)\d\d(?:[ea]|/\d\d)?", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?=[.,\s]*\d)[\d.,\s]*+%?$|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_LONGEST_LABEL = 80
_HEADER_WITHIN = 10
_LONGEST_CAPTION = 200


@dataclass(frozen=True, slots=True)
class Grid:
    """``above`` are lines over the header, ``lines`` those of the table, header first.

    ``labels`` has one per column, none where no row looks like a header. Rows of one cell each are
    no table: ``columns`` is the width of the widest of the first rows.
    """

    above: tuple[str, ...]
    labels: tuple[str, ...]
    lines: Iterator[str]
    columns: int


def grid(rows: Iterable[Row]) -> Grid:
    """Rows without the empty ones; white space within cells is one space.

    The header is the first row, within the first ten, that looks like one (see ``is_header``) and
    is as wide as the widest of them, with a row above it that names groups of columns, if there is
    one. Rows above that are titles and notes.
    """
    iterator = (cells for row in rows if any(cells := [" ".join(cell.split()) for cell in row]))
    first = list(itertools.islice(iterator, _HEADER_WITHIN))
    columns = max((_width(row) for row in first), default=0)
    start, labels = _header(first, columns)
    above = tuple(" ".join(filter(None, row)) for row in first[:start])
    return Grid(above, labels, map(line, itertools.chain(first[start:], iterator)), columns)


def line(cells: Iterable[str]) -> str:
    """Cells as one line; empty ones at the end are left out."""
    return "\t".join(cells).rstrip("\t")


def caption(lines: Iterable[str]) -> str:
    """Lines over a table as its caption."""
    return " ".join(" ".join(lines).split())[:_LONGEST_CAPTION]


def is_header(row: Row) -> bool:
    """At least two labels: short, different, none of them a number or date, at most one empty."""
    filled = [cell for cell in row if cell]
    return (
        len(filled) >= 2
        and len(filled) >= len(row) - 1
        and len({cell.casefold() for cell in filled}) == len(filled)
        and not any(_is_figure(cell) or len(cell) > _LONGEST_LABEL for cell in filled)
    )


def _header(rows: Sequence[Row], columns: int) -> tuple[int, tuple[str, ...]]:
    """The number of rows above the header, and its labels; none of both where there is none."""
    for place, row in enumerate(rows):
        if _width(row) < columns:
            continue
        # Empty cells to the right of the table say nothing about its header.
        labels = [*row[:columns]]
        groups = _groups(rows[place - 1], columns) if place else None
        named = [
            f"{group} {label}".strip()
            for group, label in zip(groups or labels, labels, strict=True)
        ]
        if groups and is_header(named) and _names_years_only(labels, place, rows):
            return place - 1, tuple(named)
        if is_header(labels) and _names_years_only(labels, place, rows):
            return place, tuple(labels)
        if not _groups(row, columns):
            break
    return 0, ()


def _groups(row: Row, columns: int) -> list[str] | None:
    """A row that names groups of columns, each name over all of its columns; None for others."""
    cells = [*row[:columns], *[""] * (columns - len(row))]
    if not any(cells[1:]) or all(cells[1:]) or any(_is_figure(cell) for cell in cells):
        return None
    spread = [cells[0]]
    for cell in cells[1:]:
        spread.append(cell or (spread[-1] if len(spread) > 1 else ""))
    return spread


def _names_years_only(labels: Row, place: int, rows: Sequence[Row]) -> bool:
    """Whether no year among the labels stands over other years, which are data then."""
    years = [index for index, label in enumerate(labels) if YEAR.fullmatch(label)]
    below = [row[index] for row in rows[place + 1 :] for index in years if index < len(row)]
    return not years or not any(YEAR.fullmatch(cell) for cell in below)


def _is_figure(cell: str) -> bool:
    return _NUMBER.match(cell) is not None and not YEAR.fullmatch(cell)


def _width(row: Row) -> int:
    """Cells up to the last one that is not empty."""
    return max((index + 1 for index, cell in enumerate(row) if cell), default=0)
