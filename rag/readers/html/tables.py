"""Tables of web pages as rows of cells, and the words of their elements."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from rag.readers.tables import Row, grid

_MARKED = re.compile(r"(?:^( *)[0-9]+\. )?⦗#(-?[0-9]+|[a-zA-Z]+)⦘ ?", re.MULTILINE)
"""The number that a page gives an item of a list, behind the one that trafilatura gives it."""
_LEAST_COLUMNS = 2
_LONGEST_CELL = 400
_MOST_SPANNED = 64


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table, its caption first, of which ``heads`` are its header if tags tell."""

    rows: list[Row]
    heads: int | None


def table_rows(table: Any) -> TableRows | None:
    """Rows of cells, the caption first; None for a table that only places things on the page."""
    if any(other is not table for other in table.iter("table")):
        return None
    lines = [list(line.iter("th", "td")) for line in table.iter("tr")]
    rows = list(_cell_rows(lines))
    longest = max((len(text or "") for row in rows for text in row), default=0)
    if max(map(len, rows), default=0) < _LEAST_COLUMNS or longest > _LONGEST_CELL:
        return None
    filled = [cells for cells in lines if any(map(words_of, cells))]
    titles: list[Row] = [[words] for words in map(words_of, table.iter("caption")) if words]
    heads = sum(1 for _ in itertools.takewhile(_is_head, filled))
    return TableRows(titles + rows, len(titles) + heads if 0 < heads < len(filled) else None)


def unnest_tables(tree: Any) -> None:
    """Make the rows of a table in a cell rows of the table around it, if that one has a header."""
    for inner in reversed(list(tree.iter("table"))):
        cell = next(inner.iterancestors("td", "th"), None)
        line = None if cell is None else cell.getparent()
        outer = next(inner.iterancestors("table"), None)
        if (
            cell is None
            or line is None
            or outer is None
            or outer.xpath("count(tr/th | */tr/th)") < _LEAST_COLUMNS
        ):
            continue
        table = table_rows(inner)
        others = [one for one in line if one is not cell]
        if table is None or not any(map(words_of, others)) or line.xpath("*[@rowspan]"):
            continue
        found = grid(table.rows, table.heads)
        inner.drop_tree()
        own = words_of(cell)
        for row in [words.split("\t") for words in found.lines][1 if found.labels else 0 :]:
            labels = [*found.labels, *[""] * len(row)]
            named = [
                f"{name}: {text}" if name else text
                for text, name in zip(row, labels, strict=False)
                if text
            ]
            cell.clear()
            cell.text = " ".join(filter(None, (own, " · ".join(named))))
            line.addprevious(deepcopy(line))
        line.drop_tree()


def _is_head(cells: list[Any]) -> bool:
    """Whether all cells of a row but an empty corner are headers."""
    return all(cell.tag == "th" or not words_of(cell) for cell in cells) and len(cells) > 1


def _cell_rows(lines: list[list[Any]]) -> Iterator[Row]:
    """Yield the rows that have words of their own; a cell over several rows is in all of them."""
    reaching = dict[int, tuple[int, Row]]()  # by column: the rows still to fill, and with what
    for cells in lines:
        row, below, waiting = list[str | None](), dict[int, tuple[int, Row]](), deque(cells)
        last = max(reaching, default=-1)
        while waiting or len(row) <= last:
            column = len(row)
            if column in reaching:
                count, texts = reaching[column]
            elif waiting:
                cell = waiting.popleft()
                count, texts = _span(cell, "rowspan"), _spread(cell)
            else:
                count, texts = 1, [""]
            row += texts
            if count > 1:
                below[column] = count - 1, texts
        reaching = below
        if any(map(words_of, cells)):
            yield row


def _spread(cell: Any) -> list[str | None]:
    """The text of a cell, and None for each further column that it spans."""
    return [words_of(cell), *[None] * (_span(cell, "colspan") - 1)]


def _span(cell: Any, name: str) -> int:
    span = cell.get(name, "1").strip()
    return min(max(int(span), 1), _MOST_SPANNED) if re.fullmatch("[0-9]{1,3}", span) else 1


def words_of(element: Any) -> str:
    """All text of an element, in one line."""
    return numbered(" ".join(" ".join(element.itertext()).split()))


def numbered(text: str) -> str:
    """A text whose lists have the marked numbers."""
    return _MARKED.sub(r"\1\2. ", text)
