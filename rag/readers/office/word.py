"""Word documents (.docx): paragraphs, headings and tables in the order of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rag.readers.content import Composer, Content, Source
from rag.readers.dates import office_day
from rag.readers.office.archive import check_archive
from rag.readers.tables import Row, caption, grid, holds_values

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING = re.compile(r"heading (\d)$", re.IGNORECASE)
_LIST = re.compile(r"list (?:bullet|number)(?: \d)?$", re.IGNORECASE)
_WRAPPERS = {f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml", f"{_W}smartTag"}
_TICK_EVERY = 100
_NUMBERED = re.compile(r"(?:table|tab\.|tabelle)\s*\w{1,4}\b", re.IGNORECASE)
_MOST_SPANNED = 64
_UNSHADED = {"auto", "ffffff"}
_OFF = {"0", "false", "off"}


def read_docx(source: Source) -> Content:
    """Text of the body. Headings are known by style or outline level; tables become rows.

    Not read: headers, footers, footnotes, comments, deleted passages.
    """
    import docx

    check_archive(source)
    document = docx.Document(str(source.path))
    composer, levels, lists = Composer(), _levels(document), _list_styles(document)
    blocks = list(_blocks(document.element.body))
    title = ""
    for done, block in enumerate(blocks):
        if done % _TICK_EVERY == 0:
            source.tick(done, len(blocks))
        if block.tag == f"{_W}tbl":
            table = grid(map(_cells, _lines(block)), _heads(_lines(block)))
            composer.table(table, "\n" if title else "\n\n", title)
            title = ""
        else:
            _add_paragraph(composer, block, levels, lists)
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


def _list_styles(document: WordDocument) -> set[str]:
    """Ids of the styles whose paragraphs are items of lists.

    The numbering stands in the style or in the nearest one that it is based on. Where none of them
    has any, the name of the style tells.
    """
    found = set[str]()
    for style in document.styles:
        is_item = None
        for element in _bases(style.element):
            is_item = _is_numbered(element)
            if is_item is not None:
                break
        if is_item or (is_item is None and _LIST.match(style.name or "")):
            found.add(style.style_id)
    return found


def _bases(style: Any) -> Iterator[Any]:
    """The element of a style, and those of the styles that it is based on, the nearest first."""
    seen = set[Any]()
    while style is not None and style not in seen:
        yield style
        seen.add(style)
        style = style.base_style


def _is_numbered(element: Any) -> bool | None:
    """Whether a paragraph or style has a list mark; None where it leaves that to its style."""
    numbering = element.find(f"{_W}pPr/{_W}numPr")
    if numbering is None:
        return None
    number = numbering.find(f"{_W}numId")
    # A style may have the level alone; the number 0 takes the mark of the style away.
    return number is None or number.get(f"{_W}val") != "0"


def _blocks(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables, also those inside content controls."""
    for child in parent:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        elif child.tag in _WRAPPERS:
            yield from _blocks(child)


def _add_paragraph(
    composer: Composer, paragraph: Any, levels: dict[str, int], lists: set[str]
) -> None:
    text = _text(paragraph)
    level = _level(paragraph, levels)
    if level:
        composer.heading(level, text)
    elif text.strip() and _is_item(paragraph, lists):
        composer.block(f"- {text.strip()}", "\n")
    else:
        composer.block(text)


def _is_item(paragraph: Any, lists: set[str]) -> bool:
    is_numbered = _is_numbered(paragraph)
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    styled = style is not None and style.get(f"{_W}val") in lists
    return styled if is_numbered is None else is_numbered


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


def _lines(table: Any) -> list[list[Any]]:
    """The elements of the cells of each row."""
    # A table inside a cell is read as part of that cell.
    rows = [row for row in table.iter(f"{_W}tr") if next(row.iterancestors(f"{_W}tbl")) is table]
    return [[cell for cell in row.iter(f"{_W}tc") if _row_of(cell) is row] for row in rows]


def _cells(line: list[Any]) -> Row:
    return [text for cell in line for text in (_text(cell), *_covered(cell))]


def _heads(lines: list[list[Any]]) -> int | None:
    """The number of rows that are the header by their form, or None if no form tells it.

    Rows that repeat on every page are the header. So are the first rows if all of their cells are
    bold or shaded, unless those of the row below are as well, or have the same kinds of values.
    """
    filled = [line for line in lines if any(_text(cell).strip() for cell in line)]
    for marked in (_repeats, _is_bold, _is_shaded):
        count = next((place for place, line in enumerate(filled) if not marked(line)), 0)
        if count and (marked is _repeats or not _hold_values(filled, count)):
            return count
    return None


def _hold_values(lines: list[list[Any]], count: int) -> bool:
    """Whether the last of the first rows has values like the rows below."""
    texts = [["" if text is None else text.strip() for text in _cells(line)] for line in lines]
    return holds_values(texts[count - 1], texts[count:])


def _repeats(line: list[Any]) -> bool:
    return bool(line) and _is_on(_row_of(line[0]).find(f"{_W}trPr/{_W}tblHeader"))


def _is_bold(line: list[Any]) -> bool:
    runs = [run for cell in line for run in cell.iter(f"{_W}r") if _text(run).strip()]
    return bool(runs) and all(_is_on(run.find(f"{_W}rPr/{_W}b")) for run in runs)


def _is_shaded(line: list[Any]) -> bool:
    shadings = [cell.find(f"{_W}tcPr/{_W}shd") for cell in line]
    return all(
        shading is not None and shading.get(f"{_W}fill", "auto").casefold() not in _UNSHADED
        for shading in shadings
    )


def _is_on(switch: Any) -> bool:
    return switch is not None and switch.get(f"{_W}val", "1") not in _OFF


def _covered(cell: Any) -> list[None]:
    """None for each further column that a cell spans."""
    span = cell.find(f"{_W}tcPr/{_W}gridSpan")
    width = span.get(f"{_W}val", "1") if span is not None else "1"
    return [None] * (min(int(width), _MOST_SPANNED) - 1 if width.isdigit() else 0)


def _row_of(cell: Any) -> Any:
    return next(cell.iterancestors(f"{_W}tr"))
