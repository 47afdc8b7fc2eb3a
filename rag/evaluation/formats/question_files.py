"""Question files: JSONL and CSV to labelled questions, and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from rag.errors import InvalidFile
from rag.evaluation.formats import question_tables
from rag.evaluation.formats.fields import (
    GradesOnce,
    ReadingNotes,
    check_keys,
    check_storable,
    json_rows,
    span,
    truth,
    whole_number,
)
from rag.spreadsheets import csv_text, unguard_cell

_LABEL_KEYS = ("document", "quote", "page", "start", "end", "grade", "nugget")
_CSV_COLUMNS = ("id", "question", "answerable", "tags", "group", "answer", *_LABEL_KEYS)
_KEYS = ("id", "text", "tags", "answerable", "evidence", "_id", "question", "group", "answer")
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FileLabel:
    """Evidence as a file names it: a document, and a quote, a span or a page of it, or all of it.

    Beside a quote, ``page`` (from 1) tells which of its occurrences is meant. ``nugget`` names the
    part of the answer that it has, "" where the answer has no parts.
    """

    document: str
    quote: str = ""
    start: int | None = None
    end: int | None = None
    grade: int = 1
    page: int | None = None
    nugget: str = ""


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """A question as a file holds it."""

    id: str
    text: str
    answerable: bool
    tags: tuple[str, ...]
    labels: tuple[FileLabel, ...]
    group: str = ""
    answer: str = ""


def decoded(name: str, content: bytes) -> str:
    """The text of an uploaded file. Raises InvalidFile."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidFile(
            f"{name} is not UTF-8 text.", "Save it as UTF-8 and try again."
        ) from error


def parse(
    name: str,
    content: str,
    columns: Mapping[str, str] = _NONE,
    notes: ReadingNotes | None = None,
) -> list[FileQuestion]:
    """Questions of a JSONL or CSV file, or of a list with one a line (``.txt``).

    ``columns`` names columns of a table by what they hold, see ``question_tables``. Raises
    InvalidFile, naming all bad lines, unless ``notes`` skip them.
    """
    notes = notes or ReadingNotes()
    kind = name.lower().rpartition(".")[2]
    if kind in ("csv", "tsv", "tab"):
        return from_lines(name, question_tables.csv_lines(content), columns, notes)
    if kind == "txt":
        return from_lines(name, question_tables.list_lines(content), columns, notes)
    questions: dict[str, FileQuestion] = {}
    grades = GradesOnce()
    for place, row in json_rows(content, notes):
        with notes.line():
            question = _question(place, row)
            _check_grades(place, question.id, question.labels, grades)
            if question.id in questions:
                raise InvalidFile(
                    f"{place}: the id {question.id!r} occurs twice.", "Ids are unique."
                )
            questions[question.id] = question
    return _checked(name, questions, notes)


def from_lines(
    name: str,
    lines: Sequence[question_tables.Row],
    columns: Mapping[str, str] = _NONE,
    notes: ReadingNotes | None = None,
    ignored: Collection[str] = (),
) -> list[FileQuestion]:
    """Questions of a table's lines: one row per label.

    Rows that share the text of their question, or an id and no other text, are one question under
    the first id. Columns that are no field must be ``ignored``. Raises InvalidFile, naming all bad
    lines, unless ``notes`` skip them.
    """
    notes = notes or ReadingNotes()
    questions: dict[str, FileQuestion] = {}
    ids: dict[str, str] = {}  # of the questions by their texts
    grades = GradesOnce()
    rows = question_tables.rows_by_field(name, lines, columns, notes, ignored) if lines else ()
    for order, (number, cells) in enumerate(rows, 1):
        row = {field: unguard_cell(value) for field, value in cells.items() if value}
        text = folded(row.get("question", ""))
        key = ids.get(text) or row.get("id") or _free_id(order, questions)
        with notes.line():
            check_storable(row, f"Line {number}")
            before = questions.get(key)
            question = _with_row(before, f"Line {number}", row | {"id": key})
            new = question.labels[len(before.labels) if before else 0 :]
            _check_grades(f"Line {number}", question.id, new, grades)
            questions[key] = question
            ids[folded(questions[key].text)] = key
    return _checked(name, questions, notes)


def _check_grades(
    place: str, question: str, labels: Iterable[FileLabel], grades: GradesOnce
) -> None:
    for label in labels:
        part = label.quote, label.start, label.end, label.page, label.nugget
        grades.check(place, label.grade, label.document, question, *part)


def folded(text: str) -> str:
    """Questions are the same where this is."""
    return " ".join(text.casefold().split())


def _free_id(order: int, taken_ids: Collection[str]) -> str:
    name = f"q{order}"
    while name in taken_ids:
        name += "a"
    return name


def _checked(
    name: str, questions: Mapping[str, FileQuestion], notes: ReadingNotes
) -> list[FileQuestion]:
    notes.check()
    if not questions:
        raise InvalidFile(f"{name} has no question.", "Write one question a line.")
    return list(questions.values())


def _with_row(previous: FileQuestion | None, place: str, row: Mapping[str, str]) -> FileQuestion:
    """A question with what one more row of a table says of it."""
    about: dict[str, Any] = {
        key: row[key] for key in ("id", "question", "answerable", "group", "answer") if key in row
    }
    if previous is not None:
        if folded(row.get("question", previous.text)) != folded(previous.text):
            raise InvalidFile(
                f"{place}: the id {previous.id!r} has another question in a line above.",
                "Give each question an id of its own.",
            )
        inherited = {
            "answerable": previous.answerable,
            "group": previous.group,
            "answer": previous.answer,
        }
        about = {**inherited, **about, "text": previous.text}
    if "document" in row:
        about["evidence"] = [{key: row[key] for key in _LABEL_KEYS if key in row}]
    elif any(key in row for key in ("quote", "page", "end", "nugget")):
        raise InvalidFile(
            f"{place}: a quote, page or nugget without a document.",
            "Name the document that it is in.",
        )
    tags = [tag for tag in row.get("tags", "").split(";") if tag]
    if previous is not None:
        tags = list(dict.fromkeys((*previous.tags, *tags)))
    question = _question(place, about | {"tags": tags})
    return replace(question, labels=previous.labels + question.labels) if previous else question


def _question(place: str, row: Mapping[str, Any]) -> FileQuestion:
    check_keys(row, _KEYS, place)
    text = str(row.get("text") or row.get("question") or "").strip()
    if not text:
        raise InvalidFile(
            f"{place} has no question.",
            'In a table the column is called "question", in JSONL the field is called "text".',
        )
    labels = row.get("evidence") or []
    tags = row.get("tags") or []
    if not isinstance(labels, list) or not isinstance(tags, list):
        raise InvalidFile(f"{place}: evidence and tags are lists.", "See `data/sample`.")
    return FileQuestion(
        id=str(row.get("id") or row.get("_id") or f"q{place.rpartition(' ')[2]}"),
        text=text,
        answerable=_answerable(place, row),
        tags=tuple(str(tag) for tag in tags),
        labels=tuple(_label(place, label) for label in labels),
        group=str(row.get("group") or "").strip(),
        answer=str(row.get("answer") or "").strip(),
    )


def _answerable(place: str, row: Mapping[str, Any]) -> bool:
    try:
        return truth(row.get("answerable", True))
    except ValueError as error:
        raise InvalidFile(
            f"{place}: answerable: {error}.",
            "Write true or false, yes or no, 1 or 0, or leave the field out.",
        ) from error


def _label(place: str, row: Any) -> FileLabel:
    if isinstance(row, dict):
        check_keys(row, _LABEL_KEYS, f"{place}: evidence")
    try:
        start, end = span(row.get("start"), row.get("end"))
        return FileLabel(
            document=str(row["document"]),
            quote=str(row.get("quote") or ""),
            start=start,
            end=end,
            grade=whole_number(row.get("grade", 1)),
            page=_page(row.get("page")),
            nugget=str(row.get("nugget") or "").strip(),
        )
    except ValueError as error:
        raise InvalidFile(
            f"{place}: {error}.",
            "Grade and page are whole numbers, and 0 <= start < end where a span is given.",
        ) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidFile(
            f"{place}: evidence needs a document.",
            'Like {"document": "handbook.pdf", "quote": "…", "grade": 2}.',
        ) from error


def _page(value: Any) -> int | None:
    if value in (None, ""):
        return None
    number = whole_number(value)
    if number < 1:
        raise ValueError(f"there is no page {number}, as pages count from 1")
    return number


def to_jsonl(questions: Iterable[FileQuestion]) -> str:
    """One JSON object a line; ``parse`` reads it back."""
    return "".join(json.dumps(_plain(item), ensure_ascii=False) + "\n" for item in questions)


def _plain(item: FileQuestion) -> dict[str, Any]:
    return {
        "id": item.id,
        "text": item.text,
        "tags": list(item.tags),
        "answerable": item.answerable,
        **({"group": item.group} if item.group else {}),
        **({"answer": item.answer} if item.answer else {}),
        "evidence": [_plain_label(label) for label in item.labels],
    }


def _plain_label(label: FileLabel) -> dict[str, Any]:
    row: dict[str, Any] = {"document": label.document, "grade": label.grade}
    if label.quote:
        row["quote"] = label.quote
    if label.end is not None:
        row |= {"start": label.start, "end": label.end}
    if label.page is not None:
        row["page"] = label.page
    if label.nugget:
        row["nugget"] = label.nugget
    return row


def to_csv(questions: Iterable[FileQuestion]) -> str:
    """One row per label, one row for a question without; ``parse`` reads it back."""
    return csv_text(_CSV_COLUMNS, _cells(questions))


def _cells(questions: Iterable[FileQuestion]) -> Iterator[list[Any]]:
    for item in questions:
        shared = {
            "id": item.id,
            "question": item.text,
            "answerable": str(item.answerable).lower(),
            "tags": ";".join(item.tags),
            "group": item.group,
            "answer": item.answer,
        }
        for label in item.labels or (None,):
            row = shared | (_plain_label(label) if label else {})
            yield [row.get(column) for column in _CSV_COLUMNS]
