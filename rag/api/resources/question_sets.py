"""Question sets and labels."""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import File, Form, Path, Request, Response, UploadFile
from fastapi.responses import PlainTextResponse
from pydantic import Field

from rag import (
    LONGEST_NUGGET,
    LONGEST_QUESTION,
    Existing,
    KnowledgeBase,
    Made,
    NotFound,
    PassportData,
    QuestionSet,
    Schema,
    Timestamp,
    VersionData,
    attribute,
)
from rag.api.resource import (
    MOST_ID,
    Base,
    Body,
    IfMatch,
    Maker,
    Page,
    Part,
    Resource,
    RowId,
    check_match,
    entity_tag,
    needs,
    where,
)

question_sets = Resource("question sets")
question_files = Resource("question sets")
labels = Resource("labels")


class JsonLines(PlainTextResponse):
    """Text with a JSON object in each line."""

    media_type = "application/jsonl"


class QuestionSetData(Schema):
    """A question set, with the numbers of its questions."""

    id: int
    name: str
    version: int
    questions: int
    answerable: int
    proposed: int
    changed: Timestamp


class ReplacedSetData(QuestionSetData):
    """A question set in the place of another version, which is stored."""

    replaced_version: int | None


class ImportedSetData(ReplacedSetData):
    """An imported set, and quotes whose labels may stand in several places."""

    repeated_quotes: list[str]


class LabelData(Schema):
    """A label; ``end`` is null for the whole document."""

    id: int
    document: str = attribute("document_name")
    document_id: str | None
    start: int
    end: int | None
    grade: int
    quote: str
    nugget: str


class QuestionData(Schema):
    """A question with its labels."""

    id: str
    question: str = attribute("text")
    answerable: bool
    tags: list[str]
    labels: list[LabelData]


_KEEP = needs("label", *(400, 404, 409, 415), response_model=QuestionSetData, status_code=201)
_IMPORT = needs("label", *(400, 404, 409, 415), response_model=ImportedSetData, status_code=201)


class NewSet(Body):
    """A question set to make."""

    name: str = Field(max_length=200)


class NewQuestion(Body):
    """A question to add."""

    question: str = Field(max_length=LONGEST_QUESTION)
    answerable: bool = True
    tags: list[str] = Field([], max_length=50)


class NewName(Body):
    """The new name of a question set."""

    name: str = Field(max_length=200)


class QuestionChanges(Body):
    """Changes of a question; absent fields stay unchanged."""

    question: str | None = Field(None, max_length=LONGEST_QUESTION)
    answerable: bool | None = None
    tags: list[str] | None = Field(None, max_length=50)


class NewLabel(Body):
    """A judgement of a span of a document; without ``end`` of the whole document."""

    question_id: str
    document_id: str
    start: int = Field(0, ge=0, le=MOST_ID)
    end: int | None = Field(None, ge=0, le=MOST_ID)
    grade: int = Field(ge=-1, le=9)


class LabelChanges(Body):
    """Changes of a label; absent fields stay unchanged. ``nugget`` names a part of the answer."""

    grade: int | None = Field(None, ge=-1, le=9)
    nugget: str | None = Field(None, max_length=LONGEST_NUGGET)


SetName = Annotated[str, Path(description="the id of a question set, or its name")]


def set_called(base: KnowledgeBase, name: str) -> QuestionSet:
    """A question set by id or name. Raises NotFound."""
    all_sets = base.questions.list_all()
    for key in ("id", "name"):  # digits may be a name too
        for row in all_sets:
            if str(getattr(row, key)) == name:
                return row
    raise NotFound(f"There is no question set {name!r}.")


def _seen(base: KnowledgeBase, name: str, if_match: str | None) -> str:
    """The name of a set whose version is the one that the caller has seen. Raises NotFound."""
    check_match(if_match, (row := set_called(base, name)).version)
    return row.name


@question_sets.get("/knowledge-bases/{kb}/question-sets", **needs("read", 404))
def list_question_sets(request: Request, base: Base, part: Part) -> Page[QuestionSetData]:
    """All question sets by name."""
    return part.of(request, base.questions.list_all(), QuestionSetData.of)


@question_sets.post("/knowledge-bases/{kb}/question-sets", **_KEEP)
def create_question_set(request: Request, base: Base, body: NewSet, idempotent: Maker) -> Response:
    """Make an empty question set."""

    def make() -> Made:
        base.questions.create_set(body.name)
        return _made(request, base, body.name.strip())

    return idempotent(body, make)


@question_files.post("/knowledge-bases/{kb}/question-sets/import", **_IMPORT)
def import_question_set(
    request: Request,
    base: Base,
    name: Annotated[str, Form(description="name of the set", max_length=200)],
    file: Annotated[UploadFile, File(description="JSONL, CSV, TSV, XLSX, qrels, or BEIR as ZIP")],
    idempotent: Maker,
    existing: Annotated[
        Existing,
        Form(
            description="if the set exists: replace it and keep its version, add to it, or refuse"
        ),
    ] = "replace",
    ignored_columns: Annotated[
        list[str] | None, Form(description="columns of a table to ignore", max_length=200)
    ] = None,
) -> Response:
    """Make or replace a question set from a file, or add to one.

    What is replaced is kept as `replaced_version`, which can be brought back. `repeated_quotes`
    names quotes that their document has in several places.
    """
    content = file.file.read()

    def make() -> Made:
        came = base.questions.import_file(
            name,
            file.filename or "",
            content,
            ignored_columns=ignored_columns or (),
            existing=existing,
        )
        made = _made(request, base, name.strip())
        body = made.body | {
            "replaced_version": came.replaced,
            "repeated_quotes": list(came.repeated),
        }
        return Made(made.status, body, made.location)

    digest = hashlib.sha256(content).hexdigest()
    return idempotent([name, file.filename, digest, existing, ignored_columns], make)


@question_sets.get("/knowledge-bases/{kb}/question-sets/{questions}", **needs("read", 404))
def get_question_set(base: Base, questions: SetName, response: Response) -> QuestionSetData:
    """One question set. Its ETag is its version."""
    question_set = set_called(base, questions)
    response.headers["ETag"] = entity_tag(question_set.version)
    return QuestionSetData.of(question_set)


@question_sets.patch(
    "/knowledge-bases/{kb}/question-sets/{questions}", **needs("label", 400, 404, 409, 412, 415)
)
def rename_question_set(
    base: Base, questions: SetName, body: NewName, if_match: IfMatch = None
) -> QuestionSetData:
    """Give a question set another name, in its runs too; its id stays."""
    base.questions.rename_set(_seen(base, questions, if_match), body.name)
    return QuestionSetData.of(base.questions.named(body.name.strip()))


@question_sets.delete(
    "/knowledge-bases/{kb}/question-sets/{questions}", **needs("label", 404, 412, status_code=204)
)
def delete_question_set(base: Base, questions: SetName, if_match: IfMatch = None) -> Response:
    """Delete a question set with its labels; its runs stay."""
    base.questions.delete_set(_seen(base, questions, if_match))
    return Response(status_code=204)


@question_sets.get("/knowledge-bases/{kb}/question-sets/{questions}/passport", **needs("read", 404))
def get_question_set_passport(base: Base, questions: SetName) -> PassportData:
    """The makers of a question set, what it covers, and its problems."""
    return base.questions.check(set_called(base, questions).name)


@question_sets.get("/knowledge-bases/{kb}/question-sets/{questions}/versions", **needs("read", 404))
def list_question_set_versions(
    request: Request, base: Base, questions: SetName, part: Part
) -> Page[VersionData]:
    """The versions of a question set that imports replaced, newest first."""
    kept = base.questions.kept_versions(set_called(base, questions).name)
    return part.of(request, kept, VersionData.of)


@question_sets.post(
    "/knowledge-bases/{kb}/question-sets/{questions}/versions/{number}/restore",
    **needs("label", 400, 404),
)
def restore_question_set_version(base: Base, questions: SetName, number: RowId) -> ReplacedSetData:
    """Bring a replaced version back; the questions in its place are kept in turn."""
    name = set_called(base, questions).name
    replaced = base.questions.restore_version(name, number)
    return ReplacedSetData.of(base.questions.named(name), replaced_version=replaced)


@question_sets.get(
    "/knowledge-bases/{kb}/question-sets/{questions}/questions", **needs("read", 404)
)
def list_questions(
    request: Request, base: Base, questions: SetName, part: Part
) -> Page[QuestionData]:
    """The questions of a set with their labels."""
    labelled = base.questions.labelled(set_called(base, questions).name)
    return part.of(request, labelled, QuestionData.of)


@question_sets.post(
    "/knowledge-bases/{kb}/question-sets/{questions}/questions",
    **needs("label", *(400, 404, 415), response_model=QuestionData, status_code=201),
)
def add_question(base: Base, questions: SetName, body: NewQuestion, idempotent: Maker) -> Response:
    """Add a question."""

    def make() -> Made:
        name = set_called(base, questions).name
        made = base.questions.add_question(
            name, body.question, answerable=body.answerable, tags=body.tags
        )
        return Made(201, _question(base, name, made).dump())

    return idempotent(body, make)


@question_sets.patch(
    "/knowledge-bases/{kb}/question-sets/{questions}/questions/{question}",
    **needs("label", 400, 404, 412, 415),
)
def edit_question(
    base: Base,
    questions: SetName,
    question: str,
    body: QuestionChanges,
    if_match: IfMatch = None,
) -> QuestionData:
    """Change a question; its labels stay."""
    name = _seen(base, questions, if_match)
    _question(base, name, question)
    base.questions.edit_question(
        name, question, text=body.question, answerable=body.answerable, tags=body.tags
    )
    return _question(base, name, question)


@question_sets.delete(
    "/knowledge-bases/{kb}/question-sets/{questions}/questions/{question}",
    **needs("label", 404, 412, status_code=204),
)
def remove_question(
    base: Base, questions: SetName, question: str, if_match: IfMatch = None
) -> Response:
    """Delete a question with its labels."""
    name = _seen(base, questions, if_match)
    _question(base, name, question)
    base.questions.delete_questions(name, [question])
    return Response(status_code=204)


@question_sets.get(
    "/knowledge-bases/{kb}/question-sets/{questions}/export",
    **needs("read", 404, response_class=JsonLines),
)
def export_question_set(base: Base, questions: SetName) -> JsonLines:
    """A question set as JSONL, which an import reads back."""
    text = base.questions.export_text(set_called(base, questions).name, "jsonl")
    return JsonLines(text.encode("utf-8", "replace"))


@labels.post(
    "/knowledge-bases/{kb}/question-sets/{questions}/labels",
    **needs("label", *(400, 404, 415), response_model=LabelData, status_code=201),
)
def add_label(base: Base, questions: SetName, body: NewLabel, idempotent: Maker) -> Response:
    """Judge a span of a document for a question; the same span again changes its grade."""

    def make() -> Made:
        name = set_called(base, questions).name
        made = base.questions.label(name, **body.model_dump())
        return Made(201, _label(base, name, made).dump())

    return idempotent(body, make)


@labels.patch(
    "/knowledge-bases/{kb}/question-sets/{questions}/labels/{label}",
    **needs("label", 400, 404, 412, 415),
)
def change_grade(
    base: Base, questions: SetName, label: RowId, body: LabelChanges, if_match: IfMatch = None
) -> LabelData:
    """Change the grade of a label, or name the part of the answer that it has."""
    name = _seen(base, questions, if_match)
    if body.grade is not None:
        base.questions.set_grade(name, label, body.grade)
    if body.nugget is not None:
        base.questions.set_nugget(name, label, body.nugget)
    return _label(base, name, label)


@labels.delete(
    "/knowledge-bases/{kb}/question-sets/{questions}/labels/{label}",
    **needs("label", 404, 412, status_code=204),
)
def remove_label(
    base: Base, questions: SetName, label: RowId, if_match: IfMatch = None
) -> Response:
    """Delete a label."""
    base.questions.remove_label(_seen(base, questions, if_match), label)
    return Response(status_code=204)


def _made(request: Request, base: KnowledgeBase, name: str) -> Made:
    question_set = base.questions.named(name)
    address = where(request, "knowledge-bases", base.id, "question-sets", question_set.id)
    return Made(201, QuestionSetData.of(question_set).dump(), address)


def _question(base: KnowledgeBase, name: str, question: str) -> QuestionData:
    """A question of a set. Raises NotFound."""
    for labelled in base.questions.labelled(name):
        if labelled.id == question:
            return QuestionData.of(labelled)
    raise NotFound(f"There is no question with the id {question!r}.")


def _label(base: KnowledgeBase, name: str, label: int) -> LabelData:
    stored = (row for labelled in base.questions.labelled(name) for row in labelled.labels)
    return LabelData.of(next(row for row in stored if row.id == label))
