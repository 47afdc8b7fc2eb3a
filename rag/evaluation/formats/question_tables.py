"""Tables of questions as people have them: any separator, any case of the header, or a list."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag.errors import InvalidFile
from rag.evaluation.formats.fields import ReadingNotes, guesses, likely_field

FIELDS = (
    *("question", "id", "answerable", "tags", "group", "answer"),
    *("document", "quote", "page", "start", "end", "grade", "nugget"),
)
"""What a column may hold."""
_ALSO = {"text": "question", "query": "question", "questions": "question", "_id": "id"}
_SEPARATORS = ",;\t|"
_SHOWN = 5
_LONGEST_CELL = 1 << 17  # characters; a stray quotation mark swallows the rest of a file

Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """A table before it is imported: its columns, its first rows, and which column is what."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    fields: Mapping[str, str]

    def likely_field(self, column: str) -> str:
        """The field that a column which is none probably is; "" where none is like it."""
        return likely_field(column, [field for field in FIELDS if field not in self.fields])


def csv_lines(content: str) -> list[Row]:
    """The rows of comma, semicolon, tab or bar separated text. Raises InvalidFile."""
    content = content.removeprefix("\ufeff")
    first = content.partition("\n")[0]
    names_separator = first.startswith("sep=")  # Excel's own way to name the separator
    separator = (
        first[4:5] if names_separator else max(_SEPARATORS, key=lambda sign: _cells(first, sign))
    )
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator or ",")
    rows: list[Row] = []
    read = 0
    try:
        for row in reader:
            if max(map(len, row), default=0) > _LONGEST_CELL:
                raise csv.Error(f"field larger than {_LONGEST_CELL:,} characters")
            read = reader.line_num
            if any(cell.strip() for cell in row) and not (names_separator and reader.line_num == 1):
                rows.append((reader.line_num, row))
    except csv.Error as error:
        raise InvalidFile(
            f"Line {read + 1} cannot be read as CSV: {error}.",
            "Check its quotation marks, or write the questions as JSONL.",
        ) from error
    return rows


def _cells(line: str, separator: str) -> int:
    return len(next(csv.reader([line], delimiter=separator), []))


def list_lines(content: str) -> list[Row]:
    """The lines of a plain list, as rows of one cell."""
    lines = content.removeprefix("\ufeff").splitlines()
    return [(number, [line.strip()]) for number, line in enumerate(lines, 1) if line.strip()]


def table(lines: Sequence[Row], columns: Mapping[str, str]) -> QuestionTable:
    """Parse a table; ``columns`` maps fields to columns and has priority over column names."""
    header = [cell.strip() for cell in lines[0][1]] if lines else []
    by_name = {column.casefold(): column for column in reversed(header)}
    fields: dict[str, str] = {}
    for column in header:
        name = _ALSO.get(column.casefold(), column.casefold())
        if name in FIELDS:
            fields.setdefault(name, column)
    for field, column in columns.items():
        if column.casefold() in by_name:
            fields[field] = by_name[column.casefold()]
    if "question" not in fields and len(header) == 1:  # a list without a header
        return QuestionTable(("question",), _first(lines), {"question": "question"})
    return QuestionTable(tuple(header), _first(lines[1:]), fields)


def _first(lines: Sequence[Row]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(cells) for _, cells in lines[:_SHOWN])


def rows_by_field(
    name: str,
    lines: Sequence[Row],
    columns: Mapping[str, str],
    notes: ReadingNotes,
    ignored: Collection[str] = (),
) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of each line and its cells by field; columns of no field go to ``notes``.

    Raises InvalidFile where no column holds questions, one that is given is not there, or one that
    is neither a field nor ``ignored`` holds anything: it would be lost without a word.
    """
    parsed = table(lines, columns)
    listed = "; ".join(parsed.columns)
    for field, column in columns.items():
        if field not in FIELDS or column.casefold() not in map(str.casefold, parsed.columns):
            raise InvalidFile(
                f"{name} has no column {column!r} for {field!r}.",
                f"Its columns are: {listed}. Fields are: {', '.join(FIELDS)}.",
            )
    if "question" not in parsed.fields:
        raise InvalidFile(
            f"No column of {name} is called question.",
            f"Its columns are: {listed}. Rename the column of the questions, or assign it "
            "(on the command line: --column question=NAME).",
        )
    places = {field: parsed.columns.index(column) for field, column in parsed.fields.items()}
    notes.unused = tuple(name for name in parsed.columns if name not in parsed.fields.values())
    headless = lines[0][1] == list(parsed.rows[0]) if parsed.rows else False
    _check_columns(name, parsed, lines[1:], set(places.values()), ignored)
    for number, cells in lines if headless else lines[1:]:
        yield number, {field: cells[place] for field, place in places.items() if place < len(cells)}


def _check_columns(
    name: str,
    parsed: QuestionTable,
    lines: Sequence[Row],
    used: Collection[int],
    ignored: Collection[str],
) -> None:
    """Raise InvalidFile for columns that hold something and mean nothing here."""
    left_out = {column.casefold() for column in ignored}
    filled = {at for _, cells in lines for at, cell in enumerate(cells) if cell.strip()}
    unknown = [
        column
        for at, column in enumerate(parsed.columns)
        if at in filled and at not in used and column.casefold() not in left_out
    ]
    if not unknown:
        return
    free = [field for field in FIELDS if field not in parsed.fields]
    first = unknown[0]
    field = likely_field(first, free) or "FIELD"
    raise InvalidFile(
        f"{name} has columns that are no field: {', '.join(unknown)}.",
        f"{guesses(unknown, free)}Assign each one to a field, or ignore it (on the command "
        f"line: --column {field}={first} or --ignore-column {first}; in the API: "
        f"ignored_columns). Fields are: {', '.join(FIELDS)}.",
    )
