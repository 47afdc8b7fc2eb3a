"""The lines of a passage that belong together: prose, items, rows, headings, fields."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

ITEM = re.compile(r"\s*(?:[-*+•‣▪●○◦✓–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\(?#[.)])\s+(?=\S)")
"""An item of a list and its mark. "#." is the next number of a list, as Pandoc writes it."""
_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r"[\s|:=_*-]+")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\d+(?:\.\d+)+\.?\s+[^.!?:;]*$)")
_RECORD = re.compile(r"\s*[\w ./-]{1,40}: [^;]*; [\w ./-]{1,40}: .*")
BEGINS = re.compile(r"\s*[\"“(]?(?:[^\W\d_a-zß-ÿα-ωа-џ]|\d)")
"""What may begin a sentence: a capital letter, a letter of a script without case, or a digit."""
CODE_LINE = re.compile(r"\s*(?=\S*[A-Z])(?=\S*\d)[A-Z0-9]+(?:[-./][A-Z0-9]+)*\s*")
"""A line that is only the code of something: the first cell of a row whose lines were lost."""
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n"
    r"(?:(?:[\w\"'][\w :.\"'-]{0,40}:(?:[ \t].*)?|[ \t]+\S.*|-[ \t].*|[#\]}].*)\n){1,60}+"
    r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
"""Fields of a Markdown file before its text, as site generators read them."""
_FIELD = re.compile(r"[\"']?(?P<key>\w[\w :.-]{0,40})[\"']?:(?:\s|\Z)")
_MUTE_FIELD = re.compile(
    r"title|layout|tags|categor\w+|slug|permalink|aliases|keywords|draft|weight|id|lang|toc|image"
    r"|cover|sidebar\w*",
    re.IGNORECASE,
)
"""One that says nothing by itself: the title, and how to show the page."""
_UNFINISHED = re.compile(
    r"(?<![^\W])(?:the|an?|of|to|and|or|for|at|with|from|der|die|das|dem|den|des|eine?[mnrs]?"
    r"|und|oder|für|von|zu[mr]?|mit|im|am|auf|bei|nach|le|la|les|une?|et|ou|du|de|el|los|las|y|o)\s*\Z"
)
"""What no sentence ends with, so that the next line goes on; "Sign in" is whole."""

_PROPERTY = re.compile(r"\s*[\"“(]?[^\W\d_a-zß-ÿ][^:\n.!?;]{1,40}:\s+\S")
"""A line of a list of properties: "Flash point: 40 °C"."""
_CONTACT = re.compile(
    r"\W*(?:contact|name|(?:tele)?phone|tel|mobile|fax|e-?mail|web|address|office|kontakt|telefon"
    r"|adresse|teléfono|correo|téléphone|courriel)\b",
    re.IGNORECASE,
)
"""A property that is nobody's without the lines around it."""
_VALUE = re.compile(
    r"(?:[£$€¥]\s?\d[\d.,]{0,12}|\d[\d.,]{0,12}\s?(?:[£$€¥%]|[^\W\d_]{1,12}\.?)"
    r"|(?:\d{1,2}[:.]\d\d[\s,;–-]{0,3}(?:and |und |bis |to )?){1,12})"
    r"(?: (?:per|pro|par|each|a|je) [^\W\d_]{1,12})?",
    re.IGNORECASE,
)
"""A paragraph that is the value of the one above: "£15"."""
ADDED_PROPERTY = re.compile(
    r"\s*[*_`]{0,2}(?:default(?: value| setting)?|standard(?:wert)?|voreinstellung|valeur par"
    r" défaut|(?:por|par) (?:defecto|défaut))"
    r"[*_`]{0,2}:[*_`]{0,2}[ \t]+\S.{0,120}+",
    re.IGNORECASE,
)
"""A line about what the paragraph before describes: "Default: 6432"."""
_NO_LABEL = re.compile(r"[.:;!?…。！？]\s*\Z")
_LONGEST_LABEL_WORDS = 8
_LONGEST_END = 12
"""Characters of a line in which its last word is looked at."""
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


def with_values(passage: str, segments: Sequence[TextSegment]) -> Iterator[TextSegment]:
    """Segments, a label joined with the value that is the next paragraph, as web pages set them.

    So is the description of a setting with its default value in the next paragraph.
    So is a paragraph that breaks off before such a value: "Trains leave at", "11:35 and 13:10".
    Nothing is joined where values may stand above their labels: where a value comes first, or where
    labels and values alternate and a label comes last.
    """
    values = {at for at, one in enumerate(segments) if _is_value(passage, one)}
    pairs = {at for at in values if at and _is_value_of(passage, segments[at - 1], segments[at])}
    first = min(values, default=0)
    is_label_last = len(segments) - 2 in pairs and len(pairs) > 1
    if first not in pairs or is_label_last:
        pairs = set()
    for at, one in enumerate(segments):
        if one.kind == "prose" and ADDED_PROPERTY.fullmatch(passage, one.start, one.end):
            pairs.update(_of_paragraph_before(passage, segments, at))
    at = 0
    while at < len(segments):
        first = at
        while at + 1 in pairs:
            at += 1
        yield replace(segments[first], end=segments[at].end)
        at += 1


def _of_paragraph_before(passage: str, segments: Sequence[TextSegment], at: int) -> Iterator[int]:
    """The segments to join with the one before so that ``at`` is joined with a whole paragraph."""
    while at and segments[at - 1].kind == "prose":
        yield at
        at -= 1
        if ADDED_PROPERTY.fullmatch(passage, segments[at].start, segments[at].end):
            break
        if not _touches(passage, segments[at - 1].end, segments[at]):
            break


def _is_value(passage: str, segment: TextSegment) -> bool:
    return (
        segment.kind == "prose"
        and _VALUE.fullmatch(passage, segment.start, segment.end) is not None
    )


def _is_value_of(passage: str, label: TextSegment, segment: TextSegment) -> bool:
    if (label.kind, segment.kind) != ("prose", "prose"):
        return False
    words = passage[label.start : label.end]
    is_label = len(words.split()) <= _LONGEST_LABEL_WORDS and "\n" not in words
    return (
        (is_label or _UNFINISHED.search(words[-_LONGEST_END:]) is not None)
        and not _NO_LABEL.search(words[-_LONGEST_END:])
        and _is_value(passage, segment)
        and not _is_value(passage, label)
    )


def _touches(passage: str, end: int, following: TextSegment) -> bool:
    return following.kind == "prose" and passage.count("\n", end, following.start) < 2


def segments_of(passage: str) -> Iterator[TextSegment]:
    """The segments of a passage, in order."""
    kind, start, end, offset, ends, before = "", 0, 0, 0, False, ""
    width = max((len(line) for line in passage.splitlines()), default=0)
    fields = _FRONT_MATTER.match(passage)
    for line in passage.splitlines(keepends=True):
        is_field = fields is not None and offset < fields.end()
        line_kind = _field_kind(line, kind) if is_field else _kind(line)
        goes_on = line_kind == "prose" and kind in ("prose", "item")
        goes_on = goes_on and not (ends and BEGINS.match(line))
        goes_on = goes_on and not (_is_property(line) and _is_property(before))
        goes_on = goes_on or (line_kind == kind == "field" and not _FIELD.match(line))
        if kind and not goes_on:
            yield TextSegment(kind, start, end)
        if not goes_on:
            kind, start = line_kind, offset
        end = offset + len(line.rstrip())
        ends = len(line) < width * _SHORT_LINE and not _UNFINISHED.search(line[-_LONGEST_END:])
        offset += len(line)
        before = line
    if kind:
        yield TextSegment(kind, start, end)


def _is_property(line: str) -> bool:
    return _PROPERTY.match(line) is not None and not _CONTACT.match(line)


def _field_kind(line: str, before: str) -> str:
    """Return the kind of a line between the marks of front matter; lists and folds go on."""
    field = _FIELD.match(line)
    if field is None:
        return "field" if before == "field" and line[:1] in " \t-" and line.strip("- \n") else ""
    return "" if _MUTE_FIELD.fullmatch(field["key"]) else "field"


def _kind(line: str) -> str:
    """Return the kind of a line; "" for a separator."""
    if not line.strip() or _RULE.fullmatch(line):
        return ""
    if _ROW.fullmatch(line):
        return "row"
    if _RECORD.fullmatch(line.rstrip()):
        return "record"
    if _HEADING.match(line) and len(line.split()) <= LONGEST_TITLE_WORDS:
        return "heading"
    if CODE_LINE.fullmatch(line):
        return "code"
    return "item" if ITEM.match(line) else "prose"


def without_mark(item: str) -> str:
    """An item of a list without its bullet or number."""
    marker = ITEM.match(item)
    return item[marker.end() if marker else 0 :]
