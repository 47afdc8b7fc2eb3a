"""A statement with what follows it: the next sentence, what it announces, its list."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from rag.answering.markup import fenced_code
from rag.answering.statements.segments import segments_of, without_mark
from rag.answering.statements.sentences import (
    LEANS,
    LONGEST_STATEMENT,
    Statement,
    plain_words,
    sentence_spans,
)

_NEXT_LINE = re.compile(r"\s*\S[^\n]*")
_ANNOUNCED = re.compile(r":(?=[ \t]*\n)")
"""The end of a line that announces the next one."""
_AS_FOLLOWS = re.compile(r"\b(?:as follows|the following|wie folgt|comme suit|como sigue)\.\Z")
_OF_IT = re.compile(
    r"(?:it|they|this|these|dies(?:e[rs]?)?|cela|ceci|il|elle)\b"
    r"|[^.!?\n]{0,60}\b(?:it|they|this|these) (?:is|are|can be|may be)"
    r" (?:found|located|kept|stored|situated|placed)\b",
    re.IGNORECASE,
)
_LONGEST_LIST = 1000
"""Characters of a list of steps that is quoted whole."""
_PARAGRAPH = 2
"""Line breaks between paragraphs."""


def continued(passage: str, statement: Statement) -> Statement:
    """The statement with the next sentence of its passage, if that one leans on it.

    "To configure this, use the option:" also takes the line that it announces, or the items.
    "Please ensure:" takes items, where it goes on in the line of the statement.
    """
    if statement.start < 0 or statement.kind not in ("prose", "item"):
        return statement
    end = statement.start + len(statement.quote)
    rest = passage[end : end + LONGEST_STATEMENT]
    start = len(rest) - len(rest.lstrip())
    breaks, is_cut_off = rest.count("\n", 0, start), end + len(rest) < len(passage)
    spans = sentence_spans(rest[start:].partition("\n\n")[0])
    stop = start + spans[0][1] if spans else start
    if announced := _ANNOUNCED.search(rest, start, stop):
        stop = announced.start() + 1
    announces = rest[start:stop].endswith(":")
    if _AS_FOLLOWS.search(statement.quote):
        listed_below = list(_announced_items(rest, 0, is_cut_off=is_cut_off))
        if listed_below:
            words = _listed(rest[low:high] for low, high in listed_below)
            quote = passage[statement.start : end + listed_below[-1][1]]
            return replace(statement, text=f"{statement.text} {words}", quote=quote)
    leans = LEANS.match(rest, start) or (
        _AS_FOLLOWS.search(statement.quote) and breaks < _PARAGRAPH
    )
    if breaks > _PARAGRAPH or not (leans or (announces and not breaks)):
        return statement
    colon = stop
    items = list(_announced_items(rest, colon, is_cut_off=is_cut_off)) if announces else []
    if items:
        stop = items[-1][1]
    elif announces and leans and (line := _NEXT_LINE.match(rest, stop)):
        code = next((span for span, _ in fenced_code(rest[stop:])), (0, 0))
        begins_with_code = not rest[stop : stop + code[0]].strip() and code[1] > 0
        stop = stop + code[1] if begins_with_code else line.end()
        items = [(colon, stop)]
    elif announces:
        return statement
    if stop == len(rest) and is_cut_off:
        return statement
    listed = _listed(rest[low:high] for low, high in items)
    added = " ".join(filter(None, (plain_words(rest[start:colon]), listed)))
    quote = passage[statement.start : end + stop]
    return replace(statement, text=f"{statement.text} {added}", quote=quote)


def with_next(passage: str, statement: Statement, answers: Callable[[str], bool]) -> Statement:
    """The statement with the next sentence of its paragraph, if that one answers about "it".

    ``answers`` tells whether a text has the value or the place that a question asks for.
    """
    if statement.start < 0 or statement.kind not in ("prose", "item") or answers(statement.text):
        return statement
    end = statement.start + len(statement.quote)
    rest = passage[end : end + LONGEST_STATEMENT]
    start = len(rest) - len(rest.lstrip())
    spans = sentence_spans(rest[start:].partition("\n\n")[0])
    stop = start + spans[0][1] if spans else start
    following = rest[start:stop]
    is_cut_off = stop == len(rest) and end + stop < len(passage)
    is_listed = statement.kind == "item" and rest.count("\n", 0, start) > 0
    is_apart = rest.count("\n", 0, start) >= _PARAGRAPH or is_listed or is_cut_off
    if is_apart or not (_OF_IT.match(following) and answers(following)):
        return statement
    quote = passage[statement.start : end + stop]
    return replace(statement, text=f"{statement.text} {plain_words(following)}", quote=quote)


def with_steps(passage: str, item: Statement) -> Statement:
    """The item with all of its list, or with the items behind it that there is room for."""
    end = item.start + len(item.quote)
    runs = (list(run) for _, run in itertools.groupby(segments_of(passage), lambda one: one.kind))
    items = next((run for run in runs if run[0].start <= item.start and end <= run[-1].end), [])
    if items and items[-1].end - items[0].start > _LONGEST_LIST:
        most = item.start + LONGEST_STATEMENT
        items = [one for one in items if end <= one.end <= most]
    if item.kind != "item" or len(items) < 2:
        return item
    quote = without_mark(passage[items[0].start : items[-1].end])
    listed = _listed(passage[one.start : one.end] for one in items)
    text = item.text.removesuffix(plain_words(item.quote)) + listed
    return replace(item, text=text, quote=quote, start=items[-1].end - len(quote))


def _listed(items: Iterable[str]) -> str:
    """The words of some items of a list, without their marks."""
    words = (plain_words(without_mark(item)).rstrip(";,") for item in items)
    return "; ".join(words).replace(".; ", ". ")


def _announced_items(text: str, start: int, *, is_cut_off: bool) -> Iterator[tuple[int, int]]:
    """The spans of the items that begin in the next line; the last one only if it is whole."""
    segments = (one for one in segments_of(text[start:]) if one.kind)
    items = list(itertools.takewhile(lambda one: one.kind == "item", segments))
    for item in items:
        if not (is_cut_off and start + item.end >= len(text.rstrip())):
            yield start + item.start, start + item.end
