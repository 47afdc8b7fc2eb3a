"""Words as passages write them, by the index terms that they are cut to, and expanded terms.

A query term expands to itself, words that it begins, and words that it misspells.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Kind = Literal["exact", "prefix", "fuzzy"]

PREFIX_WEIGHT = 0.8
PREFIX_SHORTEST = 3
PREFIX_MOST = 50
FUZZY_WEIGHT = 0.6
FUZZY_SHORTEST = 4
FUZZY_LONGEST = 24
FUZZY_TWO_EDITS = 8
FUZZY_MOST = 8


class Variant(NamedTuple):
    """An index term that counts for a query term, at ``weight`` of what itself would."""

    term: str
    kind: Kind
    weight: float


def prefix_variants(term: str, vocabularies: Iterable[Sequence[str]]) -> list[Variant]:
    """Longer terms that begin with ``term``, the shortest first. Vocabularies are sorted."""
    if len(term) < PREFIX_SHORTEST:
        return []
    longer = {word for words in vocabularies for word in _beginning(term, words)} - {term}
    nearest = sorted(longer, key=lambda word: (len(word), word))
    return [Variant(word, "prefix", PREFIX_WEIGHT) for word in nearest]


def _beginning(term: str, words: Sequence[str]) -> Sequence[str]:
    end = bisect_left(words, term + "\U0010ffff")
    return words[bisect_left(words, term) : end]


class Spelling:
    """A cheap filter that excludes most distant words of a vocabulary by length and letters.

    An edit changes the length by at most one and the set of letters by at most two.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        wide = FUZZY_LONGEST + 2
        codes = np.array(words, dtype=f"U{wide}").view(np.uint32).reshape(len(words), wide)
        has_digit = ((codes >= ord("0")) & (codes <= ord("9"))).any(axis=1)
        self._lengths = np.where(has_digit, 0, np.count_nonzero(codes, axis=1))
        self._letters = _letter_set(codes)

    def near(self, term: str, most: int) -> dict[str, int]:
        """Words within ``most`` edits of ``term``, not itself, with their number of edits."""
        from rapidfuzz.distance import OSA

        letters = _letter_set(np.array([[ord(c) for c in term]], dtype=np.uint32))
        is_possible = (abs(self._lengths - len(term)) <= most) & (
            np.bitwise_count(self._letters ^ letters) <= 2 * most
        )
        words = (self._words[i] for i in np.flatnonzero(is_possible).tolist())
        edits = ((word, OSA.distance(term, word, score_cutoff=most)) for word in words)
        return {word: count for word, count in edits if 0 < count <= most}


def _letter_set(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """A bit per letter, those 32 apart share one; shape (words,) from (words, letters)."""
    bits = np.where(codes > 0, np.left_shift(np.uint32(1), codes & 31), 0).astype(np.uint32)
    letters: npt.NDArray[np.uint32] = np.bitwise_or.reduce(bits, axis=1)
    return letters


def misspelt(term: str, spellings: Iterable[Spelling]) -> list[Variant]:
    """``misspellings`` as variants, the nearest first."""
    distances = misspellings(term, spellings)
    variants = [
        Variant(word, "fuzzy", _similarity(term, word, distances[word])) for word in distances
    ]
    return sorted(variants, key=lambda variant: (-variant.weight, variant.term))


def misspellings(term: str, spellings: Iterable[Spelling]) -> dict[str, int]:
    """Words within one edit (two from eight characters on), with their number of edits.

    An edit inserts, deletes or replaces a character or swaps neighbours (optimal string
    alignment). Codes and numbers have no misspellings: 4410 is not 4411.
    """
    if not FUZZY_SHORTEST <= len(term) <= FUZZY_LONGEST or any(c.isdigit() for c in term):
        return {}
    most = 2 if len(term) >= FUZZY_TWO_EDITS else 1
    distances: dict[str, int] = {}
    for spelling in spellings:
        distances.update(spelling.near(term, most))
    return distances


def _similarity(term: str, word: str, edits: int) -> float:
    """Weight of a misspelling: less than FUZZY_WEIGHT, by the share of characters that differ."""
    return FUZZY_WEIGHT * (1 - edits / max(len(term), len(word)))


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
