"""A passage as statements: sentences, list items and table rows, each understandable by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ITEM = re.compile(r"\s*(?:[-*+•‣▪–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+(?=\S)")
_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"[\s|:=_*-]+")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\d+(?:\.\d+)+\.?\s+[^.!?:;]*$)")
_END = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*(?:\s+|$)|(?<=[。！？])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|etc|cf|vs|approx|no|nr|fig|sec|art|dr|mr|mrs|ms|prof|st|z\.b|bzw|ca"
    r"|vgl|abs)|(?<!\w)\d{1,2})\.$",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"(?:it|this|these|that|those|they|he|she|such|however|but|otherwise|therefore|thus|then"
    r"|in this case|in that case|after that|the latter)\b",
    re.IGNORECASE,
)
_RECORD = re.compile(r"\s*[\w ./-]{1,40}: [^;]*; [\w ./-]{1,40}: .*")
_NUMBERED = re.compile(r"\d+(?:\.\d+)*\.?\s+")
_BEGINS = re.compile(r"\s*[\"“(]?(?:[^\W\d_a-zß-ÿ]|\d)")
"""What may begin a sentence: a capital letter, a letter of a script without case, or a digit."""

LONGEST_TITLE_WORDS = 10
LONGEST_STATEMENT = 400
"""Characters. Tables that lost their lines would otherwise be one endless sentence."""
SHORT_LINE = 0.75
"""A line of less than this share of the longest one was not broken for lack of room."""


@dataclass(frozen=True, slots=True)
class Statement:
    """``text`` reads alone: a row with the names of its columns, an item with its lead-in.

    ``quote`` is the passage's own words, ``start`` where they begin in the passage.
    """

    text: str
    quote: str
    start: int


@dataclass(frozen=True, slots=True)
class _TextSegment:
    """A stretch of lines that belong together: prose, item, row, heading."""

    kind: str
    start: int
    end: int


def statements(passage: str) -> list[Statement]:
    """The statements of a passage in order. Headings are none: they announce, they do not say."""
    found: list[Statement] = []
    lead, columns = "", list[str]()
    for segment in _segments(passage):
        text = passage[segment.start : segment.end]
        if segment.kind == "record":
            found.append(Statement(_flat(text), text, segment.start))
        elif segment.kind == "row":
            cells = _cells(text)
            found += [_row(text, segment.start, cells, columns)] if columns else []
            columns = columns or cells
        else:
            columns = []
            found += _sentences(text, segment, lead)
        if segment.kind in ("prose", "heading"):
            lead = _flat(text[_last_sentence(text) :]) if text.endswith(":") else ""
    return found


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of a paragraph, without surrounding white space."""
    spans, start = [], len(text) - len(text.lstrip())
    for match in _END.finditer(text):
        bare = match.group()[:1].isspace() and match.end() < len(text)
        if bare and _ABBREVIATION.search(text, start, match.start()):
            continue
        spans.append((start, match.start() + len(match.group().rstrip())))
        start = match.end()
    spans.append((start, len(text.rstrip())))
    return [(begin, end) for begin, end in spans if end > begin]


def spans_of(passage: str) -> list[tuple[int, int]]:
    """Spans of all that a passage says, in order: sentences, and each heading, item and row."""
    found = list[tuple[int, int]]()
    for segment in _segments(passage):
        inner = sentence_spans(passage[segment.start : segment.end])
        if segment.kind in ("prose", "item"):
            found += [(segment.start + low, segment.start + high) for low, high in inner]
        elif inner:
            found.append((segment.start + inner[0][0], segment.start + inner[-1][1]))
    return found


def _segments(passage: str) -> Iterator[_TextSegment]:
    kind, start, end, offset, short = "", 0, 0, 0, False
    width = max((len(line) for line in passage.splitlines()), default=0)
    for line in passage.splitlines(keepends=True):
        found = _kind(line)
        goes_on = found == "prose" and kind in ("prose", "item")
        goes_on = goes_on and not (short and _BEGINS.match(line))
        if kind and not goes_on:
            yield _TextSegment(kind, start, end)
        if not goes_on:
            kind, start = found, offset
        end = offset + len(line.rstrip())
        short = len(line) < width * SHORT_LINE
        offset += len(line)
    if kind:
        yield _TextSegment(kind, start, end)


def _kind(line: str) -> str:
    """What a line is; "" for one that only separates."""
    if not line.strip() or _RULE.fullmatch(line):
        return ""
    if _ROW.fullmatch(line):
        return "row"
    if _RECORD.fullmatch(line.rstrip()):
        return "record"
    if _HEADING.match(line) and len(line.split()) <= LONGEST_TITLE_WORDS:
        return "heading"
    return "item" if _ITEM.match(line) else "prose"


def _sentences(text: str, segment: _TextSegment, lead: str) -> Iterator[Statement]:
    if segment.kind == "heading" or (segment.kind == "prose" and _is_title(text)):
        return
    marker = _ITEM.match(text) if segment.kind == "item" else None
    skip = marker.end() if marker else 0
    before = skip
    for start, end in _limited(text, sentence_spans(text[skip:]), skip):
        # "It must be taken by March" means nothing without the sentence before.
        begin = before if _LEANS.match(text, start) else start
        quote = text[begin:end]
        said = _flat(quote)
        if segment.kind == "item" and lead:
            said = f"{lead} {said}"
        if quote and not quote.endswith(":"):
            yield Statement(said, quote, segment.start + begin)
        before = start


def _limited(text: str, spans: list[tuple[int, int]], offset: int) -> Iterator[tuple[int, int]]:
    """Spans moved by ``offset``; overlong ones in pieces that end where a word ends."""
    for start, end in ((start + offset, end + offset) for start, end in spans):
        while end - start > LONGEST_STATEMENT:
            space = text.rfind(" ", start, start + LONGEST_STATEMENT)
            stop = space if space > start else start + LONGEST_STATEMENT
            yield start, stop
            start = stop + (space > start)
        yield start, end


def _row(text: str, start: int, cells: list[str], columns: list[str]) -> Statement:
    named = [
        f"{name}: {cell}" if name else cell for name, cell in zip(columns, cells, strict=False)
    ]
    return Statement("; ".join(named), text.strip(), start + len(text) - len(text.lstrip()))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _is_title(text: str) -> bool:
    """A short line without a full stop, colon or figure: a title whose marks were lost."""
    title = _NUMBERED.sub("", text, count=1)
    short = len(title.split()) <= LONGEST_TITLE_WORDS and "\n" not in text
    return short and not re.search(r"[.:;!?\d]", title)


def _last_sentence(text: str) -> int:
    spans = sentence_spans(text)
    return spans[-1][0] if spans else 0


def _flat(text: str) -> str:
    return " ".join(text.split())
