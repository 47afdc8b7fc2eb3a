"""Archives (.zip), such as exports of Notion, Confluence and Slack."""

from __future__ import annotations

import contextlib
import io
import stat
import zipfile

from rag.errors import UnreadableDocument
from rag.readers.containers import slack
from rag.readers.containers.parts import Parts
from rag.readers.content import Content, Source
from rag.readers.formats import extension_of
from rag.readers.office.archive import check_archive

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
        of_slack = slack.people(archive) if names >= slack.FILES else None
        is_site = any(extension_of(name) in ("html", "htm") for name in names)
        for member in members:
            name, extension = _name(member), extension_of(member.filename)
            archives += extension == "zip"
            if of_slack is not None and slack.is_about(name):
                continue
            if is_site and extension in _LOOKS:
                parts.composer.leave_out("style_or_script", name)
            elif member.flag_bits & _ENCRYPTED:
                parts.composer.leave_out("encrypted_file", name)
            elif member.file_size > source.limits.max_bytes:
                parts.composer.leave_out("large_file", name)
            elif extension == "zip" and (depth >= _DEEPEST or archives > _MOST_ARCHIVES):
                parts.composer.leave_out("archive", name)
            elif of_slack is not None and slack.is_day(name):
                text = slack.day(name, archive.read(member), of_slack)
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
