"""How much a question gives its passage away: shared rare words make it easy to find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import fsum, log

from rag.answering.words import content_words


class Rarity:
    """How rare words are in some texts. Words are compared by rough stems, grammar aside.

    Weights are added up exactly, because sets have no order: figures are the same in every run.
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
        """How much two texts have in common: the weights of the words of both, added up."""
        return fsum(map(self.weight, content_words(one) & content_words(other)))
