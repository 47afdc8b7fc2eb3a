"""Rows of JSONL, JSON, CSV and Parquet files."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag.errors import InvalidFile
from rag.evaluation.formats.fields import ReadingNotes, json_rows, json_value
from rag.evaluation.formats.question_files import decoded
from rag.input_rules import find_fault

LARGEST = 256 << 20
"""Bytes of a file, also unpacked."""
_LONGEST_CELL = 16 << 20
_LONGEST_LITERAL = 1 << 20
_BATCH = 256  # rows of Parquet
_QUESTIONS = ("query", "question", "input", "user_input", "search_query")
_LISTS_OF_ROWS = (
    *("data", "items", "rows", "runs", "observations", "spans"),
    *("samples", "examples", "test_cases", "testCases", "goldens"),
)
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d{1,4})\.(document\.\w{1,100})")


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``place`` names it in errors."""

    place: str
    values: Mapping[str, Any]


def rows_of(
    name: str, content: bytes, notes: ReadingNotes, *, any_shape: bool = False
) -> Iterator[Row]:
    """Generate the rows of a file; bad ones go to ``notes``. Raises InvalidFile.

    A line of JSONL that is a page of an API has several rows, unless ``any_shape``: paths name the
    lists themselves.
    """
    if len(content) > LARGEST:
        raise InvalidFile(f"{name} is larger than {LARGEST >> 20} MB.", "Split it.")
    if content[:4] == b"PAR1":
        yield from _parquet_rows(name, content)
        return
    text = decoded(name, content)
    if text.lstrip()[:1] == "[" or _is_one_object(text):
        yield from _array_rows(name, text, notes)
    elif text.lstrip()[:1] == "{":
        for place, values in json_rows(text, notes, name):
            inner = None if any_shape else _rows_in(values)
            if inner is None:
                yield Row(place, values)
            for number, item in enumerate(inner or (), start=1):
                yield Row(f"{place}, item {number}", item)
    else:
        yield from _csv_rows(name, text, notes)


def _is_one_object(text: str) -> bool:
    """Whether a text is one JSON object over several lines."""
    first = text.lstrip().partition("\n")[0].strip()
    return first.startswith("{") and not first.endswith("}")


def _rows_in(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of an object that is a page of an API or an export; None if it is a row."""
    if "resourceSpans" in value:
        return _span_rows(value)
    if _asks(value):
        return None
    for name in _LISTS_OF_ROWS:
        items = value.get(name)
        if isinstance(items, list) and items and all(isinstance(item, dict) for item in items):
            return items
    return None


def _span_rows(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the spans of an OTLP export request as the rows that Phoenix exports.

    Attributes are those of OpenInference, https://github.com/Arize-ai/openinference.
    """
    rows = []
    try:
        scopes = [scope for item in request["resourceSpans"] for scope in item["scopeSpans"]]
        for span in (span for scope in scopes for span in scope["spans"]):
            attributes = {
                item["key"]: next(iter(item["value"].values()), None)
                for item in span.get("attributes", ())
            }
            documents: dict[int, dict[str, Any]] = {}
            for name, value in attributes.items():
                if match := _DOCUMENT.fullmatch(name):
                    documents.setdefault(int(match[1]), {})[match[2]] = value
            row = {f"attributes.{name}": value for name, value in attributes.items()}
            if documents or attributes.get("openinference.span.kind") == "RETRIEVER":
                row["attributes.retrieval.documents"] = [documents[n] for n in sorted(documents)]
            row["context.trace_id"] = span.get("traceId")
            row["parent_id"] = span.get("parentSpanId")
            row["start_time"] = span.get("startTimeUnixNano")
            rows.append(row)
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidFile("The resourceSpans are not those of OTLP.", "Export again.") from error
    return rows


def _asks(value: Mapping[str, Any]) -> bool:
    """Whether an object has a question of its own: its lists are results then."""
    return any(isinstance(value.get(name), str) for name in _QUESTIONS)


def _longest_list(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the longest list of questions in an export that names its rows in a way of its own."""
    lists = [
        items
        for items in value.values()
        if isinstance(items, list) and items and isinstance(items[0], dict) and _asks(items[0])
    ]
    return max(lists, key=len, default=None)


def _array_rows(name: str, text: str, notes: ReadingNotes) -> Iterator[Row]:
    try:
        value = json_value(text)
    except ValueError as error:
        raise InvalidFile(f"{name} is not JSON: {error}.", "Export it again.") from error
    if isinstance(value, dict):
        value = _rows_in(value) or _longest_list(value) or [value]
    for number, item in enumerate(value, start=1):
        with notes.line():
            place = f"{name}, item {number}"
            if not isinstance(item, dict):
                raise InvalidFile(f"{place} is not a JSON object.", "Each item is a retrieval.")
            if fault := find_fault(item):
                raise InvalidFile(f"{place}: {fault}.", "Correct it, or remove the item.")
            yield Row(place, item)


def _csv_rows(name: str, text: str, notes: ReadingNotes) -> Iterator[Row]:
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        for cells in reader:
            with notes.line():
                place = f"{name}, line {reader.line_num}"
                if None in cells:
                    raise InvalidFile(
                        f"{place} has more cells than the first line.", "Quote cells with commas."
                    )
                yield Row(place, {key: _cell(value or "") for key, value in cells.items()})
    except csv.Error as error:
        place = f"{name}, line {reader.line_num}"
        raise InvalidFile(f"{place} is not CSV: {error}.", "Export it again.") from error


def _cell(text: str) -> Any:
    """Return a list or an object that a cell spells in JSON or in Python, else its text."""
    if text[:1] not in ("[", "{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text) if len(text) <= _LONGEST_LITERAL else text
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text


def _parquet_rows(name: str, content: bytes) -> Iterator[Row]:
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        groups = range(file.metadata.num_row_groups)
        size = sum(file.metadata.row_group(group).total_byte_size for group in groups)
        if size > LARGEST:
            raise InvalidFile(f"{name} unpacks to more than {LARGEST >> 20} MB.", "Split it.")
        number = 0
        for batch in file.iter_batches(_BATCH):
            for values in batch.to_pylist():
                number += 1
                yield Row(f"{name}, row {number}", values)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InvalidFile(f"{name} cannot be read as Parquet.", "Write it again.") from error
