"""Tables of Markdown (https://github.github.com/gfm/#tables-extension-) as rows that tabs part."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

from rag.readers.characters import LINE
from rag.readers.content import Content
from rag.readers.markdown import FENCE, headings
from rag.readers.tables import caption, grid
from rag.types import Heading, Table

_RULE = re.compile(r" {0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*$")
_BAR = re.compile(r"(?<!\\)\|")
_LEAST_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class _PipeTable:
    """A pipe table: its span, its rows of cells, and the number of rows above its first rule."""

    start: int
    end: int
    rows: list[list[str]]
    over: int


def markdown_content(text: str, **metadata: str) -> Content:
    """Markdown as it is, but for its tables: those are rows of cells, without bars and rules.

    Metadata that is empty is left out.
    """
    parts, tables, moved = list[str](), list[Table](), list[tuple[int, int]]()
    done = length = 0
    for pipe_table in _pipe_tables(text):
        table = grid(pipe_table.rows)
        labels = table.labels
        if (
            not labels
            and pipe_table.over == 1
            and sum(map(bool, pipe_table.rows[0])) >= _LEAST_COLUMNS
        ):
            labels = tuple(pipe_table.rows[0])
        before = text[done : pipe_table.start] + "".join(f"{title}\n" for title in table.above)
        rows = "\n".join(table.lines)
        start = length + len(before)
        tables.append(Table(start, start + len(rows), labels, caption(table.above)))
        parts += [before, rows]
        done, length = pipe_table.end, start + len(rows)
        moved.append((done, length - done))
    parts.append(text[done:])
    filled = {key: value for key, value in metadata.items() if value}
    places = tuple(_moved(heading, moved) for heading in headings(text))
    return Content("".join(parts), headings=places, tables=tuple(tables), metadata=filled)


def _moved(heading: Heading, moved: list[tuple[int, int]]) -> Heading:
    index = bisect.bisect_right(moved, heading.start, key=itemgetter(0)) - 1
    return replace(heading, start=heading.start + moved[index][1]) if index >= 0 else heading


def _pipe_tables(text: str) -> Iterator[_PipeTable]:
    """Runs of lines with bars that have a rule below a first row; not within fenced code."""
    run, fence = list[tuple[int, str]](), ""
    for match in LINE.finditer(text):
        content = match.group().rstrip("\n")
        opening = FENCE.match(content)
        if fence or opening:
            yield from _table_of(run)
            run = []
            closes = fence and content.strip().startswith(fence)
            fence = "" if closes else fence or (opening.group(1) if opening else "")
        elif _BAR.search(content) and not content.startswith(("    ", "\t")):
            run.append((match.start(), content))
        else:
            yield from _table_of(run)
            run = []
    yield from _table_of(run)


def _table_of(run: list[tuple[int, str]]) -> Iterator[_PipeTable]:
    rules = [index for index, (_, content) in enumerate(run) if _RULE.fullmatch(content)]
    if not rules or rules[0] == 0:
        return
    rows = [_cells(content) for index, (_, content) in enumerate(run) if index not in rules]
    if max(map(len, rows)) >= _LEAST_COLUMNS:
        last, content = run[-1]
        yield _PipeTable(run[0][0], last + len(content), rows, rules[0])


def _cells(row: str) -> list[str]:
    bare = row.strip().removeprefix("|")
    if bare.endswith("|") and not bare.endswith("\\|"):
        bare = bare[:-1]
    return [cell.replace("\\|", "|").strip() for cell in _BAR.split(bare)]
