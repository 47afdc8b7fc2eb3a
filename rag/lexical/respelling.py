"""The words of a question as they were probably meant: mistyped ones by words of the documents.

Words that passages have, words of a dictionary, everyday English words, and function words of any
language stay as they are, and so does what may be a code, an acronym or a quotation. What is left
is probably a slip where a word of the documents is one likely slip away: the commoner the word and
the likelier the slip, the better (a noisy channel: Kernighan, Church and Gale, 1990).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from rag.languages import ANALYZERS, NO_STEMMER, likeliest
from rag.lexical.analyzers import function_words
from rag.lexical.index import LexicalIndex
from rag.lexical.surfaces import Spelling, surface

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


SlipKind = Literal["swapped", "doubled", "dropped", "beside", "brushed", "added", "replaced"]
"""Neighbours swapped; a letter doubled, or left out; the key beside; that one too; another letter
more; another letter instead."""

_COSTS: dict[SlipKind, float] = {
    "swapped": 0.0,
    "doubled": 0.0,
    "dropped": 1.0,
    "beside": 2.0,
    "brushed": 2.5,
    "added": 4.0,
    "replaced": 5.0,
}
"""How unlikely each is, in units of the logarithm of how common a word is. Slips of the hand are
nearly all of the first five kinds; a letter that no finger was near is more often another word
(Kernighan, Church and Gale, "A Spelling Correction Program Based on a Noisy Channel Model", 1990).
"""
_FIRST_LETTER = 1.0
"""The first letter is seldom mistyped (Pollock and Zamora, 1984)."""
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

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


def _keys_beside() -> dict[str, str]:
    """The keys around each; a key stands between two of the row above."""
    places = {
        key: (row, column + row / 2)
        for row, keys in enumerate(_ROWS)
        for column, key in enumerate(keys)
    }
    return {
        key: "".join(
            other
            for other, (line, across) in places.items()
            if other != key and abs(line - row) <= 1 and abs(across - column) <= 1
        )
        for key, (row, column) in places.items()
    }


_BESIDE = _keys_beside()


class Slip(NamedTuple):
    """A typing error: its kind, the letter at which it is, and its cost.

    The less likely the error, the higher the cost.
    """

    kind: SlipKind
    place: int
    cost: float


def slip(typed: str, meant: str) -> Slip:
    """The slip between two words that are one edit apart."""
    shared = min(len(typed), len(meant))
    place = next((at for at in range(shared) if typed[at] != meant[at]), shared)
    kind = _kind(typed, meant, place)
    cost = _COSTS[kind] + (_FIRST_LETTER if place == 0 else 0.0)
    return Slip(kind, place, cost)


def _kind(typed: str, meant: str, place: int) -> SlipKind:
    if len(typed) < len(meant):
        return "dropped"
    letter = typed[place]
    if len(typed) > len(meant):
        if place and typed[place - 1] == letter:
            return "doubled"
        around = typed[max(place - 1, 0) : place] + typed[place + 1 : place + 2]
        return "brushed" if any(key in _BESIDE.get(letter, "") for key in around) else "added"
    if typed[place : place + 2] == meant[place : place + 2][::-1]:
        return "swapped"
    return "beside" if meant[place] in _BESIDE.get(letter, "") else "replaced"


MOST_WORDS = 64
"""Words of a question that are looked up; who pastes a page has not mistyped a question."""
LEAST_LIKELIHOOD = -1.0
"""The least logarithm of how common a word is, less the cost of the slip."""
SHORTEST = 4
"""Shorter words are too near to too many others."""
SHORTEST_GENERAL = 6
"""The same for everyday words that no passage has: of short names many are near one."""
SHORTEST_REPLACED = 6
"""The same for another letter instead; an everyday word may be meant by a shorter one all the same,
where the key beside was hit."""
SHORTEST_FOREIGN, FEWEST_FOREIGN = 7, {"dropped": 2, "beside": 3}
"""Dictionaries of other languages than English lack many forms and compounds, and most languages
have none here: a word that no passage has is mostly right, and often a form of one that it has. So
only the likeliest slips count, in long words, not at the end."""
SURE_LANGUAGE = 0.6
"""Probability from which a question is in that language; mistyped English has never more of
another."""

_ENGLISH = "english"
_LANGUAGES = frozenset({*ANALYZERS.values(), NO_STEMMER})
_LETTERS = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"[\d_@/\\#=<>{}|]|\w[.:]\w")
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|`[^`]*`|(?<!\w)['‘][^'‘’]*['’](?!\w)"
)


class Respelling(NamedTuple):
    """``question[start:end]`` was probably meant to be ``word``."""

    start: int
    end: int
    word: str


class _Candidate(NamedTuple):
    """A word that another may have been meant to be; ``score`` is the greater the better."""

    score: float
    word: str
    slip: Slip
    passages: int


def respellings(question: str, lexical: LexicalIndex) -> list[Respelling]:
    """Return the probable corrections of a question, disjoint and in order."""
    language = question_language(question, lexical.analyzers)
    if language is None:
        return []
    reader = _Reader(lexical, language, function_words(language))
    corrected = list[Respelling]()
    for word, start in question_words(question):
        meant = reader.meant(word, named=start > 0 and word[0].isupper())
        if meant is not None:
            corrected.append(Respelling(start, start + len(word), _cased(meant, word)))
    return corrected


def question_language(question: str, languages: Set[str]) -> str | None:
    """The analyzer by whose language a question is read; None where no passage is in it."""
    code, probability = likeliest(question)
    own = ANALYZERS.get(code, NO_STEMMER)
    is_sure = probability >= SURE_LANGUAGE
    if not languages or not languages <= _LANGUAGES:  # any language may be there
        return own if is_sure else _ENGLISH
    if own in languages or is_sure:
        return own if own in languages else None
    return _ENGLISH if _ENGLISH in languages else min(languages)


def question_words(question: str) -> Iterator[tuple[str, int]]:
    """Words that may have been mistyped, and where they begin: no code, no quotation."""
    quoted = [match.span() for match in _QUOTED.finditer(question)]
    looked_at = 0
    for chunk in re.finditer(r"\S+", question):
        start, end = chunk.span()
        if _CODE.search(chunk.group()) or any(a < end and start < b for a, b in quoted):
            continue
        for match in _LETTERS.finditer(question, start, end):
            looked_at += 1
            if looked_at > MOST_WORDS:
                return
            if len(match.group()) >= SHORTEST - 1 and match.group()[2:].islower():
                yield match.group(), match.start()


@dataclass(frozen=True, slots=True)
class _Reader:
    """A reader of the words of a question by the words of passages, and by ``helpers`` of its
    language.
    """

    lexical: LexicalIndex
    language: str
    helpers: Set[str]

    @property
    def is_english(self) -> bool:
        return self.language == _ENGLISH

    def meant(self, typed: str, named: bool) -> str | None:
        """Return the word that was probably meant; None if ``typed`` is right or nothing is likely.

        ``named`` is True for a word with a capital that does not begin the question.
        """
        word = surface(typed)
        if word is None or word in function_words() or is_general(word):
            return None
        terms = self.lexical.terms(typed)
        is_term = bool(self.lexical.frequencies(terms, fuzzy=False, prefix=False))
        similar = self.lexical.similar_words(word)
        if word in similar or (is_term and not self.is_english):
            return None
        if is_in_dictionary(word, self.language):
            return None
        candidates = [
            candidate
            for candidate in self._candidates(word, similar, named)
            if candidate.score >= LEAST_LIKELIHOOD
            and self._may_be(candidate, typed, terms if is_term else None)
        ]
        known = {one.word: self._is_known(one.word) for one in candidates if one.passages <= 1}
        best = max(candidates, key=lambda one: (known.get(one.word, True), one), default=None)
        if best is None or (not known.get(best.word, True) and self._is_known(word)):
            return None  # a slip of the document, or of its reader
        return best.word

    def _is_known(self, word: str) -> bool:
        """Whether a dictionary of the question's language or of the passages has a word."""
        languages = {self.language, *self.lexical.analyzers}
        return is_general(word) or any(is_in_dictionary(word, name) for name in languages)

    def _candidates(
        self, word: str, similar: Mapping[str, int], named: bool
    ) -> Iterator[_Candidate]:
        """Words of passages, everyday words and function words that are one likely slip away."""
        near = {other: similar.get(other, 0) for other in (*similar, *self._other_words(word))}
        for other, passages in near.items():
            how = slip(word, other)
            background = commonness(other) if self.is_english else 0.0
            if self._is_likely(word, other, how, passages, named):
                yield _Candidate(
                    math.log(1 + passages + background) - how.cost, other, how, passages
                )

    def _other_words(self, word: str) -> list[str]:
        return similar_general(word) if self.is_english else []

    def _is_likely(self, word: str, other: str, how: Slip, passages: int, named: bool) -> bool:
        at_end = how.place >= len(word) - 1
        if how.kind in ("added", "brushed") and at_end:
            return False  # an ending
        if len(word) < SHORTEST_REPLACED and (
            how.kind == "replaced" or (how.kind == "beside" and not is_general(other))
        ):
            return False  # of two short words that are rare, either may be meant
        if not passages and other not in self.helpers:
            is_slip = how.kind in ("swapped", "doubled", "dropped") and how.cost <= 1
            return is_slip and not named and len(word) >= SHORTEST_GENERAL and other != word + "s"
        return self.is_english or _is_likely_abroad(word, how, passages)

    def _may_be(self, candidate: _Candidate, typed: str, terms: Mapping[str, float] | None) -> bool:
        """Whether a word that looks unusual, or shares its stem with passages, is that one."""
        kind, place, _ = candidate.slip
        if len(typed) < SHORTEST and (
            kind not in ("swapped", "dropped") or candidate.word not in self.helpers
        ):
            return False
        if typed[1].isupper() and (kind not in ("swapped", "doubled") or place > 1):
            return False
        if terms is None:
            return True
        # Passages have other forms of it: it is right, or a slip within its stem.
        is_within = kind == "doubled" or place < len(typed) - 1
        same = self.lexical.terms(candidate.word).keys() == terms.keys()
        return is_within and same and len(typed) > SHORTEST and bool(candidate.passages)


def _is_likely_abroad(word: str, how: Slip, passages: int) -> bool:
    if how.kind in ("swapped", "doubled"):
        return True
    is_within = 0 < how.place < len(word) - 2 and len(word) >= SHORTEST_FOREIGN
    return is_within and passages >= FEWEST_FOREIGN.get(how.kind, math.inf)


def _cased(word: str, typed: str) -> str:
    """A word with the capital that the typed one has."""
    return word[0].upper() + word[1:] if typed[:2] != typed[:2].lower() else word


def is_in_dictionary(word: str, analyzer: str) -> bool:
    """Whether the language of an analyzer has a word in small letters, be it a rare one.

    False for languages without a dictionary.
    """
    language = _DICTIONARIES.get(analyzer)
    return language is not None and word in _dictionary(language)


@cache
def _dictionary(language: str) -> Set[str]:
    """Words of films' subtitles, without those that dictionaries lack: up to 400,000."""
    from spellchecker import SpellChecker  # loading one takes up to 0.6 s and 80 MB

    return frozenset(SpellChecker(language).word_frequency.words())
