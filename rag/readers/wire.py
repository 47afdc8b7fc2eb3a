"""The messages between the program and its reading processes: JSON, one message per line.

A request contains the extension, the reader, the fields of a Source, and for a picture the page.
The replies are any number of ``progress`` messages, then one ``content``, ``page``, ``error`` or
``defect`` (a traceback).
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag.errors import InvalidFile, TouchstoneError, UnreadableDocument
from rag.readers.content import Content, Source
from rag.readers.formats import Format, format_of
from rag.readers.limits import Limits
from rag.readers.pdf.page_image import Mark, PageImage
from rag.types import Heading, Omission, Page, Table

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """One line; letters are not escaped, which would make six of one."""
    line = f"{json.dumps(message, ensure_ascii=False)}\n"
    return line.encode("utf-8", "surrogatepass")


def decode(line: bytes) -> Message:
    """The message of one line. Raises ValueError."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not a message")  # noqa: TRY004
    return message


def request(form: Format, source: Source) -> Message:
    """Ask for a file to be read."""
    return {
        "extension": form.extensions[0],
        "reader": form.reader,
        "path": str(source.path),
        "limits": dataclasses.asdict(source.limits),
        "password": source.password,
        "about": dict(source.about),
    }


def page_request(source: Source, number: int, text: str, marks: Sequence[Mark]) -> Message:
    """Ask for a page of a PDF to be drawn."""
    spans = [(mark.start, mark.end) for mark in marks]
    return request(format_of("x.pdf"), source) | {
        "page": {"number": number, "text": text, "marks": spans}
    }


def page_number(message: Message) -> tuple[int, str, list[Mark]] | None:
    """Number, text and marks of the page that a request is for; None where it wants the text."""
    body = message.get("page")
    return body and (body["number"], body["text"], [Mark(*span) for span in body["marks"]])


def page_message(page: PageImage) -> Message:
    """A page that was drawn."""
    picture = base64.b64encode(page.png).decode("ascii")
    return {"page": dataclasses.asdict(page) | {"png": picture}}


def page_of(message: Message) -> PageImage:
    """The reverse of ``page_message``."""
    body = message["page"]
    boxes = tuple(tuple(tuple(box) for box in mark_boxes) for mark_boxes in body["boxes"])
    return PageImage(**body | {"png": base64.b64decode(body["png"]), "boxes": boxes})


def source_of(message: Message) -> Source:
    """The file that a request names, still without a ``tick``."""
    limits = Limits(**message["limits"])
    return Source(Path(message["path"]), limits, message["password"], about=message["about"])


def content_message(content: Content) -> Message:
    """A reading that went well."""
    return {
        "content": {
            "text": content.text,
            "pages": [dataclasses.astuple(page) for page in content.pages],
            "headings": [dataclasses.astuple(heading) for heading in content.headings],
            "tables": [dataclasses.astuple(table) for table in content.tables],
            "metadata": content.metadata,
            "read": content.read,
            "left_out": [dataclasses.astuple(omission) for omission in content.left_out],
        }
    }


def content_of(message: Message) -> Content:
    """The reverse of ``content_message``."""
    body = message["content"]
    return Content(
        body["text"],
        tuple(Page(*page) for page in body["pages"]),
        tuple(Heading(*heading) for heading in body["headings"]),
        tuple(
            Table(start, end, tuple(labels), caption)
            for start, end, labels, caption in body["tables"]
        ),
        body["metadata"],
        body["read"],
        tuple(Omission(*omission) for omission in body["left_out"]),
    )


def error_message(error: TouchstoneError) -> Message:
    """A reading that failed."""
    reason = error.reason if isinstance(error, UnreadableDocument) else None
    return {"error": {"message": error.message, "hint": error.hint, "reason": reason}}


def error_of(message: Message) -> UnreadableDocument | InvalidFile:
    """The reverse of ``error_message``: without a reason it is the file of a question set."""
    body = message["error"]
    if body["reason"] is None:
        return InvalidFile(body["message"], body["hint"])
    return UnreadableDocument(**body)
