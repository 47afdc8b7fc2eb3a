"""The multilingual embedder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from rag.protocols import InputType, Tokenizer
from rag.providers import runtimes
from rag.providers.e5.graph import e5_graph
from rag.providers.e5.weights import Weights
from rag.providers.minilm import SLAB, same_length
from rag.providers.tokens import SubwordTokens, encodable, unigram_backend
from rag.providers.vectors import unit_rows
from rag.types import Vectors

if TYPE_CHECKING:
    import tokenizers

PREFIXES: Mapping[InputType, str] = {"query": "query: ", "document": "passage: "}
_START, _END = 0, 2  # the special tokens that stand around every window


class MultilingualE5:
    """Sentence embeddings of 384 dimensions in about a hundred languages. Loaded on first use.

    The vector of a text of more than ``max_tokens`` tokens is the mean over windows of that
    length, weighted by their tokens.
    """

    id = "multilingual-e5-small-q4-1571fc98"
    dimension = 384
    max_tokens = 512

    def __init__(
        self,
        runtime: Callable[[Callable[[], runtimes.Graph]], runtimes.Runtime] = runtimes.open_runtime,
    ) -> None:
        self._open = runtime
        self._opening = Lock()

    @property
    def tokenizer(self) -> Tokenizer:
        """SentencePiece of XLM-RoBERTa. Raises MissingDependency."""
        return SubwordTokens(self._backend)

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), 384). The model knows questions by their prefix.

        Raises MissingDependency when the model's package is absent or its file is not the one
        that was published.
        """
        with self._opening:  # or two that ask first would each load it
            runtime = self._runtime
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        prefix = PREFIXES[input_type]
        for start in range(0, len(texts), SLAB):
            slab = [prefix + encodable(text) for text in texts[start : start + SLAB]]
            encodings = self._backend.encode_batch(slab, add_special_tokens=False)
            vectors[start : start + SLAB] = self._means(runtime, [item.ids for item in encodings])
        return unit_rows(vectors)

    def _means(self, runtime: runtimes.Runtime, texts: Sequence[Sequence[int]]) -> Vectors:
        width = self.max_tokens - 2
        windows = [
            (row, [_START, *ids[start : start + width], _END])
            for row, ids in enumerate(texts)
            for start in range(0, len(ids), width)
        ]
        lengths = np.array([len(window) for _, window in windows], dtype=np.int64)
        batches = list(same_length(lengths, runtime.batch)) if windows else []
        ids = [np.array([windows[item][1] for item in batch], np.int64) for batch in batches]
        parts = np.empty((len(windows), self.dimension), dtype=np.float32)
        for batch, means in zip(batches, runtime.means(ids), strict=True):
            parts[batch] = means
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for (row, window), mean in zip(windows, parts, strict=True):
            vectors[row] += mean * np.float32(len(window) - 2)
        return vectors

    @cached_property
    def _weights(self) -> Weights:
        return Weights()

    @cached_property
    def _backend(self) -> tokenizers.Tokenizer:
        return unigram_backend(self._weights.vocabulary, self._weights.unknown)

    @cached_property
    def _runtime(self) -> runtimes.Runtime:
        runtime = self._open(partial(e5_graph, self._weights))
        # Two threads must not make the first run together, see ``MiniLM``.
        runtime.means([np.array([[_START, _END]], np.int64)])
        return runtime
