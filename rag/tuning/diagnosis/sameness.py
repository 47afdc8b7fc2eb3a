"""Whether two texts are on one matter, and whether they say the same about it."""

from __future__ import annotations

import re

from rag.answering.assessing.editions import ALIKE
from rag.lexical.analyzers import function_words

_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SAME = 0.85  # share of the words of a statement
_FEWEST = 4


def on_one_matter(one: str, other: str) -> bool:
    """Whether a text has enough of the words of another, besides numbers."""
    words = _words(one)
    return bool(words) and len(words & _words(other)) >= ALIKE * len(words)


def says_the_same(statement: str, text: str) -> bool:
    """Whether a text has nearly all words and every number of a statement."""
    words = _words(statement)
    if len(words) < _FEWEST:
        return False
    numbers = set(_NUMBER.findall(statement))
    return len(words & _words(text)) >= _SAME * len(words) and numbers <= set(_NUMBER.findall(text))


def _words(text: str) -> set[str]:
    words = {word.casefold() for word in _WORD.findall(text)}
    return words - function_words()
