"""Excel workbooks (.xlsx): a sheet is a page with a table, its numbers as their format shows them.

Formats follow ECMA-376, part 1, 18.8.31. Numbers whose format has fractions, powers of ten, or text
within the digits are shown without it.
"""

from __future__ import annotations

import datetime
import itertools
import math
import operator
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any

from rag.readers.characters import lowered, raised
from rag.readers.content import Composer, Content, Source, attempt
from rag.readers.dates import office_day, readable_copy
from rag.readers.office.archive import check_archive
from rag.readers.tables import Row, begins_table, grid, stands_beside

_PART = re.compile(
    r'"([^"]*)"|\\(.)|[_*].|\[\$([^\]-]{0,8})[^\]]{0,20}\]|\[[^\]]{0,40}\]|([^"\\_*\[])'
)
_DIGITS = re.compile(r"[#0?,.]+")
_TOKEN = re.compile(r'"[^"]*+(?:"|\Z)|\\.|.', re.DOTALL)
_CONDITION = re.compile(r"\[(?P<sign><=|>=|<>|[<>=]) {0,3}(?P<limit>-?\d{1,15}(?:\.\d{1,9})?)\]")
"""Before a section for some numbers only, such as ``[>=1000]0.0,"K"``."""
_COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_GREATEST = 1e15
_LONGEST = 255
_SIGNIFICANT = 10


def formatted(value: float, code: str) -> str:
    """``formatted(0.0568, "0.0%")`` is ``"5.7%"``; numbers without a format are rounded to ten
    digits."""
    if not math.isfinite(value) or abs(value) >= _GREATEST:
        return general(value)
    tokens = _TOKEN.findall(code[:_LONGEST])
    sections = "".join("\0" if token == ";" else token for token in tokens).split("\0")
    section = _section_for(value, sections)
    shown = None if section is None else _in_section(abs(value), section)
    if section is None or shown is None:
        return general(value)
    signed = section is not sections[0] and ("-" in section or "(" in section)
    return shown if signed or value >= 0 else f"-{shown}"


def _section_for(value: float, sections: list[str]) -> str | None:
    """The section by its condition, or else that of positive, negative or zero numbers."""
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        pairs = zip(sections, conditions, strict=True)
        return next(
            (
                section
                for section, condition in pairs
                if condition is None
                or _COMPARED[condition["sign"]](value, float(condition["limit"]))
            ),
            None,
        )
    if value == 0 and len(sections) > 2 and "?" not in sections[2]:  # a dash says less than "$0"
        return sections[2]
    return sections[1] if value < 0 and len(sections) > 1 else sections[0]


def general(value: float) -> str:
    """A number without a format: whole numbers without a decimal point."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < _GREATEST):
        return str(int(value))
    text = f"{value:.{_SIGNIFICANT}g}"
    return str(value) if "e" in text else text


def formatted_day(value: datetime.date, code: str) -> str:
    """A day in ISO 8601, with only the year and the month where the format shows no more."""
    letters = "".join(match.group(4) or "" for match in _PART.finditer(code[:_LONGEST])).lower()
    if "y" not in letters or "d" in letters:
        return value.isoformat()
    return f"{value:%Y-%m}" if "m" in letters else f"{value:%Y}"


def _in_section(value: float, section: str) -> str | None:
    """A number that is not negative; None where the section is not understood."""
    parts, signs = list[str](), list[str]()
    for match in _PART.finditer(section):
        quoted, escaped, currency, sign = match.groups()
        signs.append(sign or "\0")
        parts.append(sign or quoted or escaped or currency or "")
    if set(signs) == {"\0"} and "".join(parts).strip():
        return "".join(parts).strip()  # words in place of the number
    places = [run for run in _DIGITS.finditer("".join(signs)) if run.group().strip(",.")]
    if (
        len(places) != 1
        or places[0].group().count(".") > 1
        or re.search(r"[/@]|general|e[+-]", "".join(signs), re.IGNORECASE)
    ):
        return None
    start, end = places[0].span()
    before, after = "".join(parts[:start]).lstrip(), "".join(parts[end:]).rstrip()
    return (
        before + _digits(Decimal(repr(value)) * 100 ** signs.count("%"), places[0].group()) + after
    )


def _digits(value: Decimal, places: str) -> str:
    scaled = places.rstrip(",")
    value /= 1000 ** (len(places) - len(scaled))
    whole, _, fraction = scaled.partition(".")
    value = value.quantize(Decimal(1).scaleb(-len(fraction)), ROUND_HALF_UP)  # as Excel does
    text = f"{value:,f}" if "," in whole else f"{value:f}"
    left, point, right = text.partition(".")
    optional = len(fraction) - len(fraction.rstrip("#?"))
    kept = len(fraction) - optional
    right = right[:kept] + right[kept:].rstrip("0")
    return left.zfill(whole.count("0")) + (point + right if right else "")


_TICK_EVERY = 500
_MERGED = re.compile(
    rb'mergeCell ref="\$?([A-Z]{1,3})\$?([0-9]{1,7}):\$?([A-Z]{1,3})\$?([0-9]{1,7})"'
)
_BLOCK, _LONGEST_TAG = 1 << 20, 80
_MOST_SPANNED = 64
_MOST_COLUMNS = 16_384
_SAMPLE = 50  # rows after a gap that tell whether they are a table of their own
_FORMULA = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}f"
_ON = ("1", "true")
_UNSHOWN = ";;;"
_SHEET_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_KINDS = {"/chart": "chart", "/image": "picture"}


@contextmanager
def _opened(source: Source, **options: bool) -> Iterator[Any]:
    from openpyxl import load_workbook

    check_archive(source)
    with source.path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Opened here, because openpyxl judges a path by its extension, which this one has not.
        load = partial(load_workbook, read_only=True, data_only=True, **options)
        book = attempt(lambda: load(file), None)
        yield book if book and book.worksheets else load(readable_copy(source.path))


def read_xlsx(source: Source) -> Content:
    """Values as last calculated and saved. The sheet's name is a heading, notes stand after it all.

    Left out, and counted: hidden sheets, rows, columns and cells, struck text, formulas whose value
    was not saved, pictures and charts.
    """
    with _opened(source, rich_text=True) as book:
        composer, count = Composer(), len(book.worksheets)
        for number, sheet in enumerate(book.worksheets, start=1):
            source.tick(number - 1, count)
            if sheet.sheet_state != "visible":
                composer.leave_out("hidden_sheet", sheet.title)
                continue
            reader = _Sheet(sheet, composer)
            rows = reader.rows(lambda done=number - 1: source.tick(done, count))
            add_sheet(composer, number, sheet.title, rows)
            for note in reader.notes:
                composer.block(note, "\n")
                composer.count("comments")
            for text in reader.boxes:
                composer.block(text)
        source.tick(count, count)
        title, author = book.properties.title, book.properties.creator
    day = office_day(source.path)
    return composer.content(title=title, author=author, date=day, pages=str(count))


def first_rows(source: Source) -> list[tuple[int, list[str]]]:
    """The rows of the first sheet that has any, each with its number. Raises UnreadableDocument."""
    with _opened(source) as book:
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # the size that a file claims can be wrong, and hides rows
            filled = list[tuple[int, list[str]]]()
            for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
                if number % _TICK_EVERY == 1:
                    source.tick(0, 1)
                if any(cells := [cell_text(value) for value in row]):
                    filled.append((number, cells))
            if filled:
                return filled
    return []


def add_sheet(composer: Composer, number: int, title: str, rows: Iterable[Row]) -> None:
    """Add the tables of a sheet as a page, whose heading is its name, if any has cells."""
    titled = False
    for table in _tables_of(rows):
        cells = grid(table)
        if cells.columns and not titled:
            composer.page(number)
            composer.heading(1, title)
            titled = True
        composer.table(cells)


def _tables_of(rows: Iterable[Row]) -> Iterator[Iterable[Row]]:
    """Yield the tables of a sheet, those above each other and those side by side."""
    for _, table in itertools.groupby(_by_table(rows), lambda pair: pair[0]):
        below = (row for _, row in table)
        first = list(itertools.islice(below, _SAMPLE))
        if (gap := _gap(first)) is None:
            yield itertools.chain(first, below)
        else:
            whole = [*first, *below]
            yield from _tables_of([row[:gap] for row in whole])
            yield from _tables_of([row[gap + 1 :] for row in whole])


def _gap(rows: list[Row]) -> int | None:
    """The first empty column between tables that have labels and names of their own each."""
    filled = {at for row in rows for at, cell in enumerate(row) if cell or cell is None}
    for gap in sorted(set(range(min(filled, default=0), max(filled, default=0))) - filled):
        sides = [row[:gap] for row in rows], [row[gap + 1 :] for row in rows]
        if all(stands_beside(row for at, row in _by_table(side) if at == 0) for side in sides):
            return gap
    return None


def _by_table(rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
    """Rows with the number of their table; empty rows part tables where a title or labels follow.

    Single cells between two gaps, such as a title, belong to what follows.
    """
    table, wide, waiting = 0, False, list[Row]()
    for filled, part in itertools.groupby(rows, any):
        if not filled:
            continue
        first = list(itertools.islice(part, _SAMPLE))
        if wide and len(first) < _SAMPLE and all(sum(map(bool, row)) == 1 for row in first):
            waiting += first
            continue
        table += int(wide and begins_table([*waiting, *first]))
        wide = wide or any(sum(map(bool, row)) > 1 for row in first)
        for row in itertools.chain(waiting, first, part):
            yield table, row
        waiting = []
    for row in waiting:
        yield table, row


class _Sheet:
    """A reader of the shown rows of one sheet.

    ``notes`` are those of the cells it has read, ``boxes`` the words of text boxes.
    """

    def __init__(self, sheet: Any, composer: Composer) -> None:
        self.notes: list[str] = []
        self.boxes: list[str] = []
        self._sheet = sheet
        self._composer = composer
        self._looks: dict[int, tuple[str, bool]] = {}
        self._comments: dict[str, str] = {}
        self._name = ""
        self._read_beside()

    def rows(self, tick: Any) -> Iterator[Row]:
        """Yield rows with the texts that Excel shows; one that is empty for each gap.

        None is a column that a merged cell reaches over. The text of a merged cell stands in each
        of its rows that have others.
        """
        spans, before, known = self._spans(), 0, set[int]()
        down = dict[int, tuple[int, int, str]]()
        for number, attributes, hidden, cells in self._parsed():
            if number % _TICK_EVERY == 1:
                tick()
            if number > before + 1:
                yield []
            before = number
            out = attributes.get("hidden") in _ON or attributes.get("ht") == "0"
            row, self._name = list[str | None](), ""
            for cell in cells:
                row += [""] * (cell["column"] - len(row))
                row[cell["column"] - 1] = self._shown(cell, out or cell["column"] - 1 in hidden)
            for left, right, bottom in spans.pop(number, ()):
                row += [""] * (left + 1 - len(row))
                down[left] = right, bottom, row[left] or ""
            down = {left: merged for left, merged in down.items() if merged[1] >= number}
            filled = any(row)
            for left, (right, _, text) in down.items() if filled else ():
                row += [""] * (right + 1 - len(row))
                row[left : right + 1] = [text, *[None] * (right - left)]
            unread = list[int]()
            for column in sorted(hidden.intersection(range(len(row))), reverse=True):
                hidden_text = row.pop(column)
                if hidden_text is not None and column < len(row) and row[column] is None:
                    row[column] = hidden_text
                elif hidden_text and column not in known and not out:
                    unread.insert(0, column)
            for column in unread:
                self._composer.leave_out("hidden_column", self._place({"column": column + 1}))
            known.update(unread)
            if out and any(row):
                self._composer.leave_out("hidden_row", f"{self._sheet.title}!{number}")
            elif not out and (filled or not down):
                yield row

    def _parsed(self) -> Iterator[tuple[int, dict[str, str], set[int], list[dict[str, Any]]]]:
        """The number, attributes and cells of each row, and the columns that are hidden."""
        from openpyxl.worksheet._reader import WorkSheetParser

        book, hidden, last = self._sheet.parent, set[int](), 0
        with book._archive.open(self._sheet._worksheet_path) as part:
            parser = WorkSheetParser(
                part,
                self._sheet._shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
                rich_text=True,
            )
            parsed = parser.parse_cell

            def parse_cell(element: Any) -> dict[str, Any]:
                cell: dict[str, Any] = parsed(element)
                if cell["value"] is None and element.get("t") != "str":
                    formula = element.find(_FORMULA)
                    cell["data_type"] = cell["data_type"] if formula is None else "f"
                return cell

            parser.parse_cell = parse_cell
            for number, cells in parser.parse():
                if not last:
                    for column in parser.column_dimensions.values():
                        if column.get("hidden") in _ON or column.get("width") == "0":
                            end = min(int(column["max"]), _MOST_COLUMNS)
                            hidden |= set(range(int(column["min"]) - 1, end))
                if number > last:
                    yield number, parser.row_dimensions.pop(str(number), {}), hidden, cells
                    last = number

    def _spans(self) -> dict[int, list[tuple[int, int, int]]]:
        """The merged cells by their first row: first and last column from 0, and last row."""
        from openpyxl.utils import column_index_from_string

        spans = dict[int, dict[tuple[int, int, int], None]]()
        with self._sheet.parent._archive.open(self._sheet._worksheet_path) as part:
            before = b""
            while block := part.read(_BLOCK):
                for left, row, right, bottom in _MERGED.findall(before + block):
                    first, last = (
                        column_index_from_string(name.decode()) - 1 for name in (left, right)
                    )
                    span = first, min(last, first + _MOST_SPANNED), int(bottom)
                    spans.setdefault(int(row), {})[span] = None
                before = block[-_LONGEST_TAG:]
        return {row: list(of_row) for row, of_row in spans.items()}

    def _read_beside(self) -> None:
        """Read the notes of cells and text boxes, and count pictures and charts."""
        from openpyxl.comments.comment_sheet import CommentSheet
        from openpyxl.packaging.relationship import get_dependents, get_rels_path
        from openpyxl.xml.functions import fromstring

        archive = self._sheet.parent._archive
        names = set(archive.namelist())

        def related(path: str) -> Iterator[tuple[str, str]]:
            place = get_rels_path(path)
            for relation in get_dependents(archive, place) if place in names else ():
                if relation.target in names:
                    yield relation.Type, relation.target

        for kind, path in related(self._sheet._worksheet_path):
            if kind.endswith("/comments"):
                for note in CommentSheet.from_tree(fromstring(archive.read(path))).commentList:
                    self._comments[note.ref] = " ".join(note.content.split())
            elif kind.endswith("/drawing"):
                for shape in fromstring(archive.read(path)).iter(f"{_SHEET_DRAWING}sp"):
                    lines = ("".join(line.itertext(f"{A}t")) for line in shape.iter(f"{A}p"))
                    self.boxes.append("\n".join(lines))
                for part, _ in related(path):
                    if part[part.rindex("/") :] in _KINDS:
                        self._composer.leave_out(
                            _KINDS[part[part.rindex("/") :]], self._sheet.title
                        )

    def _place(self, cell: dict[str, Any]) -> str:
        from openpyxl.utils import get_column_letter

        letters = get_column_letter(cell["column"])
        return f"{self._sheet.title}!{letters}{cell.get('row', '')}"

    def _shown(self, cell: dict[str, Any], out: bool) -> str:
        """The text of a cell; ``out`` says that its row or column is hidden anyway."""
        value, style = cell["value"], cell["style_id"]
        if style not in self._looks:
            # The number format of a cell, and whether its text is struck
            from openpyxl.cell.read_only import ReadOnlyCell

            look = ReadOnlyCell(self._sheet, **cell)
            self._looks[style] = look.number_format or "General", bool(look.font.strike)
        code, struck = self._looks[style]
        kind = "struck_passage" if struck else "hidden_cell" if code == _UNSHOWN else ""
        if value is None:
            kind = "uncalculated_formula" if cell["data_type"] == "f" else ""
        if kind:
            self._composer.leave_out(kind, self._place(cell), int(not out))
            return ""
        if isinstance(value, list):  # parts with fonts of their own
            text = "".join(self._part(part, cell) for part in value)
        else:
            text = _formatted(value, code)
        self._name = self._name or text
        if self._comments and not out:
            place = self._place(cell)
            note = self._comments.pop(place.rpartition("!")[2], "")
            about = ", ".join(dict.fromkeys(filter(None, (self._name, text)))) or place
            if note:
                self.notes.append(f"Note on {about}: {note}")
        return text

    def _part(self, part: Any, cell: dict[str, Any]) -> str:
        """A part of the text of a cell with a font of its own."""
        if isinstance(part, str):
            return part
        if part.font.strike:
            self._composer.leave_out("struck_passage", self._place(cell))
            return ""
        script = part.font.vertAlign
        if script == "superscript":
            return raised(part.text)
        return lowered(part.text) if script == "subscript" else str(part.text)


def _formatted(value: Any, code: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, datetime.datetime)):
        return cell_text(value)
    if not isinstance(value, datetime.datetime):
        return formatted(value, code)
    if value.time() == datetime.time():
        return formatted_day(value.date(), code)
    return cell_text(value)


def cell_text(value: object) -> str:
    """A value as one reads it: dates in ISO 8601, whole numbers without a decimal point."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return general(value)
    return str(value)
