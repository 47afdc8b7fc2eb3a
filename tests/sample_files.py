"""Small files of every format, made in memory, and what must be true of all that is read."""

import io
import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from functools import cache
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
from pptx.util import Inches
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

from rag import Document, Omission
from rag.readers.characters import normalise
from tests.scans import printed

PROSE = (
    "Retrieval finds passages. It compares the question with every passage of the collection and "
    "returns the closest ones, together with a score that says how close they are. "
)


@cache
def named_omissions() -> dict[str, frozenset[str]]:
    """What docs/formats.md lists as named and not read, in its words, by extension."""
    page = (Path(__file__).parents[1] / "docs/formats.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in page.splitlines() if "|" in line]
    return {
        extension.strip("`."): frozenset(row[4].split(", ")) - {"–"}
        for row in rows[2:]
        for extension in row[2].split()
    }


def in_words(kind: str) -> str:
    """A kind of omissions as docs/formats.md names it."""
    return Omission(kind, 2).words.removeprefix("2 ")


def put(folder: Path, content: str | bytes) -> Path:
    """Write a file whose name says nothing of what it holds, as files are stored."""
    path = folder / "content"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pdf(*pages: str, outline: tuple[tuple[int, int, str], ...] = (), title: str = "") -> bytes:
    """A page per text, a line per line. ``outline``: page number, level, title."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.setTitle(title)
    for number, text in enumerate(pages, start=1):
        for row, line in enumerate(text.split("\n")):
            canvas.drawString(72, 780 - 14 * row, line)
        for page, level, entry in outline:
            if page == number:
                canvas.bookmarkPage(f"{page}-{entry}")
                canvas.addOutlineEntry(entry, f"{page}-{entry}", level - 1)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def drawn_pdf(*, empty: bool = False) -> bytes:
    """A page with a drawing, or with nothing at all."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    if not empty:
        canvas.rect(100, 100, 200, 200, fill=1)
    canvas.showPage()
    canvas.save()
    return buffer.getvalue()


@cache
def encrypted_pdf(text: str, user: str, owner: str, algorithm: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(text))))
    writer.encrypt(user, owner, algorithm=algorithm)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def html(body: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


def word() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Handbook"
    document.core_properties.author = "Ada"
    document.add_paragraph("Preface.")
    document.add_heading("Travel", 1)
    document.add_paragraph("Book early.")
    table = document.add_table(rows=3, cols=2)
    for row, cells in enumerate((("City", "Limit"), ("Rome", "120"), ("Oslo", "180"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    document.add_heading("By train", 2)
    document.add_paragraph("Second class.", style="List Bullet")
    return _saved(document)


def slides() -> bytes:
    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Results"
    first.placeholders[1].text = "Sales grew"
    first.notes_slide.notes_text_frame.text = "mention Oslo"
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Numbers"
    shape = second.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(4), Inches(1))
    for row, cells in enumerate((("Year", "Growth"), ("2024", "5%"), ("2025", "7%"))):
        for column, text in enumerate(cells):
            shape.table.cell(row, column).text = text
    return _saved(deck)


def workbook(**sheets: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    return _saved(book)


def picture(kind: str, *texts: str) -> bytes:
    """Printed lines as a file of pictures, one per text."""
    first, *others = (printed(text).crop((0, 150, 1200, 450)) for text in texts)
    buffer = io.BytesIO()
    more: dict[str, Any] = {"save_all": True, "append_images": others} if others else {}
    first.save(buffer, kind, **more)
    return buffer.getvalue()


def zip_bomb(member: str, size: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(member, b"\0" * size)
    return buffer.getvalue()


def _saved(thing: Any) -> bytes:
    buffer = io.BytesIO()
    thing.save(buffer)
    return buffer.getvalue()


def zipped(**members: str) -> bytes:
    """An archive with these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def open_text(body: str, styles: str = "") -> bytes:
    """An OpenDocument text with this markup in its body and its automatic styles."""
    return zipped(
        **{
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {_SPACES}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:text>{body}</office:text>"
            "</office:body></office:document-content>",
        }
    )


def open_sheet(rows: str, name: str = "Fees", styles: str = "") -> bytes:
    """An OpenDocument spreadsheet of one sheet with these rows."""
    return zipped(
        **{
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": f"<office:document-content {_SPACES}><office:automatic-styles>{styles}"
            f'</office:automatic-styles><office:body><office:spreadsheet><table:table table:name="'
            f'{name}">{rows}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        }
    )


def open_row(*cells: str, **attributes: str) -> str:
    """The markup of a row of such a sheet."""
    inside = "".join(
        f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells
    )
    about = "".join(f' table:{name}="{value}"' for name, value in attributes.items())
    return f"<table:table-row{about}>{inside}</table:table-row>"


_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "draw")
)


def epub(*chapters: str, encryption: str = "") -> bytes:
    """A book; each chapter is the markup of a body."""
    items = "".join(f'<item id="c{at}" href="c%20{at}.xhtml"/>' for at, _ in enumerate(chapters))
    spine = "".join(f'<itemref idref="c{at}"/>' for at, _ in enumerate(chapters))
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:'
        'container"><rootfiles><rootfile full-path="book/book.opf"/></rootfiles></container>',
        "book/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Harbour</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    for at, body in enumerate(chapters):
        members[f"book/c {at}.xhtml"] = (
            '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
            f"<head><title/></head><body>{body}</body></html>"
        )
    if encryption:
        members["META-INF/encryption.xml"] = encryption
    return zipped(**members)


def message(text: str, *attachments: tuple[str, bytes], page: str = "") -> bytes:
    """A message with a text, or with a page alone, and with attached files."""
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "Berth 7", "Ann <ann@a.example>", "b@a.example"
    mail["Date"] = "Fri, 02 Jan 2026 10:00:00 +0100"
    mail.set_content(page or text, subtype="html" if page else "plain")
    for name, data in attachments:
        kind = ("image", "png") if name.endswith(".png") else ("application", "octet-stream")
        mail.add_attachment(data, *kind, filename=name)
    return mail.as_bytes()


PEOPLE = [["Name", "Note"], ["Ada", "first"], ["Bob", "second"]]
MARKDOWN = f"# Top\n\n{PROSE}\n\nSecond\n------\n\n{PROSE}\n".encode()
OUTLINE = ((3, 1, "Later"), (1, 1, "Early"), (1, 2, "Absent"))

SAMPLES: dict[str, Callable[[], bytes]] = {
    "pdf": lambda: pdf("Early\nwords", "", "Later\nmore\r\nwords", outline=OUTLINE),
    "txt": lambda: "\ufeffplain\r\ntext\0 cafe\u0301".encode(),
    "md": lambda: MARKDOWN,
    "rst": lambda: f"Top\n===\n\n* {PROSE}\n\nSub\n---\n\n.. note:: {PROSE}\n".encode(),
    "adoc": lambda: f"= Top\n\n* {PROSE}\n\n== Sub\n\nNOTE: {PROSE}\n".encode(),
    "html": lambda: html(f"<h1>Top</h1><p>{PROSE * 3}</p><h2>Sub</h2><p>{PROSE * 3}</p>"),
    "docx": word,
    "pptx": slides,
    "xlsx": lambda: workbook(People=PEOPLE, Empty=[], More=PEOPLE),
    "odt": lambda: open_text(f"<text:h>Top</text:h><text:p>{PROSE}</text:p>"),
    "ods": lambda: open_sheet("".join(open_row(*row) for row in PEOPLE)),
    "rtf": lambda: rb"{\rtf1\ansi\outlinelevel0 Top\par\pard Words.\par}",
    "epub": lambda: epub(f"<h1>Top</h1><p>{PROSE}</p>", f"<h2>Sub</h2><p>{PROSE}</p>"),
    "ipynb": lambda: json.dumps(
        {"cells": [{"cell_type": "markdown", "source": ["# Top\n", PROSE]}]}
    ).encode(),
    "vtt": lambda: b"WEBVTT\n\n00:01.000 --> 00:03.000\nWelcome.\n",
    "yaml": lambda: b"berths:\n- {name: Seven, fee: 90}\n- {name: Eight, fee: 95}\n",
    "yml": lambda: b"berths: [7, 8]  # let\n",
    "toml": lambda: b"[[berth]]\nname = 'Seven'\nfee = 90\n[[berth]]\nname = 'Eight'\nfee = 95",
    "ics": lambda: b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Welcome\nEND:VEVENT\nEND:VCALENDAR\n",
    "vcf": lambda: b"BEGIN:VCARD\nFN:Welcome\nEND:VCARD\n",
    "srt": lambda: b"1\n00:00:01,000 --> 00:00:03,000\nWelcome.\n",
    "eml": lambda: message("The berth is let.", ("fees.csv", b"Berth,Fee\n7,90\n")),
    "mbox": lambda: b"From a Fri Jan  2 10:00:00 2026\n" + message("The berth is let."),
    "zip": lambda: zipped(**{"notes/a.md": "# A", "notes/b.txt": "B"}),
    "csv": lambda: b"Name,Note\r\nAda,first\r\n",
    "tsv": lambda: b"Name\tNote\nAda\tfirst\n",
    "png": lambda: picture("PNG", "Wear gloves.\n\nThe alarm sounds."),
    "jpg": lambda: picture("JPEG", "Wear gloves and a coat."),
    "tif": lambda: picture("TIFF", "Wear gloves and a coat.", "The alarm sounds."),
    "json": lambda: b'[{"title": "One", "text": "a"}, {"title": "Two", "text": "b"}]',
    "jsonl": lambda: b'{"title": "One", "text": "a"}\n{"title": "Two", "text": "b"}\n',
}
ALIKE = {
    **dict.fromkeys(("text", "log"), "txt"),
    **dict.fromkeys(("htm", "xhtml"), "html"),
    **dict.fromkeys(("asciidoc", "asc"), "adoc"),
    "markdown": "md",
    "xlsm": "xlsx",
    "tab": "tsv",
    "ndjson": "jsonl",
    "jpeg": "jpg",
    "tiff": "tif",
}


def assert_sound(document: Document) -> None:
    """Pages inside the text, sorted, apart; headings inside and sorted; text normalised."""
    bounds = [offset for page in document.pages for offset in (page.start, page.end)]
    assert bounds == sorted(bounds)
    assert all(0 <= offset <= len(document.text) for offset in bounds)
    assert all(page.start < page.end for page in document.pages)
    numbers = [page.number for page in document.pages]
    assert numbers == sorted(set(numbers))
    starts = [heading.start for heading in document.headings]
    assert starts == sorted(starts)
    assert all(0 <= start < len(document.text) for start in starts)
    assert all(heading.level >= 1 and heading.title for heading in document.headings)
    assert normalise(document.text) == document.text
