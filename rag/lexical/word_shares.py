"""The share of a question's words that a passage holds, by their rarity."""

from __future__ import annotations

from collections.abc import Mapping

from rag.lexical.clauses import inverse_document_frequency
from rag.lexical.index import LexicalIndex
from rag.lexical.query import Bm25Options
from rag.types import Keys, Scores

IDF_MASS: Bm25Options = {"k1": 0.0, "b": 0.0, "fuzzy": False, "prefix": False}
"""With k1 = 0, a BM25 score is the sum of the idf of the words that a passage holds."""


def term_weights(words: str, lexical: LexicalIndex, passages: int) -> dict[str, float]:
    """Return the idf of each index term of a question among ``passages``.

    Terms that no passage has are included: they have the greatest idf. Where passages are in
    several languages, a word counts once.
    """
    terms = dict.fromkeys(lexical.terms(words), 1.0)
    frequencies = lexical.frequencies(terms, fuzzy=False, prefix=False)
    unknown = [term for term in terms if term not in frequencies]
    for term in lexical.other_readings(words, unknown, frequencies):
        del terms[term]
    return {term: inverse_document_frequency(frequencies.get(term, 0), passages) for term in terms}


def word_shares(weights: Mapping[str, float], keys: Keys, lexical: LexicalIndex) -> Scores:
    """Return the share of the total of ``weights`` that each passage holds, shape (n,), 0 to 1."""
    terms = dict.fromkeys(weights, 1.0)
    return lexical.scores(terms, keys, **IDF_MASS) / (sum(weights.values()) or 1.0)
