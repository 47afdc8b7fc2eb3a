"""OpenDocument spreadsheets (.ods): a sheet is a page with a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from rag.readers.content import Composer, Content, Source
from rag.readers.office.opendocument import is_struck, name_of, open_document, value_of
from rag.readers.office.sheets import add_sheet
from rag.readers.scripts import raised
from rag.readers.tables import Row

_TICK_EVERY = 500
_MOST_COLUMNS = 16_384
_MOST_ALIKE = 1000  # rows or cells with the same words, one after the other


def read_ods(source: Source) -> Content:
    """Cells as they are shown. The sheet's name is a heading, comments stand after it all.

    Left out, and counted: hidden sheets, rows and columns, struck text, pictures and objects.
    """
    content, styles, metadata = open_document(source)
    sheets = content.findall("./{*}body/{*}spreadsheet/{*}table")
    composer, looks = Composer(), _looks([styles, content])
    for number, sheet in enumerate(sheets, 1):
        title = value_of(sheet, "name")
        if looks.get(value_of(sheet, "style-name")) == "hidden":
            composer.leave_out("hidden_sheet", title)
            continue
        add_sheet(composer, number, title, _rows(sheet, composer, looks, source))
        for note in sheet.iter("{*}annotation"):
            words = " ".join(" ".join(part.itertext()) for part in note.iter("{*}p"))
            beside = " ".join(_words(note.getparent(), looks)[0].split())
            composer.block(f"Note on {beside}: {words}" if beside else f"Note: {words}", "\n")
            composer.count("comments")
        composer.leave_out("picture", title, len(sheet.findall(".//{*}frame/{*}image[1]/..")))
        source.tick(number, len(sheets))
    return composer.content(**metadata, pages=str(len(sheets)))


def _looks(trees: list[Any]) -> dict[str, str]:
    """Styles of hidden sheets, and of struck and raised text."""
    looks = dict[str, str]()
    for style in itertools.chain(*(tree.iter("{*}style") for tree in trees)):
        for part in style:
            if value_of(part, "display") == "false":
                looks[value_of(style, "name")] = "hidden"
            elif is_struck(part):
                looks[value_of(style, "name")] = "struck"
            elif value_of(part, "text-position").startswith(("super", *"123456789")):
                looks[value_of(style, "name")] = "raised"
    return looks


def _words(cell: Any, looks: dict[str, str]) -> tuple[str, bool]:
    """The text of a cell without its comment, and whether any of it is struck."""
    look, struck, texts = looks.get(value_of(cell, "style-name"), ""), False, list[str]()
    for paragraph in cell.iterchildren("{*}p"):
        parts = [paragraph.text or ""]
        for part in paragraph:
            own, text = looks.get(value_of(part, "style-name"), ""), "".join(part.itertext())
            text = " " if name_of(part) in ("s", "tab", "line-break") else text
            struck = struck or own == "struck"
            parts += ["" if own == "struck" else raised(text) if own == "raised" else text]
            parts.append(part.tail or "")
        texts.append("".join(parts))
    return ("", True) if look == "struck" and any(texts) else ("\n".join(texts), struck)


def _rows(sheet: Any, composer: Composer, looks: dict[str, str], source: Source) -> Iterator[Row]:
    """Yield the rows that are shown; None is a column that a merged cell reaches over."""
    title, hidden, at = value_of(sheet, "name"), set[int](), 0
    for column in sheet.iter("{*}table-column"):
        count = min(int(value_of(column, "number-columns-repeated") or 1), _MOST_COLUMNS)
        if value_of(column, "visibility") in ("collapse", "filter"):
            hidden.update(range(at, at + count))
        at += count
    cover, told = dict[int, str | None](), set[int]()
    for number, line in enumerate(sheet.iter("{*}table-row"), 1):
        if number % _TICK_EVERY == 0:
            source.tick(0, 1)
        row, gap = list[str | None](), 0
        for cell in line.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            repeated = min(int(value_of(cell, "number-columns-repeated") or 1), _MOST_COLUMNS)
            columns = int(value_of(cell, "number-columns-spanned") or 1)
            at = len(row) + gap
            if name_of(cell) == "covered-table-cell":
                texts = [cover.get(place) for place in range(at, at + repeated)]
                row += [*[""] * gap, *texts]
                gap = 0
                continue
            text, struck = _words(cell, looks)
            composer.leave_out("struck_passage", title, int(struck))
            cover[at] = text
            cover.update(dict.fromkeys(range(at + 1, at + min(columns, _MOST_ALIKE))))
            if text:
                row += [*[""] * gap, *[text] * min(repeated, _MOST_ALIKE)]
            gap = 0 if text else gap + repeated
        filled = any(row)
        for column in sorted(hidden.intersection(range(len(row))), reverse=True):
            if row.pop(column) and column not in told:
                told.add(column)
                composer.leave_out("hidden_column", title)
        if filled and value_of(line, "visibility") in ("collapse", "filter"):
            composer.leave_out("hidden_row", title)
            continue
        repeated = int(value_of(line, "number-rows-repeated") or 1)
        yield from itertools.repeat(
            row if filled else [], min(repeated, _MOST_ALIKE) if filled else 1
        )
