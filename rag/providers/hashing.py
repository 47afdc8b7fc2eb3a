"""The ``fake`` embedder: hashed words, for tests and for trying the machinery without a model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from rag.protocols import InputType, Tokenizer
from rag.providers.tokens import WordTokens
from rag.providers.vectors import unit_rows
from rag.types import Vectors

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Bag of words in 64 signed dimensions; the same vector on every machine.

    Feature hashing after Weinberger et al., "Feature Hashing for Large Scale Multitask Learning"
    (ICML 2009).
    """

    id = "fake-64"
    dimension = 64

    @property
    def tokenizer(self) -> Tokenizer:
        """Words and punctuation marks."""
        return WordTokens()

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), 64). Queries and documents are treated alike."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in _WORD.findall(text.casefold()):
                digest = hashlib.blake2b(word.encode(errors="replace"), digest_size=8).digest()
                row[digest[0] % self.dimension] += 1 if digest[1] % 2 else -1
        return unit_rows(vectors)
