"""all-MiniLM-L6-v2 on this machine's processor: the default embedder.

The weights are stored as int8 and expanded to float32 when the model is loaded, so the arithmetic
is float32 throughout. A batch holds texts of exactly one length: then nothing is padded, and a
text gets the same bits whichever texts share its batch. (With padding the last bits differ, because
sums over the padded width are blocked differently; an index would not equal its clean rebuild.)

Two runtimes can run it, see ``rag.providers.runtimes``. Their vectors are one space: the numbers
differ by rounding, at most in the sixth decimal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rag.protocols import InputType, Tokenizer
from rag.providers import runtimes
from rag.providers.tokens import encodable, wordpiece_backend, wordpiece_tokens
from rag.providers.vectors import unit_rows
from rag.types import Vectors

if TYPE_CHECKING:
    import tokenizers

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
