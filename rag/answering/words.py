"""Words that carry meaning, cut to rough stems: enough to see whether two sentences agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from math import log

from rag.answering.languages import numbered
from rag.lexical.languages import likeliest

WORD, LETTERS = re.compile(r"\w+"), re.compile(r"[^\W\d_]+")
DIGITS, FIGURE = re.compile(r"\d+"), re.compile(r"\d[\d.,]*")
_GRAMMAR = """
    a about after all also am an and any are as at be been before being but by can could did
    do does for from had has have he her his how i if in into is it its may me might more
    most must my no nor not of on only or our out over shall she should so some such than
    that the their them then there these they this those to under up us was we were what
    when where which who whom whose why will with would you your get gets
"""
_STOPWORDS = frozenset(_GRAMMAR.split())
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "y", "e")
_SHORTEST_STEM = 3


def content_words(text: str) -> frozenset[str]:
    """Stems of the words of ``text`` that are not mere grammar; all words if there are no others.

    Stopwords and endings are English; words of other languages pass through whole.
    """
    words = WORD.findall(text.casefold())
    telling = [word for word in words if word not in _STOPWORDS]
    return frozenset(map(_stem, telling or words))


def rarities(texts: Iterable[frozenset[str]]) -> dict[str, float]:
    """log(1 + n / df) of every word over n texts: Spärck Jones' inverse document frequency."""
    word_lists = list(texts)
    counts = Counter(chain.from_iterable(word_lists))
    return {word: log(1 + len(word_lists) / count) for word, count in counts.items()}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def digits_of(word: str, code: str) -> str:
    """Return the digits that a word of a language spells out; "" for other words, such as "DoS"."""
    number = numbered("numbers", code).get(word.lower()) if word[1:].islower() else None
    return str(number or "")


def with_digits(question: str) -> str:
    """Return a question with the figures that it spells out as digits too, as tables write them."""
    code, _ = likeliest(question)
    spelt = (digits_of(word, code) for word in WORD.findall(question))
    return f"{question} {' '.join(filter(None, spelt))}"
