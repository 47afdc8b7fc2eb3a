"""An answer as claims: its sentences, items and rows, each with the passages that it cites."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.answering.checking.figures import blank_mentions
from rag.answering.citations import Mention, mentions, quoted_mentions
from rag.answering.markup import unmarked
from rag.answering.statements.sentences import spans_of
from rag.types import Span

_TABLE_RULE = re.compile(r"(?:[\s|:]|-(?!-))*+--")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$)")
_CELL = re.compile(r"(?<=\| )[“„«][^|\n]*[”“»](?= ++\|)")
"""A quote in a cell of a table that shows two things side by side."""


@dataclass(frozen=True, slots=True)
class Claim:
    """``answer[start:end]`` says ``text`` (its marks of citations taken out), citing ``cited``."""

    start: int
    end: int
    text: str
    cited: tuple[int, ...]


def claims(answer: str, *, quoted: bool = False) -> list[Claim]:
    """Return the claims of an answer, in order.

    A citation mark belongs to the sentence before it in its line, also after the full stop. At the
    beginning of a line, it belongs to the sentence after it. Headings and lead-ins ("These are:")
    are claims only if they contain a number. ``quoted`` means that the answer consists of quotes:
    each quote is one claim, also in a cell of a table, and brackets in a quote belong to the
    document.
    """
    marks = quoted_mentions(answer) if quoted else mentions(answer)
    bare = blank_mentions(answer, marks)
    spans = list(_paragraphs(bare) if quoted else _sentences(bare))
    spans = [span for span in spans if _claims_something(bare, span)]
    owned = _owned(bare, spans, marks)
    parsed = list[Claim]()
    for number, (start, end) in enumerate(spans):
        mine = owned.get(number, [])
        cited = tuple(dict.fromkeys(n for mark in mine for n in mark.numbers))
        stop = max([end, *(mark.end for mark in mine)])
        begin = min([start, *(mark.start for mark in mine)])
        parsed.append(Claim(begin, stop, " ".join(unmarked(bare[start:end]).split()), cited))
    return parsed


def _paragraphs(text: str) -> Iterator[Span]:
    at = 0
    for part in text.split("\n\n"):
        if part.strip():
            start = at + len(part) - len(part.lstrip())
            if part.startswith("| "):
                yield from (cell.span() for cell in _CELL.finditer(text, start, at + len(part)))
            else:
                yield start, at + len(part.rstrip())
        at += len(part) + 2


def _sentences(text: str) -> Iterator[Span]:
    """Sentences, but what stands within one pair of quotation marks is not parted."""
    pending = list[Span]()
    for start, end in spans_of(text):
        if pending and "\n" in text[pending[-1][1] : start]:  # a quotation that nobody closed
            yield from pending
            pending = []
        pending.append((start, end))
        if not _is_open(text[pending[0][0] : end]):
            yield pending[0][0], end
            pending = []
    yield from pending


def _is_open(text: str) -> bool:
    low = "„" in text  # where “ closes
    opened = text.count("„" if low else "“") + text.count("«")
    closed = text.count("“" if low else "”") + text.count("»")
    return opened > closed


def _claims_something(bare: str, span: Span) -> bool:
    sentence = bare[slice(*span)].strip()
    if not any(map(str.isalnum, sentence)):
        return False
    line_start = bare.rfind("\n", 0, span[0]) + 1
    rest = bare.find("\n", span[1])
    if sentence.startswith("|") and rest >= 0:
        stop = bare.find("\n", rest + 1)
        if _TABLE_RULE.match(bare, rest + 1, len(bare) if stop < 0 else stop):
            return False  # the labels of a table
    if any(char.isdigit() for char in sentence):
        return True
    if _HEADING.match(bare[line_start : rest if rest >= 0 else len(bare)]):
        return False
    return not sentence.endswith((":", "?"))


def _owned(text: str, spans: Sequence[Span], marks: Sequence[Mention]) -> dict[int, list[Mention]]:
    """The marks that belong to each claim, by its number."""
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    by_owner: dict[int, list[Mention]] = {}
    for mark in marks:
        line = text.rfind("\n", 0, mark.start) + 1
        stop = text.find("\n", mark.end)
        stop = len(text) if stop < 0 else stop
        inside = bisect_right(lows, mark.start) - 1
        before = bisect_right(highs, mark.start) - 1
        behind = bisect_left(lows, mark.end)
        if inside >= 0 and mark.start < highs[inside]:
            owner = inside
        elif before >= 0 and highs[before] > line:
            owner = before
        elif behind < len(lows) and lows[behind] < stop:
            owner = behind
        else:
            owner = before
        if owner >= 0:
            by_owner.setdefault(owner, []).append(mark)
    return by_owner
