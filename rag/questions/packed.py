"""Zip files of questions, which anybody may have made: unpacked and parsed in a process apart."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import TypeAdapter

from rag.evaluation.formats import beir
from rag.evaluation.formats.question_files import FileQuestion
from rag.readers.content import Content, Source
from rag.readers.formats import Format
from rag.readers.isolation import shared_pool
from rag.readers.limits import Limits

_LIMITS = Limits(max_unpacked_bytes=100_000_000, seconds=120, seconds_to_open=120, memory_mb=1024)
_QUESTIONS = TypeAdapter(list[FileQuestion])


def questions_in(name: str, packed: bytes, split: str | None) -> list[FileQuestion]:
    """The questions of a zip file in BEIR's layout. Raises InvalidFile, UnreadableDocument."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packed"
        path.write_bytes(packed)
        source = Source(path, _LIMITS, about={"name": name, "split": split})
        return _QUESTIONS.validate_json(shared_pool().read(_ZIP, source).text)


def read_packed(source: Source) -> Content:
    """The same in the reading process, as JSON. Raises InvalidFile."""
    most = source.limits.max_unpacked_bytes
    folder = beir.open_zip(str(source.about["name"]), source.path, most)
    questions = beir.read_questions(folder, source.about["split"])
    return Content(_QUESTIONS.dump_json(questions).decode())


_ZIP = Format(("zip",), "application/zip", f"{__name__}:{read_packed.__name__}", ("zip",), True)
