"""Places of passages for all pages, and the part of a passage that is worth showing first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pages.components.shell.session import cached_per_run, shared_cache, workspace
from pages.components.shell.text import CELL, Span, marked
from rag import (
    Chunk,
    Document,
    FindingPlaceData,
    KnowledgeBase,
    NotFound,
    Place,
    StoredCitation,
    page_name,
    place_of,
)

LENGTH = 260
_ROW_END = "\x1e"  # holds the place of the line break behind a row
_CELLS = re.compile(rf"(?:{CELL})+")
LabelledRows = tuple[Span, Sequence[str]]
"""The part of a text that is rows of a table, and the names of their columns."""


def snippet(text: str, spans: Sequence[Span], length: int = LENGTH) -> str:
    """Markdown of the stretch of ``text`` with most of ``spans``, which are marked in it."""
    start, end = window(text, spans, length)
    inside = [
        (max(low, start) - start, min(high, end) - start)
        for low, high in spans
        if low < end and high > start
    ]
    before, after = "… " if start else "", " …" if end < len(text) else ""
    shown = marked(_flat(text[start:end]), inside)
    return before + _CELLS.sub(" · ", shown).replace(_ROW_END, "; ") + after


def _flat(text: str) -> str:
    """One line, each sign in its place; cells of a table stay apart, and its rows too.

    A row is shown as in quotes: with a dot between its cells.
    """
    rows = ("\t" in line for line in text.split("\n"))
    ends = (_ROW_END if row else " " for row in rows)
    return "".join(
        next(ends) if sign == "\n" else sign if sign == "\t" or not sign.isspace() else " "
        for sign in text
    )


def with_columns(
    text: str, spans: Sequence[Span], tables: Sequence[LabelledRows]
) -> tuple[str, list[Span]]:
    """Return ``text`` with the names of the columns before the cells of its rows, and its spans.

    The header and rows with another number of cells stay as they are. Spans in the header are also
    in the names before the cells.
    """
    pieces, shifts, at = list[str](), [(0, 0)], 0
    in_names = dict[tuple[str, ...], list[list[Span]]]()
    named_spans = list[Span]()
    for row in text.splitlines(keepends=True):
        cells = row.rstrip("\n").split("\t")
        labels = next(
            (names for (start, end), names in tables if start < at + len(row) and at < end), ()
        )
        is_header = [*map(str.strip, cells)] == [*labels]
        if is_header:
            in_names[tuple(labels)] = _by_cell(cells, at, spans)
        named = len(cells) == len(labels) > 1 and not is_header
        for number, cell in enumerate(cells):
            label = f"{labels[number]}: " if named and labels[number] and cell.strip() else ""
            if label and (of_cells := in_names.get(tuple(labels))):
                here = at + shifts[-1][1]
                named_spans += [(here + start, here + end) for start, end in of_cells[number]]
            shifts.append((at, shifts[-1][1] + len(label)))
            behind = "\t" if number < len(cells) - 1 else row[len(row.rstrip("\n")) :]
            pieces.append(f"{label}{cell}{behind}")
            at += len(cell) + len(behind)

    def moved(position: int) -> int:
        return position + next((by for start, by in reversed(shifts) if start <= position), 0)

    named_spans += [
        (moved(start), moved(max(start, end - 1)) + (end > start)) for start, end in spans
    ]
    return "".join(pieces), sorted(named_spans)


def _by_cell(cells: Sequence[str], at: int, spans: Sequence[Span]) -> list[list[Span]]:
    """Return the spans in each cell of a row that begins at ``at``, counted from its words on."""
    by_cell = list[list[Span]]()
    for cell in cells:
        start, end = at + len(cell) - len(cell.lstrip()), at + len(cell.rstrip())
        inside = [(low - start, high - start) for low, high in spans if start <= low < high <= end]
        by_cell.append(inside)
        at += len(cell) + 1
    return by_cell


def window(text: str, spans: Sequence[Span], length: int) -> Span:
    """The stretch of at most ``length`` characters, cut at blanks, that holds the rarest spans.

    A word counts less the more often it is marked: one that every row of a table has tells little.
    """
    if len(text) <= length:
        return 0, len(text)
    words = [text[low:high].casefold() for low, high in spans]
    counts = Counter(words)
    weights = [1 / counts[word] for word in words]
    starts = [0, *(_lead(text, low, length) for low, _ in spans)]

    def worth(at: int) -> tuple[float, bool, int]:
        weight = _weight_inside(spans, weights, at, at + length)
        return round(weight, 6), at == 0 or text[at - 1] == "\n", -at

    start = max(starts, key=worth)
    start = min(start, len(text) - length)
    end = start + length
    if start and not text[start - 1].isspace():
        blank = text.find(" ", start, end)
        start = blank + 1 if blank >= 0 else start
    if end < len(text):
        blank = text.rfind(" ", start, end)
        end = blank if blank > start else end
    return start, end


def _lead(text: str, low: int, length: int) -> int:
    """Return where a stretch for a span begins: with its row of a table, or a little before it."""
    row = text.rfind("\n", 0, low) + 1
    if low - row <= length // 2 and "\t" in text[row:].partition("\n")[0]:
        return row
    return max(low - length // 4, 0)


def _weight_inside(spans: Sequence[Span], weights: Sequence[float], start: int, end: int) -> float:
    inside = zip(spans, weights, strict=True)
    return sum(weight for (low, high), weight in inside if start <= low and high <= end)


def place(base: KnowledgeBase, chunk: Chunk, of: str = "", quote: str = "") -> Place:
    """The place of a passage of ``base``, or of the base named ``of``, or of a quote of it.

    Where there is no such document, as for results of tools, it is what the passage says itself.
    """
    outline = _outline_in(base, chunk.document_id, of)
    if outline is None:
        return Place(chunk.page, chunk.heading)
    at = chunk.text.find(quote) if quote else -1
    start, end = (at, at + len(quote)) if at >= 0 else (0, chunk.end - chunk.start)
    return place_of(outline, chunk.start + start, chunk.start + end)


def is_here(base: KnowledgeBase, document_id: str, of: str = "") -> bool:
    """Whether ``base``, or the base named ``of``, still has a document."""
    return _outline_in(base, document_id, of) is not None


def tables_of(
    base: KnowledgeBase, part: Chunk | FindingPlaceData, of: str = ""
) -> list[LabelledRows]:
    """The parts of a text that are rows of a table, with the names of their columns."""
    outline = _outline_in(base, part.document_id, of) if "\t" in part.text else None
    return [
        ((max(one.start, part.start) - part.start, one.end - part.start), one.labels)
        for one in (outline.tables if outline else ())
        if one.start < part.end and one.end > part.start
    ]


def recognised(base: KnowledgeBase, document_id: str, page: int | None, of: str = "") -> str:
    """The confidence of the text recognition of a scanned page, in words.

    Return an empty string for native text, or if the document doesn't exist. ``of`` names the
    base of the document if it is another base.
    """
    outline = _outline_in(base, document_id, of)
    if outline is None:
        return ""
    at = next((printed for printed in outline.pages if printed.number == page), None)
    return "" if at is None else place_of(outline, at.start, at.end).recognised


def cited_page(base: KnowledgeBase, citation: StoredCitation) -> str:
    """The page of a citation, a sheet by its name; "" without pages."""
    outline = _outline_in(base, citation.document_id, citation.base)
    pages = outline.pages if outline is not None and citation.page is not None else ()
    at = next((page for page in pages if page.number == citation.page), None)
    heading = outline.heading_at(at.start) if outline is not None and at is not None else ""
    label = at.label if at is not None else citation.page_label
    return page_name(citation.document, citation.page, heading, label=label)


def _outline_in(base: KnowledgeBase, document_id: str, of: str) -> Document | None:
    """Return the outline of a document; None if it is gone or in a base that isn't visible here.

    Check the access to another base on each call, because all principals share the cached outlines.
    """
    if of in ("", base.name):
        return _outline(base, document_id)
    try:
        other = cached_per_run(("base", of), lambda: workspace().base(of))
    except NotFound:
        return None
    return _outline(other, document_id)


@shared_cache(1024)
def _outline(base: KnowledgeBase, document_id: str) -> Document | None:
    return base.documents.outline(document_id)
