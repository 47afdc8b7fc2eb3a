"""CSV for spreadsheets: what people, models and documents wrote is text there, and no formula.

A spreadsheet runs what begins like a formula (https://owasp.org/www-community/attacks/CSV_Injection),
so a text that does gets an apostrophe in front, which ``unguarded`` takes away again. A number is
no formula and stays one. Whatever is written as CSV is written here.

Judgements, runs and collections for other tools (trec_eval, BEIR) are not: their readers compare
ids sign by sign, to which an apostrophe would belong.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

_FORMULA = re.compile(r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|'*[\t\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> str:
    """A table as CSV; None is an empty cell."""
    return _line(header) + "".join(_line([_guarded(cell) for cell in row]) for row in rows)


def _line(cells: Sequence[str | int | None]) -> str:
    text = io.StringIO()
    # Cells with a part of the line's end are quoted: a carriage return alone ends a line for many.
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"


def unguard_cell(cell: str) -> str:
    """The text that was written as a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _guarded(cell: str | int | None) -> str | int | None:
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell
