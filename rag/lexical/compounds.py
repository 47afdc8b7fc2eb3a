"""Compounds that no passage has, with their two parts: "Buslinien", "Bus Linien"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rag.lexical.analyzers import function_words
from rag.lexical.index import LexicalIndex
from rag.lexical.respelling import question_words

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
