"""Excel workbooks (.xlsx): a sheet is a page with a table."""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.readers.content import Composer, Content, Source
from rag.readers.dates import office_day
from rag.readers.office.archive import check_archive
from rag.readers.office.number_formats import formatted, formatted_day, general
from rag.readers.tables import Row, grid
from rag.types import Span

_TICK_EVERY = 500
_MERGED = re.compile(
    rb'mergeCell ref="\$?([A-Z]{1,3})\$?([0-9]{1,7}):\$?([A-Z]{1,3})\$?[0-9]{1,7}"'
)
_BLOCK, _LONGEST_TAG = 1 << 20, 80
_MOST_SPANNED = 64


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
        rows = grid(_shown_rows(sheet, source, number - 1, count))
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


def _shown_rows(sheet: Any, source: Source, done: int, count: int) -> Iterator[Row]:
    """Rows with the texts that Excel shows, and None for columns that a merged cell reaches over"""
    spans = _spans(source.path, sheet)
    sheet.reset_dimensions()
    for number, row in enumerate(sheet.iter_rows(), 1):
        if number % _TICK_EVERY == 1:
            source.tick(done, count)
        cells: list[str | None] = [_shown(cell) for cell in row]
        for first, last in spans.get(number, ()):
            cells += [""] * (last - len(cells))
            cells[first:last] = [None] * (last - first)
        yield cells


def _spans(path: Path, sheet: Any) -> dict[int, list[Span]]:
    """The merged cells by the number of their first row: the columns that follow the first."""
    from openpyxl.utils import column_index_from_string

    spans = dict[int, dict[Span, None]]()
    with zipfile.ZipFile(path) as archive, archive.open(sheet._worksheet_path) as part:
        before = b""
        while block := part.read(_BLOCK):
            for left, row, right in _MERGED.findall(before + block):
                first, last = (column_index_from_string(name.decode()) for name in (left, right))
                span = first, min(last, first + _MOST_SPANNED)
                if first < last:
                    spans.setdefault(int(row), {})[span] = None
            before = block[-_LONGEST_TAG:]
    return {row: list(of_row) for row, of_row in spans.items()}


def _shown(cell: Any) -> str:
    value = cell.value
    if isinstance(value, bool) or not isinstance(value, (int, float, datetime.datetime)):
        return cell_text(value)
    code = cell.number_format or "General"
    if not isinstance(value, datetime.datetime):
        return formatted(value, code)
    if value.time() == datetime.time():
        return formatted_day(value.date(), code)
    return cell_text(value)


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
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return general(value)
    return str(value)
