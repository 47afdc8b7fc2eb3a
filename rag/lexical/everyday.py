"""Everyday English words, by how common they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rag.lexical.expand import Spelling

_VOCABULARY = (
    Path(__file__).resolve().parents[2] / "data" / "models" / "all-MiniLM-L6-v2" / "vocab.txt"
)
"""The vocabulary of BERT: 20,000 whole words of books and Wikipedia, the most frequent first."""
_BEFORE_WORDS = 1995  # lines of marks and single characters
_WORD = re.compile("[a-z]{2,}")
_FREQUENT = 2000.0


def is_general(word: str) -> bool:
    """Whether books and Wikipedia often have a word in small letters; accents do not count."""
    plain = unicodedata.normalize("NFD", word).encode("ascii", "ignore").decode()
    return plain in _ranks()


def commonness(word: str) -> float:
    """Return the commonness of a word, as a number of passages that contain it.

    The commonness falls with the rank of the word (Zipf's law). It is 0 for words that are not
    general.
    """
    rank = _ranks().get(word)
    return 0.0 if rank is None else 1.0 + _FREQUENT / rank


def similar_general(word: str) -> list[str]:
    """General words within one edit."""
    return list(_spelling().near(word, 1))


@cache
def _ranks() -> Mapping[str, int]:
    lines = _VOCABULARY.read_text("utf-8").split("\n")
    return {
        word: max(line - _BEFORE_WORDS, 1)
        for line, word in enumerate(lines)
        if _WORD.fullmatch(word)
    }


@cache
def _spelling() -> Spelling:
    return Spelling(sorted(_ranks()))
