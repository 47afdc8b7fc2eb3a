"""PowerPoint presentations (.pptx): a slide is a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rag.readers.content import Composer, Content, Source
from rag.readers.dates import office_day
from rag.readers.office.archive import check_archive
from rag.readers.tables import grid


def read_pptx(source: Source) -> Content:
    """Per slide its title as a heading, the text of its shapes, tables by row, and the notes."""
    from pptx import Presentation

    check_archive(source)
    deck = Presentation(str(source.path))
    composer, count = Composer(), len(deck.slides)
    source.tick(0, count)
    for number, slide in enumerate(deck.slides, start=1):
        composer.page(number)
        _add_slide(composer, slide)
        source.tick(number, count)
    properties = deck.core_properties
    return composer.content(
        title=properties.title,
        author=properties.author,
        date=office_day(source.path),
        pages=str(count),
    )


def _add_slide(composer: Composer, slide: Any) -> None:
    title = slide.shapes.title
    if title is not None:
        composer.heading(1, " ".join(title.text_frame.text.split()))
    for shape in _flatten(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if getattr(shape, "has_table", False):
            rows = ([_cell_text(cell) for cell in row.cells] for row in shape.table.rows)
            composer.table(grid(rows))
        else:
            composer.block(_shape_text(shape))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        composer.block(f"Notes: {notes}" if notes else "")


def _cell_text(cell: Any) -> str:
    """Return the text of a cell; "" if another cell covers it."""
    return "" if cell.is_spanned else str(cell.text)


def _flatten(shapes: Any) -> Iterator[Any]:
    """Shapes in reading order of the file, groups opened."""
    stack = list(reversed(list(shapes)))
    while stack:
        shape = stack.pop()
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield shape
        else:
            stack.extend(reversed(list(inner)))


def _shape_text(shape: Any) -> str:
    if not getattr(shape, "has_text_frame", False):
        return ""
    # PowerPoint stores a line break inside a paragraph as a vertical tab.
    return str(shape.text_frame.text).replace("\v", "\n")
