"""Synonyms of words that no passage has, and of phrases: everyday ones, and those of rules.

Compounds that no passage has get their two parts: "Buslinien", "Bus Linien".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rag.lexical.analyzers import analyzer, function_words
from rag.lexical.index import LexicalIndex
from rag.lexical.respelling import question_language, question_words
from rag.types import SYNONYM_SEPARATOR

LINKING: Mapping[str, tuple[str, ...]] = {
    "german": ("", "s", "es", "n", "en", "er", "e"),
    "dutch": ("", "s", "en", "e"),
    "danish": ("", "s", "e"),
    "norwegian": ("", "s", "e"),
    "swedish": ("", "s"),
}
"""Letters between the parts of compounds, by the languages that write them as one word."""
_SHORTEST_FIRST, _SHORTEST_LAST = 3, 4
"""Letters of the parts."""
_LONGEST = 50
"""Letters of a compound that is looked at."""


class OtherForm(NamedTuple):
    """``question[start:end]`` is searched with the other form ``form`` too."""

    start: int
    end: int
    form: str


def compound_parts(question: str, language: str, lexical: LexicalIndex) -> list[OtherForm]:
    """The compounds of a question that no passage has, each with parts that passages have.

    Of several pairs of parts, the one whose shorter part is longest. ``language`` is one of
    ``LINKING``.
    """
    forms = list[OtherForm]()
    for word, start in question_words(question):
        is_compound = len(word) <= _LONGEST and not _is_indexed(word, lexical)
        pairs = list(_pairs(word, language, lexical)) if is_compound else []
        if pairs:
            first, last = max(pairs, key=lambda pair: min(map(len, pair)))
            forms.append(OtherForm(start, start + len(word), f"{first} {last}"))
    return forms


def _pairs(word: str, language: str, lexical: LexicalIndex) -> Iterator[tuple[str, str]]:
    for end in range(_SHORTEST_FIRST, len(word) - _SHORTEST_LAST + 1):
        first = word[:end]
        if not _is_part(first, language, lexical):
            continue
        for link in LINKING[language]:
            last = word[end + len(link) :]
            is_long = len(last) >= _SHORTEST_LAST
            if is_long and word.startswith(link, end) and _is_part(last, language, lexical):
                yield first, last.capitalize() if word[0].isupper() else last


def _is_part(part: str, language: str, lexical: LexicalIndex) -> bool:
    """Whether passages have a part as it is, and not just another word with its stem."""
    word = part.lower()
    return word not in function_words(language) and word in lexical.similar_words(word)


def _is_indexed(word: str, lexical: LexicalIndex) -> bool:
    counts = lexical.frequencies(lexical.terms(word), fuzzy=False, prefix=False)
    return any(counts.values())


MOST = 3
"""Synonyms of one word that are searched: those that most passages have."""
_NEXT_WORD = re.compile(r" ([^\W\d_]+)(?![\w-])")
_FILE = Path(__file__).with_name("synonyms.txt")
_ENGLISH, _OF_VERBS, _MEANS = "english", "to ", " => "


def synonyms(question: str, lexical: LexicalIndex) -> list[OtherForm]:
    """The phrases of an English question, and its words that no passage has, with synonyms.

    In a language that writes compounds as one word, its compounds that no passage has, with their
    parts. Each has those synonyms or parts that passages have. Forms are disjoint and in order.
    Codes, quotations and English words with a capital within the question have no synonyms.
    """
    language = question_language(question, lexical.analyzers)
    if language is not None and language in LINKING:
        return compound_parts(question, language, lexical)
    if language != _ENGLISH:
        return []
    asked = lexical.terms(question).keys()
    words = list(question_words(question))
    forms = list(_of_phrases(question, words, asked, lexical))
    for word, start in words:
        is_name = start > 0 and word[0].isupper()
        if (
            is_name
            or _passages(word, lexical)
            or any(one.start <= start < one.end for one in forms)
        ):
            continue
        others = _common(synonyms_by_form().get(word.lower(), ()), asked, lexical)
        if others:
            forms.append(OtherForm(start, start + len(word), others))
    return sorted(forms)


def _of_phrases(
    question: str, words: Sequence[tuple[str, int]], asked: Set[str], lexical: LexicalIndex
) -> Iterator[OtherForm]:
    """The phrases that begin with one of some words, disjoint, with their synonyms."""
    end = 0
    for word, start in words:
        if start < end or (start > 0 and word[0].isupper()) or question[start - 1 : start] == "-":
            continue
        for rest, others in _phrases().get(word.lower(), ()):
            found = _goes_on(question, start + len(word), rest)
            common = _common(others, asked, lexical) if found else ""
            if common:
                end = found
                yield OtherForm(start, end, common)
                break


def _goes_on(question: str, at: int, rest: Sequence[str]) -> int:
    """Return where some words behind a place end, each behind a single blank; 0 for others."""
    for word in rest:
        match = _NEXT_WORD.match(question, at)
        if match is None or match[1].lower() != word:
            return 0
        at = match.end()
    return at


def _common(others: Iterable[str], asked: Set[str], lexical: LexicalIndex) -> str:
    """The most common of some synonyms that passages have, and the question has not."""
    counts = {
        other: _passages(other, lexical)
        for other in sorted(others)
        if not lexical.terms(other).keys() <= asked and _is_written(other, lexical)
    }
    common = sorted((other for other in counts if counts[other]), key=lambda one: -counts[one])
    return SYNONYM_SEPARATOR.join(_distinct(common)[:MOST])


def _passages(word: str, lexical: LexicalIndex) -> int:
    """Number of passages that have a word, in any form that is cut to the same term."""
    counts = lexical.frequencies(lexical.terms(word), fuzzy=False, prefix=False)
    return max(counts.values(), default=0)


def _is_written(word: str, lexical: LexicalIndex) -> bool:
    """Whether a passage has a form of a word, and not just another word with its stem."""
    return any(form in lexical.similar_words(form) for form in _forms(word, is_verb=True))


def _distinct(words: list[str]) -> list[str]:
    """Words without those that have the stem of one before."""
    return list({_stem(word): word for word in reversed(words)}.values())[::-1]


def _stem(word: str) -> str:
    return next(iter(analyzer(_ENGLISH).query_tokens(word)), word)


@cache
def synonyms_by_form() -> Mapping[str, Set[str]]:
    """The synonyms of each word, by the forms that it is asked in.

    By forms and not by stems, as "expense" has the stem of "expensive".
    """
    groups = dict[str, set[str]]()
    for line in _lines():
        word, means, others = line.partition(_MEANS)
        if not means:
            words = line.removeprefix(_OF_VERBS).split(", ")
            pairs = [(one, [other for other in words if other != one]) for one in words]
        else:
            pairs = [(word, others.split(", "))] if " " not in word else []
        for one, synonyms_of_one in pairs:
            for form in _forms(one, is_verb=means != "" or line.startswith(_OF_VERBS)):
                groups.setdefault(form, set()).update(synonyms_of_one)
    return groups


@cache
def _phrases() -> Mapping[str, Sequence[tuple[tuple[str, ...], Sequence[str]]]]:
    """The further words of phrases with their synonyms, by the first word in any form."""
    phrases = dict[str, list[tuple[tuple[str, ...], Sequence[str]]]]()
    for line in _lines():
        phrase, _, others = line.partition(_MEANS)
        if " " in phrase and others:
            first, *rest = phrase.split()
            for form in _forms(first, is_verb=True):
                phrases.setdefault(form, []).append((tuple(rest), others.split(", ")))
    return phrases


def _lines() -> list[str]:
    lines = _FILE.read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _forms(word: str, *, is_verb: bool) -> Iterator[str]:
    """A word, and its regular forms: those of a noun, for a verb also those in -ed and -ing.

    Whether the last letter is doubled is not known: both are given.
    """
    yield word
    after_consonant = word[:-1] if word.endswith("y") and word[-2] not in "aeiou" else ""
    if after_consonant:
        yield after_consonant + "ies"
    else:
        yield word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")
    if is_verb:
        yield from (root + "ing" for root in (word, word.removesuffix("e"), word + word[-1]))
        past = (after_consonant + "i", word.removesuffix("e"), word + word[-1])
        yield from (root + "ed" for root in past)
