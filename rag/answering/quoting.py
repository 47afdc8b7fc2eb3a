"""Statements of a document as quotations: with what follows them, between marks of their own."""

from __future__ import annotations

import re

from rag.answering.assessing.question_forms import asks_how, is_step_of
from rag.answering.statements.following import continued, with_steps
from rag.answering.statements.segments import ITEM, segments_of
from rag.answering.statements.sentences import LONGEST_STATEMENT, Statement, plain_words

_OPENING, _CLOSING, _EITHER = "“„«", "”»", '"'
_MARKS = re.compile("[“”„«»\"‘’']")
_NUMBER = re.compile(r"\s*\(?(?:\d{1,3}|[a-z])[.)]\s")
_STEPS = re.compile(
    r"(?:\A|[.;:] |, )(?:to|how to|um|para|pour) .{2,100}:\s*\Z"
    r"|\b(?:steps?|follow(?:ed)?|instructions?|schritte?|anleitung|pasos|étapes)"
    r"\b.{0,80}:\s*\Z",
    re.IGNORECASE,
)
"""A line that announces a list of steps: "To print a label:", "Follow these steps:"."""
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


def words_of_quotation(text: str) -> str:
    """A text without quotation marks, in which a quotation and its source are equal."""
    return " ".join(_MARKS.sub("", text).split())


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


def _is_step_of_list(passage: str, item: Statement) -> bool:
    """Whether an item has a number, and stands in a list that is announced as what to do."""
    items = (one for one in segments_of(passage) if one.kind == "item")
    holding = next((one for one in items if one.start <= item.start < one.end), None)
    is_numbered = holding is not None and _NUMBER.match(passage, holding.start) is not None
    lead = item.text.removesuffix(plain_words(item.quote))
    return is_numbered and _STEPS.search(lead) is not None


def _without_mark(before: str) -> str:
    """A text without the mark of the item that begins behind it."""
    line = before.rpartition("\n")[2]
    mark = ITEM.match(f"{line.rstrip()} .")
    return before.removesuffix(line) if mark and mark.end() == len(line.rstrip()) + 1 else before


def with_what_follows(question: str, passage: str, statement: Statement) -> Statement:
    """The answer to how to do something, or to what happens, with what belongs to it.

    A step goes with the steps of its list, another statement with the sentence that leans on it.
    """
    is_step = statement.kind == "item" and (
        is_step_of(question, statement.quote)
        or (asks_how(question) and _is_step_of_list(passage, statement))
    )
    return with_steps(passage, statement) if is_step else continued(passage, statement)
