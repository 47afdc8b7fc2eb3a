"""Word documents (.docx): paragraphs, headings and tables in the order of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rag.readers.content import Composer, Content, Source, attempt
from rag.readers.dates import office_day, readable_copy
from rag.readers.numbering import Numbering
from rag.readers.office.archive import check_archive, section_titles
from rag.readers.office.drawings import add_drawings
from rag.readers.office.word_text import (
    REMOVED,
    W,
    WordText,
    bases,
    is_on,
    margins,
    part_of,
    plain,
    style_of,
    styles_of,
)
from rag.readers.tables import Row, caption, grid, holds_values, named_rows

_HEADING = re.compile(r"heading (\d)$", re.IGNORECASE)
_LIST = re.compile(r"list (?:bullet|number)(?: \d)?$", re.IGNORECASE)
_WRAPPERS = {
    f"{W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")
}
_TICK_EVERY = 100
_NUMBERED = re.compile(r"(?:table|tab\.|tabelle)\s*\w{1,4}\b", re.IGNORECASE)
_MOST_SPANNED = 64
_SPAN = f"{W}tcPr/{W}gridSpan"
_UNSHADED = {"auto", "ffffff"}


def read_docx(source: Source) -> Content:
    """Text of the body. Headings are known by style or outline level; tables become rows.

    Headers and footers stand once before their section; where the header differs by section, it is
    the section's heading. Notes, comments, charts and diagrams stand after their paragraph or
    table. Left out, and counted: struck, hidden and removed text, pictures.
    """
    import docx

    check_archive(source)
    document = attempt(lambda: docx.Document(str(source.path)), None)
    document = document or docx.Document(readable_copy(source.path))
    reader = _Reader(document)
    blocks = list(_blocks(document.element.body))
    for done, block in enumerate(blocks):
        if done % _TICK_EVERY == 0:
            source.tick(done, len(blocks))
        reader.add(block)
    source.tick(len(blocks), len(blocks))
    properties = document.core_properties
    return reader.composer.content(
        title=properties.title, author=properties.author, date=office_day(source.path)
    )


class _Reader:
    """A reader of the blocks of one document, which keeps count of its lists and notes."""

    def __init__(self, document: Any) -> None:
        self.composer = Composer()
        self._part = document.part
        self._text = WordText(document, self.composer)
        self._styles = styles_of(document)
        self._levels = {name: _level(style) for name, style in self._styles.items()}
        self._numbering = Numbering(part_of(document, "numbering"))
        self._title = ""
        self._sections = iter(document.sections)
        headers = [one.header for one in document.sections if not one.header.is_linked_to_previous]
        self._titles = section_titles(map(_words, one._element.iter(f"{W}p")) for one in headers)
        self._section, self._margins = "", {""}
        self._begin_section()

    def _begin_section(self) -> None:
        """Read the headers and footers of the next section; what differs names the section."""
        titles, section = list[str](), next(self._sections, None)
        for kind, paragraph in margins(section) if section is not None else ():
            text = " ".join(self._text.of(paragraph).split())
            if kind == "header" and _words(paragraph) in self._titles:
                titles.append(text)
            elif text not in self._margins:
                self._margins.add(text)
                self.composer.block(f"{kind.capitalize()}: {text}")
                self.composer.count(f"{kind}s")
        title = " · ".join(dict.fromkeys(titles)) or self._section
        if title != self._section:
            self.composer.heading(1, title)
            self.composer.count("headers")
            self._section = title

    def add(self, block: Any) -> None:
        """Read a paragraph or table, then the notes whose marks stand in it."""
        if block.tag in REMOVED:
            self.composer.leave_out("tracked_change")
        elif block.tag == f"{W}tbl":
            self._add_table(block)
        else:
            text = self._text.of(block)
            level = _outline(block) or self._levels.get(style_of(block), 0)
            label = self._label(block) if text.strip() else None
            if level:
                self.composer.heading(level, f"{label} {text}" if label else text)
            elif label is not None:
                self.composer.block(f"{label or '-'} {text.strip()}", "\n")
            else:
                self.composer.block(text)
            words, styled = caption([text]), style_of(block).casefold() == "caption"
            self._title = (words if styled or _NUMBERED.match(words) else "") or (
                "" if text.strip() else self._title
            )
        for note in self._text.notes:
            self.composer.block(note, "\n")
        for drawing in self._text.drawings:
            add_drawings(self.composer, drawing, self._part)
        self._text.notes.clear()
        self._text.drawings.clear()
        if block.find(f"{W}pPr/{W}sectPr") is not None:
            self._begin_section()

    def _label(self, paragraph: Any) -> str | None:
        """The number that Word makes for a paragraph, "" for a bullet; None where it has no mark.

        The list stands in the paragraph, its style, or the nearest style that this is based on;
        the number 0 takes the mark of the style away. Where none of them has any, the name of the
        style tells.
        """
        name, number, level, owner = style_of(paragraph), None, None, paragraph
        for element in (paragraph, *bases(self._styles.get(name))):
            found = element.find(f"{W}pPr/{W}numPr")
            if found is None:
                continue
            at, named = found.find(f"{W}ilvl"), found.find(f"{W}numId")
            level = int(at.get(f"{W}val", "0")) if level is None and at is not None else level
            if named is not None:
                number, owner = named.get(f"{W}val"), element
                break
        if number is None:
            return "" if _LIST.match(_name(self._styles.get(name))) else None
        if number == "0":
            return None
        if level is None:
            level = self._numbering.level_of(number, owner.get(f"{W}styleId", name))
        return self._numbering.count(number, level)

    def _add_table(self, table: Any) -> None:
        lines = [line for line in _lines(table) if not self._is_gone(line)]
        nested = sum(1 for _ in table.iter(f"{W}tbl")) > 1
        if nested and (len(lines) == 1 or all(len(line) == 1 for line in lines)):
            # Cells that only place their content on the page.
            for line in lines:
                for cell in line:
                    for block in _blocks(cell):
                        self.add(block)
            return
        rows = self._rows(lines)
        self.composer.table(
            grid(rows, _heads(lines)),
            "\n" if self._title else "\n\n",
            self._title,
        )
        self._title = ""

    def _is_gone(self, line: list[Any]) -> bool:
        properties = _row_of(line[0]).find(f"{W}trPr") if line else None
        if properties is None:
            return False
        for name, kind in (("del", "deleted_row"), ("hidden", "hidden_row")):
            if is_on(properties.find(f"{W}{name}")):
                self.composer.leave_out(kind)
                return True
        return False

    def _rows(self, lines: list[list[Any]]) -> Iterator[Row]:
        """The cells of each row; the words of a merged cell stand in each of its rows.

        A row with a table in a cell becomes a row for each of the rows of that table.
        """
        above = dict[int, list[str]]()
        for line in lines:
            row, column, deepest = list[list[str] | None](), 0, 1
            for cell in line:
                if cell is line[0]:
                    skipped = _number(_row_of(cell).find(f"{W}trPr/{W}gridBefore"), 0)
                    row += [[""]] * skipped
                    column += skipped
                merge = cell.find(f"{W}tcPr/{W}vMerge")
                goes_on = merge is not None and merge.get(f"{W}val", "continue") == "continue"
                texts = above.get(column, [""]) if goes_on else self._cell(cell)
                above[column] = texts
                covered = _number(cell.find(_SPAN), 1) - 1
                row += [texts, *[None] * covered]
                column += covered + 1
                deepest = max(deepest, len(texts))
            for at in range(deepest):
                yield [None if texts is None else texts[min(at, len(texts) - 1)] for texts in row]

    def _cell(self, cell: Any) -> list[str]:
        """The words of a cell, with each row of a table in it by itself."""
        words, rows = list[str](), list[str]()
        for block in _blocks(cell):
            if block.tag in REMOVED:
                self.composer.leave_out("tracked_change")
                continue
            if block.tag != f"{W}tbl":
                label = self._label(block) if plain(block).strip() else None
                text = self._text.of(block)
                words.append(text if label is None else f"{label or '-'} {text}")
                continue
            lines = [line for line in _lines(block) if not self._is_gone(line)]
            rows += named_rows(grid(self._rows(lines)))
        own = "\n".join(words).strip()
        return [" ".join(filter(None, (own, row))) for row in rows or [""]]


def _level(style: Any) -> int:
    """The heading level of a style; 0 for none. A style named Title is the topmost."""
    name = _name(style)
    named = _HEADING.match(name)
    return int(named[1]) if named else int(name.casefold() == "title") or _outline(style)


def _name(style: Any) -> str:
    name = style.find(f"{W}name") if style is not None else None
    return name.get(f"{W}val", "") if name is not None else ""


def _outline(element: Any) -> int:
    """The level in the outline that a paragraph or style states; 0 for none."""
    outline = element.find(f"{W}pPr/{W}outlineLvl")
    level = int(outline.get(f"{W}val", "9")) if outline is not None else 9
    return level + 1 if level < 9 else 0


def _words(element: Any) -> str:
    return " ".join(plain(element).split())


def _blocks(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables, also those inside content controls, and removed ones."""
    for child in parent:
        if child.tag in (f"{W}p", f"{W}tbl") or child.tag in REMOVED:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _blocks(child)


def _lines(table: Any) -> list[list[Any]]:
    """The elements of the cells of each row."""
    # A table inside a cell is read as part of that cell.
    rows = [row for row in table.iter(f"{W}tr") if next(row.iterancestors(f"{W}tbl")) is table]
    return [[cell for cell in row.iter(f"{W}tc") if _row_of(cell) is row] for row in rows]


def _heads(lines: list[list[Any]]) -> int | None:
    """The number of rows that are the header by their form, or None if no form tells it.

    Rows that repeat on every page are the header. So are the first rows if all of their cells are
    bold or shaded, unless those of the row below are as well, or have the same kinds of values.
    """
    filled = [line for line in lines if any(plain(cell).strip() for cell in line)]
    for marked in (_repeats, _is_bold, _is_shaded):
        count = next((place for place, line in enumerate(filled) if not marked(line)), 0)
        if count and (marked is _repeats or not _hold_values(filled, count)):
            return count
    return None


def _hold_values(lines: list[list[Any]], count: int) -> bool:
    """Whether the last of the first rows has values like the rows below."""
    texts = [
        [
            text
            for cell in line
            for text in (plain(cell).strip(), *[""] * (_number(cell.find(_SPAN), 1) - 1))
        ]
        for line in lines
    ]
    return holds_values(texts[count - 1], texts[count:])


def _repeats(line: list[Any]) -> bool:
    return bool(line) and is_on(_row_of(line[0]).find(f"{W}trPr/{W}tblHeader"))


def _is_bold(line: list[Any]) -> bool:
    runs = [run for cell in line for run in cell.iter(f"{W}r") if plain(run).strip()]
    return bool(runs) and all(is_on(run.find(f"{W}rPr/{W}b")) for run in runs)


def _is_shaded(line: list[Any]) -> bool:
    shadings = [cell.find(f"{W}tcPr/{W}shd") for cell in line]
    return all(
        shading is not None and shading.get(f"{W}fill", "auto").casefold() not in _UNSHADED
        for shading in shadings
    )


def _number(element: Any, default: int) -> int:
    """Return the number of columns that an element says, within bounds."""
    value = element.get(f"{W}val", "") if element is not None else ""
    return min(int(value), _MOST_SPANNED) if value.isdigit() else default


def _row_of(cell: Any) -> Any:
    return next(cell.iterancestors(f"{W}tr"))
