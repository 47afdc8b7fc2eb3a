"""Sides of moments: what holds until the freeze does not say what holds after it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.answering.assessing.dates import YES_OR_NO
from rag.answering.assessing.key_terms import KeyTerm, words_in
from rag.answering.languages import any_of, pattern

_BEFORE, _AFTER = pattern("sides.before"), pattern("sides.after")
_ENDS = re.compile(rf"[.,;:!?](?:\s|\Z)|{any_of('sides')}", re.IGNORECASE)
"""What ends the words for a moment."""
_REACH = 32
"""Characters behind "before" or "after" in which the moment is named."""


def other_side(question: str, terms: Sequence[KeyTerm], quote: str) -> str:
    """The side of a moment that a question asks for, where a quote has the other one alone.

    That is "after the freeze", where the quote has "until the freeze"; "" for none, and where yes
    or no is asked for. Figures have limits of their own.
    """
    if YES_OR_NO.match(question):
        return ""
    for own, other in ((_BEFORE, _AFTER), (_AFTER, _BEFORE)):
        for match in own.finditer(question):
            end = match.end() + len(_moment(question, match))
            moment = [
                term for term in terms if term.kind != "figure" and match.end() < term.start < end
            ]
            named = _named(moment, quote, other)
            if named and not _named(moment, quote, own):
                return question[match.start() : named[-1].end]
    return ""


def _named(moment: Sequence[KeyTerm], text: str, side: re.Pattern[str]) -> list[KeyTerm]:
    """Return the terms of a moment that a text has on one side of it."""
    words = words_in(" ".join(_moment(text, match) for match in side.finditer(text)))
    return [t for t in moment if t.text.casefold() in words or any(map(t.is_like, words))]


def _moment(text: str, side: re.Match[str]) -> str:
    return _ENDS.split(text[side.end() : side.end() + _REACH], maxsplit=1)[0]
