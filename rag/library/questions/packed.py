"""Files of questions, which anybody may have made: unpacked and parsed in a process apart."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from rag.evaluation.formats import beir, question_files, question_tables
from rag.evaluation.formats.fields import ReadingNotes
from rag.evaluation.formats.question_files import FileQuestion
from rag.evaluation.formats.question_tables import QuestionTable
from rag.readers.content import Content, Limits, Source
from rag.readers.formats import Format
from rag.readers.isolation import shared_pool
from rag.readers.office.sheets import first_rows

_LIMITS = Limits(max_unpacked_bytes=100_000_000, seconds=120, seconds_to_open=120, memory_mb=1024)
_TABLE = TypeAdapter(QuestionTable)
_TABLES = (".csv", ".tsv", ".tab", ".txt", ".xlsx")


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The content of a question file; ``skipped`` describes the problem of each bad line.

    ``unused`` names the columns of a table that map to no field.
    """

    questions: tuple[FileQuestion, ...]
    skipped: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


_QUESTIONS = TypeAdapter(QuestionFile)


def questions_in(
    name: str,
    packed: bytes,
    split: str | None,
    columns: Mapping[str, str],
    *,
    ignored: Collection[str] = (),
    skip_bad: bool,
) -> QuestionFile:
    """The questions of a file: a zip in BEIR's layout, Excel, CSV, a list, or JSONL.

    Raises InvalidFile, for bad lines only where they are not to be skipped; UnreadableDocument.
    """
    options = {"columns": dict(columns), "ignored": list(ignored), "skip_bad": skip_bad}
    about = {"name": name, "split": split, "given": json.dumps(options)}
    return _QUESTIONS.validate_json(_read(_FILE, packed, about))


def table_in(name: str, packed: bytes) -> QuestionTable | None:
    """Return the columns of a table of questions; None for a file that is no table.

    Raises InvalidFile, UnreadableDocument.
    """
    if not name.lower().endswith(_TABLES):
        return None
    return _TABLE.validate_json(_read(_COLUMNS, packed, {"name": name}))


def _read(form: Format, packed: bytes, about: Mapping[str, str | None]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packed"
        path.write_bytes(packed)
        return shared_pool().read(form, Source(path, _LIMITS, about=about)).text


def read_packed(source: Source) -> Content:
    """The questions in the reading process, as JSON. Raises InvalidFile."""
    name, options = str(source.about["name"]), json.loads(source.about["given"] or "{}")
    notes = ReadingNotes(skip_bad=options["skip_bad"])
    if name.lower().endswith(".zip"):
        folder = beir.open_zip(name, source.path, source.limits.max_unpacked_bytes)
        questions = beir.read_questions(folder, source.about["split"], notes)
    elif name.lower().endswith(_TABLES):
        lines = _lines(name, source)
        columns, ignored = options["columns"], options["ignored"]
        questions = question_files.from_lines(name, lines, columns, notes, ignored)
    else:
        text = question_files.decoded(name, source.path.read_bytes())
        questions = question_files.parse(name, text, notes=notes)
    parsed = QuestionFile(tuple(questions), notes.skipped, notes.unused)
    return Content(_QUESTIONS.dump_json(parsed).decode())


def read_columns(source: Source) -> Content:
    """The columns in the reading process, as JSON. Raises InvalidFile."""
    lines = _lines(str(source.about["name"]), source)
    return Content(_TABLE.dump_json(question_tables.table(lines, {})).decode())


def _lines(name: str, source: Source) -> list[question_tables.Row]:
    if name.lower().endswith(".xlsx"):
        return first_rows(source)
    text = question_files.decoded(name, source.path.read_bytes())
    plain = name.lower().endswith(".txt")
    return (question_tables.list_lines if plain else question_tables.csv_lines)(text)


def _format(function: str) -> Format:
    return Format(("packed",), "application/octet-stream", f"{__name__}:{function}", (), True)


_FILE, _COLUMNS = _format(read_packed.__name__), _format(read_columns.__name__)
