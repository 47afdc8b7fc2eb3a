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
from html import escape
from typing import cast

from rag.readers.characters import decode
from rag.readers.containers.parts import Parts
from rag.readers.content import Composer, Content, Source, omission_mark
from rag.readers.failures import damaged
from rag.readers.formats import refusal_of
from rag.readers.html.reader import body_content
from rag.readers.sniff import HEAD

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
        raise damaged(
            "it has no header of a message, such as From or Subject",
            "Save the message again in your mail program, or rename the file to .txt.",
        )
    subject, sent = _header(message, "Subject"), _header(message, "Date")
    lines = [f"{name}: {_header(message, name)}" for name in _SHOWN if message.get(name)]
    metadata = {"title": subject, "author": _header(message, "From"), "date": _day(sent)}
    texts = [part for part in _leaves(message) if _is_text(part)]
    plain = [part for part in texts if part.get_content_type() == "text/plain"]
    beside = [
        ("picture" if inline else "attachment" if refusal_of(name, data[:HEAD]) else "", name)
        for name, data, inline in _attachments(message)
    ]
    source.tick(1, 1)
    if any(map(_text, plain)) or not texts:
        composer = Composer()
        composer.heading(1, subject)
        for block in ("\n".join(lines), *map(_text, plain)):
            composer.block(block)
        for kind, name in beside:
            composer.leave_out(kind, name, int(bool(kind)))
        content = composer.content(**metadata)
    else:
        content = body_content(_page(subject, lines, texts, beside), metadata)
    attached = sum(not kind for kind, _ in beside)
    return replace(content, read={"attachments": attached} if attached else {})


def _page(
    subject: str, lines: list[str], texts: list[EmailMessage], beside: list[tuple[str, str]]
) -> str:
    """The markup of a message without plain text; its pictures are elements of it."""
    from lxml import html

    parts = [f"<h1>{escape(subject)}</h1>", *(f"<p>{escape(line)}</p>" for line in lines)]
    for part in texts:
        for body in html.document_fromstring(_text(part) or "<p></p>").iter("body"):
            body.tag = "div"
            parts.append(html.tostring(body, encoding="unicode"))
    marks = (omission_mark(kind, escape(name)) for kind, name in beside if kind == "attachment")
    return "".join([*parts, *marks])


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
    messages = 0
    for data in _messages(mailbox.mbox(source.path, create=False)):
        messages += 1
        message = _parsed(data)
        subject = _header(message, "Subject").replace("/", " ")[:_LONGEST_NAME]
        name = f"{stem}/{_day(_header(message, 'Date'))} {subject}".rstrip()
        parts.add(f"{name}.eml", io.BytesIO(data))
    if not messages and source.path.read_bytes().strip():
        raise damaged(
            "no line of it begins a message with “From ”",
            "Export the mailbox again, or rename the file to .txt.",
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
