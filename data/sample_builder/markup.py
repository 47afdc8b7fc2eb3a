"""The small subset of Markdown that the sources are written in, as a list of blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

Kind = Literal["heading", "paragraph", "bullets", "numbers", "table", "note"]

_HEADING = re.compile(r"(#{1,6}) (.+)")
_BULLET = re.compile(r"- (.+)")
_NUMBER = re.compile(r"\d+\. (.+)")


@dataclass(frozen=True, slots=True)
class Block:
    """One block: ``text``, or ``items`` of a list, or ``rows`` of a table (head first)."""

    kind: Kind
    text: str = ""
    level: int = 0
    items: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A source text: its front matter (``key: value`` lines) and its blocks."""

    front: dict[str, str]
    blocks: list[Block] = field(default_factory=list)


def parse(text: str) -> Source:
    """Front matter up to the first empty line, then blocks that empty lines keep apart."""
    head, _, body = text.partition("\n\n")
    front = dict(line.split(": ", 1) for line in head.splitlines())
    return Source(front, [block for lines in _groups(body) for block in _blocks(lines)])


def cells(line: str) -> tuple[str, ...]:
    """The cells of one table row: ``| a | b |``."""
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def _groups(body: str) -> Iterable[list[str]]:
    for filled, lines in groupby(body.splitlines(), key=lambda line: bool(line.strip())):
        if filled:
            yield list(lines)


def _blocks(lines: list[str]) -> Iterable[Block]:
    heading = _HEADING.fullmatch(lines[0])
    if heading:
        yield Block("heading", heading[2], level=len(heading[1]))
        if lines[1:]:
            yield from _blocks(lines[1:])
    elif lines[0].startswith("|"):
        yield Block("table", rows=tuple(cells(line) for line in lines if "---" not in line))
    elif lines[0].startswith("> "):
        yield Block("note", " ".join(line.removeprefix("> ") for line in lines))
    elif _BULLET.match(lines[0]):
        yield Block("bullets", items=_items(lines, _BULLET))
    elif _NUMBER.match(lines[0]):
        yield Block("numbers", items=_items(lines, _NUMBER))
    else:
        yield Block("paragraph", " ".join(line.strip() for line in lines))


def _items(lines: list[str], mark: re.Pattern[str]) -> tuple[str, ...]:
    items: list[str] = []
    for line in lines:
        match = mark.fullmatch(line)
        if match:
            items.append(match[1])
        else:
            items[-1] += " " + line.strip()
    return tuple(items)
