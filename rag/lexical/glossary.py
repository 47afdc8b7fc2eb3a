"""The abbreviations that passages define, and the forms of a question that have another form."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rag.lexical.analyzers import function_words
from rag.lexical.everyday import is_general
from rag.types import Keys

_WORD = re.compile(r"\w+")
_SHORTEST_PLURAL = 4
"""Characters of a word from which an s at its end is that of the plural."""

Words = tuple[str, ...]


class OtherForm(NamedTuple):
    """``question[start:end]`` has the other form ``form``, as the passage ``key`` defines it."""

    start: int
    end: int
    form: str
    key: int


class _Entry(NamedTuple):
    """The other form of some words, and the passages that define it, ascending."""

    form: str
    keys: Sequence[int]


class Glossary:
    """Abbreviations, each with the long form by which most passages define it.

    ``definitions`` are short forms, long forms and keys of passages. Long forms are the same where
    only capitals or the plural differ. A short form is meant as it is written. Written in small
    letters, or in a question in capitals, it is meant where it is no everyday word.
    """

    def __init__(self, definitions: Iterable[tuple[str, str, int]]) -> None:
        forms = defaultdict[tuple[str, Words], list[tuple[str, int]]](list)
        for short, long, key in definitions:
            forms[short, _plain(long)].append((long, key))
        self._short, self._small = dict[Words, _Entry](), dict[Words, _Entry]()
        self._long, everyday = dict[Words, _Entry](), function_words()
        for short, words in sorted(forms, key=lambda pair: (-len(forms[pair]), pair)):
            long, _ = min(forms[short, words])
            keys = sorted(key for _, key in forms[short, words])
            entry, written = _Entry(long, keys), tuple(_WORD.findall(short))
            self._short.setdefault(written, entry)
            self._long.setdefault(words, _Entry(short, keys))
            small = tuple(word.casefold() for word in written)
            if not all(word in everyday or is_general(word) for word in small):
                self._small.setdefault(small, entry)
        self._longest = max(map(len, (*self._short, *self._long)), default=0)

    def __len__(self) -> int:
        """Number of short forms."""
        return len(self._short)

    def other_forms(self, question: str, allowed: Keys | None = None) -> list[OtherForm]:
        """The forms of a question whose other form it lacks, disjoint and in order.

        With ``allowed``, passages that a filter keeps, only those that one of these defines.
        """
        spans = [match.span() for match in _WORD.finditer(question)] if self._short else []
        shouted = len(spans) > 1 and question.isupper()
        written = [question[start:end] for start, end in spans]
        if shouted:
            written = [word.casefold() for word in written]
        plain, forms, at = _plain(question), list[OtherForm](), 0
        while at < len(spans):
            length, entry = self._entry(written, plain, at)
            keys = entry.keys if entry is not None else ()
            if allowed is not None:
                keys = [key for key in keys if np.any(allowed == key)]
            if entry is not None and keys and not _has(plain, _plain(entry.form)):
                end = spans[at + length - 1][1]
                forms.append(OtherForm(spans[at][0], end, entry.form, keys[0]))
            at += length
        return forms

    def _entry(self, written: Sequence[str], plain: Words, at: int) -> tuple[int, _Entry | None]:
        """The entry of the longest form that begins at a word, and the number of its words."""
        for length in range(min(self._longest, len(written) - at), 0, -1):
            words = tuple(written[at : at + length])
            entry = (
                self._long.get(plain[at : at + length])
                or self._short.get(words)
                or self._short.get((*words[:-1], _singular(words[-1])))
                or self._small.get(words)
            )
            if entry is not None:
                return length, entry
        return 1, None


def _plain(text: str) -> Words:
    """The words of a text in small letters, without the s of the plural."""
    return tuple(_singular(word.casefold()) for word in _WORD.findall(text))


def _singular(word: str) -> str:
    return word[:-1] if len(word) >= _SHORTEST_PLURAL and word.endswith("s") else word


def _has(words: Words, part: Words) -> bool:
    """Whether words have others in a row."""
    size = len(part)
    return any(words[at : at + size] == part for at in range(len(words) - size + 1))
