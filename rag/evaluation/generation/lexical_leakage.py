"""Lexical leakage: rare words that a question shares with its passage make retrieval easy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import fsum, log

from rag.answering.words import content_words


class Rarity:
    """Rarity weights of the words in some texts, compared by rough stems.

    Stems ignore inflection. Weights are summed exactly because sets have no order: values are the
    same in every run.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._counts: Counter[str] = Counter()
        self._texts = 0
        for text in texts:
            self._counts.update(content_words(text))
            self._texts += 1

    def weight(self, stem: str) -> float:
        """log((n + 1) / df): next to nothing for a word of all n texts (df of them have it).

        A word that no text has counts as if half of one had it.
        """
        return log((self._texts + 1) / max(self._counts[stem], 0.5))

    def leak(self, question: str, passages: Iterable[str]) -> float:
        """The share, from 0 to 1, of a question's words that stand in its passages, by weight."""
        words = content_words(question)
        there = frozenset[str]().union(*map(content_words, passages))
        total = fsum(map(self.weight, words))
        return fsum(map(self.weight, words & there)) / total if total else 0.0

    def shared(self, one: str, other: str) -> float:
        """Return the lexical overlap of two texts: the sum of the weights of the words in both."""
        return fsum(map(self.weight, content_words(one) & content_words(other)))
