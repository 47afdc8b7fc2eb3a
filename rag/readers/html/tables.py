"""The visible part of a web page, its tables as rows of cells, and the words of elements."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

from rag.readers.characters import lowered, raised
from rag.readers.content import omission_mark
from rag.readers.tables import COVERED, Row, grid, named_rows
from rag.types import Omission

_STRUCK = {"s", "del", "strike"}
_LINE_THROUGH = re.compile(r"(?:^|;)text-decoration[^;]*line-through")
_HIDDEN = re.compile(r"display:none|visibility:hidden")
_UNFOLDERS = {"button", "dt", "h1", "h2", "h3", "h4", "h5", "h6"}
_IS_HEADING = " or ".join(f"self::h{level}" for level in range(1, 7))
_INLINE = ("span", "a", "button")
_BOXES = {"div", "nav", "header", "footer", "section"}
_UNFOLDING = "descendant-or-self::*[@aria-expanded and not(@aria-haspopup)]"
_ZERO_WIDTH = "\u00ad\u200b\u2060\ufeff"


def show(tree: Any, *, marked: bool = False) -> dict[str, Omission]:
    """Change a page in place to what is seen of it; return what is left out, by kind.

    With ``marked``, a mark stands where something is left out, also for each picture.
    What a click unfolds is no hidden text, where ARIA says so of a panel or its button.
    """
    left_out = dict[str, Omission]()
    body = tree.find("body")
    if body is None:
        return {}
    controlled = set(" ".join(map(str, body.xpath("descendant::*/@aria-controls"))).split())
    if any(mark in body.xpath("string()") for mark in _ZERO_WIDTH):
        for text in body.xpath("descendant::text()"):
            words = text.translate(dict.fromkeys(map(ord, _ZERO_WIDTH)))
            setattr(text.getparent(), "tail" if text.is_tail else "text", words)
    for node in body.xpath(
        "descendant::*[@style or @hidden] | descendant::s | descendant::del | descendant::strike"
        f"{' | descendant::img | descendant::svg' if marked else ''}"
    ):
        style = node.get("style", "").replace(" ", "").lower()
        is_struck = node.tag in _STRUCK or _LINE_THROUGH.search(style) is not None
        is_hidden = node.get("hidden") is not None or _HIDDEN.search(style) is not None
        if is_struck or (is_hidden and not _is_unfolded(node, controlled)):
            if any(map(str.strip, node.itertext())):
                kind = "struck_passage" if is_struck else "hidden_passage"
                above = node.xpath(f"(ancestor::*|preceding::*)[{_IS_HEADING}][last()]")
                place = " ".join(above[0].xpath("string()").split()) if above else ""
                first = left_out.get(kind) or Omission(kind, 0, place)
                left_out[kind] = replace(first, count=first.count + 1)
                if marked:
                    node.tail = f"{omission_mark(kind)}{node.tail or ''}"
            node.tag = "template"  # what is within it is dropped with it
        elif marked and node.tag in ("img", "svg"):
            node.tail = f"{omission_mark('picture')}{node.tail or ''}"
        elif is_hidden:
            node.attrib.pop("hidden", None)
            node.attrib.pop("style", None)
    for foot in list(body.iter("tfoot")):
        foot.getparent().append(foot)  # wherever it stands, it is shown below the rows
    for node in body.iter("option", "label"):
        node.tail = f" {node.tail or ''}"
    for node in list(body.iter("template")):
        if node.getparent() is not None:
            node.drop_tree()
    for node in reversed(list(body.iter("sup", "sub"))):
        words = "".join(node.itertext())
        node[:] = []
        node.text = raised(words) if node.tag == "sup" else lowered(words)
        node.drop_tag()
    for node in body.xpath(".//a[starts-with(@href, 'mailto:')]"):
        address = node.get("href").removeprefix("mailto:").partition("?")[0]
        if address not in "".join(node.itertext()):
            node.tail = f" ({address}){node.tail or ''}"
    for node in body.iter(*_INLINE):
        after = node.getnext()
        if after is None or after.tag not in _INLINE or node.tail:
            continue
        outer = node.getparent()  # what has no words of its own has no parts of a word in it
        bare = (outer.text, *(child.tail for child in outer))
        if outer.tag in _BOXES and not any(text and text.strip() for text in bare):
            node.tail = " "
    return left_out


def _is_unfolded(node: Any, controlled: set[str]) -> bool:
    """Whether a click shows an element: a button names it, or it follows one that unfolds it."""
    if node.get("id") in controlled or node.get("role") == "tabpanel":
        return True
    before = node.getprevious()
    return before is not None and before.tag in _UNFOLDERS and bool(before.xpath(_UNFOLDING))


_MARKED = re.compile(r"(?:^( *)[0-9]+\. )?⦗#(-?[0-9]+|[a-zA-Z]+)⦘ ?", re.MULTILINE)
"""The number that a page gives an item of a list, behind the one that trafilatura gives it."""
_TITLES = ("h1", "h2", "h3", "h4", "h5", "h6")
_LEAST_COLUMNS, _LEAST_ROWS = 2, 2
_LONGEST_LABEL = 80  # characters of a cell that is a div
_LONGEST_CELL = 400
_MOST_SPANNED = 64


TableRows = tuple[list[Row], int | None]
"""Rows of a table, its caption first, and how many of them are its header if tags tell."""


def table_rows(table: Any) -> TableRows | None:
    """Rows of cells, the caption first; None for a table that only places things on the page."""
    if any(other is not table for other in table.iter("table", *_TITLES)):
        return None
    rows: list[Row] = [
        [cell if cell is None or isinstance(cell, str) else words_of(cell) for cell in row]
        for _, row in _placed(table.iter("tr"))
    ]
    longest = max((len(text or "") for row in rows for text in row), default=0)
    if max(map(len, rows), default=0) < _LEAST_COLUMNS or longest > _LONGEST_CELL:
        return None
    lines = (list(line.iter("th", "td")) for line in table.iter("tr"))
    filled = [cells for cells in lines if any(map(words_of, cells))]
    titles: list[Row] = [[words] for words in map(words_of, table.iter("caption")) if words]
    is_head = [  # an empty corner may be no header
        len(cells) > 1 and all(cell.tag == "th" or not words_of(cell) for cell in cells)
        for cells in filled
    ]
    heads = [*is_head, False].index(False)
    return titles + rows, len(titles) + heads if 0 < heads < len(filled) else None


def tabulate_divs(tree: Any) -> None:
    """Make a table of neighbours that have as many short cells each, as grids of ``div`` have."""
    for grid_of_divs in list(tree.iter("div", "section", "main", "body")):
        for count, run in itertools.groupby(list(grid_of_divs), _cells_of_row):
            rows = list(run)
            if count < _LEAST_COLUMNS or len(rows) < _LEAST_ROWS:
                continue
            table = tree.makeelement("table")
            rows[0].addprevious(table)
            _make_title(table)
            for row in rows:
                row.tag = "tr"
                for cell in row:
                    cell.tag = "th" if cell.get("role") == "columnheader" else "td"
                table.append(row)


def _make_title(table: Any) -> None:
    """Make a heading of the short words right above a table, such as the button of a panel."""
    node = table
    while (above := node.getprevious()) is None and not (node.getparent().text or "").strip():
        node = node.getparent()
        if node.getparent() is None or node.get("role") == "tabpanel":
            return
    blocks = () if above is None else above.iterdescendants("p", "table", *_TITLES)
    if (
        above is not None
        and above.tag in ("div", "button")
        and not (above.tail or "").strip()
        and next(iter(blocks), None) is None
        and 0 < len(words := words_of(above)) <= _LONGEST_LABEL
        and words[-1] not in ".!:;"
    ):
        above.tag = "h6"
        above.attrib.clear()  # or trafilatura takes a class such as accordion-header for a frame


def name_panels(tree: Any) -> None:
    """Move the words of a tab above its panel as a heading. One of the two names the other."""
    tabs = tree.xpath("//*[@role='tab']")
    named = {tab.get("id"): tab for tab in tabs}
    naming = {tab.get("aria-controls"): tab for tab in tabs}
    moved = dict[Any, None]()
    for panel in list(tree.iter("div", "section")):
        tab = named.get(panel.get("aria-labelledby", ""))
        tab = naming.get(panel.get("id", "")) if tab is None else tab
        if tab is not None and (title := words_of(tab)):
            heading = tree.makeelement("h6")
            heading.text, heading.tail, panel.text = title, panel.text, None
            panel.insert(0, heading)
            moved[tab] = None
    for tab in moved:
        tab.drop_tree()


def _cells_of_row(row: Any) -> int:
    """The number of cells of a row; 0 for an element that has other content."""
    if row.tag != "div" or any(
        cell.tag != "div" or any(inner.tag != "span" for inner in cell) for cell in row
    ):
        return 0
    bare = [row.text, *(cell.tail for cell in row)]
    is_row = all(0 < len(words_of(cell)) <= _LONGEST_LABEL for cell in row)
    return len(row) if is_row and not any(text and text.strip() for text in bare) else 0


def unnest_tables(tree: Any) -> None:
    """Make the rows of a table in a cell rows of the table around it, if that one has a header."""
    for inner in reversed(list(tree.iter("table"))):
        cell = next(inner.iterancestors("td", "th"), None)
        outer = next(inner.iterancestors("table"), None)
        if cell is None or outer is None:
            continue
        table, line = table_rows(inner), cell.getparent()
        others = [one for one in line if one is not cell]
        labelled = outer.xpath("count(tr/th | */tr/th)") >= _LEAST_COLUMNS
        if not (labelled and table and any(map(words_of, others))) or line.xpath("*[@rowspan]"):
            continue
        inner.drop_tree()
        own = words_of(cell)
        for words in named_rows(grid(*table)):
            cell.clear()
            cell.text = " ".join(filter(None, (own, words)))
            line.addprevious(deepcopy(line))
        line.drop_tree()


def _placed(lines: Iterable[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the lines that have words of their own, each with the cells that stand in it.

    A cell over several rows stands in all of them. None is a column that the cell to its left
    reaches over, "" one without a cell.
    """
    reaching: dict[int, tuple[int, list[Any]]] = {}  # by column: rows still to fill, and with what
    for line in lines:
        cells = list(line.iter("th", "td"))
        row, waiting, above, reaching = list[Any](), deque(cells), reaching, {}
        while waiting or len(row) <= max(above, default=-1):
            column = len(row)
            if column in above:
                count, placed = above[column]
            elif waiting:
                cell = waiting.popleft()
                count = _span(cell, "rowspan")
                placed = [None] if cell.text == COVERED else [cell]
                placed += [None] * (_span(cell, "colspan") - 1)
            else:
                count, placed = 1, [""]
            row += placed
            if count > 1:
                reaching[column] = count - 1, placed
        if any(map(words_of, cells)):
            yield line, row


def spread_cells(tree: Any) -> None:
    """Write cells over several rows or columns as cells of their own, where a table has data.

    What a cell reaches over has the text ``COVERED``.
    """
    for table in tree.iter("table"):
        if not table.xpath(".//*[@rowspan or @colspan]") or table_rows(table) is None:
            continue
        for line, row in list(_placed(list(table.iter("tr")))):
            before: Any = None
            cells = list[Any]()
            for placed in row:
                before = before if placed is None or isinstance(placed, str) else placed
                cell = table.makeelement("td" if before is None else before.tag)
                if placed is None:
                    cell.text = COVERED
                elif placed is before:
                    cell = deepcopy(placed)
                    for name in ("rowspan", "colspan"):
                        cell.attrib.pop(name, None)
                cells.append(cell)
            line[:] = cells


def _span(cell: Any, name: str) -> int:
    span = cell.get(name, "1").strip()
    return min(max(int(span), 1), _MOST_SPANNED) if re.fullmatch("[0-9]{1,3}", span) else 1


def words_of(element: Any) -> str:
    """All text of an element, in one line."""
    return numbered(" ".join(" ".join(element.itertext()).split()))


def numbered(text: str) -> str:
    """A text whose lists have the marked numbers."""
    return _MARKED.sub(r"\1\2. ", text)
