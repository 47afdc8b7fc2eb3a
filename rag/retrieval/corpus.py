"""The input of a search, supplied by the caller, which knows where the data is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rag.lexical import LexicalIndex
from rag.protocols import ChatModel, Embedder, Reranker, VectorView
from rag.retrieval.candidates import Calibrated
from rag.retrieval.languages import ANY_LANGUAGE, KnownLanguages
from rag.retrieval.topic import TopicModel
from rag.types import Chunk, Keys, Vectors

Lookup = Callable[[Sequence[int]], Mapping[int, tuple[Chunk, str]]]
"""Passages with the names of their documents, by key; keys that are gone are absent."""


class QueryVectors(Protocol):
    """Vectors of questions, embedded once."""

    def vectors(self, embedder: Embedder, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Unit vectors, shape (len(texts), dimension), and how many were known before."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The searched corpus: one build of a knowledge base at one moment.

    ``keys`` are the keys of all its passages, in order. ``calibration`` is set if the recipe's
    threshold is a probability, ``chat`` and ``reranker`` if the recipe has steps that need them.
    ``languages`` are those of the embedder. ``allowed`` restricts every search to these
    passages. ``queries`` caches the vectors of earlier texts. ``topic`` decides whether the
    documents cover a question; None if the recipe does not ask, or no model was trained for the
    embedder. ``default_threshold`` is that of the embedder.
    """

    embedder: Embedder
    dense: VectorView
    lexical: LexicalIndex
    lookup: Lookup
    keys: Keys
    calibration: Calibrated | None = None
    chat: ChatModel | None = None
    reranker: Reranker | None = None
    allowed: Keys | None = None
    queries: QueryVectors | None = None
    topic: TopicModel | None = None
    languages: KnownLanguages = ANY_LANGUAGE
    default_threshold: float | None = None

    @property
    def passages(self) -> int:
        """Number of passages that can be found."""
        return len(self.keys)
