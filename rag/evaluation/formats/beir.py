"""Collections in BEIR's layout: documents, questions and judgements, read and written.

A folder or zip of ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv`` (Thakur et al., BEIR,
2021); mteb has ``qrels/SPLIT.jsonl``. Ours may add ``spans.jsonl`` (where in a document the answer
is), and ``tags`` and ``answerable`` among the ``metadata`` of a query; other tools ignore both.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from rag.errors import InvalidFile
from rag.evaluation.formats.fields import (
    GradesOnce,
    ReadingNotes,
    check_storable,
    json_rows,
    json_value,
    lines,
    span,
    truth,
    whole_number,
)
from rag.evaluation.formats.question_files import FileLabel, FileQuestion
from rag.input_rules import mend
from rag.types import Document

_HINT = "A BEIR folder has corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."
_IDS = ("query-id", "corpus-id")
_ENDINGS = (".tsv", ".jsonl")  # of qrels: BEIR's, and those of mteb
_Span = tuple[int, int, str, int | None]


@dataclass(frozen=True, slots=True)
class BeirDocument:
    """A row of ``corpus.jsonl``; ``line`` is the row itself, whose hash identifies it."""

    id: str
    title: str
    text: str
    line: bytes

    @property
    def full_text(self) -> str:
        """Title, an empty line, text: what is searched, as BEIR does."""
        return f"{self.title}\n\n{self.text}" if self.title else self.text

    def document(self, source: str) -> Document:
        """The row as a document of a knowledge base, named by its id."""
        return Document(
            id=hashlib.sha256(self.line).hexdigest(),
            name=self.id,
            source=source,
            media_type="text/plain",
            text=self.full_text,
            metadata={"title": self.title} if self.title else {},
        )


def read_documents(folder: Path) -> Iterator[BeirDocument]:
    """Documents of a BEIR folder, one by one. Raises InvalidFile."""
    path = folder / "corpus.jsonl"
    _expect(path)
    with path.open("rb") as rows:
        for number, line in enumerate(rows, start=1):
            if not line.strip():
                continue
            try:
                row = mend(json_value(line))
                yield BeirDocument(
                    str(row["_id"]), str(row.get("title") or ""), str(row.get("text") or ""), line
                )
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InvalidFile(
                    f"{path.name}, line {number}: expected an object with _id, title and text.",
                    "The folder should be in BEIR's layout.",
                ) from error


def open_zip(name: str, path: Path, most_bytes: int) -> Traversable:
    """The folder with ``queries.jsonl`` in the zip file at ``path``, known to its user as ``name``.

    What is read of it may unpack to ``most_bytes``. Raises InvalidFile.
    """
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise InvalidFile(f"{name} is not a zip file.", _HINT) from error
    used = (entry for entry in archive.infolist() if not entry.filename.endswith("corpus.jsonl"))
    if sum(entry.file_size for entry in used) > most_bytes:
        raise InvalidFile(f"{name} is too large unpacked.", "Unpack it and import the folder.")
    places = [entry for entry in archive.namelist() if entry.endswith("queries.jsonl")]
    if not places:
        raise InvalidFile(f"{name} has no queries.jsonl.", _HINT)
    folder = min(places, key=len).removesuffix("queries.jsonl")
    return zipfile.Path(archive, folder)


def read_questions(
    folder: Traversable, split: str | None, notes: ReadingNotes | None = None
) -> list[FileQuestion]:
    """Judged questions of a BEIR folder, and those said to be unanswerable.

    ``split`` None takes ``test``, or the only one that there is. Labels have spans where the folder
    has ``spans.jsonl``. A grade of 0 or less stays, as "judged, not relevant". Raises InvalidFile,
    naming all bad lines, unless ``notes`` skip them.
    """
    notes = notes or ReadingNotes()
    queries = _queries(folder.joinpath("queries.jsonl"), notes)
    qrels = folder.joinpath("qrels")
    name = split or _only_split(folder)
    path = next(
        (path for path in (qrels.joinpath(f"{name}{end}") for end in _ENDINGS) if path.is_file()),
        qrels.joinpath(f"{name}.tsv"),
    )
    labels = _qrels(path, notes)
    spans = _spans(folder.joinpath("spans.jsonl"), notes)
    notes.check()
    for key in labels if not notes.skipped else ():  # a line that was skipped may have been it
        with notes.line():
            if key not in queries:
                raise InvalidFile(f"queries.jsonl lacks the judged question {key!r}.")
    notes.check()
    unanswerable = [key for key, (_, answerable, _) in queries.items() if not answerable]
    return [
        FileQuestion(key, *queries[key], tuple(_labels(labels.get(key, {}), spans.get(key, {}))))
        for key in dict.fromkeys([*labels, *unanswerable])
        if key in queries
    ]


def _queries(
    path: Traversable, notes: ReadingNotes
) -> dict[str, tuple[str, bool, tuple[str, ...]]]:
    queries = {}
    for place, row in json_rows(_text(path), notes, path.name):
        with notes.line():
            queries[str(row.get("_id"))] = _query_of(place, row)
    return queries


def _only_split(folder: Traversable) -> str:
    qrels = folder.joinpath("qrels")
    files = [path.name for path in qrels.iterdir()] if qrels.is_dir() else []
    names = sorted({Path(name).stem for name in files if name.endswith(_ENDINGS)})
    if "test" in names or len(names) == 1:
        return "test" if "test" in names else names[0]
    splits = ", ".join(names) or "none"
    raise InvalidFile("There are several qrels files.", f"Choose a split: {splits}.")


def _query_of(place: str, row: Mapping[str, Any]) -> tuple[str, bool, tuple[str, ...]]:
    """Text of a query, whether it is answerable, and its tags."""
    text, about = str(row.get("text") or ""), row.get("metadata")
    if not isinstance(about, dict):
        return text, True, ()
    tags = about.get("tags")
    named = tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()
    try:
        return text, truth(about.get("answerable", True)), named
    except ValueError as error:
        raise InvalidFile(f"{place}: answerable: {error}.") from error


def _labels(grades: Mapping[str, int], spans: Mapping[str, Sequence[_Span]]) -> Iterator[FileLabel]:
    for document, grade in grades.items():
        quotes = spans.get(document)
        if not quotes:
            yield FileLabel(document, grade=grade)
        for start, end, quote, own in quotes or ():
            yield FileLabel(document, quote, start, end, grade if own is None else own)


def _qrels(path: Traversable, notes: ReadingNotes) -> dict[str, dict[str, int]]:
    labels: dict[str, dict[str, int]] = {}
    grades = GradesOnce()
    if path.name.endswith(".jsonl"):
        for place, row in json_rows(_text(path), notes, path.name):
            with notes.line():
                cells: list[Any] = [str(row.get(name, "")) for name in _IDS]
                cells.append(row.get("score"))
                question, document, grade = _judgement(place, cells)
                grades.check(place, grade, document, question)
                labels.setdefault(question, {})[document] = grade
        return labels
    for number, line in lines(_text(path)):
        cells = line.split("\t")
        if number == 1 and cells[-1].strip() == "score":
            continue
        with notes.line():
            check_storable(line, place := f"{path.name}, line {number}")
            question, document, grade = _judgement(place, cells)
            grades.check(place, grade, document, question)
            labels.setdefault(question, {})[document] = grade
    return labels


def _judgement(place: str, cells: Sequence[Any]) -> tuple[str, str, int]:
    try:
        question, document, grade = cells
        return question, document, whole_number(grade)
    except ValueError as error:
        raise InvalidFile(
            f"{place}: expected query-id, corpus-id and a whole number as score."
        ) from error


def _spans(path: Traversable, notes: ReadingNotes) -> dict[str, dict[str, list[_Span]]]:
    """Answer spans by question and document, as offsets into the row's ``text``."""
    spans_by_question: dict[str, dict[str, list[_Span]]] = {}
    if not path.is_file():
        return spans_by_question
    for place, row in json_rows(_text(path), notes, path.name):
        with notes.line():
            question, document, spans = _answer_spans(place, row)
            spans_by_question.setdefault(question, {}).setdefault(document, []).extend(spans)
    return spans_by_question


def _answer_spans(place: str, row: Mapping[str, Any]) -> tuple[str, str, list[_Span]]:
    try:
        spans = [_answer_span(item) for item in row.get("answers") or row["references"]]
        return str(row["query_id"]), str(row["doc_id"]), spans
    except ValueError as error:
        raise InvalidFile(f"{place}: {error}.") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidFile(f"{place}: spans need start and end.") from error


def _answer_span(item: Mapping[str, Any]) -> _Span:
    start, end = span(item["start"], item["end"])
    if start is None or end is None:
        raise ValueError("spans need start and end")
    grade = item.get("grade")
    quote = str(item.get("text") or item.get("content") or "")
    return start, end, quote, None if grade is None else whole_number(grade)


def _text(path: Traversable) -> str:
    _expect(path)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path.name} is not UTF-8 text.", _HINT) from error


def _expect(path: Traversable) -> None:
    if not path.is_file():
        raise InvalidFile(f"{path} does not exist.", _HINT)


def write_zip(
    questions: Sequence[FileQuestion], split: str, documents: Iterable[Document] = ()
) -> bytes:
    """A zip in BEIR's layout; ``corpus.jsonl`` only where ``documents`` has some.

    Judgements are by document, with the best grade of its labels; ``spans.jsonl`` has the rest.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "queries.jsonl", "".join(_line(_query(question)) for question in questions)
        )
        archive.writestr(f"qrels/{split}.tsv", "".join(_judgements(questions)))
        spans = "".join(_line(row) for question in questions for row in _answers(question))
        if spans:
            archive.writestr("spans.jsonl", spans)
        rows = (
            _line({"_id": document.name, "title": "", "text": document.text})
            for document in documents
        )
        first = next(rows, None)
        if first is not None:
            with archive.open("corpus.jsonl", "w") as corpus:
                corpus.write(first.encode())
                corpus.writelines(row.encode() for row in rows)
    return packed.getvalue()


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _query(item: FileQuestion) -> dict[str, Any]:
    metadata = {"answerable": item.answerable, "tags": list(item.tags)}
    return {"_id": item.id, "text": item.text, "metadata": metadata}


def _judgements(questions: Iterable[FileQuestion]) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore\n"
    for item in questions:
        for document, grade in document_grades(item).items():
            yield f"{item.id}\t{document}\t{grade}\n"


def document_grades(item: FileQuestion) -> dict[str, int]:
    """The best grade of a question's labels by document."""
    grades: dict[str, int] = {}
    for label in item.labels:
        grades[label.document] = max(label.grade, grades.get(label.document, label.grade))
    return grades


def _answers(item: FileQuestion) -> Iterator[dict[str, Any]]:
    by_document: dict[str, list[dict[str, Any]]] = {}
    for label in item.labels:
        if label.quote:
            start = label.start or 0
            end = label.end if label.end is not None else start + len(label.quote)
            span = {"start": start, "end": end, "text": label.quote, "grade": label.grade}
            by_document.setdefault(label.document, []).append(span)
    for document, answers in by_document.items():
        yield {"query_id": item.id, "doc_id": document, "answers": answers}
