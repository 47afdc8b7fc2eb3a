"""Files, web addresses and pasted text become Documents.

``read`` and ``read_text`` are the way in; ``rag.readers.web.fetch`` gets a file from an address.
Every failure is an UnreadableDocument whose ``reason`` says which kind it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from rag.errors import TouchstoneError, UnreadableDocument
from rag.languages import document_language
from rag.readers.characters import normalise
from rag.readers.content import FRESH_COPY, Content, Source, silent
from rag.readers.content import Limits as Limits
from rag.readers.formats import (
    DESCRIPTIONS,
    HEAD,
    Format,
    extension_of,
    kind_of,
    refusal_of,
    unsupported,
)
from rag.readers.formats import SUPPORTED as SUPPORTED
from rag.readers.formats import TEXT_EXTENSIONS as TEXT_EXTENSIONS
from rag.readers.formats import format_of as format_of
from rag.readers.formats import reader_version as reader_version
from rag.readers.isolation import shared_pool
from rag.readers.pdf.page_image import Mark as Mark
from rag.readers.pdf.page_image import PageImage as PageImage
from rag.types import Document, Omission, Receipt

_DEFAULT = Limits()
_DRAWING = Limits(seconds_to_open=20, seconds=20, memory_mb=1024)  # one page, while somebody waits
_COUNTING = Limits(seconds_to_open=5, seconds=5, memory_mb=1024)
_PARAGRAPH = re.compile(r"(?:\A|\n\n)[ \t]{0,8}(?=\S)")
_BYTES_PER_PAGE = 100_000  # of a PDF that cannot be opened
_PAGES = Format(("pdf",), "application/pdf", ".pdf.reader:count_pages", ("pdf",), True)
_OPENED = Format(("pdf",), "application/pdf", ".pdf.reader:decrypt", ("pdf",), True)
_PASTED = Format(("txt",), "text/plain", ".text:read_pasted", ("text",))


def read(
    path: Path,
    name: str,
    *,
    source: str = "",
    limits: Limits = _DEFAULT,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    password: str | None = None,
    encoding: str = "",
) -> Document:
    """Read the file at ``path`` that its user knows as ``name``; the extension decides how.

    That is done in a process apart, whatever the format: no file takes the time of this one.

    ``progress(done, total)`` is called per page (or block of rows), ``cancelled()`` is polled
    several times a second. ``source`` is kept as where the file came from. ``encoding`` is that of
    a text, "" to tell it from the bytes. Raises UnreadableDocument, or Cancelled. Safe to call from
    several threads.
    """
    form = format_of(name)
    _check_size(path, limits)
    _check_kind(path, name, form)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    about = {"encoding": encoding}
    source_file = Source(path.resolve(), limits, password, progress or silent, about)
    content = shared_pool().read(form, source_file, cancelled)
    if not content.text or content.text.isspace():
        raise _empty()
    return _document(content, digest, name, source, form.media_type)


def read_text(text: str, title: str, *, cancelled: Callable[[], bool] | None = None) -> Document:
    """Pasted text as a Document named ``title``; Markdown if it looks like it.

    Raises UnreadableDocument (``empty``) if there is nothing but whitespace, or Cancelled.
    """
    if not text or text.isspace():
        raise _empty()
    content = shared_pool().read(_PASTED, Source(Path(), about={"text": text}), cancelled)
    if not content.text or content.text.isspace():
        raise _empty()
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    name = " ".join(normalise(title).split()) or "Pasted text"
    media_type = content.metadata["media_type"]
    return _document(replace(content, metadata={}), digest, name, "", media_type)


def refusal(name: str, content: BinaryIO) -> UnreadableDocument | None:
    """The error for a file that no reader reads, by its extension and its first bytes; else None.

    ``content`` stands at its beginning then.
    """
    content.seek(0)
    head = content.read(HEAD)
    content.seek(0)
    return refusal_of(name, head)


def unpack(
    path: Path,
    name: str,
    folder: Path,
    *,
    depth: int = 0,
    limits: Limits = _DEFAULT,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[list[tuple[str, Path]], tuple[Omission, ...]]:
    """Write the files within a file into ``folder``, in a process apart.

    Returns the name and the place of each, and what was left out. Files without any inside have
    none. ``depth`` is how many files the file itself came out of. Raises UnreadableDocument, or
    Cancelled.
    """
    form = format_of(name)
    if not form.unpacker:
        return [], ()
    _check_size(path, limits)
    _check_kind(path, name, form)
    about = {"folder": str(folder.resolve()), "name": name, "depth": str(depth)}
    unpacking = replace(form, reader=form.unpacker)
    source = Source(path.resolve(), limits, about=about)
    content = shared_pool().read(unpacking, source, cancelled)
    names = content.text.split("\n") if content.text else []
    if form.is_archive and not names:
        raise _empty()
    return [(inner, folder / str(at)) for at, inner in enumerate(names)], content.left_out


def count_pages(path: Path) -> int:
    """Return the number of pages of a PDF without reading them. Raises UnreadableDocument."""
    return int(shared_pool().read(_PAGES, Source(path.resolve(), _COUNTING)).text)


def size_of(path: Path | None, name: str) -> tuple[str, float]:
    """Return the kind of a file and its size: pages of a PDF, as far as they can be counted.

    Other kinds, by their extension, have bytes, and a file that is not there has no size.
    """
    kind = extension_of(name)
    if path is None or not path.exists():
        return kind, 0.0
    size = float(path.stat().st_size)
    if kind != "pdf":
        return kind, size
    try:
        return kind, float(count_pages(path))
    except TouchstoneError:
        return kind, size / _BYTES_PER_PAGE


def decrypt(path: Path, target: Path, password: str, *, limits: Limits = _DEFAULT) -> None:
    """Write a copy of an encrypted PDF that needs no password, in a process apart.

    The same file gives the same bytes each time. Raises UnreadableDocument.
    """
    _check_kept(path)
    about = {"target": str(target.resolve())}
    shared_pool().read(_OPENED, Source(path.resolve(), limits, password, about=about))


def draw(
    path: Path,
    number: int,
    text: str,
    marks: Sequence[Mark],
    *,
    limits: Limits = _DRAWING,
    password: str | None = None,
) -> PageImage:
    """Draw page ``number`` (from 1) of a PDF with some of its words marked, in a process apart.

    ``text`` is what the document has of this page, ``marks`` are spans of it. Raises
    UnreadableDocument for a file that is gone, locked or damaged, or takes too long.
    """
    _check_kept(path)
    return shared_pool().draw(Source(path.resolve(), limits, password), number, text, marks)


def _document(content: Content, digest: str, name: str, source: str, media_type: str) -> Document:
    return Document(
        id=digest,
        name=name,
        source=source,
        media_type=media_type,
        text=content.text,
        pages=content.pages,
        headings=content.headings,
        tables=content.tables,
        metadata=content.metadata,
        reader_version=reader_version(media_type),
        receipt=_receipt(content),
    )


def _receipt(content: Content) -> Receipt:
    text = content.text
    rows = sum(text.count("\n", table.start, table.end) + 1 for table in content.tables)
    read: dict[str, int | str] = {
        "pages": len(content.pages),
        "paragraphs": len(_PARAGRAPH.findall(text)),
        "headings": len(content.headings),
        "tables": len(content.tables),
        "rows": rows,
        **content.read,
        "encoding": content.metadata.get("encoding", ""),
        "encoding_guessed": int(content.metadata.get("encoding_guessed", 0)),
        "encoding_chosen": int(content.metadata.get("encoding_chosen", 0)),
        "language": document_language(text),
    }
    return Receipt({kind: value for kind, value in read.items() if value}, content.left_out)


def _check_kept(path: Path) -> None:
    if not path.is_file():
        raise UnreadableDocument(
            "The original file is not kept here.", "Add it again.", reason="missing"
        )


def _check_size(path: Path, limits: Limits) -> None:
    size = path.stat().st_size
    if size == 0:
        raise _empty()
    if size > limits.max_bytes:
        most = limits.max_bytes / 1e6
        raise UnreadableDocument(
            f"The file has {size / 1e6:,.1f} MB. The limit is {most:,.1f} MB.",
            "Split the file into smaller ones.",
            reason="too_large",
        )


def _check_kind(path: Path, name: str, form: Format) -> None:
    kind = kind_of(path)
    if kind in form.kinds:
        return
    if extension_of(name) not in (*SUPPORTED, *TEXT_EXTENSIONS):
        raise unsupported(name)
    if kind == "encrypted_office":
        raise UnreadableDocument(
            "The file is encrypted: Office opens it only with a password.",
            "Remove the password in Office (File > Info > Protect) and add the file again.",
            reason="encrypted",
        )
    if kind == "unknown":
        raise UnreadableDocument(
            f"The file is not a valid .{form.extensions[0]} file: it is damaged, or has "
            "the wrong extension.",
            FRESH_COPY,
            reason="damaged",
        )
    raise UnreadableDocument(
        f"“{name}” is named like .{form.extensions[0]} but seems to be {DESCRIPTIONS[kind]}.",
        "Correct the extension, or export the file again, and add that.",
        reason="wrong_extension",
    )


def _empty() -> UnreadableDocument:
    return UnreadableDocument(
        "The file is empty: there is no text in it.",
        "Check that this is the file you meant.",
        reason="empty",
    )
