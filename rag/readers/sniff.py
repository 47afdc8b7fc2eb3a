"""Detection of the type of a file from its first bytes, whatever its name says."""

from __future__ import annotations

import zipfile
from pathlib import Path

from rag.readers.characters import evident_encoding, is_binary

_OFFICE_LIST = "[Content_Types].xml"
_OFFICE_FOLDERS = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx"}

HEAD = 4096

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
    (b"{\\rtf", "rtf"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x7fELF", "program"),
    (b"MZ\x90\x00", "program"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"%!PS", "postscript"),
    (b"PAR1", "parquet"),
)

DESCRIPTIONS = {
    "pdf": "a PDF",
    "docx": "a Word document (.docx)",
    "pptx": "a PowerPoint presentation (.pptx)",
    "xlsx": "an Excel workbook (.xlsx)",
    "opendocument": "an OpenDocument file",
    "epub": "an EPUB book",
    "zip": "a ZIP archive",
    "html": "a web page (.html)",
    "text": "plain text",
    "png": "a PNG image",
    "jpeg": "a JPEG image",
    "gif": "a GIF image",
    "tiff": "a TIFF image",
    "ole": "an old (97-2003) or password-protected Office file",
    "encrypted_office": "a password-protected Office file",
    "rtf": "a rich text file (.rtf)",
    "gzip": "a gzip archive",
    "7z": "a 7-Zip archive",
    "rar": "a RAR archive",
    "program": "a program",
    "sqlite": "an SQLite database",
    "postscript": "a PostScript file",
    "parquet": "a Parquet file",
    "unknown": "something unknown",
}


def kind_of(path: Path) -> str:
    """A key of DESCRIPTIONS; ``"unknown"`` for binary data that no rule recognises."""
    with path.open("rb") as file:
        kind = kind_of_head(file.read(HEAD))
    if kind == "ole":
        return _ole_kind(path)
    return _zip_kind(path) if kind == "zip" else kind


def kind_of_head(head: bytes) -> str:
    """The kind as far as the first ``HEAD`` bytes tell it: Office files may be "zip" or "ole"."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if b"%PDF-" in head[:1024]:
        return "pdf"
    return _text_kind(head)


def _zip_kind(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names, kind = "\n".join(archive.namelist()), b""
            if "mimetype" in archive.namelist():
                with archive.open("mimetype") as member:
                    kind = member.read(100)  # no more: it may unpack to anything
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        # The list of members stands at the end; the first members stand at the start.
        with path.open("rb") as file:
            start = file.read(65_536)
        names, kind = start.decode("latin-1"), start[38:100] if b"mimetype" in start[:38] else b""
        names += _OFFICE_LIST
    if kind:
        return "epub" if b"epub" in kind else "opendocument"
    kinds = (kind for folder, kind in _OFFICE_FOLDERS.items() if folder in names)
    return next(kinds, "zip") if _OFFICE_LIST in names else "zip"


def _ole_kind(path: Path) -> str:
    """Office wraps a file with a password into an OLE container with this stream name."""
    marker = "EncryptedPackage".encode("utf-16-le")
    with path.open("rb") as file:
        return "encrypted_office" if marker in file.read(1_000_000) else "ole"


def _text_kind(head: bytes) -> str:
    encoding = evident_encoding(head)
    if encoding is None and is_binary(head):
        return "unknown"
    text = head.decode(encoding or "latin-1", errors="replace")
    start = text.lstrip("\ufeff \t\r\n").lower()
    return "html" if start.startswith(("<!doctype html", "<html", "<head", "<body")) else "text"
