"""Statements of a document as quotations: between marks of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.answering.statements.sentences import ITEM, LONGEST_STATEMENT, Statement, plain_words

_OPENING, _CLOSING, _EITHER = "“„«", "”»", '"'
_MARKS = dict.fromkeys(map(ord, "“”„«»\"‘’'"))
_PAIR = re.compile(r"“([^“”]*)”|\"([^\"]*)\"")


def in_quotation_marks(text: str) -> str:
    """A statement as a quotation, without a mark twice at either end.

    A mark at an end whose partner is in another sentence is left out, as are the marks of a
    statement that is a quotation as a whole. Where a quotation within it ends with it, or begins
    with it, those within it are in single marks.
    """
    text = _paired(text)
    if _is_mark(text[:1]) or _is_mark(text[-1:]):
        text = _PAIR.sub(lambda match: f"‘{match[1] or match[2] or ''}’", text)
    return f"“{text}”"


def answer_and_more(text: str, answering: Sequence[int]) -> tuple[str, str]:
    """Split the text of quotes into the quote that answers, and the others.

    ``answering`` are the numbers of the citations that answer. Where that is not one quote, all
    quotes are the answer.
    """
    if len(answering) != 1:
        return text, ""
    end = f"” [{answering[0]}]"
    first, gap, others = text.partition(f"{end}\n\n“")
    return (first + end, f"“{others}") if gap else (text, "")


def words_of_quotation(text: str) -> str:
    """A text without quotation marks, in which a quotation and its source are equal."""
    return " ".join(text.translate(_MARKS).split())


def _is_mark(sign: str) -> bool:
    return sign != "" and sign in _OPENING + _CLOSING + _EITHER


def _paired(text: str) -> str:
    whole = _PAIR.fullmatch(text)
    if whole:
        return (whole[1] or whole[2] or text).strip()
    surplus = sum(map(text.count, _OPENING)) - sum(map(text.count, _CLOSING))
    odd = text.count(_EITHER) % 2 == 1
    if text[-1:] and ((text[-1] in _CLOSING and surplus < 0) or (text[-1] == _EITHER and odd)):
        return text[:-1].rstrip()
    if text[:1] and ((text[0] in _OPENING and surplus > 0) or (text[0] == _EITHER and odd)):
        return text[1:].lstrip()
    return text


def with_gap(passage: str, statement: Statement) -> str:
    """The text of a statement, with "…" between what it stands under and its words where they are
    apart in the passage: the third item of a list behind the line that announces all items."""
    words = plain_words(statement.quote)
    lead = statement.text.removesuffix(words).rstrip()
    if statement.kind not in ("prose", "item") or not words or not lead:
        return statement.text
    if lead == statement.text or statement.start < 0:
        return statement.text
    before = passage[max(statement.start - LONGEST_STATEMENT, 0) : statement.start]
    behind = plain_words(_without_mark(before))
    return statement.text if behind.endswith(lead) else f"{lead} … {words}"


def _without_mark(before: str) -> str:
    """A text without the mark of the item that begins behind it."""
    line = before.rpartition("\n")[2]
    mark = ITEM.match(f"{line.rstrip()} .")
    return before.removesuffix(line) if mark and mark.end() == len(line.rstrip()) + 1 else before
