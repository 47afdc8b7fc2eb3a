"""Documents of a knowledge base, their builds, imports from stores, and the examination."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

from fastapi import File, Path, Request, Response, UploadFile
from fastapi.responses import StreamingResponse
from pydantic import ConfigDict, Field, StringConstraints

from rag import (
    BuildData,
    DocumentInfo,
    ExaminationData,
    ExistingStore,
    KnowledgeBase,
    NotFound,
    ReceiptData,
    Schema,
    SettlementDecision,
    StorePreviewData,
    Timestamp,
    Upload,
    attribute,
    build_data,
    examination_data,
)
from rag.api.resource import Base, Body, Page, Part, Resource, Shared, needs
from rag.api.resources.jobs import JobData, Queue
from rag.api.threads import dear

_QUEUED = needs("write", 400, 404, 409, 413, 415, response_model=JobData, status_code=202)
_MOST_CHARACTERS = 10_000_000
_BLOCK = 1 << 20
_ANY = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+")  # a bundle may bring any words
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file as it came, under its name.",
        "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}

documents = Resource("documents")
uploads = Resource("documents")

DocumentId = Annotated[str, Path(description="the id of a document")]


class DocumentData(Schema):
    """A document, without its text."""

    id: str
    name: str
    source: str
    media_type: str
    characters: int
    pages: int
    passages: int
    added: Timestamp
    tags: list[str]
    date: str
    receipt: ReceiptData | None


class DocumentTextData(DocumentData):
    """A document with its text."""

    text: str


class PassageOfBaseData(Schema):
    """A passage as it is indexed: ``context`` is embedded with its text."""

    chunk_id: str = attribute("id")
    document: str
    document_id: str
    order: int
    page: int | None
    heading: str
    start: int
    end: int
    text: str
    context: str


class TagsData(Schema):
    """The tags of a document."""

    tags: list[str]


class WebPages(Body):
    """Web pages to fetch."""

    urls: list[str] = Field(min_length=1, max_length=1000)


class PastedText(Body):
    """A text to keep as a document."""

    title: str = Field(max_length=500)
    text: str = Field(max_length=_MOST_CHARACTERS)


class Encoding(Body):
    """The encoding to read a text in."""

    encoding: str = Field(min_length=1, max_length=50)


class Tags(Body):
    """All tags that a document shall have."""

    tags: list[Annotated[str, StringConstraints(max_length=200)]] = Field(max_length=50)


@uploads.post("/knowledge-bases/{kb}/documents", **_QUEUED)
def upload_files(
    base: Base,
    files: Annotated[list[UploadFile], File(description="one part for each file")],
    queue: Queue,
) -> Response:
    """Store files and queue their reading; once this is answered, none is lost."""
    content = [[file.filename, _digest(file.file)] for file in files]
    given = [Upload(file.filename or "", file.file) for file in files]
    return queue(content, lambda: base.documents.add_files(given))


@documents.post("/knowledge-bases/{kb}/documents/urls", **_QUEUED)
def add_web_pages(base: Base, body: WebPages, queue: Queue) -> Response:
    """Queue web pages to be fetched and read."""
    return queue(body.urls, lambda: base.documents.add_urls(body.urls))


@documents.post("/knowledge-bases/{kb}/documents/text", **_QUEUED)
def add_text(base: Base, body: PastedText, queue: Queue) -> Response:
    """Queue a text."""
    return queue(body, lambda: base.documents.add_text(body.title, body.text))


@documents.get("/knowledge-bases/{kb}/documents", **needs("read", 404))
def list_documents(request: Request, base: Base, part: Part) -> Page[DocumentData]:
    """All documents by name, with their passages in the index of the saved recipe."""
    return part.of(request, base.documents.documents(base.recipe().index), DocumentData.of)


@documents.get("/knowledge-bases/{kb}/passages", **needs("read", 404))
def list_passages(request: Request, base: Base, part: Part) -> Page[PassageOfBaseData]:
    """All passages of the index of the saved recipe, by document and order."""
    recipe = base.recipe().index
    total = sum(info.passages for info in base.documents.documents(recipe))
    rows = base.documents.passages(recipe, part.offset, part.limit)
    shown = [PassageOfBaseData.of(chunk, document=name) for name, chunk in rows]
    return part.page(request, shown, total)


@documents.get("/knowledge-bases/{kb}/documents/{document}", **needs("read", 404))
def get_document(base: Base, document: DocumentId) -> DocumentTextData:
    """One document with its text."""
    info = find_document(base, document)
    return DocumentTextData.of(info, text=base.documents.document(document).text)


@documents.get("/knowledge-bases/{kb}/documents/{document}/tags", **needs("read", 404))
def get_tags(base: Base, document: DocumentId) -> TagsData:
    """The tags of a document, sorted."""
    return TagsData.of(find_document(base, document))


@documents.put("/knowledge-bases/{kb}/documents/{document}/tags", **needs("write", 400, 404, 415))
def set_tags(base: Base, document: DocumentId, body: Tags) -> TagsData:
    """Replace the tags of a document; only searches that filter by tag notice."""
    find_document(base, document)
    return TagsData(tags=base.documents.tag(document, body.tags))


@documents.get(
    "/knowledge-bases/{kb}/documents/{document}/original",
    **needs("read", 404, content_by_status=_FILE, response_class=StreamingResponse),
)
def download_original(workspace: Shared, base: Base, document: DocumentId) -> Response:
    """The file that a document was read from; 404 where none was kept."""
    info = find_document(base, document)
    content = _opened(base, info)
    workspace.note("export", "documents.original", info.name, base)
    # Without a charset: nobody knows here which one a text came in.
    headers = {
        "Content-Type": info.media_type if _MEDIA_TYPE.fullmatch(info.media_type) else _ANY,
        "Content-Length": str(os.fstat(content.fileno()).st_size),
        "Content-Disposition": _attached(info.name),
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(_blocks(content), headers=headers)


@documents.post("/knowledge-bases/{kb}/documents/{document}/readings", **_QUEUED)
def read_again(base: Base, document: DocumentId, body: Encoding, queue: Queue) -> Response:
    """Queue a document to be read again in another encoding; labels look for their words."""
    find_document(base, document)
    asked = [document, body.encoding]
    return queue(asked, lambda: base.documents.read_again([document], body.encoding))


@documents.delete(
    "/knowledge-bases/{kb}/documents/{document}", **needs("write", 404, status_code=204)
)
def delete_document(base: Base, document: DocumentId) -> Response:
    """Delete a document; from the next question on it does not answer. Labels on it stay."""
    find_document(base, document)
    base.documents.delete_documents([document])
    return Response(status_code=204)


def find_document(base: KnowledgeBase, document: str) -> DocumentInfo:
    """A document by id. Raises NotFound."""
    for info in base.documents.documents(base.recipe().index):
        if info.id == document:
            return info
    raise NotFound(f"There is no document with the id {document!r}.")


def _opened(base: KnowledgeBase, info: DocumentInfo) -> BinaryIO:
    """The file of a document: opened, it can be read to its end even if it is deleted meanwhile."""
    path = base.documents.original(info.id)
    if path is not None:
        with contextlib.suppress(FileNotFoundError):
            return path.open("rb")
    raise NotFound(
        f"The file of {info.name!r} was not kept.", "Its text is at the document's address."
    )


def _blocks(content: BinaryIO) -> Iterator[bytes]:
    with content:
        while block := content.read(_BLOCK):
            yield block


def _attached(name: str) -> str:
    """Return a header that saves a file under the last part of its name (RFC 6266)."""
    last = PurePosixPath(name).name
    last = last if last.strip(". ") else "document"
    quoted = quote(last, safe="", errors="replace")
    parameter = f'filename="{last}"' if quoted == last else f"filename*=UTF-8''{quoted}"
    return f"attachment; {parameter}"


def _digest(content: BinaryIO) -> str:
    digest = hashlib.sha256()
    while part := content.read(1 << 20):
        digest.update(part)
    content.seek(0)
    return digest.hexdigest()


builds = Resource("builds")


@builds.get("/knowledge-bases/{kb}/builds", **needs("read", 404, 502))
def list_builds(request: Request, base: Base, part: Part) -> Page[BuildData]:
    """The indexes that documents are built for, oldest first; `active` answers the questions."""
    active = base.recipe().index.hash
    builds = base.documents.builds()
    return part.of(request, builds, lambda row: build_data(base.documents, row, active))


@builds.delete("/knowledge-bases/{kb}/builds/{build}", **needs("write", 404, status_code=204))
def delete_build(
    base: Base, build: Annotated[str, Path(description="the hash of a build")]
) -> Response:
    """Delete a build, with passages and vectors that no other one has. The one that answers the
    questions is refused."""
    if build not in {row.hash for row in base.documents.builds()}:
        raise NotFound(f"There is no build with the hash {build!r}.")
    base.documents.delete_build(build)
    return Response(status_code=204)


store_imports = Resource("documents")


_STORE: dict[str, Any] = {
    "kind": "pgvector",
    "address": "postgresql://reader@db.example/manuals",
    "name": "passages",
    "key": "TOUCHSTONE_TOOL_DB",
}
_ASKED = ConfigDict(json_schema_extra={"examples": [{"store": _STORE, "embedder": "minilm"}]})


class StoreToPreview(Body):
    """A store to look at. The vectors are checked where an embedder is named."""

    model_config = _ASKED

    store: dict[str, Any]
    embedder: str = Field("", max_length=500)


class StoreToImport(Body):
    """A store to import, with the embedder that made its vectors."""

    model_config = _ASKED

    store: dict[str, Any]
    embedder: str = Field(min_length=1, max_length=500)


@store_imports.post(
    "/knowledge-bases/{kb}/store-imports/preview", **needs("write", 400, 404, 415, 502)
)
@dear
def preview_store(base: Base, body: StoreToPreview) -> StorePreviewData:
    """Look at the fields and some rows of an existing store, which is only read."""
    store = ExistingStore.parse(body.store)
    return StorePreviewData.of(base.documents.preview_store(store, body.embedder))


@store_imports.post(
    "/knowledge-bases/{kb}/store-imports",
    **needs("write", 400, 404, 409, 415, 502, response_model=JobData, status_code=202),
)
@dear
def import_store(base: Base, body: StoreToImport, queue: Queue) -> Response:
    """Queue the import of an existing store: its texts as documents, with its vectors."""

    def start() -> int:
        return base.documents.import_store(ExistingStore.parse(body.store), body.embedder)

    return queue(body, start)


_EXAMINATION = "/knowledge-bases/{kb}/examination"
Finding = Annotated[str, Path(description="the id of a finding", max_length=40)]

examination = Resource("examination")


class SettleRequest(Body):
    """A decision about a finding."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"decision": "ignore"}]})

    decision: SettlementDecision
    document: str = Field("", description="name or id of the document to keep, with `keep`")
    reason: str = Field("", description="why both are right, with `both`")


@examination.get(_EXAMINATION, **needs("read", 404))
@dear
def get_examination(base: Base) -> ExaminationData:
    """Examine all documents, and what questions reach; return open findings first, then settled."""
    return examination_data(base.documents.examinations.examine())


@examination.put(f"{_EXAMINATION}/{{finding}}", **needs("write", 400, 404, 415, status_code=204))
@dear
def settle_finding(base: Base, finding: Finding, body: SettleRequest) -> Response:
    """Settle a finding: keep one document, both are right, or ignore."""
    base.documents.examinations.settle(finding, body.decision, body.document, body.reason)
    return Response(status_code=204)


@examination.delete(f"{_EXAMINATION}/{{finding}}", **needs("write", 404, status_code=204))
@dear
def reopen_finding(base: Base, finding: Finding) -> Response:
    """Undo a decision about a finding, with the exclusions that came with it."""
    base.documents.examinations.reopen(finding)
    return Response(status_code=204)
