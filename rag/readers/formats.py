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


_TEXT = ("text", "html")


@dataclass(frozen=True, slots=True)
class Format:
    """A row. ``reader`` is ``module:function`` within this package, imported when first used.

    ``kinds`` are the kinds of content (see sniff.py) that the reader can work with. All are parsed
    in processes apart, because parsers can hang, crash or eat all memory on hostile input; those of
    ``heavy`` formats also leak. ``version`` grows whenever the reader makes another text of a file:
    documents that were read before can then be read again. ``unpacker`` writes the files within a
    file, which become documents of their own, into a folder (see ``containers``). ``leaves_out``
    are the kinds of omissions that its receipts can name; docs/formats.md lists them.
    """

    extensions: tuple[str, ...]
    media_type: str
    reader: str
    kinds: tuple[str, ...] = _TEXT
    heavy: bool = False
    version: int = 0
    unpacker: str = ""
    leaves_out: tuple[str, ...] = ()

    @property
    def is_archive(self) -> bool:
        """Whether there is no document of the file itself."""
        return self.unpacker == self.reader


def run(reader: str, source: Source) -> Content:
    """Read a file by ``module:function``."""
    module, function = reader.split(":")
    return cast(Content, getattr(importlib.import_module(module), function)(source))


_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_HERE = "rag.readers"
_HEADERS = 4  # the version that takes no row of values for the header of a table
_RECEIPTS = 8  # the version that tells raised figures, struck and hidden text, and what it left out
_LABELS = 9  # the version with page labels, formats with conditions, white words, groups of rows
_TABLES = 10  # the version with tables of divs, and tables side by side in a sheet
_CONTAINERS = f"{_HERE}.containers"
_MAILBOX = f"{_CONTAINERS}:unpack_mailbox"
_ZIP = f"{_CONTAINERS}:unpack_zip"
_PICTURE = f"{_HERE}.recognition:read_picture"

_STRUCK = ("struck_passage",)
_SHOWN = (*_STRUCK, "hidden_passage")
_PARTS = ("picture", "file", "empty_file", "file_above_the_limit")

_PLAIN = Format(("txt", "text", "log"), "text/plain", f"{_HERE}.text:read_plain", version=_RECEIPTS)
_CODE = Format(
    (
        *("py", "pyi", "ipy", "js", "mjs", "ts", "tsx", "jsx", "java", "kt", "c", "h", "cc", "cpp"),
        *("hpp", "cs", "go", "rs", "rb", "php", "swift", "scala", "lua", "r", "sql", "sh", "bash"),
        *("ps1", "bat", "css", "scss", "xml", "xsd", "xsl", "ini", "cfg"),
        *("conf", "properties", "tf", "proto", "graphql", "diff", "patch"),
    ),
    "text/x-code",
    f"{_HERE}.text:read_code",
)

FORMATS: tuple[Format, ...] = (
    Format(
        ("pdf",),
        "application/pdf",
        f"{_HERE}.pdf.reader:read_pdf",
        ("pdf",),
        True,
        _LABELS + 1,
        leaves_out=(
            "picture_page",
            "textless_page",
            "unreadable_page",
            "attachment",
            "covered_word",
            "struck_word",
            "white_word",
        ),
    ),
    _PLAIN,
    Format(
        ("md", "markdown"),
        "text/markdown",
        f"{_HERE}.text:read_markdown",
        version=_RECEIPTS,
        leaves_out=_STRUCK,
    ),
    Format(
        ("rst",),
        "text/x-rst",
        f"{_HERE}.markup.rst:read_rst",
        heavy=True,
        version=_RECEIPTS + 1,
        leaves_out=(*_SHOWN, "included_file", "conditional_passage"),
    ),
    Format(
        ("adoc", "asciidoc", "asc"),
        "text/asciidoc",
        f"{_HERE}.markup.asciidoc:read_adoc",
        heavy=True,
        leaves_out=(*_SHOWN, "included_file", "conditional_passage"),
    ),
    Format(
        ("html", "htm", "xhtml"),
        "text/html",
        f"{_HERE}.html.reader:read_html",
        heavy=True,
        version=_TABLES + 3,
        leaves_out=_SHOWN,
    ),
    Format(
        ("docx",),
        f"{_OFFICE}.wordprocessingml.document",
        f"{_HERE}.office.word:read_docx",
        ("docx",),
        True,
        _RECEIPTS + 1,
        leaves_out=(
            *_SHOWN,
            "tracked_change",
            "deleted_row",
            "hidden_row",
            "picture",
            "chart",
            "diagram",
            "embedded_object",
            "symbol",
        ),
    ),
    Format(
        ("pptx",),
        f"{_OFFICE}.presentationml.presentation",
        f"{_HERE}.office.slides:read_pptx",
        ("pptx",),
        True,
        _RECEIPTS,
        leaves_out=("hidden_slide", "struck_passage", "picture", "chart"),
    ),
    Format(
        ("xlsx", "xlsm"),
        f"{_OFFICE}.spreadsheetml.sheet",
        f"{_HERE}.office.sheets:read_xlsx",
        ("xlsx",),
        True,
        _TABLES,
        leaves_out=(
            "hidden_sheet",
            "hidden_row",
            "hidden_column",
            "hidden_cell",
            "struck_passage",
            "uncalculated_formula",
            "picture",
            "chart",
        ),
    ),
    Format(("csv",), "text/csv", f"{_HERE}.text:read_csv", version=_RECEIPTS),
    Format(
        ("tsv", "tab"), "text/tab-separated-values", f"{_HERE}.text:read_tsv", version=_RECEIPTS
    ),
    Format(
        ("odt",),
        f"{_OPEN}.text",
        f"{_HERE}.office.opendocument:read_odt",
        ("opendocument",),
        True,
        version=4,
        leaves_out=(*_SHOWN, "tracked_change", "picture", "embedded_object"),
    ),
    Format(
        ("ods",),
        f"{_OPEN}.spreadsheet",
        f"{_HERE}.office.opendocument:read_ods",
        ("opendocument",),
        True,
        version=2,
        leaves_out=("hidden_sheet", "hidden_row", "hidden_column", "struck_passage", "picture"),
    ),
    Format(
        ("rtf",),
        "application/rtf",
        f"{_HERE}.office.rtf:read_rtf",
        ("rtf",),
        True,
        version=5,
        leaves_out=(*_SHOWN, "tracked_change", "picture", "embedded_object", "formula"),
    ),
    Format(
        ("epub",),
        "application/epub+zip",
        f"{_HERE}.markup.epub:read_epub",
        ("epub",),
        True,
        version=2,
        leaves_out=(*_SHOWN, "picture", "missing_chapter"),
    ),
    Format(
        ("ipynb",),
        "application/x-ipynb+json",
        f"{_HERE}.records:read_notebook",
        version=1,
        leaves_out=(*_STRUCK, "picture", "output", "error_output"),
    ),
    Format(
        ("vtt",),
        "text/vtt",
        f"{_HERE}.markup.cards:read_transcript",
        version=1,
        leaves_out=("comment",),
    ),
    Format(("srt",), "application/x-subrip", f"{_HERE}.markup.cards:read_transcript"),
    *(
        Format(
            (extension,),
            f"text/{kind}",
            f"{_HERE}.markup.cards:read_cards",
            leaves_out=("picture", "attachment"),
        )
        for extension, kind in (("ics", "calendar"), ("vcf", "vcard"))
    ),
    Format(
        ("eml",),
        "message/rfc822",
        f"{_CONTAINERS}:read_message",
        version=2,
        unpacker=f"{_CONTAINERS}:unpack_message",
        leaves_out=(*_SHOWN, "picture", "attachment"),
    ),
    Format(("mbox",), "application/mbox", _MAILBOX, unpacker=_MAILBOX, leaves_out=_PARTS),
    Format(
        ("zip",),
        "application/zip",
        _ZIP,
        ("zip",),
        False,
        unpacker=_ZIP,
        leaves_out=(*_PARTS, "encrypted_file", "large_file", "archive", "style_or_script"),
    ),
    Format(("png",), "image/png", _PICTURE, ("png",), True),
    Format(("jpg", "jpeg"), "image/jpeg", _PICTURE, ("jpeg",), True),
    Format(("tif", "tiff"), "image/tiff", _PICTURE, ("tiff",), True),
    Format(("json",), "application/json", f"{_HERE}.records:read_json", version=_TABLES),
    Format(
        ("jsonl", "ndjson"), "application/jsonl", f"{_HERE}.records:read_jsonl", version=_TABLES
    ),
    *(
        Format(
            extensions,
            f"application/{extensions[0]}",
            f"{_HERE}.records:read_{extensions[0]}",
            version=2,
            leaves_out=("comment",),
        )
        for extensions in (("yaml", "yml"), ("toml",))
    ),
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
