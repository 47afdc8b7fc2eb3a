"""From a question to a trace: candidates, fusion, threshold, top-k."""

from rag.retrieval.candidates import (
    Calibrated,
    Candidates,
    Found,
    best_by_words,
    join,
    nearest,
)
from rag.retrieval.pipeline import Corpus, embed_question, retrieve
from rag.retrieval.selection import Selection, select
from rag.retrieval.shares import Share, shares
from rag.retrieval.unbuilt import refuse_unbuilt

__all__ = [
    "Calibrated",
    "Candidates",
    "Corpus",
    "Found",
    "Selection",
    "Share",
    "best_by_words",
    "embed_question",
    "join",
    "nearest",
    "refuse_unbuilt",
    "retrieve",
    "select",
    "shares",
]
