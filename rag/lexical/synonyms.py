"""Synonyms of words that no passage has: everyday words, and those of rules and manuals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
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
_ENGLISH, _OF_VERBS = "english", "to "


def synonyms(question: str, lexical: LexicalIndex) -> list[OtherForm]:
    """The words of an English question that no passage has, each with synonyms that some have.

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
            for other in sorted(synonyms_by_form().get(word.lower(), ()))
            if not lexical.terms(other).keys() <= asked and _is_written(other, lexical)
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
    for line in _FILE.read_text("utf-8").splitlines():
        words = [] if line.startswith("#") else line.removeprefix(_OF_VERBS).split(", ")
        for word in filter(None, words):
            for form in _forms(word, is_verb=line.startswith(_OF_VERBS)):
                groups.setdefault(form, set()).update(other for other in words if other != word)
    return groups


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
