"""WordLlama: the fast embedder. One stored vector per token, averaged; no network to run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag.errors import MissingDependency
from rag.protocols import InputType, Tokenizer
from rag.providers.tokens import SubwordTokens, encodable
from rag.providers.vectors import unit_rows
from rag.types import Vectors

if TYPE_CHECKING:
    import tokenizers

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class WordLlama:
    """Mean of static token vectors, 256 dimensions, texts of any length. Loaded on first use."""

    id = "wordllama-l2-supercat-256"
    dimension = 256

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of Llama 2. Raises MissingDependency."""
        return SubwordTokens(self._backend)

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), 256).

        The tokens are cased: a query in capitals is read in small letters, as documents seldom
        shout.
        Raises MissingDependency when the package is absent.
        """
        means = np.zeros((len(texts), self.dimension), dtype=np.float32)
        folded = (
            text.lower() if input_type == "query" and text.isupper() else text for text in texts
        )
        sent = [encodable(text) for text in folded]
        encodings = self._backend.encode_batch(sent, add_special_tokens=False)
        for row, encoding in enumerate(encodings):
            if encoding.ids:
                means[row] = self._table[encoding.ids].mean(axis=0)
        return unit_rows(means)

    @cached_property
    def _backend(self) -> tokenizers.Tokenizer:
        from tokenizers import Tokenizer as Backend

        return Backend.from_file(str(_packaged(TOKENIZER)))

    @cached_property
    def _table(self) -> Vectors:
        """Token vectors, shape (vocabulary, 256)."""
        from safetensors import safe_open

        with safe_open(_packaged(WEIGHTS), framework="np") as weights:
            table: Vectors = weights.get_tensor("embedding.weight").astype(np.float32)
        return table


def _packaged(name: str) -> Path:
    """A file of the package, found without importing it: importing takes most of a second."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise MissingDependency(
            "The package wordllama is not installed.", "Run: pip install -r requirements.txt"
        )
    return Path(spec.origin).parent / name
