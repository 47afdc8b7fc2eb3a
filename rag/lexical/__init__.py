"""Search by words: BM25 with parameters at search time, explanations and cheap updates."""

from rag.lexical.analyzers import (
    Analyzer,
    analyzer,
    analyzer_names,
    function_words,
)
from rag.lexical.clauses import Bm25Options, Query, Variants, inverse_document_frequency
from rag.lexical.explain import Explanation, TermMatch
from rag.lexical.follow_ups import complete_follow_up, leans_on_another
from rag.lexical.index import IDF_MASS, LexicalIndex, term_weights, word_shares
from rag.lexical.postings import Postings
from rag.lexical.respelling import Respelling, respellings
from rag.lexical.spelling import Correction, Meant
from rag.lexical.synonyms import OtherForm, synonyms

__all__ = [
    "IDF_MASS",
    "Analyzer",
    "Bm25Options",
    "Correction",
    "Explanation",
    "LexicalIndex",
    "Meant",
    "OtherForm",
    "Postings",
    "Query",
    "Respelling",
    "TermMatch",
    "Variants",
    "analyzer",
    "analyzer_names",
    "complete_follow_up",
    "function_words",
    "inverse_document_frequency",
    "leans_on_another",
    "respellings",
    "synonyms",
    "term_weights",
    "word_shares",
]
