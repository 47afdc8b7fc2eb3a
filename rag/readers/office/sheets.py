"""Excel workbooks (.xlsx): a sheet is a page with a table."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from typing import Any

from rag.readers.content import Composer, Content, Source
from rag.readers.dates import office_day
from rag.readers.office.archive import check_archive
from rag.readers.tables import grid

_TICK_EVERY = 500


def read_xlsx(source: Source) -> Content:
    """Values as last calculated and saved. The sheet's name is a heading."""
    from openpyxl import load_workbook

    check_archive(source)
    with source.path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Opened here, because openpyxl judges a path by its extension, which this one has not.
        return _read_book(load_workbook(file, read_only=True, data_only=True), source)


def first_rows(source: Source) -> list[tuple[int, list[str]]]:
    """The rows of the first sheet that has any, each with its number. Raises UnreadableDocument."""
    from openpyxl import load_workbook

    check_archive(source)
    with source.path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sheet in load_workbook(file, read_only=True, data_only=True).worksheets:
            rows = _rows(sheet, source, 0, 1)
            filled = [(number, cells) for number, cells in enumerate(rows, 1) if any(cells)]
            if filled:
                return filled
    return []


def _read_book(book: Any, source: Source) -> Content:
    composer, count = Composer(), len(book.worksheets)
    for number, sheet in enumerate(book.worksheets, start=1):
        source.tick(number - 1, count)
        rows = grid(_rows(sheet, source, number - 1, count))
        if not rows.columns:
            continue
        composer.page(number)
        composer.heading(1, sheet.title)
        composer.table(rows)
    source.tick(count, count)
    properties = book.properties
    return composer.content(
        title=properties.title,
        author=properties.creator,
        date=office_day(source.path),
        pages=str(count),
    )


def _rows(sheet: Any, source: Source, done: int, count: int) -> Iterator[list[str]]:
    # The size that a file claims can be wrong, and hides rows then.
    sheet.reset_dimensions()
    for index, row in enumerate(sheet.iter_rows(values_only=True)):
        if index % _TICK_EVERY == 0:
            source.tick(done, count)
        yield [cell_text(value) for value in row]


def cell_text(value: object) -> str:
    """A value as one reads it: dates in ISO 8601, whole numbers without a decimal point."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
