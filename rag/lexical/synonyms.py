"""Synonyms of words that no passage has: everyday words, and those of rules and manuals."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache
from pathlib import Path

from rag.lexical.analyzers import analyzer
from rag.lexical.glossary import OtherForm
from rag.lexical.index import LexicalIndex
from rag.lexical.respelling import question_language, question_words
from rag.types import SYNONYM_SEPARATOR

MOST = 3
"""Synonyms of one word that are searched: those that most passages have."""
_FILE = Path(__file__).with_name("synonyms.txt")
_ENGLISH = "english"


def synonyms(question: str, lexical: LexicalIndex) -> list[OtherForm]:
    """The words of an English question that no passage has, each with synonyms that one has.

    Forms are disjoint and in order, and have the key 0: no passage defines them. Codes, quotations
    and words with a capital within the question have no synonyms.
    """
    if question_language(question, lexical.analyzers) != _ENGLISH:
        return []
    asked = lexical.terms(question).keys()
    forms = list[OtherForm]()
    for word, start in question_words(question):
        if (start > 0 and word[0].isupper()) or _passages(word, lexical):
            continue
        counts = {
            other: _passages(other, lexical)
            for other in sorted(_groups().get(_stem(word), ()))
            if not lexical.terms(other).keys() <= asked
        }
        common = sorted((other for other in counts if counts[other]), key=lambda one: -counts[one])
        if common:
            form = SYNONYM_SEPARATOR.join(_distinct(common)[:MOST])
            forms.append(OtherForm(start, start + len(word), form, 0))
    return forms


def _passages(word: str, lexical: LexicalIndex) -> int:
    """Number of passages that have a word, in any form that is cut to the same term."""
    counts = lexical.frequencies(lexical.terms(word), fuzzy=False, prefix=False)
    return max(counts.values(), default=0)


def _distinct(words: list[str]) -> list[str]:
    """Words without those that have the stem of one before."""
    return list({_stem(word): word for word in reversed(words)}.values())[::-1]


def _stem(word: str) -> str:
    return next(iter(analyzer(_ENGLISH).query_tokens(word.lower())), word.lower())


@cache
def _groups() -> Mapping[str, Set[str]]:
    """The synonyms of each word, by its stem."""
    groups = dict[str, set[str]]()
    for line in _FILE.read_text("utf-8").splitlines():
        words = [] if line.startswith("#") else line.split(", ")
        for word in filter(None, words):
            own = _stem(word)
            groups.setdefault(own, set()).update(one for one in words if _stem(one) != own)
    return groups
