"""The table of formats: what extension is read by what, and the type that first bytes tell."""

from __future__ import annotations

import importlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rag.errors import UnreadableDocument
from rag.readers.characters import evident_encoding, is_binary
from rag.readers.content import Content, Source

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
    encoding = evident_encoding(head)
    if encoding is None and is_binary(head):
        return "unknown"
    text = head.decode(encoding or "latin-1", errors="replace")
    start = text.lstrip("\ufeff \t\r\n").lower()
    return "html" if start.startswith(("<!doctype html", "<html", "<head", "<body")) else "text"


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


_TEXT = ("text", "html")


@dataclass(frozen=True, slots=True)
class Format:
    """A row. ``reader`` is ``module:function``, imported when first used.

    ``kinds`` are the kinds of content (keys of ``DESCRIPTIONS``) that the reader can work with. All
    are parsed in processes apart, because parsers can hang, crash or eat all memory on hostile
    input; those of ``heavy`` formats also leak. ``version`` grows whenever the reader makes another
    text of a file: documents that were read before can then be read again. ``unpacker`` writes the
    files within a file, which become documents of their own, into a folder (see ``containers``).
    docs/formats.md lists the omissions that receipts can name.
    """

    extensions: tuple[str, ...]
    media_type: str
    reader: str
    kinds: tuple[str, ...] = _TEXT
    heavy: bool = False
    version: int = 0
    unpacker: str = ""

    @property
    def is_archive(self) -> bool:
        """Whether there is no document of the file itself."""
        return self.unpacker == self.reader


def run(reader: str, source: Source) -> Content:
    """Read a file by ``module:function``; a module with a dot in front is one of this package."""
    module, function = reader.split(":")
    return cast(Content, getattr(importlib.import_module(module, __package__), function)(source))


_OFFICE = "application/vnd.openxmlformats-officedocument"
_WORD = f"{_OFFICE}.wordprocessingml.document"
_SLIDES = f"{_OFFICE}.presentationml.presentation"
_SHEETS = f"{_OFFICE}.spreadsheetml.sheet"
_OPEN, _ODF = "application/vnd.oasis.opendocument", ".office.opendocument"
_HTML, _ZIP = ".html.reader:read_html", ".containers:unpack_zip"
_MAIL, _MAILBOX = ".containers:read_message", ".containers:unpack_mailbox"
_CARDS, _TIMES = ".markup.cards:read_cards", ".markup.cards:read_transcript"
_PICTURE = ".recognition:read_picture"

_PLAIN = Format(("txt", "text", "log"), "text/plain", ".text:read_plain", version=8)
_CODE = Format(
    (
        *("py", "pyi", "ipy", "js", "mjs", "ts", "tsx", "jsx", "java", "kt", "c", "h", "cc", "cpp"),
        *("hpp", "cs", "go", "rs", "rb", "php", "swift", "scala", "lua", "r", "sql", "sh", "bash"),
        *("ps1", "bat", "css", "scss", "xml", "xsd", "xsl", "ini", "cfg"),
        *("conf", "properties", "tf", "proto", "graphql", "diff", "patch"),
    ),
    "text/x-code",
    ".text:read_code",
)

FORMATS: tuple[Format, ...] = (
    Format(("pdf",), "application/pdf", ".pdf.reader:read_pdf", ("pdf",), True, 11),
    _PLAIN,
    Format(("md", "markdown"), "text/markdown", ".text:read_markdown", version=10),
    Format(("rst",), "text/x-rst", ".markup.rst:read_rst", _TEXT, True, 9),
    Format(("adoc", "asciidoc", "asc"), "text/asciidoc", ".markup.asciidoc:read_adoc", _TEXT, True),
    Format(("html", "htm", "xhtml"), "text/html", _HTML, _TEXT, True, 13),
    Format(("docx",), _WORD, ".office.word:read_docx", ("docx",), True, 10),
    Format(("pptx",), _SLIDES, ".office.slides:read_pptx", ("pptx",), True, 9),
    Format(("xlsx", "xlsm"), _SHEETS, ".office.sheets:read_xlsx", ("xlsx",), True, 11),
    Format(("csv",), "text/csv", ".text:read_csv", version=8),
    Format(("tsv", "tab"), "text/tab-separated-values", ".text:read_tsv", version=8),
    Format(("odt",), f"{_OPEN}.text", f"{_ODF}:read_odt", ("opendocument",), True, 4),
    Format(("ods",), f"{_OPEN}.spreadsheet", f"{_ODF}:read_ods", ("opendocument",), True, 2),
    Format(("rtf",), "application/rtf", ".office.rtf:read_rtf", ("rtf",), True, 5),
    Format(("epub",), "application/epub+zip", ".markup.epub:read_epub", ("epub",), True, 2),
    Format(("ipynb",), "application/x-ipynb+json", ".records:read_notebook", version=2),
    Format(("vtt",), "text/vtt", _TIMES, version=1),
    Format(("srt",), "application/x-subrip", _TIMES),
    Format(("ics",), "text/calendar", _CARDS),
    Format(("vcf",), "text/vcard", _CARDS),
    Format(("eml",), "message/rfc822", _MAIL, version=2, unpacker=".containers:unpack_message"),
    Format(("mbox",), "application/mbox", _MAILBOX, unpacker=_MAILBOX),
    Format(("zip",), "application/zip", _ZIP, ("zip",), unpacker=_ZIP),
    Format(("png",), "image/png", _PICTURE, ("png",), True),
    Format(("jpg", "jpeg"), "image/jpeg", _PICTURE, ("jpeg",), True),
    Format(("tif", "tiff"), "image/tiff", _PICTURE, ("tiff",), True),
    Format(("json",), "application/json", ".records:read_json", version=10),
    Format(("jsonl", "ndjson"), "application/jsonl", ".records:read_jsonl", version=10),
    Format(("yaml", "yml"), "application/yaml", ".records:read_yaml", version=2),
    Format(("toml",), "application/toml", ".records:read_toml", version=2),
)

SUPPORTED: tuple[str, ...] = tuple(ext for row in FORMATS for ext in row.extensions)
"""Extensions without the dot; files of any other extension are read if their bytes are text."""
TEXT_EXTENSIONS: tuple[str, ...] = (*_CODE.extensions, "tex", "org")
"""Usual extensions of other text, for an upload widget that has to choose files of a folder."""

_CONVERT = {
    "doc": "Save it as .docx in Word or LibreOffice and add that.",
    "ppt": "Save it as .pptx in PowerPoint or LibreOffice and add that.",
    "xls": "Save it as .xlsx or .csv in Excel or LibreOffice and add that.",
    "odp": "Save it as .pptx or .pdf and add that.",
    "msg": "Save it as .eml in your mail program and add that.",
    "pst": "Export it as .mbox or .eml in your mail program and add that.",
    "svg": "Export it as .pdf or .png and add that.",
    **dict.fromkeys(("7z", "rar", "gz", "tar", "tgz"), "Pack it as .zip and add that."),
}


def extension_of(name: str) -> str:
    """Extension in lower case without the dot; "" if there is none."""
    stem, dot, extension = name.rpartition(".")
    return extension.strip().lower() if dot and stem else ""


def format_of(name: str) -> Format:
    """The row for a file name: plain text for extensions that no row has.

    Raises UnreadableDocument (``unsupported_type``) for those of binary formats without a reader.
    """
    extension = extension_of(name)
    if extension in _CONVERT:
        raise unsupported(name)
    rows = (row for row in (*FORMATS, _CODE) if extension in row.extensions)
    return next(rows, _PLAIN)


def unsupported(name: str) -> UnreadableDocument:
    """The error for a file that no reader reads."""
    extension = extension_of(name)
    what = f"Files of type .{extension}" if extension else "Files without an extension"
    return UnreadableDocument(
        f"{what} are not supported.",
        _CONVERT.get(extension, f"Add {', '.join(SUPPORTED)}; if it is text, rename it to .txt."),
        reason="unsupported_type",
    )


def refusal_of(name: str, head: bytes) -> UnreadableDocument | None:
    """The error for a file that no reader reads, by its extension and its first bytes; else None.

    A file whose extension has a reader may still not be what it seems to be.
    """
    try:
        format_of(name)
    except UnreadableDocument as error:
        return error
    if extension_of(name) in (*SUPPORTED, *TEXT_EXTENSIONS):
        return None
    return None if kind_of_head(head) in ("text", "html") else unsupported(name)


def format_for_media_type(media_type: str) -> Format | None:
    """The row for a Content-Type value, ignoring its parameters."""
    bare = media_type.partition(";")[0].strip().lower()
    bare = _ALIASES.get(bare, bare)
    return next((row for row in (*FORMATS, _CODE) if row.media_type == bare), None)


def reader_version(media_type: str) -> int:
    """The version of the reader of a type of document; 0 for types without one."""
    row = format_for_media_type(media_type)
    return row.version if row else 0


_ALIASES = {
    "text/rtf": "application/rtf",
    "application/x-zip-compressed": "application/zip",
    "application/x-pdf": "application/pdf",
    "application/xhtml+xml": "text/html",
    "text/x-markdown": "text/markdown",
    "text/prs.fallenstein.rst": "text/x-rst",
    "application/csv": "text/csv",
    "image/jpg": "image/jpeg",
    "text/json": "application/json",
    "application/x-ndjson": "application/jsonl",
    "application/x-jsonlines": "application/jsonl",
    "application/x-yaml": "application/yaml",
}
