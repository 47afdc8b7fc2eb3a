"""Mail: a message is a document, its attachments and the messages of a mailbox are files."""

from __future__ import annotations

import email
import io
import mailbox
import mimetypes
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from typing import cast

from rag.errors import UnreadableDocument
from rag.readers.characters import decode
from rag.readers.containers.parts import Parts
from rag.readers.content import Composer, Content, Source
from rag.readers.formats import refusal_of
from rag.readers.html.reader import body_content
from rag.readers.sniff import HEAD
from rag.types import Omission

_SHOWN = ("From", "To", "Cc", "Date")
_TELLING = (*_SHOWN, "Subject", "Message-ID", "Received")
_LONGEST_NAME = 80


def read_message(source: Source) -> Content:
    """Subject, sender, recipients and date above the text; HTML is read where there is no text.

    Attachments are files of their own, see ``unpack_message``. Those that nobody reads, and
    pictures within the text, are left out, and counted. Raises UnreadableDocument (``damaged``).
    """
    source.tick(0, 1)
    data = source.path.read_bytes()
    if not data.strip():
        return Content("")
    message = _parsed(data)
    if not _is_message(message):
        raise UnreadableDocument(
            "The file is damaged: it has no header of a message, such as From or Subject.",
            "Save the message again in your mail program, or rename the file to .txt.",
            reason="damaged",
        )
    beside = Composer()
    for name, data, is_inline in _attachments(message):
        if is_inline or refusal_of(name, data[:HEAD]) is not None:
            beside.leave_out("picture" if is_inline else "attachment", name)
        else:
            beside.count("attachments")
    subject, sent = _header(message, "Subject"), _header(message, "Date")
    lines = [f"{name}: {_header(message, name)}" for name in _SHOWN if message.get(name)]
    metadata = {"title": subject, "author": _header(message, "From"), "date": _day(sent)}
    source.tick(1, 1)
    content = _with_text(message, subject, lines, metadata)
    counts = beside.content()
    return replace(content, read=counts.read, left_out=(*content.left_out, *counts.left_out))


def unpack_message(source: Source) -> Content:
    """The attachments of a message, in a folder of its name."""
    parts, stem = Parts(source), (source.about.get("name") or "").rpartition(".")[0]
    message = _parsed(source.path.read_bytes())
    # What is no message is refused when it is read.
    for name, data, is_inline in _attachments(message) if _is_message(message) else ():
        if not is_inline:
            parts.add(f"{stem}/{name}", io.BytesIO(data), with_pictures=True)
    return parts.content()


def unpack_mailbox(source: Source) -> Content:
    """The messages of a mailbox, named by their day and subject. Raises UnreadableDocument."""
    parts = Parts(source)
    stem = (source.about.get("name") or "").rpartition(".")[0]
    names = set[str]()
    for data in _messages(mailbox.mbox(source.path, create=False)):
        message = _parsed(data)
        subject = _header(message, "Subject").replace("/", " ")[:_LONGEST_NAME]
        first = name = f"{stem}/{_day(_header(message, 'Date'))} {subject}".rstrip()
        number = 1
        while name in names:
            number += 1
            name = f"{first} ({number})"
        names.add(name)
        parts.add(f"{name}.eml", io.BytesIO(data))
    if not names and source.path.read_bytes().strip():
        raise UnreadableDocument(
            "The file is damaged: no line of it begins a message with “From ”.",
            "Export the mailbox again, or rename the file to .txt.",
            reason="damaged",
        )
    return parts.content()


def _messages(box: mailbox.mbox) -> Iterator[bytes]:
    """Yield messages; lines of a text that begin with "From " do not part it."""
    message = b""
    for key in box.iterkeys():
        data = box.get_bytes(key)
        if message and not _is_message(_parsed(data)):
            message += b"\nFrom " + box.get_bytes(key, from_=True).removeprefix(b"From ")
            continue
        if message:
            yield message
        message = data
    if message and _is_message(_parsed(message)):
        yield message


def _is_message(message: EmailMessage) -> bool:
    return any(message.get(name) is not None for name in _TELLING)


def _parsed(data: bytes) -> EmailMessage:
    return email.message_from_bytes(data, policy=policy.default)


def _header(message: EmailMessage, name: str) -> str:
    """A header on one line; "" for one that is too odd for the parser."""
    with suppress(ValueError, LookupError, AttributeError, TypeError):
        return " ".join(str(message.get(name, "")).split())
    return ""


def _day(sent: str) -> str:
    with suppress(ValueError, TypeError, IndexError):
        return parsedate_to_datetime(sent).date().isoformat()
    return ""


def _leaves(message: EmailMessage) -> Iterator[EmailMessage]:
    """The parts that are no lists of parts, without those of messages that are attached."""
    if message.get_content_maintype() != "multipart":
        yield message
        return
    for part in message.iter_parts():
        yield from _leaves(cast(EmailMessage, part))


def _is_text(part: EmailMessage) -> bool:
    """Whether a part is text to be shown, and no attachment."""
    is_attached = part.get_content_disposition() == "attachment" or part.get_filename()
    return part.get_content_type() in ("text/plain", "text/html") and not is_attached


def _with_text(
    message: EmailMessage, subject: str, lines: list[str], metadata: dict[str, str]
) -> Content:
    """A message with its plain texts; with its HTML, where there are none."""
    from lxml import etree, html

    texts = [part for part in _leaves(message) if _is_text(part)]
    plain = [part for part in texts if part.get_content_type() == "text/plain"]
    composer = Composer()
    if any(map(_text, plain)) or not texts:
        composer.heading(1, subject)
        composer.block("\n".join(lines))
        for part in plain:
            composer.block(_text(part))
        return composer.content(**metadata)
    head = html.Element("div")
    etree.SubElement(head, "h1").text = subject
    for line in lines:
        etree.SubElement(head, "p").text = line
    pages = [html.document_fromstring(_text(part) or "<p></p>") for part in texts]
    markup = html.tostring(head, encoding="unicode") + "".join(
        html.tostring(body, encoding="unicode").replace("<body", "<div", 1)
        for page in pages
        for body in page.iter("body")
    )
    content = body_content(markup, metadata)
    pictures = sum(len(page.findall(".//img")) for page in pages)
    omission = (Omission("picture", pictures),) if pictures else ()
    return replace(content, left_out=(*content.left_out, *omission))


def _text(part: EmailMessage) -> str:
    data = part.get_payload(decode=True)
    charset = part.get_content_charset()
    return decode(data, charset)[0].strip() if isinstance(data, bytes) and data else ""


def _attachments(message: EmailMessage) -> Iterator[tuple[str, bytes, bool]]:
    """Name and bytes of each attachment, and whether it is a picture within the text."""
    for number, part in enumerate(_leaves(message), 1):
        if _is_text(part):
            continue
        kind, inner = part.get_content_type(), part.get_payload(decode=True)
        if kind == "message/rfc822":
            attached = part.get_payload(0)
            inner = attached.as_bytes() if isinstance(attached, EmailMessage) else b""
        ending = ".eml" if kind == "message/rfc822" else mimetypes.guess_extension(kind) or ""
        name = part.get_filename() or f"attachment {number}{ending}"
        is_inline = part.get_content_maintype() == "image" and (
            part.get_content_disposition() != "attachment"
        )
        yield name.replace("/", " "), inner if isinstance(inner, bytes) else b"", is_inline
