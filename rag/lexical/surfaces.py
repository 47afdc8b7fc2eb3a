"""Words as passages write them, by the index terms that they are cut to."""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rag.lexical.expand import FUZZY_LONGEST, Spelling

Rows = npt.NDArray[np.int32]

_LETTERS = "a-z\u00df-\u024f\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f"
_WORD = re.compile(f"[{_LETTERS}]{{2,{FUZZY_LONGEST}}}")
"""Scripts whose letters are few and stand for sounds: one wrong letter leaves the word to be seen.
In Hangul or Han a character more or less is another word."""


def surface(text: str) -> str | None:
    """A word in small letters; None for what cannot be misspelt: codes, numbers, other scripts."""
    small = unicodedata.normalize("NFC", text.lower())
    return small if _WORD.fullmatch(small) else None


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Distinct pairs of a word, in small letters, and its index term, in order.

    ``terms``, shape (pairs,), has positions among the terms of the segment.
    """

    words: Sequence[str] = ()
    terms: Rows = field(default_factory=lambda: np.empty(0, np.int32))

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, int]]) -> Surfaces:
        """Pairs of a word and the position of its term, in any order."""
        ordered = sorted(set(pairs))
        terms = np.array([term for _, term in ordered], np.int32)
        return cls([word for word, _ in ordered], terms)

    @classmethod
    def merged(cls, parts: Iterable[tuple[Surfaces, Rows]]) -> Surfaces:
        """Merge surfaces of segments, each with the new positions of its terms (-1: deleted)."""
        return cls.of(
            (word, term)
            for part, places in parts
            for word, term in zip(part.words, places[part.terms].tolist(), strict=True)
            if term >= 0
        )

    @cached_property
    def spelling(self) -> Spelling:
        """The words, prepared for finding misspellings."""
        return Spelling(self.words)

    @cached_property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return self.terms.nbytes + sum(map(sys.getsizeof, self.words))

    def similar(self, word: str) -> Iterator[tuple[str, int]]:
        """Words within one edit of a word, and itself, with positions of their terms."""
        for similar in (word, *self.spelling.near(word, 1)):
            for at in range(bisect_left(self.words, similar), bisect_right(self.words, similar)):
                yield similar, int(self.terms[at])

    def save(self, folder: Path) -> None:
        """Write ``words.txt``, a word per line, and ``word_terms.npy``."""
        np.save(folder / "word_terms.npy", self.terms, allow_pickle=False)
        (folder / "words.txt").write_bytes("\n".join(self.words).encode())

    @classmethod
    def load(cls, folder: Path) -> Surfaces | None:
        """Read what ``save`` wrote; None where an earlier version did not. Raises ValueError."""
        try:
            text = (folder / "words.txt").read_bytes().decode()
        except FileNotFoundError:
            return None
        terms = np.load(folder / "word_terms.npy", allow_pickle=False)
        surfaces = cls(text.split("\n") if text else [], terms)
        if len(surfaces.words) != len(surfaces.terms):
            raise ValueError("words and their terms are of different builds")
        return surfaces
