"""Rows of tables as lines of cells that tabs part, and the labels of their columns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

Row = Sequence[str | None]
"""Cells of a row; None is a column that the cell to its left reaches over."""

COVERED = "⦗=⦘"
"""A cell that the one to its left reaches over, in tables that were written as Markdown here."""
YEAR = re.compile(r"(?:fy|gj)?\s*(?:19|20)\d\d(?:[ea]|/\d\d)?", re.IGNORECASE)
_NUMBER = re.compile(
    r"[-+(]?[$€£¥]? ?(?=[.,\s]*\d)[\d.,\s]*+[%$€£¥]?\)?$|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
)
_QUANTITY = re.compile(
    r"[^\w\s]{0,3} ?\d[\d.,]*+(?!(?:st|nd|rd|th)\b)[-–—\d ]{0,8}(?P<unit>[^\W\d]{1,20})"
)
_TIMES = re.compile(
    r"s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|yrs?|years?|sekunden?"
    r"|minuten|stunden?|tage?n?|wochen?|monate?n?|jahre?n?|segundos?|minutos?|horas?|días?"
    r"|semanas?|mes(?:es)?|años?|jours?|semaines?|mois|ans?",
    re.IGNORECASE,
)
_SUM = r"(?:[$€£¥] ?\d[\d.,]*+|\d[\d.,]*+ ?[$€£¥])"
_AMOUNT = re.compile(
    rf"{_SUM}(?: ?[-–—+] ?{_SUM})?(?: ?(?:/|(?:per|pro|par|por|je|each|an?)\b)[^\d.;]{{1,40}})*+"
)
"""What something costs, as in "$20/person/night" and "6,00 €"."""
_FREE = re.compile(
    r"free(?: of charge)?|no (?:charge|fee)|included|complimentary|gratis|frei"
    r"|(?:kosten|gebühren)(?:los|frei)|enthalten|inbegriffen|inkl(?:usive|\.)|gratuite?s?"
    r"|inclus(?:es?)?|compris(?:es?)?|incluid[oa]s?|gratuit[oa]s?",
    re.IGNORECASE,
)
"""What stands in the place of an amount where there is nothing to pay."""
_TIME = re.compile(r"\d{1,2}:\d\d(?!\d)")
_WEEKDAY = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?"
    r"|mittwochs?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves"
    r"|viernes|sábado|domingo)\b",
    re.IGNORECASE,
)
_LABELS = {
    *("item", "items", "name", "plan", "product", "service", "type", "description", "stop"),
    *("amount", "option", "article", "position", "posten", "artikel", "art", "leistung"),
    *("produkt", "tarif", "produit", "prestation", "producto", "servicio"),
}
"""What stands over the names of rows."""
_MEASURED = re.compile("year|figure|day|duration|quantity")
"""Kinds of values of which labels are, too: a column for each year, a row of sizes."""
_DAY = re.compile(
    r"(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[^\W\d]{0,6}\.? \d",
    re.IGNORECASE,
)
_NAMED_VALUE = re.compile(r"[^\W\d][^:]{1,40}: ?[^\s:]")
_ADDRESS = re.compile(r"https?://|\S{1,64}@\S{1,64}\.\w")
_CODE = re.compile(r"[^\W\d]{1,6}[-./ ]?\d[\w./-]*")
_DIGITS = re.compile(r"\d+")
_LONGEST_LABEL = 80
_HEADER_WITHIN = 10
_COMPARED = 50  # rows whose cells tell whether the first row looks like them
_LONGEST_CAPTION = 200
_SENTENCE = 12  # words of a cell that is no label where the cells below are as long
_SEVERAL = 2
_SHARED_WORDS = 2  # at the beginning of cells that name things of one kind


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


def named_rows(cells: Grid) -> Iterator[str]:
    """Yield the rows of a table in a cell: ``Weight: up to 3 t · Price: 85 euros``."""
    for row in itertools.islice(cells.lines, int(bool(cells.labels)), None):
        pairs = itertools.zip_longest(row.split("\t"), cells.labels, fillvalue="")
        yield " · ".join(f"{label}: {text}" if label else text for text, label in pairs if text)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of a row, and the columns that cells to their left reach over."""

    texts: list[str]
    covered: frozenset[int]

    @property
    def width(self) -> int:
        """The number of cells up to the last one that is not empty."""
        return max((index + 1 for index, cell in enumerate(self.texts) if cell), default=0)

    @property
    def filled(self) -> int:
        """The number of cells that are not empty."""
        return sum(map(bool, self.texts))

    @property
    def is_title(self) -> bool:
        """Whether nothing but the first cell is filled."""
        return not any(self.texts[1:])


def grid(rows: Iterable[Row], heads: int | None = None) -> Grid:
    """Rows without the empty ones; white space within cells is one space.

    The first ``heads`` rows are the header where the source tells; 0 says that there is none. For
    None, and where these rows name no two columns, the header is the first row, within the first
    ten, that looks like one (see ``is_header``), that has no values of its columns (see
    ``holds_values``), and that is as wide as the widest of them. A row above it that names groups
    of columns belongs to it. Rows above that are titles and notes.
    """
    iterator = (cells for row in rows if any((cells := _cells(row)).texts))
    first = list(itertools.islice(iterator, _COMPARED))
    columns = max((row.width for row in first[:_HEADER_WITHIN]), default=0)
    start, labels = _declared(first[:heads], columns) if heads else (0, ())
    if not labels and heads != 0:
        start, labels = _header(first, columns)
    above = tuple(" ".join(filter(None, row.texts)) for row in first[:start])
    named = named_by_groups(
        (row.texts, row.is_title and columns > 1 and row.covered.issuperset(range(1, columns)))
        for row in itertools.chain(first[start:], iterator)
    )
    return Grid(above, labels, map(line, named), columns)


def named_by_groups(rows: Iterable[tuple[list[str], bool]]) -> Iterator[list[str]]:
    """Rows whose first cell begins with the words of the row over the full width above them.

    Each row comes with whether it is such a row.
    """
    group = ""
    for cells, names_group in rows:
        if names_group:
            group = cells[0] if len(cells[0]) <= _LONGEST_LABEL else group
            yield cells
        else:
            yield [": ".join(filter(None, (group, cells[0]))), *cells[1:]]


def begins_table(rows: Iterable[Row]) -> bool:
    """Whether rows after a gap are a table of their own: a title or labels over figures tell."""
    table = grid(rows)
    return bool(table.labels) and (bool(table.above) or any(_figures(table)))


def stands_beside(rows: Iterable[Row]) -> bool:
    """Whether columns after a gap are a table of their own: labels over names and figures tell."""
    table = grid(rows)
    first, *others = _figures(table) if table.labels else [True]
    return not first and any(others)


def _figures(table: Grid) -> list[bool]:
    """Whether the cells of each column below the labels are figures."""
    below = [row.split("\t") for row in table.lines][1:]
    columns = [[row[at] for row in below if row[at:] and row[at]] for at in range(table.columns)]
    return [
        bool(cells) and all(cell[0].isdigit() or _is_figure(cell) for cell in cells)
        for cells in columns
    ]


def line(cells: Iterable[str]) -> str:
    """Cells as one line; empty ones at the end are left out."""
    return "\t".join(cells).rstrip("\t")


def caption(lines: Iterable[str]) -> str:
    """Lines over a table as its caption."""
    return " ".join(" ".join(lines).split())[:_LONGEST_CAPTION]


def is_header(row: Sequence[str]) -> bool:
    """At least two labels: short, different, none of them a number or date, at most one empty."""
    filled = [cell for cell in row if cell]
    return (
        len(filled) >= 2
        and len(filled) >= len(row) - 1
        and len({cell.casefold() for cell in filled}) == len(filled)
        and not any(_is_figure(cell) or len(cell) > _LONGEST_LABEL for cell in filled)
    )


def holds_values(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row is one of those below it, and not their header.

    Its cells say so: all behind the first one are of the same kind as most cells below them, such
    as a duration over durations or "included" over amounts, the first one is a code over codes,
    one makes up half of its column, or one is as long as the cells below it, or begins like them.
    Repetitions of the whole row say nothing.
    """
    rest = [other for other in below if list(other) != list(row)]
    columns = [
        (cell, [other[index] for other in rest if index < len(other) and other[index]])
        for index, cell in enumerate(row)
    ]
    filled = [(cell, column) for cell, column in columns if cell and column]
    behind = [pair for pair in columns[1:] if pair in filled] or filled
    coded = bool(filled) and not _MEASURED.match(_kind(filled[0][0])) and _is_of_kind(*filled[0])
    of_kind = bool(behind) and all(
        _is_of_kind(*pair) or _is_free_among_amounts(*pair) for pair in behind
    )
    if row[0].casefold() in _LABELS or _is_scale(row[1:]):
        of_kind = False
    return coded or of_kind or any(_is_value(*pair) for pair in filled)


def _is_scale(cells: Sequence[str]) -> bool:
    """Whether several cells have growing figures, as the columns of plans and of a timetable do."""
    figures = [tuple(map(int, _DIGITS.findall(cell))) for cell in cells]
    return len(cells) > 1 and all(one and one < other for one, other in pairwise(figures))


def _is_of_kind(cell: str, column: Sequence[str]) -> bool:
    kind = _kind(cell)
    return bool(kind) and 2 * sum(_kind(other) == kind for other in column) >= len(column)


def _is_free_among_amounts(cell: str, column: Sequence[str]) -> bool:
    if not _FREE.fullmatch(cell):
        return False
    amounts = sum(_kind(other) == "amount" for other in column)
    return amounts >= _SEVERAL and 2 * amounts >= len(column)


def _is_value(cell: str, column: Sequence[str]) -> bool:
    if 2 * column.count(cell) >= len(column):
        return True
    words = cell.split()
    if len(words) >= _SENTENCE or len(cell) > _LONGEST_LABEL:
        return 2 * median(len(other) for other in column) >= len(cell)
    start = [word.casefold() for word in words[:_SHARED_WORDS]]
    alike = sum(
        [word.casefold() for word in other.split()[: len(start)]] == start for other in column
    )
    return len(words) > _SHARED_WORDS and alike >= 2 and 2 * alike >= len(column)


def _kind(cell: str) -> str:
    """The kind of a value that is told by its form; "" for words."""
    cell = cell.strip("*_")
    if YEAR.fullmatch(cell):
        return "year"
    if _AMOUNT.fullmatch(cell):
        return "amount"
    if _TIME.match(cell):
        return "time"
    if _is_figure(cell):
        return "figure"
    if _ADDRESS.match(cell):
        return "address"
    if _WEEKDAY.match(cell):
        return "weekday"
    if _DAY.match(cell):
        return "day"
    if quantity := _QUANTITY.match(cell):
        unit = quantity["unit"]
        return "duration" if _TIMES.fullmatch(unit) else f"quantity {unit.casefold()}"
    if _NAMED_VALUE.match(cell):
        return "named value"
    return _DIGITS.sub("0", cell.casefold()) if _CODE.fullmatch(cell) else ""


def _cells(row: Row) -> _Cells:
    texts = [" ".join((cell or "").split()) for cell in row]
    return _Cells(texts, frozenset(index for index, cell in enumerate(row) if cell is None))


def _declared(rows: Sequence[_Cells], columns: int) -> tuple[int, tuple[str, ...]]:
    """The number of titles among rows that are a header, and its labels; none without two."""
    naming = [place for place, row in enumerate(rows) if not row.is_title]
    start, end = (naming[0], naming[-1] + 1) if naming else (0, 0)
    labels = [""] * columns
    for place, row in enumerate(rows[start:end], start):
        below = place < end - 1
        names = (_groups(row, columns) if below else None) or _padded(row.texts, columns)
        labels = _joined(labels, names)
    return (start, tuple(labels)) if sum(map(bool, labels)) > 1 else (0, ())


def _header(rows: Sequence[_Cells], columns: int) -> tuple[int, tuple[str, ...]]:
    """The number of rows above the header, and its labels; none of both where there is none."""
    for place, row in enumerate(rows[:_HEADER_WITHIN]):
        above = rows[place - 1] if place else None
        below = [other.texts for other in rows[place + 1 :]]
        if above is not None and _is_under(row, above):
            return place - 1, tuple(_named(_groups(above, columns), row.texts, columns))
        if row.width < columns:
            continue
        # Empty cells to the right of the table say nothing about its header.
        labels = row.texts[:columns]
        groups = _groups(above, columns) if above is not None else None
        if not _names_years_only(labels, below) or holds_values(labels, below):
            groups, labels = None, []
        named = _named(groups, labels, columns) if groups else []
        if is_header(_beside_names(named, below)):
            return place - 1, tuple(named)
        if is_header(_beside_names(labels, below)):
            return place, tuple(labels)
        stacked = _stacked(row.texts, below, columns)
        if stacked:
            return place, tuple(stacked)
        if not _groups(row, columns):
            break
    return 0, ()


def _beside_names(labels: Sequence[str], below: Sequence[Sequence[str]]) -> list[str]:
    """Labels without those of columns without cells; of empty ones at the beginning one is left.

    Names of rows that are indented take several columns.
    """
    start = next((index for index, label in enumerate(labels) if label), len(labels))
    used = {index for row in below for index, cell in enumerate(row) if cell}
    kept = [
        label for index, label in enumerate(labels) if label or (index > start and index in used)
    ]
    return [*[""] * min(start, 1), *kept]


def _stacked(row: Sequence[str], below: Sequence[Sequence[str]], columns: int) -> list[str]:
    """The labels of two rows of words, of which neither names all columns, above figures."""
    if not below or any(map(_is_figure, (*row, *below[0]))):
        return []
    named = _named(row, below[0], columns)
    data = [
        [cells[index] for cells in below[1:] if index < len(cells) and cells[index]]
        for index in range(1, columns)
    ]
    over_figures = any(2 * sum(map(_is_figure, cells)) > len(cells) for cells in data)
    words = sum(map(bool, row)) > 1 and sum(map(bool, below[0])) > 1
    return named if words and over_figures and is_header(_beside_names(named, below[1:])) else []


def _named(groups: Sequence[str] | None, labels: Sequence[str], columns: int) -> list[str]:
    return _joined(_padded(groups or (), columns), _padded(labels, columns))


def _joined(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """The labels of two rows; what stands in both, as a cell over both rows does, is there once."""
    pairs = zip(upper, lower, strict=True)
    return [" ".join(filter(None, dict.fromkeys(pair))) for pair in pairs]


def _padded(cells: Sequence[str], columns: int) -> list[str]:
    return [*cells[:columns], *[""] * (columns - len(cells))]


def _is_under(row: _Cells, above: _Cells) -> bool:
    """Whether a row names the columns below cells that each reach over several of them."""
    named = [index for index in above.covered if index < len(row.texts) and row.texts[index]]
    return (
        not above.is_title
        and row.filled > above.filled
        and 2 * len(named) >= len(above.covered) > 0
        and not any(map(_is_figure, (*row.texts, *above.texts)))
    )


def _groups(row: _Cells, columns: int) -> list[str] | None:
    """A row that names groups of columns, each name over all of its columns; None for others."""
    cells = _padded(row.texts, columns)
    if not any(cells[1:]) or all(cells[1:]) or any(_is_figure(cell) for cell in cells):
        return None
    spread = [cells[0]]
    for index, cell in enumerate(cells[1:], 1):
        reaches = index in row.covered if row.covered else len(spread) > 1
        spread.append(cell or (spread[-1] if reaches else ""))
    return spread


def _names_years_only(labels: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether no year among the labels stands over other years, which are data then."""
    years = [index for index, label in enumerate(labels) if YEAR.fullmatch(label)]
    cells = [row[index] for row in below for index in years if index < len(row)]
    return not years or not any(YEAR.fullmatch(cell) for cell in cells)


def _is_figure(cell: str) -> bool:
    return _NUMBER.match(cell) is not None and not YEAR.fullmatch(cell)
