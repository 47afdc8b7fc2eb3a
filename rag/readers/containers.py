"""Files that hold files: mail with attachments, mailboxes, and archives, such as of Slack."""

from __future__ import annotations

import contextlib
import email
import html
import io
import mailbox
import mimetypes
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from html import escape
from pathlib import Path
from typing import IO, cast

from rag.errors import InvalidFile, UnreadableDocument
from rag.readers.characters import decode
from rag.readers.content import Composer, Content, Source, damaged, omission_mark
from rag.readers.formats import HEAD, extension_of, refusal_of
from rag.readers.html.reader import body_content
from rag.readers.office.archive import check_archive
from rag.readers.records import parse_json

_PICTURES = {"png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "tif", "tiff", "ico", "heic"}
_UNWANTED = re.compile(r"[\x00-\x1f\x7f]+|^[A-Za-z]:(?=/)")
_BLOCK = 1 << 20
MOST = 10_000
"""Files that come out of one."""


class Parts:
    """Files in a folder, numbered from 0; the content lists their names, a line each.

    Without a folder (``source.about``), there is the list alone.
    """

    def __init__(self, source: Source) -> None:
        folder = source.about.get("folder")
        self.composer = Composer()
        self._source = source
        self._folder = Path(folder) if folder else None
        self._names: list[str] = []

    def add(self, name: str, content: IO[bytes], *, with_pictures: bool = False) -> None:
        """Take a file that somebody reads; count what nobody does, and pictures without need."""
        path = _UNWANTED.sub("", name.replace("\\", "/"))
        name = "/".join(part for part in path.split("/") if part.strip(". ")) or "file"
        head = content.read(HEAD)
        if extension_of(name) in _PICTURES and not with_pictures:
            self.composer.leave_out("picture", name)
        elif not head or refusal_of(name, head) is not None:
            self.composer.leave_out("file" if head else "empty_file", name)
        elif len(self._names) == MOST:
            self.composer.leave_out("file_above_the_limit", name)
        else:
            if self._folder is not None:
                self._write(self._folder / str(len(self._names)), head, content)
            self._names.append(name)
            self._source.tick(len(self._names), len(self._names) + 1)

    def _write(self, path: Path, head: bytes, content: IO[bytes]) -> None:
        block = head
        while block:
            try:
                with path.open("ab") as target:
                    target.write(block)
            except OSError as error:
                raise InvalidFile(
                    f"The files in it could not be written ({error.strerror}).",
                    "Make room on the disk for temporary files, and add it again.",
                ) from error
            block = content.read(_BLOCK)

    def content(self) -> Content:
        """The names, and what was left out."""
        self.composer.block("\n".join(self._names))
        self._source.tick(1, 1)
        return self.composer.content()


SLACK_FILES = {"users.json", "channels.json"}
"""Files by which an export is known."""
_DAY = re.compile(r"(.+)/(\d{4}-\d{2}-\d{2})\.json")
_MARK = re.compile(r"<([@#!]?)([^<>|\n]*)(?:\|([^<>\n]*))?>")
_NEWS = {"channel_join", "channel_leave", "channel_topic", "channel_purpose", "bot_add"}


def _slack_people(archive: zipfile.ZipFile) -> dict[str, str]:
    """The names of users by their ids."""
    users = parse_json(archive.read("users.json").decode("utf-8", "replace"))
    named = dict[str, str]()
    for user in users if isinstance(users, list) else ():
        if isinstance(user, dict):
            profile = user.get("profile")
            shown = profile.get("display_name") if isinstance(profile, dict) else ""
            names = (shown, user.get("real_name"), user.get("name"))
            named[str(user.get("id"))] = next((str(name) for name in names if name), "")
    return named


def _slack_day(name: str, data: bytes, people: Mapping[str, str]) -> str:
    """The messages of a day as Markdown; a reply in a thread says so. "" for a damaged file."""
    try:
        messages = parse_json(data.decode("utf-8", "replace"))
    except UnreadableDocument:  # the other days are worth reading
        return ""
    match = _DAY.fullmatch(name)
    lines = [f"# {match[1]}, {match[2]}" if match else "# Messages"]
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict) or message.get("subtype") in _NEWS:
            continue
        thread, sent = message.get("thread_ts"), message.get("ts")
        words = _words(str(message.get("text") or ""), people)
        files = [file for file in message.get("files") or () if isinstance(file, dict)]
        words += "".join(f" [File: {file.get('name', '')}]" for file in files)
        if words.strip():
            who = people.get(str(message.get("user"))) or message.get("username") or "unknown"
            reply = " (reply)" if thread and thread != sent else ""
            lines.append(f"**{who}**, {_time(sent)}{reply}: {words}")
    return "\n\n".join(lines)


def _time(sent: object) -> str:
    try:
        return f"{datetime.fromtimestamp(float(str(sent)), UTC):%H:%M}"
    except (ValueError, OverflowError, OSError):
        return "?"


def _words(text: str, people: Mapping[str, str]) -> str:
    """The text of a message with names in place of ids."""

    def shown(mark: re.Match[str]) -> str:
        sign, target, label = mark[1], mark[2], mark[3]
        if sign == "@":
            return f"@{people.get(target) or label or target}"
        if sign:
            return f"{sign.replace('!', '@')}{label or target}"
        return f"{label} ({target})" if label and label not in target else target

    return html.unescape(_MARK.sub(shown, text))


_LOOKS = {"css", "js", "map", "woff", "woff2", "ttf"}  # of pages in the same archive
_MOST_ARCHIVES = 20
_DEEPEST = 2
_ENCRYPTED, _UTF_8 = 0x1, 0x800  # flags


def unpack_zip(source: Source) -> Content:
    """The files of an archive under their paths; days of a Slack export as texts.

    Left out, and counted: pictures, files that nobody reads, that are encrypted or too large, and
    archives too deep within others. Raises UnreadableDocument: damaged, too_large.
    """
    check_archive(source, with_declarations=True)
    parts, archives = Parts(source), 0
    depth = int(source.about.get("depth") or 0)
    with zipfile.ZipFile(source.path) as archive:
        members = [member for member in archive.infolist() if _is_file(member)]
        names = {member.filename for member in members}
        of_slack = _slack_people(archive) if names >= SLACK_FILES else None
        is_site = any(extension_of(name) in ("html", "htm") for name in names)
        for member in members:
            name, extension = _name(member), extension_of(member.filename)
            archives += extension == "zip"
            if of_slack is not None and "/" not in name and name.endswith(".json"):
                continue  # about the workspace: users, channels, logs
            if is_site and extension in _LOOKS:
                parts.composer.leave_out("style_or_script", name)
            elif member.flag_bits & _ENCRYPTED:
                parts.composer.leave_out("encrypted_file", name)
            elif member.file_size > source.limits.max_bytes:
                parts.composer.leave_out("large_file", name)
            elif extension == "zip" and (depth >= _DEEPEST or archives > _MOST_ARCHIVES):
                parts.composer.leave_out("archive", name)
            elif of_slack is not None and _DAY.fullmatch(name):
                text = _slack_day(name, archive.read(member), of_slack)
                parts.add(f"{name.removesuffix('.json')}.md", io.BytesIO(text.encode()))
            else:
                with archive.open(member) as packed:
                    parts.add(name, packed)
    content = parts.content()
    if not content.text:
        raise UnreadableDocument(
            "The archive has no file that can be read.",
            "Check that this is the file you meant, or unpack it and add what is in it.",
            reason="empty",
        )
    return content


def _name(member: zipfile.ZipInfo) -> str:
    """The path of a member; programs of macOS write UTF-8 without saying so."""
    if not member.flag_bits & _UTF_8 and not member.filename.isascii():
        with contextlib.suppress(UnicodeError):
            return member.filename.encode("cp437").decode("utf-8")
    return member.filename


def _is_file(member: zipfile.ZipInfo) -> bool:
    """Whether a member is a file that is not hidden, and no link."""
    folders = [part for part in member.filename.split("/") if part not in (".", "..")]
    hidden = any(part.startswith((".", "__MACOSX")) for part in folders)
    return not (member.is_dir() or hidden or stat.S_ISLNK(member.external_attr >> 16))


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
