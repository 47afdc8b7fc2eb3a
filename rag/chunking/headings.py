"""The lines of headings in the text, and headings that no text follows."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence

from rag.types import Heading

_VISIBLE = re.compile(r"\S")
_UNDERLINE = re.compile(r"\n[ \t]*(?:=+|-+)[ \t]*(?=\n|$)")


def heading_end(text: str, heading: Heading) -> int:
    """The end of a heading's last line, with the rule that underlines it in Markdown."""
    end = text.find("\n", heading.start + max(0, len(heading.title) - 1))
    if end < 0:
        return len(text)
    underline = _UNDERLINE.match(text, end)
    return underline.end() if underline else end


def closing_headings(text: str, headings: Sequence[Heading], start: int, end: int) -> int:
    """The start of the headings at the end of ``text[start:end]`` that no text follows.

    ``headings`` are sorted by start. Returns ``end`` if the stretch ends with text.
    """
    closing = end
    first = bisect.bisect_left(headings, start, key=_start)
    last = bisect.bisect_left(headings, end, key=_start)
    for heading in reversed(headings[first:last]):
        if _VISIBLE.search(text, heading_end(text, heading), closing):
            break
        closing = heading.start
    return closing


def _start(heading: Heading) -> int:
    return heading.start
