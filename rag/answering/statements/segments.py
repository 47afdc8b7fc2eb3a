"""The lines of a passage that belong together: prose, items, rows, headings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.answering.languages import any_of

ITEM = re.compile(r"\s*(?:[-*+•‣▪●○◦✓–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\(?#[.)])\s+(?=\S)")
"""An item of a list and its mark. "#." is the next number of a list, as Pandoc writes it."""
_RULE = frozenset("|:=_*-")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\d+(?:\.\d+)+\.?\s+[^.!?:;]*$)")
BEGINS = re.compile(r"\s*[\"“(]?(?:[^\W\d_a-zß-ÿα-ωа-џ]|\d)")
"""What may begin a sentence: a capital letter, a letter of a script without case, or a digit."""
CODE_LINE = re.compile(r"\s*(?=\S*[A-Z])(?=\S*\d)[A-Z0-9]+(?:[-./][A-Z0-9]+)*\s*")
"""A line that is only the code of something: the first cell of a row whose lines were lost."""
_PROPERTY = re.compile(r"\s*(?:[\"“(]?[^\W\d_a-zß-ÿ][^:\n.!?;]{1,40}|\w{2,40}):\s+\S")
"""A line of a list of properties: "Flash point: 40 °C", "valid_until: 2026"."""
_CONTACT = re.compile(rf"\W*{any_of('contacts')}", re.IGNORECASE)
"""A property that is nobody's without the lines around it."""
LONGEST_TITLE_WORDS = 10
_SHORT_LINE = 0.75
"""A line of less than this share of the longest one was not broken for lack of room."""


@dataclass(frozen=True, slots=True)
class TextSegment:
    """A stretch of lines that belong together: prose, item, row, heading."""

    kind: str
    start: int
    end: int


def entries_of(passage: str) -> Iterator[TextSegment]:
    """Segments, those after a code joined to it: ``CV-115``, its meaning, what to do.

    Where one code comes alone it may be a word of any text. An entry ends at the next code, at what
    is empty or no prose, and about where the longest of the entries before the last one ends.
    """
    segments = list(segments_of(passage))
    codes = [one.start for one in segments if one.kind == "code"]
    most = max((passage.count("\n", *pair) for pair in itertools.pairwise(codes)), default=0)
    at = 0
    while at < len(segments):
        one = segments[at]
        at += 1
        if one.kind != "code" or not most:
            yield one if one.kind != "code" else TextSegment("prose", one.start, one.end)
            continue
        end = one.end
        while at < len(segments) and _touches(passage, end, segments[at]):
            if passage.count("\n", one.start, segments[at].end) > most:
                break
            end, at = segments[at].end, at + 1
        yield TextSegment("entry", one.start, end)


def _touches(passage: str, end: int, following: TextSegment) -> bool:
    return following.kind == "prose" and passage.count("\n", end, following.start) < 2


def segments_of(passage: str) -> Iterator[TextSegment]:
    """The segments of a passage, in order."""
    kind, start, end, offset, ends, before = "", 0, 0, 0, False, ""
    width = max((len(line) for line in passage.splitlines()), default=0)
    for line in passage.splitlines(keepends=True):
        line_kind = _kind(line)
        goes_on = line_kind == "prose" and kind in ("prose", "item")
        goes_on = goes_on and not (ends and BEGINS.match(line))
        goes_on = goes_on and not (_is_property(line) and _is_property(before))
        if kind and not goes_on:
            yield TextSegment(kind, start, end)
        if not goes_on:
            kind, start = line_kind, offset
        end = offset + len(line.rstrip())
        ends = len(line) < width * _SHORT_LINE
        offset += len(line)
        before = line
    if kind:
        yield TextSegment(kind, start, end)


def _is_property(line: str) -> bool:
    return _PROPERTY.match(line) is not None and not _CONTACT.match(line)


def _kind(line: str) -> str:
    """Return the kind of a line; "" for a separator."""
    bare = "".join(line.split())
    if set(bare) <= _RULE:
        return ""
    if bare[0] == bare[-1] == "|":
        return "row"
    if _HEADING.match(line) and len(line.split()) <= LONGEST_TITLE_WORDS:
        return "heading"
    if CODE_LINE.fullmatch(line):
        return "code"
    return "item" if ITEM.match(line) else "prose"
