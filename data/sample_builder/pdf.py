"""Blocks as a PDF with cover, contents, outline, running header and page numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reportlab.lib import colors
from reportlab.lib.enums import TA_LEFT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    ListFlowable,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.tableofcontents import TableOfContents

from sample_builder.markup import Block, Source

ACCENT = colors.HexColor("#1f4e5f")
WIDTH = A4[0] - 44 * mm
MAKER = "Kestrelmoor Instruments"

_SHEET = getSampleStyleSheet()
_BODY = ParagraphStyle(
    "body", parent=_SHEET["BodyText"], fontSize=10, leading=13.5, spaceAfter=6, alignment=TA_LEFT
)
_CELL = ParagraphStyle("cell", parent=_BODY, fontSize=8.5, leading=10.5, spaceAfter=0)
_HEAD_CELL = ParagraphStyle("headcell", parent=_CELL, textColor=colors.white)
_NOTE = ParagraphStyle(
    "note",
    parent=_BODY,
    borderColor=ACCENT,
    borderWidth=0.8,
    borderPadding=5,
    spaceBefore=9,
    spaceAfter=13,
)
_TIGHT = TableStyle([("TOPPADDING", (0, 0), (-1, -1), 0), ("BOTTOMPADDING", (0, 0), (-1, -1), 1)])
_HEADINGS = {
    level: ParagraphStyle(
        f"heading{level}",
        parent=_BODY,
        fontName="Helvetica-Bold",
        fontSize=size,
        leading=size * 1.25,
        spaceBefore=size * 0.8,
        spaceAfter=5,
        textColor=ACCENT,
        keepWithNext=1,
    )
    for level, size in ((1, 22), (2, 16), (3, 12), (4, 10.5))
}


class _Template(BaseDocTemplate):
    """Adds an outline entry for every heading it places, and a contents line for chapters."""

    def __init__(self, path: Path, source: Source) -> None:
        front = source.front
        super().__init__(
            str(path),
            pagesize=A4,
            title=front["title"],
            author=MAKER,
            subject=front.get("subtitle", ""),
            invariant=1,
            leftMargin=22 * mm,
            rightMargin=22 * mm,
        )
        self.front = front
        frame = Frame(22 * mm, 22 * mm, WIDTH, A4[1] - 46 * mm, id="body")
        self.addPageTemplates([PageTemplate("page", [frame], onPage=self._furniture)])

    def beforeDocument(self) -> None:  # noqa: N802 (a hook that reportlab names)
        self._placed = 0

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 (a hook that reportlab names)
        level = getattr(flowable, "outline_level", None)
        if level is None:
            return
        self._placed += 1
        key, title = f"h{self._placed}", flowable.getPlainText()
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(title, key, level, closed=level > 0)
        if level == 0:
            self.notify("TOCEntry", (level, title, self.page, key))

    def _furniture(self, canvas: Canvas, _: Any) -> None:
        canvas.saveState()
        canvas.setFont("Helvetica", 8)
        canvas.setFillGray(0.35)
        canvas.drawString(22 * mm, A4[1] - 14 * mm, f"{MAKER}  |  {self.front['title']}")
        canvas.drawRightString(A4[0] - 22 * mm, 12 * mm, f"Page {canvas.getPageNumber()}")
        canvas.drawString(22 * mm, 12 * mm, self.front["reference"])
        canvas.restoreState()


def write_pdf(source: Source, path: Path) -> None:
    """Writes the same bytes for the same source, whenever and wherever it runs."""
    story = _cover(source) if source.front.get("cover") == "yes" else _letterhead(source)
    chapters = source.front.get("chapters") == "new page"
    for block in source.blocks:
        if chapters and block.kind == "heading" and block.level == 2 and story:
            story.append(PageBreak())
        story.extend(_flowables(block))
    _Template(path, source).multiBuild(story)


def _cover(source: Source) -> list[Flowable]:
    front = source.front
    contents = TableOfContents(tableStyle=_TIGHT, dotsMinLevel=-1)
    contents.levelStyles = [ParagraphStyle("toc", parent=_BODY, spaceAfter=4)]
    return [
        Spacer(1, 60 * mm),
        Paragraph(front["title"], _HEADINGS[1]),
        Paragraph(front["subtitle"], _HEADINGS[3]),
        Spacer(1, 10 * mm),
        Paragraph(f"{front['reference']}<br/>{front['revision']}", _BODY),
        Paragraph(f"{MAKER}, 4 Ropewalk Quay, Aldermouth", _BODY),
        PageBreak(),
        Paragraph("Contents", _HEADINGS[2]),
        contents,
    ]


def _letterhead(source: Source) -> list[Flowable]:
    front = source.front
    return [
        Paragraph(front["title"], _HEADINGS[1]),
        Paragraph(front["subtitle"], _BODY),
        Paragraph(f"{front['reference']}. {front['revision']}", _BODY),
    ]


def _flowables(block: Block) -> list[Flowable]:
    if block.kind == "heading":
        heading = Paragraph(_inline(block.text), _HEADINGS[block.level])
        if block.level <= 3:
            heading.outline_level = block.level - 2
        return [heading]
    if block.kind == "table":
        return [_table(block.rows), Spacer(1, 8)]
    if block.kind in ("bullets", "numbers"):
        return [_list(block)]
    style = _NOTE if block.kind == "note" else _BODY
    return [Paragraph(_inline(block.text), style)]


def _list(block: Block) -> Flowable:
    items = [Paragraph(_inline(item), _BODY) for item in block.items]
    if block.kind == "numbers":
        return ListFlowable(items, bulletType="1", leftIndent=18, bulletFormat="%s.")
    return ListFlowable(items, bulletType="bullet", start="•", leftIndent=14)


def _table(rows: tuple[tuple[str, ...], ...]) -> Table:
    head, *body = rows
    longest = [max(len(row[i]) for row in rows) for i in range(len(head))]
    weights = [min(max(length, 9), 46) for length in longest]
    widths = [WIDTH * weight / sum(weights) for weight in weights]
    data = [[Paragraph(f"<b>{_inline(cell)}</b>", _HEAD_CELL) for cell in head]]
    data += [[Paragraph(_inline(cell), _CELL) for cell in row] for row in body]
    style = [
        ("BACKGROUND", (0, 0), (-1, 0), ACCENT),
        ("GRID", (0, 0), (-1, -1), 0.4, colors.lightgrey),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("ROWBACKGROUNDS", (0, 1), (-1, -1), [colors.white, colors.HexColor("#f2f6f7")]),
    ]
    return Table(data, widths, repeatRows=1, style=TableStyle(style), hAlign="LEFT")


def _inline(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped)
