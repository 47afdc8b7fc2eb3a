"""Key terms of a question: the codes, figures, names and words that an answer has to support."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rag.answering.vocabulary import Terms, Vocabulary
from rag.lexical.languages import language

Kind = Literal["code", "figure", "name", "word"]

_TOKEN = re.compile(r"\w+(?:[-./_’']\w+)*")
_PART = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_CAPITAL_NOUNS = frozenset({"de", "lb"})
"""Languages that begin every noun with a capital letter, where capitals make no name."""
_MEASURING = """
    name number amount kind type sort way thing mean meaning happen say tell give need want know
    please explain describe list difference example
"""


@dataclass(frozen=True, slots=True)
class KeyTerm:
    """A word of a question with its index terms.

    ``weight`` is its inverse document frequency, ``share`` its share of the question's weight, and
    ``indexed`` says whether any passage has it.
    """

    text: str
    kind: Kind
    terms: Terms
    weight: float
    share: float
    indexed: bool

    def borne_out(self, terms: Terms) -> float:
        """The share of its parts that some terms have; a code is there whole or not at all."""
        return len(self.terms & terms) / len(self.terms)


def key_terms(question: str, words: Vocabulary) -> tuple[KeyTerm, ...]:
    """The key terms of a question, in order; function words are none."""
    wanted = words.terms(question)
    rarity = words.rarities(wanted, [wanted])
    indexed = words.indexed(wanted)
    generic = words.terms(_MEASURING)
    entries = list(_tokens(question, wanted, words))
    telling = [entry for entry in entries if not entry[2] <= generic] or entries
    weights = [max(rarity[term] for term in terms) for _, _, terms in telling]
    total = sum(weights) or 1.0
    return tuple(
        KeyTerm(text, kind, terms, weight, weight / total, terms <= indexed)
        for (text, kind, terms), weight in zip(telling, weights, strict=True)
    )


def _tokens(question: str, wanted: Terms, words: Vocabulary) -> Iterator[tuple[str, Kind, Terms]]:
    no_names = question.isupper() or language(question) in _CAPITAL_NOUNS
    taken = set[Terms]()
    for match in _TOKEN.finditer(question):
        text = match.group()
        terms = words.terms(text) & wanted
        whole = "".join(_PART.findall(text)).casefold()
        kind = _kind(text, not _LETTER.search(question[: match.start()]) or no_names)
        if kind == "code" and whole in terms:
            terms = frozenset({whole})
        if terms and terms not in taken:
            taken.add(terms)
            yield text, kind, terms


def _kind(text: str, beginning: bool) -> Kind:
    if _DIGIT.search(text):
        return "code" if _LETTER.search(text) else "figure"
    inner = any(letter.isupper() for letter in text[1:])
    return "name" if inner or (text[0].isupper() and not beginning) else "word"
