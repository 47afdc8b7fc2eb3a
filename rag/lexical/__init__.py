"""Search by words: BM25 with parameters at search time, explanations and cheap updates."""

from rag.lexical.analyzers import Analyzer, analyzer, analyzer_names
from rag.lexical.explain import Explanation, TermMatch
from rag.lexical.index import LexicalIndex, Query
from rag.lexical.postings import Postings
from rag.lexical.spelling import Correction

__all__ = [
    "Analyzer",
    "Correction",
    "Explanation",
    "LexicalIndex",
    "Postings",
    "Query",
    "TermMatch",
    "analyzer",
    "analyzer_names",
]
