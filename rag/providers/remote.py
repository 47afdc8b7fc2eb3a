"""Base class of the remote embedders: batches, prefixes and validation of replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from rag import telemetry
from rag.protocols import InputType, Tokenizer
from rag.providers.endpoint import Endpoint, batches
from rag.providers.minilm import unit_rows
from rag.providers.request_limiter import call_with_limits
from rag.providers.table import ModelTraits
from rag.providers.tokens import encodable, wordpiece_tokens
from rag.types import Vectors

BATCH_TEXTS = 64

Call = Callable[[list[str], InputType], Sequence[Sequence[float]]]
"""Asks the server once: texts in, one vector for each out, in order. Raises ProviderError."""


class RemoteEmbedder:
    """An embedding model behind a wire. Checks every answer before it believes it."""

    def __init__(self, endpoint: Endpoint, model: str, traits: ModelTraits, call: Call) -> None:
        self._endpoint = endpoint
        self._model = model
        self._traits = traits
        self._call = call
        self._lock = Lock()
        self._dimension: int | None = None

    @property
    def id(self) -> str:
        """Provider and model; the server too where it is not the provider's own."""
        row = self._endpoint.row
        elsewhere = self._endpoint.base_url != row.base_url
        return f"{row.name}:{self._model}" + (f"@{self._endpoint.origin}" if elsewhere else "")

    @property
    def dimension(self) -> int:
        """Length of a vector; embeds one word to learn it. Raises ProviderError."""
        if self._dimension is None:
            self._ask(["dimension"], "document")
        return self._dimension or 0

    @property
    def tokenizer(self) -> Tokenizer:
        """WordPiece, which stands in for the tokenizer of the remote model."""
        return wordpiece_tokens()

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), dimension). Empty texts are sent as one space.

        Raises ProviderError when the server fails or answers something unfit.
        """
        traits = self._traits
        prefix = traits.query_prefix if input_type == "query" else traits.document_prefix
        sent = [prefix + (encodable(text) or " ") for text in texts]
        parts = [self._ask(batch, input_type) for batch in batches(sent, BATCH_TEXTS)]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def _ask(self, texts: list[str], input_type: InputType) -> Vectors:
        attributes = {"provider": self._endpoint.row.name, "model": self._model, "texts": texts}
        with telemetry.spanning("embeddings", attributes) as span:
            rows = call_with_limits(
                self._endpoint, "embedding", lambda: self._call(texts, input_type)
            )
            span.about = vectors = unit_rows(self._checked(rows, len(texts)))
            return vectors

    def _checked(self, rows: Sequence[Sequence[float]], expected: int) -> Vectors:
        if len(rows) != expected:
            raise self._endpoint.misbehaved(f"{len(rows)} vectors for {expected} texts")
        try:
            vectors = np.array(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._endpoint.misbehaved("vectors of mixed length or content") from error
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise self._endpoint.misbehaved("something that is no list of vectors")
        if not np.isfinite(vectors).all():
            raise self._endpoint.misbehaved("vectors that are not numbers")
        dimension = vectors.shape[1]
        with self._lock:
            known_dimension = self._dimension = self._dimension or dimension
        if dimension != known_dimension:
            raise self._endpoint.misbehaved(
                f"vectors of {dimension} dimensions where it answered {known_dimension} before"
            )
        return vectors
