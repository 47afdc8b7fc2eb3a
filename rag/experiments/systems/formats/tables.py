"""Results of a system, and files of them in rows: JSONL, JSON, CSV, Parquet and TREC runs."""

from __future__ import annotations

import ast
import csv
import io
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from rag.errors import InvalidFile
from rag.evaluation.formats.fields import ReadingNotes, check_storable, json_rows, json_value, lines
from rag.evaluation.formats.question_files import decoded
from rag.evaluation.formats.trec import COMPLETE
from rag.input_rules import find_fault


@dataclass(frozen=True, slots=True)
class ReturnedText:
    """One result of a system; ``text`` is "" where the system sent none.

    ``score`` is the system's own, on its own scale. ``id`` is its id, which is not one of ours.
    """

    text: str
    score: float | None = None
    id: str = ""
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Returned:
    """The results for one question, best first.

    ``question_id`` is "" where it isn't given. Retrievals with the same ``trace`` served one
    request; ``hop`` counts them from 0. ``request`` are the words of that request, "" where the
    file does not have them. ``references`` are texts that the file itself names as the right ones.
    """

    question: str
    texts: tuple[ReturnedText, ...]
    hop: int = 0
    question_id: str = ""
    trace: str = ""
    references: tuple[str, ...] = ()
    request: str = ""


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


_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rf"\s*(\S+)\s+\S+\s+(\S+)\s+(-?\d+)\s+({_NUMBER})\s+\S+\s*")
_LOOKED_AT = 4096  # bytes

_Line = tuple[str, int, float]


def is_run(content: bytes) -> bool:
    """Whether the first line of a file is one of a TREC run."""
    first = content[:_LOOKED_AT].decode("utf-8-sig", "replace").lstrip().partition("\n")[0]
    return _LINE.fullmatch(first) is not None


def is_complete(content: bytes) -> bool:
    """Whether a run file says that its missing questions were asked, without results."""
    return any(line.startswith(COMPLETE.encode()) for line in content.splitlines())


def read_run(name: str, content: str, notes: ReadingNotes) -> tuple[list[Returned], list[str]]:
    """Read rankings in the order that trec_eval evaluates, and warnings.

    trec_eval sorts by score, equal ones by id in descending order, and ignores ranks. The names of
    questions and documents are those of the file, with %20 read as a space.
    """
    rankings: dict[str, list[_Line]] = {}
    for number, line in lines(content):
        if line.startswith(COMPLETE):
            continue
        with notes.line():
            question, item = _parsed(f"{name}, line {number}", line)
            rankings.setdefault(question, []).append(item)
    otherwise = [question for question, items in rankings.items() if not _by_rank(items)]
    warnings = [_disagreement(otherwise, len(rankings))] if otherwise else []
    return [
        Returned("", _texts(items), question_id=question) for question, items in rankings.items()
    ], warnings


def _parsed(place: str, line: str) -> tuple[str, _Line]:
    check_storable(line, place)
    match = _LINE.fullmatch(line)
    if match is None or not math.isfinite(float(match[4])):
        raise InvalidFile(
            f"{place}: expected question, Q0, document, rank, score and the name of the run.",
            'Like "q1 Q0 handbook.pdf 1 0.73 bm25".',
        )
    return unquote(match[1]), (unquote(match[2]), int(match[3][:12]), float(match[4]))


def _sorted(items: Sequence[_Line]) -> list[_Line]:
    return sorted(sorted(items, reverse=True), key=lambda item: -item[2])


def _by_rank(items: Sequence[_Line]) -> bool:
    """Whether ranks order these lines as their scores do."""
    ranks = [rank for _, rank, _ in _sorted(items)]
    return all(first < second for first, second in itertools.pairwise(ranks))


def _texts(items: Sequence[_Line]) -> tuple[ReturnedText, ...]:
    return tuple(ReturnedText("", score, id=name, title=name) for name, _, score in _sorted(items))


def _disagreement(questions: Sequence[str], number: int) -> str:
    return (
        f"The ranks of {len(questions):,} of {number:,} questions disagree with their scores, "
        f"first those of {questions[0][:60]}. The order is that of the scores, as in trec_eval."
    )
