"""Signs in a text that it was read wrongly: broken characters, letters apart, unknown words,
and what its reader left out."""

from __future__ import annotations

import re
import unicodedata

from rag.lexical import LexicalIndex
from rag.types import Document

SURE = 60.0
"""Percent: a page that text recognition is less sure of counts as unreadable."""
_FEWEST = 8  # words: of fewer, shares say nothing
_BROKEN = 0.03  # share of characters
_APART = 0.5  # share of words of one letter
_UNKNOWN = 0.7  # share of words that no other passage has
_LETTERS = re.compile(r"[^\W\d_]+")
_ONE_BY_ONE = re.compile(r"(?<!\S)[^\W\d_](?:\s{1,3}[^\W\d_])+(?!\S)")
"""Single letters one behind the other, as in "T h i s": not the "a" between two figures."""
_DISTINCT = 6  # letters: a table that marks its cells with "X" or "A" to "D" has fewer
_LONG = 4  # letters: shorter words are names, units ...


def broken_characters(text: str) -> str:
    """The sign in words; "" where the text looks right by itself."""
    visible = [character for character in text if not character.isspace()]
    broken = sum(_is_broken(character) for character in visible)
    if broken > _BROKEN * max(len(visible), 1):
        return f"{broken} of its {len(visible)} characters are no readable characters"
    words = _LETTERS.findall(text)
    letters = [
        letter for match in _ONE_BY_ONE.finditer(text) for letter in match[0].casefold().split()
    ]
    single = len(letters) if len(set(letters)) >= _DISTINCT else 0
    if len(words) >= _FEWEST and single > _APART * len(words):
        return f"{single} of its {len(words)} words are single letters"
    return ""


def unknown_words(text: str, lexical: LexicalIndex) -> str:
    """The sign in words; "" where other passages know most words of the text."""
    words = {word.casefold() for word in _LETTERS.findall(text) if len(word) >= _LONG}
    if len(words) < _FEWEST:
        return ""
    frequencies = {word: lexical.frequencies(word, fuzzy=False, prefix=False) for word in words}
    unknown = [word for word, counts in frequencies.items() if max(counts.values(), default=0) <= 1]
    indexed = [word for word, counts in frequencies.items() if counts]
    if len(indexed) < _FEWEST or len(unknown) <= _UNKNOWN * len(words):
        return ""
    shown = ", ".join(sorted(unknown)[:3])
    return f"no other passage has {len(unknown)} of its {len(words)} words, such as {shown}"


def _is_broken(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in ("Co", "Cn", "Cc")


def unread_words(document: Document) -> str:
    """Return what the reader left out of a document, in words; "" if nothing."""
    words = document.receipt.words if document.receipt else ""
    text = document.metadata.get("unread_text")
    if text:
        return f"not read, as it seems to be no main text: “{text}”"
    return f"not read: {words}" if words else ""
