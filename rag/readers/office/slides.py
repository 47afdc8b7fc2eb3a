"""PowerPoint presentations (.pptx): a slide is a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rag.readers.characters import lowered, raised
from rag.readers.content import Composer, Content, Source, attempt
from rag.readers.dates import office_day, readable_copy
from rag.readers.office.archive import check_archive
from rag.readers.office.drawings import add_drawings
from rag.readers.office.sheets import A
from rag.readers.office.word_text import linear
from rag.readers.tables import Row, grid

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_FORMULA = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_UNSTRUCK = (None, "noStrike")


def read_pptx(source: Source) -> Content:
    """Per slide its title as a heading, the text of its shapes, tables and charts by row, notes.

    Left out, and counted: hidden slides, struck text, pictures, embedded objects, charts whose
    values are not in the file.
    """
    from pptx import Presentation
    from pptx.shapes.graphfrm import GraphicFrame
    from pptx.shapes.picture import Picture

    check_archive(source)
    deck = attempt(lambda: Presentation(str(source.path)), None)
    deck = deck or Presentation(readable_copy(source.path))
    composer, count = Composer(), len(deck.slides)
    source.tick(0, count)
    for number, slide in enumerate(deck.slides, start=1):
        if slide._element.get("show") in ("0", "false"):
            composer.leave_out("hidden_slide", f"slide {number}")
            continue
        composer.page(number)
        place = f"slide {number}"
        _choose(slide._element)
        title = slide.shapes.title
        title = title if title is not None and title.has_text_frame else None
        if title is not None:
            composer.heading(1, " ".join(_text(title.text_frame._txBody, composer, place).split()))
        for shape in _flatten(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if getattr(shape, "has_table", False):
                composer.table(grid(_rows(shape.table, composer, place)))
            elif shape.has_text_frame:
                composer.block(_text(shape.text_frame._txBody, composer, place))
            elif isinstance(shape, Picture):
                composer.leave_out("picture", place)
            elif isinstance(shape, GraphicFrame):
                drawings = add_drawings(composer, shape._element, slide.part, place)
                composer.leave_out("embedded_object", place, int(not drawings))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            if composer.block(f"Notes: {notes}" if notes else "") is not None:
                composer.count("notes")
        source.tick(number, count)
    properties = deck.core_properties
    return composer.content(
        title=properties.title,
        author=properties.author,
        date=office_day(source.path),
        pages=str(count),
    )


def _rows(table: Any, composer: Composer, place: str) -> Iterator[Row]:
    """The cells of each row; the words of a merged cell stand in each of its rows."""
    merged: dict[tuple[int, int], str | None] = {}
    for at, row in enumerate(table.rows):
        cells = list[str | None]()
        for column, cell in enumerate(row.cells):
            if (at, column) in merged:
                cells.append(merged[at, column])
                continue
            text = _text(cell._tc.txBody, composer, place)
            for down in range(cell.span_height):
                merged[at + down, column] = text
                for across in range(1, cell.span_width):
                    merged[at + down, column + across] = None
            cells.append(text)
        yield cells


def _choose(slide: Any) -> None:
    """Put what PowerPoint shows in the place of alternatives, which its library passes over."""
    for alternatives in list(slide.iter(f"{_MC}AlternateContent")):
        choices = alternatives.findall(f"{_MC}Choice[1]/*")
        for shape in choices or alternatives.findall(f"{_MC}Fallback/*"):
            alternatives.addprevious(shape)
        alternatives.getparent().remove(alternatives)


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


def _text(body: Any, composer: Composer, place: str) -> str:
    """The paragraphs of a text body, raised and lowered runs as such, without struck ones."""
    paragraphs = () if body is None else body.iterfind(f"{A}p")
    return "\n".join(
        "".join(_run(run, composer, place) for run in paragraph) for paragraph in paragraphs
    )


def _run(run: Any, composer: Composer, place: str) -> str:
    if run.tag == f"{A}br":
        return "\n"
    if run.tag == _FORMULA:
        return linear(run)
    if run.tag not in (f"{A}r", f"{A}fld"):
        return ""
    text = run.findtext(f"{A}t") or ""
    properties = run.find(f"{A}rPr")
    if properties is None or not text.strip():
        return text
    if properties.get("strike") not in _UNSTRUCK:
        composer.leave_out("struck_passage", place)
        return ""
    baseline = properties.get("baseline", "0")
    if baseline.strip("0%") == "":
        return text
    return lowered(text) if baseline.startswith("-") else raised(text)
