"""Tables of Markdown (https://github.github.com/gfm/#tables-extension-) as rows that tabs part."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

from rag.readers.characters import LINE
from rag.readers.content import Content
from rag.readers.markdown import FENCE, headings
from rag.readers.tables import caption, grid, holds_values
from rag.types import Heading, Table

_RULE = re.compile(r" {0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*$")
_BAR = re.compile(r"(?<!\\)\|")
_BOLD = re.compile(r"(\*\*|__)\S.*\1")
_LEAST_COLUMNS = 2
COVERED = "⦗=⦘"
"""A cell that the one to its left reaches over, in tables that were written as Markdown here."""


@dataclass(frozen=True, slots=True)
class _PipeTable:
    """A pipe table: its span, its rows of cells, and the number of rows above its first rule."""

    start: int
    end: int
    rows: list[list[str]]
    over: int


def markdown_content(text: str, metadata: Mapping[str, str], *, unruled: bool = False) -> Content:
    """Markdown as it is, but for its tables: those are rows of cells, without bars and rules.

    With ``unruled``, lines between bars are a table without a rule, too. Metadata that is empty is
    left out.
    """
    parts, tables, moved = list[str](), list[Table](), list[tuple[int, int]]()
    done = length = 0
    for pipe_table in _pipe_tables(text, unruled):
        rows = [["" if cell == COVERED else cell for cell in row] for row in pipe_table.rows]
        # An empty header says that there is none: Markdown has no table without one.
        empty = pipe_table.over == 1 and not any(rows[0])
        heads = int(_is_bold_header(rows[1], rows[2:])) if empty and len(rows) > 1 else None
        spread = [[None if cell == COVERED else cell for cell in row] for row in pipe_table.rows]
        table = grid(spread, heads)
        labels = table.labels
        if (
            not labels
            and pipe_table.over == 1
            and sum(map(bool, rows[0])) >= _LEAST_COLUMNS
            and not holds_values(rows[0], rows[1:])
        ):
            labels = tuple(rows[0])
        before = text[done : pipe_table.start] + "".join(f"{title}\n" for title in table.above)
        body = "\n".join(table.lines)
        start = length + len(before)
        tables.append(Table(start, start + len(body), labels, caption(table.above)))
        parts += [before, body]
        done, length = pipe_table.end, start + len(body)
        moved.append((done, length - done))
    parts.append(text[done:])
    filled = {key: value for key, value in metadata.items() if value}
    places = tuple(_moved(heading, moved) for heading in headings(text))
    return Content("".join(parts), headings=places, tables=tuple(tables), metadata=filled)


def _moved(heading: Heading, moved: list[tuple[int, int]]) -> Heading:
    index = bisect.bisect_right(moved, heading.start, key=itemgetter(0)) - 1
    return replace(heading, start=heading.start + moved[index][1]) if index >= 0 else heading


def _pipe_tables(text: str, unruled: bool) -> Iterator[_PipeTable]:
    """Runs of lines with bars that have a rule below a first row; not within fenced code.

    With ``unruled``, runs without a rule whose lines all stand between bars, too.
    """
    run, fence = list[tuple[int, str]](), ""
    for match in LINE.finditer(text):
        content = match.group().rstrip("\n")
        opening = FENCE.match(content)
        if fence or opening:
            yield from _table_of(run, unruled)
            run = []
            closes = fence and content.strip().startswith(fence)
            fence = "" if closes else fence or (opening.group(1) if opening else "")
        elif _BAR.search(content) and not content.startswith(("    ", "\t")):
            run.append((match.start(), content))
        else:
            yield from _table_of(run, unruled)
            run = []
    yield from _table_of(run, unruled)


def _table_of(run: list[tuple[int, str]], unruled: bool) -> Iterator[_PipeTable]:
    rules = [index for index, (_, content) in enumerate(run) if _RULE.fullmatch(content)]
    if not rules and unruled and len(run) > 1 and all(_is_barred(content) for _, content in run):
        rules = [len(run)]
    if not rules or rules[0] == 0:
        return
    rows = [_cells(content) for index, (_, content) in enumerate(run) if index not in rules]
    if max(map(len, rows)) >= _LEAST_COLUMNS:
        last, content = run[-1]
        yield _PipeTable(run[0][0], last + len(content), rows, rules[0])


def _is_barred(content: str) -> bool:
    return content.startswith("|") and content.rstrip().endswith("|")


def _is_bold_header(row: list[str], below: list[list[str]]) -> bool:
    return all(_BOLD.fullmatch(cell) for cell in row if cell) and not holds_values(row, below)


def _cells(row: str) -> list[str]:
    bare = row.strip().removeprefix("|")
    if bare.endswith("|") and not bare.endswith("\\|"):
        bare = bare[:-1]
    return [cell.replace("\\|", "|").strip() for cell in _BAR.split(bare)]
