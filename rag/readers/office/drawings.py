"""Charts and diagrams (SmartArt) of Word and PowerPoint: their words and numbers, not their look.

Both keep them in parts of their own, as ECMA-376, part 1, 21.2 and 21.4 have them.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from lxml import etree
from openpyxl.styles.numbers import is_date_format
from openpyxl.utils.datetime import from_excel

from rag.readers.content import Composer, attempt
from rag.readers.office.sheets import A, formatted, formatted_day
from rag.readers.tables import Row, grid

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_D = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def add_drawings(composer: Composer, drawing: Any, part: Any, place: str = "") -> int:
    """Add the charts of a drawing as tables, and its diagrams as lines; return their number.

    ``part`` has the relations that the drawing names. What has no values or words is left out.
    """
    drawings = list(drawing.iter("{*}chart", f"{_D}relIds"))
    for item in drawings:
        kind, add, name = "chart", _add_chart, "id"
        if item.tag == f"{_D}relIds":
            kind, add, name = "diagram", _add_diagram, "dm"
        # A damaged drawing does not make the text around it unreadable.
        root = attempt(partial(_related, part, item.get(f"{_R}{name}")), None)
        if root is not None and attempt(partial(add, composer, root), False):
            composer.count(f"{kind}s")
        else:
            composer.leave_out(kind, place)
    return len(drawings)


def _related(part: Any, name: str | None) -> Any:
    """The root of the part of a relation; None where there is none that can be read."""
    relation = part.rels.get(name) if name else None
    if relation is None or relation.is_external:
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    return etree.fromstring(relation.target_part.blob, parser)


def _add_diagram(composer: Composer, root: Any) -> bool:
    lines = (_words(paragraph) for paragraph in root.iterfind(f".//{_D}t/{A}p"))
    return composer.block("\n".join(filter(None, lines))) is not None


def _add_chart(composer: Composer, root: Any) -> bool:
    """Add a row for each category, a column for each series; one table for each set of categories.

    The points of a scatter chart are categories as well.
    """
    series = [
        (
            " ".join(_points(line.find(f"{_C}tx")).values()),
            _points(line.find(f"{_C}cat"), line.find(f"{_C}xVal")),
            _points(line.find(f"{_C}val"), line.find(f"{_C}yVal")),
        )
        for line in root.iterfind(f"{_C}chart/{_C}plotArea/*/{_C}ser")
    ]
    if not any(values for _, _, values in series):
        return False
    title = "\n".join(filter(None, map(_words, root.iterfind(f"{_C}chart/{_C}title//{A}p"))))
    separator = "\n\n" if composer.block(title) is None else "\n"
    axes = {tuple(labels.items()): labels for _, labels, _ in series if labels}
    for labels in axes.values() or [{}]:
        columns = [(name, values) for name, own, values in series if not own or own == labels]
        rows: list[Row] = [["", *(name for name, _ in columns)]]
        rows += [
            [labels.get(at, ""), *(values.get(at, "") for _, values in columns)]
            for at in sorted(labels.keys() | {at for _, values in columns for at in values})
        ]
        composer.table(grid(rows, 1), separator, title)
        separator = "\n\n"
    return True


def _points(*sources: Any) -> dict[int, str]:
    """The values that the file keeps of the first source, by place; a category after its groups."""
    source = next((node for node in sources if node is not None), None)
    if source is None:
        return {}
    levels = source.findall(f".//{_C}lvl") or [source]
    leaf, *groups = [
        {int(point.get("idx", "0")): _shown(point) for point in level.iter(f"{_C}pt")}
        for level in levels
    ]
    for group in groups:
        for at, text in leaf.items():
            above = [name for start, name in group.items() if start <= at]
            leaf[at] = " ".join([*above[-1:], text])
    return leaf


def _shown(point: Any) -> str:
    """A value in its number format; text, and a number that is none, as it stands."""
    text = (point.findtext(f"{_C}v") or "").strip()
    code = point.get("formatCode") or point.getparent().findtext(f"{_C}formatCode") or ""
    value = attempt(lambda: float(text), None) if code else None
    if value is None:
        return text
    if not is_date_format(code):
        return formatted(value, code)
    day = attempt(lambda: from_excel(value), None)
    return formatted_day(day.date(), code) if isinstance(day, datetime) else text


def _words(paragraph: Any) -> str:
    return "".join(run.text or "" for run in paragraph.iter(f"{A}t")).strip()
