"""Question files: JSONL and CSV to labelled questions, and back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rag.errors import InvalidFile
from rag.evaluation.formats import question_tables
from rag.evaluation.formats.fields import json_rows, span, truth, whole_number

_LABEL_COLUMNS = ("document", "quote", "grade", "start", "end")
_CSV_COLUMNS = ("id", "question", "answerable", "tags", *_LABEL_COLUMNS)
_NONE: Mapping[str, str] = MappingProxyType({})
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True, slots=True)
class FileLabel:
    """Evidence as a file names it: a document, and a quote or a span, or neither (all of it)."""

    document: str
    quote: str = ""
    start: int | None = None
    end: int | None = None
    grade: int = 1


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """A question as a file holds it."""

    id: str
    text: str
    answerable: bool
    tags: tuple[str, ...]
    labels: tuple[FileLabel, ...]


def decoded(name: str, content: bytes) -> str:
    """The text of an uploaded file. Raises InvalidFile."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidFile(
            f"{name} is not UTF-8 text.", "Save it as UTF-8 and try again."
        ) from error


def parse(name: str, content: str, columns: Mapping[str, str] = _NONE) -> list[FileQuestion]:
    """Questions of a JSONL or CSV file, or of a list with one a line (``.txt``).

    ``columns`` names columns of a table by what they hold, see ``question_tables``. Raises
    InvalidFile, naming the line.
    """
    kind = name.lower().rpartition(".")[2]
    if kind in ("csv", "tsv", "tab"):
        return from_lines(name, question_tables.csv_lines(content), columns)
    if kind == "txt":
        return from_lines(name, question_tables.list_lines(content), columns)
    return _distinct(name, [_question(place, row) for place, row in json_rows(content)])


def from_lines(
    name: str, lines: Sequence[question_tables.Row], columns: Mapping[str, str] = _NONE
) -> list[FileQuestion]:
    """Questions of a table's lines. Raises InvalidFile."""
    rows = _merged(question_tables.rows_by_field(name, lines, columns)) if lines else ()
    return _distinct(name, [_question(place, row) for place, row in rows])


def _distinct(name: str, questions: list[FileQuestion]) -> list[FileQuestion]:
    if not questions:
        raise InvalidFile(f"{name} holds no question.", "Write one question a line.")
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise InvalidFile(f"{name}: the id {question.id!r} occurs twice.", "Ids are unique.")
        seen.add(question.id)
    return questions


def _merged(
    lines: Iterable[tuple[int, Mapping[str, str]]],
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """One row per label; rows that share an id are one question."""
    merged: dict[str, dict[str, Any]] = {}
    places: dict[str, int] = {}
    for order, (number, cells) in enumerate(lines, 1):
        row = {name: _unguarded(value) for name, value in cells.items()}
        key = row.get("id") or f"q{order}"
        entry = merged.setdefault(
            key, {"id": key, "text": row.get("question") or "", "tags": [], "evidence": []}
        )
        places.setdefault(key, number)
        entry["tags"] = [tag for tag in (row.get("tags") or "").split(";") if tag]
        if row.get("answerable"):
            entry["answerable"] = row["answerable"]
        if row.get("document"):
            entry["evidence"].append({k: row[k] for k in _LABEL_COLUMNS if row.get(k)})
    yield from ((places[key], entry) for key, entry in merged.items())


def _question(place: int, row: Mapping[str, Any]) -> FileQuestion:
    text = str(row.get("text") or row.get("question") or "").strip()
    if not text:
        raise InvalidFile(
            f"Line {place} has no question.",
            'In a table the column is called "question", in JSONL the field is called "text".',
        )
    labels = row.get("evidence") or []
    tags = row.get("tags") or []
    if not isinstance(labels, list) or not isinstance(tags, list):
        raise InvalidFile(f"Line {place}: evidence and tags are lists.", "See `data/sample`.")
    return FileQuestion(
        id=str(row.get("id") or row.get("_id") or f"q{place}"),
        text=text,
        answerable=_answerable(place, row),
        tags=tuple(str(tag) for tag in tags),
        labels=tuple(_label(place, label) for label in labels),
    )


def _answerable(place: int, row: Mapping[str, Any]) -> bool:
    try:
        return truth(row.get("answerable", True))
    except ValueError as error:
        raise InvalidFile(
            f"Line {place}: answerable: {error}.", "Write true or false, or leave it out."
        ) from error


def _label(place: int, row: Any) -> FileLabel:
    try:
        start, end = span(row.get("start"), row.get("end"))
        return FileLabel(
            document=str(row["document"]),
            quote=str(row.get("quote") or ""),
            start=start,
            end=end,
            grade=whole_number(row.get("grade", 1)),
        )
    except ValueError as error:
        raise InvalidFile(
            f"Line {place}: {error}.",
            "A grade is a whole number, and 0 <= start < end where a span is given.",
        ) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidFile(
            f"Line {place}: evidence needs a document.",
            'Like {"document": "handbook.pdf", "quote": "…", "grade": 2}.',
        ) from error


def to_jsonl(questions: Iterable[FileQuestion]) -> str:
    """One JSON object a line; ``parse`` reads it back."""
    return "".join(json.dumps(_plain(item), ensure_ascii=False) + "\n" for item in questions)


def _plain(item: FileQuestion) -> dict[str, Any]:
    return {
        "id": item.id,
        "text": item.text,
        "tags": list(item.tags),
        "answerable": item.answerable,
        "evidence": [_plain_label(label) for label in item.labels],
    }


def _plain_label(label: FileLabel) -> dict[str, Any]:
    row: dict[str, Any] = {"document": label.document, "grade": label.grade}
    if label.quote:
        row["quote"] = label.quote
    if label.end is not None:
        row |= {"start": label.start, "end": label.end}
    return row


def to_csv(questions: Iterable[FileQuestion]) -> str:
    """One row per label, one row for a question without; ``parse`` reads it back."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for item in questions:
        shared = {
            "id": item.id,
            "question": item.text,
            "answerable": str(item.answerable).lower(),
            "tags": ";".join(item.tags),
        }
        for label in item.labels or (None,):
            row = shared | (_plain_label(label) if label else {})
            writer.writerow({name: _guarded(value) for name, value in row.items()})
    return out.getvalue()


def _guarded(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: texts come from documents and models."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _unguarded(value: Any) -> Any:
    """What ``_guarded`` was given."""
    is_guarded = isinstance(value, str) and value.startswith("'") and _FORMULA.match(value)
    return value[1:] if is_guarded else value
