"""Rows of a table as lines that carry their header, so that a passage from the middle is clear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

Row = Sequence[str]
_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*%?$|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_LONGEST_LABEL = 80
_HEADER_WITHIN = 10


def lines(rows: Iterable[Row]) -> Iterator[str]:
    """``Header: value; Header2: value2`` per row, without empty cells and empty rows.

    The header is the first row, within the first ten, that looks like one (see ``is_header``)
    and is as wide as the widest of them; rows above it (titles, notes) stay as they are. Without a
    header, values are joined by ``"; "``.
    """
    iterator = (cells for row in rows if any(cells := [" ".join(cell.split()) for cell in row]))
    first = [row for _, row in zip(range(_HEADER_WITHIN), iterator, strict=False)]
    place = _header_place(first)
    header = first[place] if place is not None else None
    if place is not None:
        yield from (_line(row, None) for row in first[:place])
        first = first[place + 1 :]
    if header and not first:
        yield _line(header, None)
    yield from (_line(row, header) for row in first)
    yield from (_line(row, header) for row in iterator)


def is_header(row: Row) -> bool:
    """At least two labels: short, different, none of them a number or date, at most one empty."""
    filled = [cell for cell in row if cell]
    return (
        len(filled) >= 2
        and len(filled) >= len(row) - 1
        and len({cell.casefold() for cell in filled}) == len(filled)
        and not any(_NUMBER.match(cell) or len(cell) > _LONGEST_LABEL for cell in filled)
    )


def _header_place(rows: Sequence[Row]) -> int | None:
    widest = max((_width(row) for row in rows), default=0)
    for place, row in enumerate(rows):
        if _width(row) >= widest:
            # Empty cells to the right of the table say nothing about its header.
            return place if is_header(row[:widest]) else None
    return None


def _width(row: Row) -> int:
    """Cells up to the last one that is not empty."""
    return max((index + 1 for index, cell in enumerate(row) if cell), default=0)


def _line(row: Row, header: Row | None) -> str:
    if header is None:
        return "; ".join(cell for cell in row if cell)
    labels = [*header, *[""] * (len(row) - len(header))]
    pairs = zip(labels, row, strict=False)
    return "; ".join(f"{label}: {cell}" if label else cell for label, cell in pairs if cell)
