"""What is refused, and what the user is told."""

import hashlib
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from rag import SUPPORTED, Cancelled, UnreadableDocument, fenced_code
from rag.readers import Limits, read
from tests.sample_files import html, pdf, put, slides, word, workbook

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


def failure(folder: Path, data: bytes, name: str, **options: object) -> UnreadableDocument:
    path = put(folder, data)
    with pytest.raises(UnreadableDocument) as caught:
        read(path, name, **options)  # type: ignore[arg-type]
    assert caught.value.message
    assert caught.value.hint
    return caught.value


def test_supported_is_what_an_upload_widget_wants():
    assert (
        *("pdf", "txt", "text", "log", "md", "markdown", "rst"),
        *("adoc", "asciidoc", "asc"),
        *("html", "htm", "xhtml", "docx", "pptx"),
        *("xlsx", "xlsm", "csv", "tsv", "tab", "odt", "ods", "rtf", "epub", "ipynb", "vtt", "srt"),
        *("ics", "vcf", "eml", "mbox", "zip"),
        *("png", "jpg", "jpeg", "tif", "tiff"),
        *("json", "jsonl", "ndjson", "yaml", "yml", "toml"),
    ) == SUPPORTED


@pytest.mark.parametrize("extension", SUPPORTED)
@pytest.mark.parametrize("size", [0, 30])
def test_nothing_in_it(tmp_path, extension, size):
    reason = failure(tmp_path, b" \n" * size, f"x.{extension}").reason
    office = ("docx", "pptx", "xlsx", "xlsm", "odt", "ods", "rtf", "epub", "zip")
    binary = ("pdf", *office, "png", "jpg", "jpeg", "tif", "tiff")
    assert reason == ("wrong_extension" if size and extension in binary else "empty")


@pytest.mark.parametrize(
    ("data", "name", "seems"),
    [
        (pdf("x"), "x.docx", "a PDF"),
        (pdf("x"), "x.txt", "a PDF"),
        (PNG, "x.pdf", "a PNG image"),
        (PNG, "x.csv", "a PNG image"),
        (html("<p>Not found"), "x.pdf", "a web page"),
        (b"just words", "x.docx", "plain text"),
        (word(), "x.xlsx", "a Word document"),
        (slides(), "x.docx", "a PowerPoint presentation"),
        (workbook(A=[["a"]]), "x.csv", "an Excel workbook"),
        (b"PK\x03\x04" + bytes(50), "x.docx", "a ZIP archive"),
        (OLE, "x.docx", "an old (97-2003)"),
        (b"{\\rtf1 words}", "x.docx", "a rich text file"),
        (b"\x7fELF" + bytes(50), "x.txt", "a program"),
    ],
)
def test_a_wrong_extension_says_what_the_file_seems_to_be(tmp_path, data, name, seems):
    error = failure(tmp_path, data, name)
    assert (error.reason, seems in error.message) == ("wrong_extension", True)


def test_an_office_file_with_a_password(tmp_path):
    data = OLE + "EncryptedPackage".encode("utf-16-le")
    error = failure(tmp_path, data, "x.xlsx")
    assert (error.reason, "password" in error.message) == ("encrypted", True)


def test_telling_what_an_archive_is_unpacks_next_to_nothing(tmp_path):
    with zipfile.ZipFile(tmp_path / "x", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", bytes(64 << 20))
    tracemalloc.start()
    error = failure(tmp_path, (tmp_path / "x").read_bytes(), "x.docx")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error.reason == "wrong_extension"
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("name", "said"),
    [("x.doc", ".docx"), ("x.xls", ".xlsx"), ("x.rar", ".zip"), ("x.exe", ".txt"), ("x", ".txt")],
)
def test_an_unsupported_type_says_what_to_do(tmp_path, name, said):
    error = failure(tmp_path, bytes(40), name)
    assert (error.reason, said in error.hint) == ("unsupported_type", True)


@pytest.mark.parametrize("name", ["x.nfo", "README", ".env", "x.tex", "x.v2"])
def test_text_is_read_whatever_its_extension(tmp_path, name):
    document = read(put(tmp_path, b"# no heading\nretries = 3\n"), name)
    assert (document.text, document.headings) == ("# no heading\nretries = 3\n", ())
    assert document.media_type == "text/plain"


def test_code_is_one_block(tmp_path):
    path = tmp_path / "content"
    code = "# Retries\n=========\nRETRIES = 3\n\nDOC = '\n```\n'"
    path.write_text(f"{code}\n")
    document = read(path, "settings.py")
    (_, (start, end)) = next(fenced_code(document.text))
    assert document.text[start:end] == code
    assert (document.headings, document.media_type) == ((), "text/x-code")


def test_too_large(tmp_path):
    error = failure(tmp_path, b"x" * 2_500_000, "x.txt", limits=Limits(max_bytes=2_000_000))
    assert error.reason == "too_large"
    assert ("2.5 MB" in error.message, "2.0 MB" in error.message) == (True, True)


@pytest.mark.parametrize("name", ["x.txt", "x.pdf"])
def test_cancelled_before_it_began(tmp_path, name):
    path = put(tmp_path, pdf("words") if name.endswith("pdf") else b"words")
    with pytest.raises(Cancelled):
        read(path, name, cancelled=lambda: True)


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.json"])
def test_time_is_limited_in_process_too(tmp_path, name):
    assert failure(tmp_path, b'"words"', name, limits=Limits(seconds=0)).reason == "timed_out"


def test_the_id_is_the_sha256_of_the_bytes(tmp_path):
    data = b"a\r\nb\n" * 500_000
    document = read(put(tmp_path, data), "x.TXT", source="https://example.com/x.txt")
    assert document.id == hashlib.sha256(data).hexdigest()
    assert document.text == "a\nb\n" * 500_000
    assert (document.source, document.media_type, document.metadata) == (
        "https://example.com/x.txt",
        "text/plain",
        {"encoding": "utf-8"},
    )


def test_markdown_file(tmp_path):
    document = read(put(tmp_path, b"# One\r\n\r\ntext\r\n## Two\r\n"), "notes.md")
    assert document.text == "# One\n\ntext\n## Two\n"
    assert document.heading_at(len(document.text)) == "One > Two"
