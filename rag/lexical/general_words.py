"""Words of everyday language: what no passage has may be right all the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Set
from functools import cache
from pathlib import Path
from types import MappingProxyType

from rag.lexical.expand import Spelling

_VOCABULARY = (
    Path(__file__).resolve().parents[2] / "data" / "models" / "all-MiniLM-L6-v2" / "vocab.txt"
)
"""The vocabulary of BERT: 20,000 whole words of books and Wikipedia, the most frequent first."""
_BEFORE_WORDS = 1995  # lines of marks and single characters
_WORD = re.compile("[a-z]{2,}")
_FREQUENT = 2000.0
_DICTIONARIES: Mapping[str, str] = MappingProxyType(
    {
        "arabic": "ar",
        "basque": "eu",
        "dutch": "nl",
        "english": "en",
        "french": "fr",
        "german": "de",
        "italian": "it",
        "portuguese": "pt",
        "russian": "ru",
        "spanish": "es",
    }
)
"""Languages of ``spellchecker`` by the analyzer that reads them."""


def is_general(word: str) -> bool:
    """Whether books and Wikipedia often have a word in small letters; accents do not count."""
    plain = unicodedata.normalize("NFD", word).encode("ascii", "ignore").decode()
    return plain in _ranks()


def is_in_dictionary(word: str, analyzer: str) -> bool:
    """Whether the language of an analyzer has a word in small letters, be it a rare one.

    False for languages without a dictionary.
    """
    language = _DICTIONARIES.get(analyzer)
    return language is not None and word in _dictionary(language)


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
def _dictionary(language: str) -> Set[str]:
    """Words of films' subtitles, without those that dictionaries lack: up to 400,000."""
    from spellchecker import SpellChecker  # loading one takes up to 0.6 s and 80 MB

    return frozenset(SpellChecker(language).word_frequency.words())


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
