"""What goes over the pipes between the program and its reading processes: JSON, one per line.

Request: extension, path, limits, password. Replies: any number of ``progress``, then one of
``content`` or ``error``.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from rag.errors import UnreadableDocument
from rag.readers.content import Content, Source
from rag.readers.limits import Limits
from rag.types import Heading, Page

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """One line of ASCII."""
    return json.dumps(message).encode("ascii") + b"\n"


def decode(line: bytes) -> Message:
    """The message of one line. Raises ValueError."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not a message")  # noqa: TRY004
    return message


def request(extension: str, source: Source) -> Message:
    """Asks for a file to be read."""
    return {
        "extension": extension,
        "path": str(source.path),
        "limits": dataclasses.asdict(source.limits),
        "password": source.password,
    }


def source_of(message: Message) -> Source:
    """The file that a request names, still without a ``tick``."""
    limits = Limits(**message["limits"])
    return Source(Path(message["path"]), limits, message["password"])


def content_message(content: Content) -> Message:
    """A reading that went well."""
    return {
        "content": {
            "text": content.text,
            "pages": [(page.number, page.start, page.end) for page in content.pages],
            "headings": [(item.start, item.level, item.title) for item in content.headings],
            "metadata": content.metadata,
        }
    }


def content_of(message: Message) -> Content:
    """The reverse of ``content_message``."""
    body = message["content"]
    return Content(
        body["text"],
        tuple(Page(*page) for page in body["pages"]),
        tuple(Heading(*heading) for heading in body["headings"]),
        body["metadata"],
    )


def error_message(error: UnreadableDocument) -> Message:
    """A reading that failed."""
    return {"error": {"message": error.message, "hint": error.hint, "reason": error.reason}}


def error_of(message: Message) -> UnreadableDocument:
    """The reverse of ``error_message``."""
    return UnreadableDocument(**message["error"])
