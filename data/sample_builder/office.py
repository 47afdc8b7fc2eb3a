"""Blocks as Word, PowerPoint and Excel files with reproducible bytes."""

from __future__ import annotations

import re
import zipfile
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Protocol

import docx
from docx.document import Document
from openpyxl import Workbook
from openpyxl.styles import Font
from pptx import Presentation

from sample_builder.markup import Block, Source

DATE = datetime(2026, 1, 12, 9, 0)
_STAMP = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


class _Saves(Protocol):
    def save(self, target: IO[bytes], /) -> None: ...


def write_docx(source: Source, path: Path) -> None:
    """Headings, paragraphs, lists and tables in Word's own styles."""
    document = docx.Document()
    document.core_properties.title = source.front["title"]
    document.core_properties.author = "Kestrelmoor Instruments"
    document.add_heading(source.front["title"], level=0)
    document.add_paragraph(source.front["subtitle"])
    for block in source.blocks:
        _add_to_docx(document, block)
    _save(document, path)


def write_pptx(source: Source, path: Path) -> None:
    """One slide per heading; what stands below is its text, a note is for the speaker."""
    deck = Presentation()
    deck.core_properties.title = source.front["title"]
    slide = deck.slides.add_slide(deck.slide_layouts[0])
    slide.shapes.title.text = source.front["title"]
    slide.placeholders[1].text = source.front["subtitle"]
    for block in source.blocks:
        if block.kind == "heading":
            slide = deck.slides.add_slide(deck.slide_layouts[1])
            slide.shapes.title.text = block.text
        elif block.kind == "note":
            slide.notes_slide.notes_text_frame.text = block.text
        else:
            slide.placeholders[1].text = "\n".join(block.items or (block.text,))
    _save(deck, path)


def write_xlsx(source: Source, path: Path) -> None:
    """One sheet per second-level heading, holding the table below it; numbers become numbers."""
    book = Workbook()
    book.remove(book.active)
    book.properties.title = source.front["title"]
    for block in source.blocks:
        if block.kind == "heading":
            sheet = book.create_sheet(block.text)
        else:
            for row in block.rows:
                sheet.append([_value(cell) for cell in row])
            for cell in sheet[1]:
                cell.font = Font(bold=True)
    _save(book, path)


def _add_to_docx(document: Document, block: Block) -> None:
    if block.kind == "heading":
        document.add_heading(block.text, level=block.level - 1)
    elif block.kind == "table":
        table = document.add_table(len(block.rows), len(block.rows[0]), style="Light Grid Accent 1")
        for row, texts in zip(table.rows, block.rows, strict=True):
            for cell, text in zip(row.cells, texts, strict=True):
                cell.text = text
    elif block.items:
        style = "List Bullet" if block.kind == "bullets" else "List Number"
        for item in block.items:
            document.add_paragraph(item, style=style)
    else:
        document.add_paragraph(block.text, style="Intense Quote" if block.kind == "note" else None)


def _value(cell: str) -> str | int | float:
    if re.fullmatch(r"-?\d+", cell):
        return int(cell)
    return float(cell) if re.fullmatch(r"-?\d+\.\d+", cell) else cell


def _save(file: _Saves, path: Path) -> None:
    """Saves with one fixed time in the zip entries and the document properties."""
    buffer = BytesIO()
    file.save(buffer)
    stamp = DATE.isoformat().encode() + b"Z"
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for name in sorted(old.namelist()):
            data = _STAMP.sub(rb"\g<1>" + stamp, old.read(name))
            info = zipfile.ZipInfo(name, DATE.timetuple()[:6])
            info.external_attr = 0o600 << 16
            new.writestr(info, data, zipfile.ZIP_DEFLATED)
