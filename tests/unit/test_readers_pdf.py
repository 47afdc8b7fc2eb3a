"""PDF files."""

from pathlib import Path

import pytest

from rag import UnreadableDocument
from rag.readers import Limits, read, recognition
from rag.readers.content import Source
from rag.readers.pdf.reader import read_pdf, title_offset
from rag.readers.pdf.rows import clean_page
from rag.readers.recognition import read_picture
from tests.sample_files import drawn_pdf, encrypted_pdf, pdf, put


def test_pages_outline_and_title(tmp_path):
    outline = ((1, 1, "Start"), (3, 1, "Second part"), (3, 2, "Detail"))
    data = pdf(
        "Start\nfirst page",
        "",
        "intro\n2 Second part\nwords\nDetail\nend",
        outline=outline,
        title="The book",
    )
    document = read(put(tmp_path, data), "book.pdf", source="upload")
    text = document.text
    assert text == "Start\nfirst page\n\nintro\n2 Second part\nwords\nDetail\nend"
    assert [(page.number, text[page.start : page.end]) for page in document.pages] == [
        (1, "Start\nfirst page"),
        (3, "intro\n2 Second part\nwords\nDetail\nend"),
    ]
    assert document.metadata["title"] == "The book"
    assert document.metadata["pages"] == "3"
    assert document.receipt.read == {
        "pages": 2,
        "paragraphs": 2,
        "headings": 3,
        "language": "en",
    }
    assert document.heading_at(text.index("intro")) == "Start"
    assert document.heading_at(text.index("2 Second")) == "Second part"
    assert document.heading_at(text.index("end")) == "Second part > Detail"
    assert (document.name, document.source, document.media_type) == (
        "book.pdf",
        "upload",
        "application/pdf",
    )


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("infor-\nmation", "information"),
        ("Anglo-\nSaxon", "Anglo-Saxon"),
        ("1990-\n1995", "1990-\n1995"),
        ("a - \nb", "a -\nb"),
        ("e\ufb03cient \ufb01n", "efficient fin"),
        ("so\u00adft", "soft"),
        ("line  \nnext\n\n\n\nlast", "line\nnext\n\nlast"),
        ("ta\ufffe\r\nble", "table"),
        ("\ufecb\ufeac\u0631\u0627\u064b", "\u0639\u0630\u0631\u0627\u064b"),
        ("x\u00b2", "x\u00b2"),
    ],
)
def test_clean_page(raw, clean):
    assert clean_page(raw) == clean


def test_a_word_hyphenated_at_the_end_of_a_line_is_whole(tmp_path):
    data = pdf("We show that this is a desir-\nable property of the mod-\nels, as GPT-\n3 has it.")
    text = read(put(tmp_path, data), "halves.pdf").text
    assert text == "We show that this is a desirable property of the models, as GPT-\n3 has it."


def test_title_offset_prefers_lines_and_goes_on():
    page = "we bar all\n1 Bar\ntext\n2.1 Bar\n"
    first, after = title_offset("bar", page, 0)
    assert page[first:after] == "1 Bar"
    second, after = title_offset("Bar", page, after)
    assert page[second:after] == "2.1 Bar"
    assert title_offset("Bar", page, after) == (after, after)


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_passwords(tmp_path, algorithm):
    path = put(tmp_path, encrypted_pdf("secret words", "open", "owner", algorithm))
    for wrong, said in ((None, "only with a password"), ("shut", "does not open")):
        with pytest.raises(UnreadableDocument, match=said) as caught:
            read(path, "x.pdf", password=wrong)
        assert caught.value.reason == "needs_password"
    assert read(path, "x.pdf", password="open").text == "secret words"


def test_a_pdf_with_only_an_owner_password_opens(tmp_path):
    path = put(tmp_path, encrypted_pdf("free words", "", "owner", "AES-256"))
    assert read(path, "x.pdf").text == "free words"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (drawn_pdf(), "scanned"),
        (drawn_pdf(empty=True), "empty"),
        (pdf("words")[:200], "damaged"),
        (b"%PDF-1.7\n" + b"rubbish " * 50, "damaged"),
    ],
)
def test_why_there_is_no_text(tmp_path, data, reason):
    with pytest.raises(UnreadableDocument) as caught:
        read(put(tmp_path, data), "x.pdf")
    assert caught.value.reason == reason
    assert caught.value.hint


def test_a_drawing_without_text_says_so(tmp_path):
    with pytest.raises(UnreadableDocument) as refused:
        read(put(tmp_path, drawn_pdf()), "x.pdf")
    assert refused.value.hint.startswith("No text can be recognised")


def test_without_recognition_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(recognition, "available", lambda: False)
    with pytest.raises(UnreadableDocument, match="has no text") as caught:
        read_pdf(Source(put(tmp_path, drawn_pdf())))
    assert "no OCR). Run: pip install -r requirements-ocr.txt" in caught.value.hint
    with pytest.raises(UnreadableDocument, match="no OCR") as caught:
        read_picture(Source(put(tmp_path, b"\x89PNG\r\n\x1a\n")))
    assert caught.value.hint.startswith("Run: pip install -r requirements-ocr.txt")


def test_an_unknown_security_handler_is_named(tmp_path):
    data = encrypted_pdf("words", "", "owner", "RC4-128").replace(b"/Standard", b"/Adobe.PK")
    with pytest.raises(UnreadableDocument) as caught:
        read(put(tmp_path, data), "x.pdf")
    assert caught.value.reason == "encrypted"


def test_a_broken_cross_reference_table_is_repaired(tmp_path):
    data = pdf("still readable")
    cut = data[: data.rindex(b"startxref")]
    assert read(put(tmp_path, cut), "x.pdf").text == "still readable"


def test_progress_is_reported_per_page(tmp_path):
    seen: list[tuple[int, int]] = []
    path = put(tmp_path, pdf("a", "b", "c"))
    read(path, "x.pdf", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_too_many_pages(tmp_path):
    with pytest.raises(UnreadableDocument, match=r"3 pages. The limit is 2") as caught:
        read(put(tmp_path, pdf("a", "b", "c")), "x.pdf", limits=Limits(max_pages=2))
    assert caught.value.reason == "too_large"


def test_a_source_shows_no_password():
    assert "open sesame" not in repr(Source(Path("x.pdf"), password="open sesame"))
