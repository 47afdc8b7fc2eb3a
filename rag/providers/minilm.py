"""Embedders on this machine's processor: all-MiniLM-L6-v2, WordLlama and hashed words.

The weights of all-MiniLM-L6-v2, the default, are stored as int8 and expanded to float32 when the
model is loaded, so the arithmetic is float32 throughout. A batch holds texts of exactly one length:
then nothing is padded, and a text gets the same bits whichever texts share its batch. (With padding
the last bits differ, because sums over the padded width are blocked differently; an index would not
equal its clean rebuild.) Two runtimes can run it, see ``rag.providers.runtimes``. Their vectors are
one space: the numbers differ by rounding, at most in the sixth decimal.

WordLlama has one stored vector per token, which are averaged: fast, with no network to run. The
``fake`` embedder hashes words, for tests and for trying the machinery without a model.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rag.errors import MissingDependency
from rag.protocols import InputType, Tokenizer
from rag.providers import runtimes
from rag.providers.tokens import (
    SubwordTokens,
    WordTokens,
    encodable,
    wordpiece_backend,
    wordpiece_tokens,
)
from rag.types import Vectors

if TYPE_CHECKING:
    import tokenizers


def unit_rows(vectors: Vectors) -> Vectors:
    """Rows scaled to length 1, shape and dtype kept.

    A row without direction (a text without any known token) becomes the first axis, so that it is
    a valid unit vector, the same every time, and never NaN.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    units[lengths[:, 0] == 0, :1] = 1
    return units


SLAB = 2048
"""Texts that are tokenized and sorted by length together; bounds memory."""
_NO_TEXT = 101, 102  # the special tokens that stand around every text


class MiniLM:
    """Sentence embeddings of 384 dimensions from up to 256 tokens. Loaded on first use."""

    id = "minilm-int8-8199be6f"
    dimension = 384
    max_tokens = 256

    def __init__(self, runtime: Callable[[], runtimes.Runtime] = runtimes.open_runtime) -> None:
        self._open = runtime
        self._opening = Lock()

    @property
    def tokenizer(self) -> Tokenizer:
        """WordPiece, uncased."""
        return wordpiece_tokens()

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), 384); the model has no separate input for queries.

        Text beyond 256 tokens (two of them special) does not count. Raises MissingDependency
        when the model's package is absent or its file is not the one that was published.
        """
        with self._opening:  # or two that ask first would each load it
            runtime = self._runtime
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), SLAB):
            slab = [encodable(text) for text in texts[start : start + SLAB]]
            encodings = self._backend.encode_batch(slab)
            lengths = np.array([len(encoding) for encoding in encodings], dtype=np.int64)
            batches = list(same_length(lengths, runtime.batch))
            ids = [np.array([encodings[row].ids for row in rows], np.int64) for rows in batches]
            for rows, means in zip(batches, runtime.means(ids), strict=True):
                vectors[start + rows] = means
        return unit_rows(vectors)

    @cached_property
    def _backend(self) -> tokenizers.Tokenizer:
        backend = wordpiece_backend()
        backend.enable_truncation(self.max_tokens)
        return backend

    @cached_property
    def _runtime(self) -> runtimes.Runtime:
        runtime = self._open()
        # Bindings to C++ look numpy up at their first run. Where two threads begin together, one
        # may hold the interpreter and wait for the other, which waits for the interpreter.
        runtime.means([np.array([_NO_TEXT], np.int64)])
        return runtime


class MiniLMFast(MiniLM):
    """MiniLM in bfloat16, on processors that have it.

    Its vectors differ from MiniLM's, and a little from one computer to another, so they are a
    space of their own.
    """

    id = "minilm-fast-8199be6f"

    def __init__(self, runtime: Callable[[], runtimes.Runtime] | None = None) -> None:
        super().__init__(runtime or partial(runtimes.open_runtime, precision="bf16"))


def same_length(lengths: npt.NDArray[np.int64], most: int) -> Iterator[npt.NDArray[np.int64]]:
    """Row numbers in batches of at most ``most`` rows of one length, shortest first."""
    order = np.argsort(lengths, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        for start in range(0, len(group), most):
            yield group[start : start + most]


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
