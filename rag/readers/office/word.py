"""Word documents (.docx): paragraphs, headings and tables in the order of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rag.readers.content import Composer, Content, Source
from rag.readers.dates import office_day
from rag.readers.office.archive import check_archive
from rag.readers.tables import caption, grid

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING = re.compile(r"heading (\d)$", re.IGNORECASE)
_WRAPPERS = {f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml", f"{_W}smartTag"}
_TICK_EVERY = 100
_NUMBERED = re.compile(r"(?:table|tab\.|tabelle)\s*\w{1,4}\b", re.IGNORECASE)
_MOST_SPANNED = 64


def read_docx(source: Source) -> Content:
    """Text of the body. Headings are known by style or outline level; tables become rows.

    Not read: headers, footers, footnotes, comments, deleted passages.
    """
    import docx

    check_archive(source)
    document = docx.Document(str(source.path))
    composer, levels = Composer(), _levels(document)
    blocks = list(_blocks(document.element.body))
    title = ""
    for done, block in enumerate(blocks):
        if done % _TICK_EVERY == 0:
            source.tick(done, len(blocks))
        if block.tag == f"{_W}tbl":
            composer.table(grid(_rows(block)), "\n" if title else "\n\n", title)
            title = ""
        else:
            _add_paragraph(composer, block, levels)
            title = _caption(block) or (title if not _text(block).strip() else "")
    source.tick(len(blocks), len(blocks))
    properties = document.core_properties
    return composer.content(
        title=properties.title, author=properties.author, date=office_day(source.path)
    )


def _levels(document: WordDocument) -> dict[str, int]:
    """Heading level by style id. A style named Title is the topmost."""
    levels = {}
    for style in document.styles:
        named = _HEADING.match(style.name or "")
        outline = style.element.find(f"{_W}pPr/{_W}outlineLvl")
        if named:
            levels[style.style_id] = int(named.group(1))
        elif (style.name or "").casefold() == "title":
            levels[style.style_id] = 1
        elif outline is not None and int(outline.get(f"{_W}val", "9")) < 9:
            levels[style.style_id] = int(outline.get(f"{_W}val")) + 1
    return levels


def _blocks(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables, also those inside content controls."""
    for child in parent:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        elif child.tag in _WRAPPERS:
            yield from _blocks(child)


def _add_paragraph(composer: Composer, paragraph: Any, levels: dict[str, int]) -> None:
    text = _text(paragraph)
    level = _level(paragraph, levels)
    if level:
        composer.heading(level, text)
    elif paragraph.find(f"{_W}pPr/{_W}numPr") is not None and text.strip():
        composer.block(f"- {text.strip()}", "\n")
    else:
        composer.block(text)


def _caption(paragraph: Any) -> str:
    """The words of a paragraph that is the caption of a table by its style or its beginning."""
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    words = caption([_text(paragraph)])
    styled = style is not None and str(style.get(f"{_W}val")).casefold() == "caption"
    return words if styled or _NUMBERED.match(words) else ""


def _level(paragraph: Any, levels: dict[str, int]) -> int:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    outline = paragraph.find(f"{_W}pPr/{_W}outlineLvl")
    if outline is not None and int(outline.get(f"{_W}val", "9")) < 9:
        return int(outline.get(f"{_W}val")) + 1
    return levels.get(style.get(f"{_W}val"), 0) if style is not None else 0


def _text(element: Any) -> str:
    """Text of runs, links, insertions and text boxes; deleted text has another tag."""
    parts: list[str] = []
    for child in element:
        if child.tag == f"{_W}t":
            parts.append(child.text or "")
        elif child.tag == f"{_W}tab":
            parts.append("\t")
        elif child.tag in (f"{_W}br", f"{_W}cr"):
            parts.append("\n")
        elif child.tag == f"{_W}noBreakHyphen":
            parts.append("-")
        elif child.tag not in (_FALLBACK, f"{_W}pPr", f"{_W}rPr"):
            parts.append(_text(child))
            if child.tag == f"{_W}p":
                parts.append("\n")
    return "".join(parts)


def _rows(table: Any) -> Iterator[list[str]]:
    for row in table.iter(f"{_W}tr"):
        # A table inside a cell is read as part of that cell.
        if next(row.iterancestors(f"{_W}tbl")) is table:
            cells = [cell for cell in row.iter(f"{_W}tc") if _row_of(cell) is row]
            yield [text for cell in cells for text in (_text(cell), *_covered(cell))]


def _covered(cell: Any) -> list[str]:
    """An empty cell for each further column that a cell spans."""
    span = cell.find(f"{_W}tcPr/{_W}gridSpan")
    width = span.get(f"{_W}val", "1") if span is not None else "1"
    return [""] * (min(int(width), _MOST_SPANNED) - 1 if width.isdigit() else 0)


def _row_of(cell: Any) -> Any:
    return next(cell.iterancestors(f"{_W}tr"))
