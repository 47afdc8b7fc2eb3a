"""PowerPoint presentations (.pptx): a slide is a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rag.readers.characters import lowered, raised
from rag.readers.content import Composer, Content, Source, attempt
from rag.readers.dates import office_day, without_properties
from rag.readers.office.archive import check_archive
from rag.readers.tables import Row, grid

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_UNSTRUCK = (None, "noStrike")


def read_pptx(source: Source) -> Content:
    """Per slide its title as a heading, the text of its shapes, tables and charts by row, notes.

    Left out, and counted: hidden slides, struck text, pictures, charts whose values are not in the
    file.
    """
    from pptx import Presentation

    check_archive(source)
    deck = attempt(lambda: Presentation(str(source.path)), None)
    deck = deck or Presentation(without_properties(source.path))
    composer, count = Composer(), len(deck.slides)
    source.tick(0, count)
    for number, slide in enumerate(deck.slides, start=1):
        if slide._element.get("show") in ("0", "false"):
            composer.leave_out("hidden_slide", f"slide {number}")
            continue
        composer.page(number)
        place = f"slide {number}"
        title = slide.shapes.title
        if title is not None:
            composer.heading(1, " ".join(_text(title.text_frame._txBody, composer, place).split()))
        for shape in _flatten(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if getattr(shape, "has_table", False):
                composer.table(grid(_rows(shape.table, composer, place)))
            elif getattr(shape, "has_chart", False):
                _add_chart(composer, shape.chart, place)
            elif hasattr(shape, "image"):
                composer.leave_out("picture", place)
            elif getattr(shape, "has_text_frame", False):
                composer.block(_text(shape.text_frame._txBody, composer, place))
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


def _add_chart(composer: Composer, chart: Any, place: str) -> None:
    """Add a chart as a table: a row for each category, a column for each series."""
    plots = list(chart.plots)
    categories = [str(label) for label in plots[0].categories] if plots else []
    series = [line for plot in plots for line in plot.series]
    if not categories or not series:
        composer.leave_out("chart", place)
        return
    title = chart.chart_title.text_frame.text if chart.has_title else ""
    if title.strip():
        composer.block(title)
    columns = [["" if value is None else f"{value:g}" for value in line.values] for line in series]
    rows: list[Row] = [["", *(line.name or "" for line in series)]]
    for at, label in enumerate(categories):
        rows.append([label, *(column[at] if at < len(column) else "" for column in columns)])
    composer.table(grid(rows, 1), "\n" if title.strip() else "\n\n", title)
    composer.count("charts")


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
    return "\n".join(
        "".join(_run(run, composer, place) for run in paragraph)
        for paragraph in body.iterfind(f"{_A}p")
    )


def _run(run: Any, composer: Composer, place: str) -> str:
    if run.tag == f"{_A}br":
        return "\n"
    if run.tag not in (f"{_A}r", f"{_A}fld"):
        return ""
    text = run.findtext(f"{_A}t") or ""
    properties = run.find(f"{_A}rPr")
    if properties is None or not text.strip():
        return text
    if properties.get("strike") not in _UNSTRUCK:
        composer.leave_out("struck_passage", place)
        return ""
    baseline = properties.get("baseline", "0")
    if baseline.strip("0%") == "":
        return text
    return lowered(text) if baseline.startswith("-") else raised(text)
